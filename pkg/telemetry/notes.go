package telemetry

import (
	"context"
	"log/slog"
	"slices"
)

type notesKey struct{}

// Note returns a context whose log lines say this too, unless they say it of themselves: the id of a request, of a
// datasource. It is for ids alone, and for handlers made by Discreet.
func Note(ctx context.Context, notes ...slog.Attr) context.Context {
	return context.WithValue(ctx, notesKey{}, append(slices.Clip(notesOf(ctx)), notes...))
}

// notesOf are the notes of a context, later ones last.
func notesOf(ctx context.Context) []slog.Attr {
	notes, _ := ctx.Value(notesKey{}).([]slog.Attr)
	return notes
}

// addNotes adds to a record what its context says and it does not.
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
	for _, note := range slices.Backward(notes) { // the innermost of a name counts
		if !said[note.Key] {
			said[note.Key] = true
			r.AddAttrs(d.hide(note))
		}
	}
}
