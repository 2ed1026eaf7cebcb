package telemetry

import (
	"context"
	"log/slog"

	"github.com/sluice/sluice/pkg/domain"
)

// Discreet returns a handler that removes API keys and secrets from messages and attributes, and adds the context's
// notes (Note) and trace ids. No code should log a key, but the error of a library may contain one.
func Discreet(next slog.Handler, secrets domain.Secrets) slog.Handler { return discreet{next, secrets} }

type discreet struct {
	next    slog.Handler
	secrets domain.Secrets
}

// Enabled implements slog.Handler.
func (d discreet) Enabled(ctx context.Context, level slog.Level) bool {
	return d.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (d discreet) Handle(ctx context.Context, r slog.Record) error {
	hidden := slog.NewRecord(r.Time, r.Level, d.secrets.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		hidden.AddAttrs(d.hide(a))
		return true
	})
	d.addNotes(ctx, &hidden)
	if traceID, spanID := IDs(ctx); traceID != "" {
		hidden.AddAttrs(slog.String("trace", traceID), slog.String("span", spanID))
	}
	return d.next.Handle(ctx, hidden)
}

// WithAttrs implements slog.Handler.
func (d discreet) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = d.hide(a)
	}
	return discreet{d.next.WithAttrs(hidden), d.secrets}
}

// WithGroup implements slog.Handler.
func (d discreet) WithGroup(name string) slog.Handler {
	return discreet{d.next.WithGroup(name), d.secrets}
}

func (d discreet) hide(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, d.secrets.Hide(v.String()))
	case slog.KindGroup:
		group := v.Group()
		hidden := make([]slog.Attr, len(group))
		for i, inner := range group {
			hidden[i] = d.hide(inner)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(hidden...)}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, d.secrets.Hide(err.Error()))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
