package telemetry

import (
	"context"
	"log/slog"

	"github.com/sluice/sluice/pkg/domain"
)

// RedactingHandler returns a handler that removes API keys and secrets from messages and attributes. It also adds the
// context's attributes (WithLogAttrs) and trace ids. No code should log a key, but a library's error may contain one.
func RedactingHandler(next slog.Handler, secrets domain.Secrets) slog.Handler {
	return redactingHandler{next, secrets}
}

type redactingHandler struct {
	next    slog.Handler
	secrets domain.Secrets
}

// Enabled implements slog.Handler.
func (d redactingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return d.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (d redactingHandler) Handle(ctx context.Context, r slog.Record) error {
	hidden := slog.NewRecord(r.Time, r.Level, d.secrets.Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		hidden.AddAttrs(d.redact(a))
		return true
	})
	d.addLogAttrs(ctx, &hidden)
	if traceID, spanID := IDs(ctx); traceID != "" {
		hidden.AddAttrs(slog.String("trace", traceID), slog.String("span", spanID))
	}
	return d.next.Handle(ctx, hidden)
}

// WithAttrs implements slog.Handler.
func (d redactingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = d.redact(a)
	}
	return redactingHandler{d.next.WithAttrs(hidden), d.secrets}
}

// WithGroup implements slog.Handler.
func (d redactingHandler) WithGroup(name string) slog.Handler {
	return redactingHandler{d.next.WithGroup(name), d.secrets}
}

func (d redactingHandler) redact(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, d.secrets.Redact(v.String()))
	case slog.KindGroup:
		group := v.Group()
		hidden := make([]slog.Attr, len(group))
		for i, inner := range group {
			hidden[i] = d.redact(inner)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(hidden...)}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, d.secrets.Redact(err.Error()))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
