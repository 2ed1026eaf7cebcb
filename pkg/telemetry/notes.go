package telemetry

import (
	"context"
	"log/slog"
	"slices"
)

type notesKey struct{}

// Note returns a context that adds attributes to its log lines, such as the id of a request or a datasource. An
// attribute of the line itself takes precedence. Notes must be ids, and only handlers made by Discreet add them.
func Note(ctx context.Context, notes ...slog.Attr) context.Context {
	return context.WithValue(ctx, notesKey{}, append(slices.Clip(notesOf(ctx)), notes...))
}

// notesOf returns the notes of a context in the order in which they were added.
func notesOf(ctx context.Context) []slog.Attr {
	notes, _ := ctx.Value(notesKey{}).([]slog.Attr)
	return notes
}

// addNotes adds the notes of a context to a record, except those whose keys the record has.
func (d discreet) addNotes(ctx context.Context, r *slog.Record) {
	notes := notesOf(ctx)
	if len(notes) == 0 {
		return
	}
	said := map[string]bool{}
	r.Attrs(func(a slog.Attr) bool {
		said[a.Key] = true
		return true
	})
	for _, note := range slices.Backward(notes) { // of notes with the same key, the innermost counts
		if !said[note.Key] {
			said[note.Key] = true
			r.AddAttrs(d.hide(note))
		}
	}
}
