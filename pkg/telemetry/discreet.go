package telemetry

import (
	"context"
	"log/slog"

	"github.com/sluice/sluice/pkg/domain"
)

// Discreet returns a handler that takes API keys out of messages and attributes, and adds what the context says
// (Note) and the ids of its trace.
// Nothing should log a key; what an error of a library repeats is not known before.
func Discreet(next slog.Handler) slog.Handler { return discreet{next} }

type discreet struct{ next slog.Handler }

// Enabled implements slog.Handler.
func (d discreet) Enabled(ctx context.Context, level slog.Level) bool {
	return d.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (d discreet) Handle(ctx context.Context, r slog.Record) error {
	hidden := slog.NewRecord(r.Time, r.Level, domain.HideKeys(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		hidden.AddAttrs(hide(a))
		return true
	})
	addNotes(ctx, &hidden)
	if traceID, spanID := IDs(ctx); traceID != "" {
		hidden.AddAttrs(slog.String("trace", traceID), slog.String("span", spanID))
	}
	return d.next.Handle(ctx, hidden)
}

// WithAttrs implements slog.Handler.
func (d discreet) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = hide(a)
	}
	return discreet{d.next.WithAttrs(hidden)}
}

// WithGroup implements slog.Handler.
func (d discreet) WithGroup(name string) slog.Handler { return discreet{d.next.WithGroup(name)} }

func hide(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, domain.HideKeys(v.String()))
	case slog.KindGroup:
		group := v.Group()
		hidden := make([]slog.Attr, len(group))
		for i, inner := range group {
			hidden[i] = hide(inner)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(hidden...)}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, domain.HideKeys(err.Error()))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
