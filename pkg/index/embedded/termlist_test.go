package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// TestListsThatAreCachedNeverOutliveAWrite adds, changes and deletes rows, and compares search results after each write
// with those from an index without a cache.
func TestListsThatAreCachedNeverOutliveAWrite(t *testing.T) {
	t.Parallel()
	cached, plain := mustOpen(t, t.TempDir(), Options{}), mustOpen(t, t.TempDir(), Options{CacheBytes: 1})
	rng := rand.New(rand.NewPCG(2, 3))
	for step := range uint64(40) {
		for _, x := range []*Index{cached, plain} {
			rng := rand.New(rand.NewPCG(step, 4))
			var rows []index.Row
			for range 1 + rng.IntN(30) {
				rows = append(rows, crashRow("a", rng.Uint64N(4), rng.IntN(60)))
			}
			err := x.Write(t.Context(), crashSpace, rows)
			if step%5 == 4 {
				err = errorsOf(err, x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "a", From: 1, Below: 2}), x.mergeAll(t.Context(), crashSpace))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			q := index.Query{Text: "common words " + crashWord("a", rng.Uint64N(4), rng.IntN(60)), Limit: 1000} // all hits, because equal scores are unordered
			if diff := cmp.Diff(search(t.Context(), t, plain, q), search(t.Context(), t, cached, q)); diff != "" {
				t.Fatalf("after %d writes (-without cache +with):\n%s", step+1, diff)
			}
		}
	}
}

// search returns each hit's scores by key, along with the words' weights, as a string.
func search(ctx context.Context, t *testing.T, x *Index, q index.Query) map[string]string {
	t.Helper()
	r, err := x.Search(ctx, crashSpace, q)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"": fmt.Sprint(r.MaxLexical, r.TermWeights)}
	for _, h := range r.Hits {
		out[h.Key] = fmt.Sprint(h.Lexical, h.Terms, h.Counts)
	}
	return out
}

// TestListsOutliveMerges checks that a list is recomputed after a write but not after a merge, which doesn't change
// rows.
func TestListsOutliveMerges(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{idleTime: time.Hour})
	list := func() (found *lexical.TermList) {
		t.Helper()
		err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
			return s.Read(t.Context(), func(v store.View) (err error) {
				found, err = v.Lexical().TermList(t.Context(), []string{"common"})
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	var last *lexical.TermList
	for i := range 5 {
		mustWrite(t, x, crashSpace, []index.Row{crashRow([]string{"a", "b"}[i%2], 1, i)})
		now := list()
		if now == last || now.Postings != i+1 {
			t.Fatalf("after %d writes the list has %d rows", i+1, now.Postings)
		}
		last = now
	}
	if err := x.settle(t.Context(), crashSpace); err != nil {
		t.Fatal(err)
	}
	if n := segmentsOf(t, x); n != 1 {
		t.Fatalf("%d segments are left", n)
	}
	if list() != last {
		t.Error("a merge has made the list stale")
	}
	if err := x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "a", From: 1, Below: 2}); err != nil {
		t.Fatal(err)
	}
	if now := list(); now.Postings != 2 {
		t.Errorf("after three of five were deleted the list has %d rows", now.Postings)
	}
}
