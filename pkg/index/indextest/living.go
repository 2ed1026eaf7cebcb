package indextest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

// errStop stops a listing before its end.
var errStop = errors.New("enough")

func (s *suite) living() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"written rows survive closing and opening": func(t *testing.T) {
			if s.opts.Reopen == nil {
				t.Skip("the engine cannot be reopened")
			}
			x, sp, rows := s.open(t), space(), corpus(150)
			mustWrite(t, x, sp, rows...)
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds-3", Below: 2})
			q := index.Query{Text: "glacier river", Vector: vector(8), Limit: 30}
			if s.opts.DenseOnly {
				q.Text = ""
			}
			before, stored := mustSearch(t, x, sp, q), mustStored(t, x, sp)
			x = s.opts.Reopen(t, x)
			after := mustSearch(t, x, sp, q)
			if diff := cmp.Diff(byKey(before.Hits), byKey(after.Hits)); diff != "" {
				t.Errorf("hits (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(stored, mustStored(t, x, sp)); diff != "" {
				t.Errorf("stored (-before +after):\n%s", diff)
			}
			mustWrite(t, x, sp, row("new", 1, 0, "written after reopening"))
			if got := mustRows(t, x, sp, "new", 1); len(got) != 1 {
				t.Errorf("%d rows", len(got))
			}
		},
		"rows written are found by every search that starts afterwards, while others write and read": func(t *testing.T) {
			x, sp := s.open(t), space()
			const writers, batches, size = 4, 8, 10
			var writing, reading sync.WaitGroup
			done := make(chan struct{})
			for r := range 3 {
				reading.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-done:
							return
						default:
						}
						s.checkWhole(t, x, sp, size, uint64(r*1000+i))
					}
				})
			}
			for w := range writers {
				writing.Go(func() { s.writeAndFind(t, x, sp, fmt.Sprintf("w%d", w), batches, size) })
			}
			writing.Wait()
			close(done)
			reading.Wait()
			var rows int64
			for st := range mustStored(t, x, sp) {
				rows += st.Rows
			}
			if rows != writers*size {
				t.Errorf("%d rows are left, want %d", rows, writers*size)
			}
		},
		"listing stored rows ends with the caller's error": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("a", 1, 0, "x"), row("b", 1, 0, "x"))
			calls := 0
			err := x.Stored(t.Context(), sp, func(index.Stored) error {
				calls++
				return errStop
			})
			if !errors.Is(err, errStop) || calls != 1 {
				t.Errorf("error %v after %d calls", err, calls)
			}
		},
		"a cancelled call returns the context's error": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("a", 1, 0, "x"))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := x.Write(ctx, sp, []index.Row{row("b", 1, 0, "y")}); !errors.Is(err, context.Canceled) {
				t.Errorf("writing: %v", err)
			}
			if _, err := x.Search(ctx, sp, index.Query{Text: "x", Limit: 1}); !errors.Is(err, context.Canceled) {
				t.Errorf("searching: %v", err)
			}
			if got := mustRows(t, x, sp, "b", 1); len(got) != 0 {
				t.Errorf("a cancelled write stored %d rows", len(got))
			}
		},
		"a closed index refuses, and closes twice": func(t *testing.T) {
			x, sp := s.open(t), space()
			mustWrite(t, x, sp, row("a", 1, 0, "x"))
			if err := x.Ready(t.Context()); err != nil {
				t.Errorf("before closing: %v", err)
			}
			for range 2 {
				if err := x.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			}
			filled := x.Fill(t.Context(), sp, []*index.Hit{{Row: row("a", 1, 0, "")}})
			_, searched := x.Search(t.Context(), sp, index.Query{Text: "x", Limit: 1})
			_, read := x.Rows(t.Context(), sp, "a", 1, 0, 1)
			_, counted := x.Count(t.Context(), sp, "a", 1)
			_, listed := x.Spaces(t.Context(), sp.DatastoreID)
			for name, err := range map[string]error{
				"Write": x.Write(t.Context(), sp, []index.Row{row("a", 1, 1, "y")}), "Search": searched, "Fill": filled, "Rows": read, "Count": counted, "Spaces": listed,
				"DeleteGenerations": x.DeleteGenerations(t.Context(), sp, index.Generations{DatasourceID: "a", Below: 5}), "DropDatastore": x.DropDatastore(t.Context(), sp.DatastoreID),
				"Stored": x.Stored(t.Context(), sp, func(index.Stored) error { return nil }), "Ready": x.Ready(t.Context()),
			} {
				if !errors.Is(err, index.ErrClosed) {
					t.Errorf("%s: %v, want ErrClosed", name, err)
				}
			}
		},
	}
}

// byKey indexes hits by key, so that order doesn't matter in comparisons.
func byKey(hits []index.Hit) map[string]index.Hit {
	out := make(map[string]index.Hit)
	for _, h := range hits {
		out[h.Key] = h
	}
	return out
}

// writeAndFind writes a datasource's generations one after another. After each, it searches for the new rows and
// removes the previous generation.
func (s *suite) writeAndFind(t *testing.T, x index.Index, sp index.Space, datasource string, batches uint64, size int) {
	for g := uint64(1); g <= batches; g++ {
		var rows []index.Row
		for i := range size {
			rows = append(rows, row(datasource, g, i, fmt.Sprintf("%s generation%d", datasource, g)))
		}
		if err := x.Write(t.Context(), sp, rows); err != nil {
			t.Errorf("writing: %v", err)
			return
		}
		r, err := x.Search(t.Context(), sp, index.Query{Vector: rows[0].Vector, Limit: 1})
		if err != nil || len(r.Hits) != 1 || r.Hits[0].Key != rows[0].Key {
			t.Errorf("row %s is not found after its write: %v %v", rows[0].Key, keys(r.Hits), err)
		}
		if err := x.DeleteGenerations(t.Context(), sp, index.Generations{DatasourceID: datasource, Below: g}); err != nil {
			t.Errorf("deleting: %v", err)
		}
	}
}

// checkWhole searches for all rows and checks that each generation is visible as a whole or not at all, with the
// correct vectors. For a Piecemeal engine, it checks only the vectors.
func (s *suite) checkWhole(t *testing.T, x index.Index, sp index.Space, size int, seed uint64) {
	q := vector(seed)
	r, err := x.Search(t.Context(), sp, index.Query{Vector: q, Limit: 10_000})
	if err != nil {
		t.Errorf("searching: %v", err)
		return
	}
	parts := make(map[string]int)
	for _, h := range r.Hits {
		parts[fmt.Sprintf("%s:%d", h.DatasourceID, h.Generation)]++
		if want := cosine(q, vector(seedOf(h.DatasourceID, h.Generation, h.Ordinal))); !s.isClose(h.Dense, want) {
			t.Errorf("row %s has the dense score %v, want %v: its vector is that of another", h.Key, h.Dense, want)
		}
	}
	for part, n := range parts {
		if n != size && !s.opts.Piecemeal {
			t.Errorf("%d of %d rows of %s are visible", n, size, part)
		}
	}
}
