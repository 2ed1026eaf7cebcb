package telemetry

import (
	"context"
	"log/slog"
	"slices"
)

type logAttrsKey struct{}

// WithLogAttrs returns a context that adds attributes, such as a request's or datasource's id, to every line logged
// with it. If a log line already has an attribute with the same key, the line's own attribute wins. The added
// attributes must be ids, because they aren't redacted. Only handlers made by RedactingHandler add them.
func WithLogAttrs(ctx context.Context, notes ...slog.Attr) context.Context {
	return context.WithValue(ctx, logAttrsKey{}, append(slices.Clip(logAttrs(ctx)), notes...))
}

// logAttrs returns a context's attributes, oldest first.
func logAttrs(ctx context.Context) []slog.Attr {
	notes, _ := ctx.Value(logAttrsKey{}).([]slog.Attr)
	return notes
}

// addLogAttrs adds a context's attributes to a record, except attributes whose key the record already has.
func (d redactingHandler) addLogAttrs(ctx context.Context, r *slog.Record) {
	notes := logAttrs(ctx)
	if len(notes) == 0 {
		return
	}
	said := map[string]bool{}
	r.Attrs(func(a slog.Attr) bool {
		said[a.Key] = true
		return true
	})
	for _, note := range slices.Backward(notes) { // if several attributes have the same key, the one added last counts
		if !said[note.Key] {
			said[note.Key] = true
			r.AddAttrs(d.redact(note))
		}
	}
}
