package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// preparedIndex returns an index with some rows, and the rows.
func preparedIndex(t *testing.T) (*Index, []index.Row) {
	t.Helper()
	x := mustOpen(t, t.TempDir(), Options{})
	var rows []index.Row
	for i := range 300 {
		rows = append(rows, crashRow("a", 1, i))
	}
	if err := x.Write(t.Context(), crashSpace, rows); err != nil {
		t.Fatal(err)
	}
	return x, rows
}

// spoiled prepares a query and drops the prepared hits, so that a search using it finds nothing.
func spoiled(t *testing.T, x *Index, q index.Query) index.Prepared {
	t.Helper()
	made, err := x.Prepare(t.Context(), crashSpace, q)
	if err != nil {
		t.Fatal(err)
	}
	leg, ok := made.(*lexicalLeg)
	if !ok || len(leg.best) == 0 {
		t.Fatalf("%v was prepared", made)
	}
	leg.best = nil
	return leg
}

func TestASearchUsesItsPreparation(t *testing.T) {
	t.Parallel()
	x, rows := preparedIndex(t)
	q := index.Query{Text: rows[0].Text, Limit: 10}
	want := search(t.Context(), t, x, q)
	prepared, err := x.Prepare(t.Context(), crashSpace, q)
	if err != nil {
		t.Fatal(err)
	}
	made, _ := x.caches.Lists.Usage()
	asked := q
	asked.Prepared = prepared
	if diff := cmp.Diff(want, search(t.Context(), t, x, asked)); diff != "" {
		t.Errorf("(-without +with what was prepared):\n%s", diff)
	}
	if now, _ := x.caches.Lists.Usage(); now != made {
		t.Errorf("the search has read or made %d things more", now-made)
	}
	asked.Prepared = spoiled(t, x, q)
	if found := search(t.Context(), t, x, asked); len(found) != 1 {
		t.Errorf("the prepared result was not used: %v is found", found)
	}
}

func TestASearchIgnoresThePreparationOfAnother(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]func(q *index.Query, x *Index, rows []index.Row) error{
		"by other words": func(q *index.Query, _ *Index, rows []index.Row) error { q.Text = rows[1].Text; return nil },
		"of more rows":   func(q *index.Query, _ *Index, _ []index.Row) error { q.Limit++; return nil },
		"under another filter": func(q *index.Query, _ *Index, _ []index.Row) error {
			q.Filter.DatasourceIDs = []string{"a"}
			return nil
		},
		"without rows":      func(q *index.Query, _ *Index, _ []index.Row) error { q.Filter.DatasourceIDs = []string{}; return nil },
		"in another engine": func(q *index.Query, _ *Index, _ []index.Row) error { q.Prepared = "of another engine"; return nil },
		"before a write": func(_ *index.Query, x *Index, _ []index.Row) error {
			return x.Write(t.Context(), crashSpace, []index.Row{crashRow("b", 1, 1)})
		},
		"before a datasource was": func(_ *index.Query, x *Index, _ []index.Row) error {
			return x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "a", From: 1, Below: 2})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, rows := preparedIndex(t)
			q := index.Query{Text: rows[0].Text, Limit: 10}
			q.Prepared = spoiled(t, x, q)
			if err := another(&q, x, rows); err != nil {
				t.Fatal(err)
			}
			plain := q
			plain.Prepared = nil
			if diff := cmp.Diff(search(t.Context(), t, x, plain), search(t.Context(), t, x, q)); diff != "" {
				t.Errorf("(-without +with what was prepared):\n%s", diff)
			}
		})
	}
}

func TestNothingIsPreparedWithoutASpace(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	made, err := x.Prepare(t.Context(), crashSpace, index.Query{Text: "harbour", Limit: 10})
	if made != nil || err != nil {
		t.Errorf("%v was prepared: %v", made, err)
	}
	if _, err := x.Prepare(t.Context(), crashSpace, index.Query{Text: "harbour"}); err == nil {
		t.Error("a limit of 0 is taken")
	}
}

// TestRowsDeletedDuringASearchAreNotFound deletes rows between a reader's start and its first read.
func TestRowsDeletedDuringASearchAreNotFound(t *testing.T) {
	t.Parallel()
	x, _ := preparedIndex(t)
	found, err := x.Search(t.Context(), crashSpace, index.Query{Text: "common", Limit: 10})
	if err != nil || len(found.Hits) == 0 {
		t.Fatalf("%d hits: %v", len(found.Hits), err)
	}
	wanted := make(map[uint32]*index.Hit)
	for i := range found.Hits {
		wanted[uint32(found.Hits[i].Location)] = &found.Hits[i]
	}
	reads := 0
	err = x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		return s.ReadLazy(t.Context(), func(v store.View) error {
			if reads++; reads == 1 {
				if err := x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "a", From: 1, Below: 2}); err != nil {
					return err
				}
			}
			return v.Fill(t.Context(), wanted)
		})
	})
	if err != nil || reads != 2 {
		t.Errorf("read %d times, want twice: %v", reads, err)
	}
	for _, h := range wanted {
		if h.Complete {
			t.Errorf("%s is found", h.Key)
		}
	}
}
