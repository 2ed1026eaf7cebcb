package retrieve

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// TestResultsAreNotChangedByLaterQueries runs concurrent queries on different content, some with an explanation, and
// compares all results at the end.
func TestResultsAreNotChangedByLaterQueries(t *testing.T) {
	t.Parallel()
	const worlds, rounds = 4, 30
	var all sync.WaitGroup
	for n := range worlds {
		var hits []index.Hit
		for i := range 20 * (n + 1) {
			id := fmt.Sprintf("world-%d-document-%d", n, i/3)
			hits = append(hits, index.Hit{
				Row:     index.Row{DatasourceID: id, Ordinal: i % 3, Text: fmt.Sprintf("text %d of world %d", i, n), Heading: fmt.Sprint("heading ", i)},
				Lexical: float64(i%7) + float64(n), Dense: float64(i%11) / 12, Terms: []string{"gate"}, Counts: []int{1 + i%3}, Length: 10 + i,
			})
		}
		w := newFixture(hits...)
		all.Go(func() {
			r := New(Deps{Indexes: w, Embedders: w, Catalog: w}, Options{})
			var got [rounds]Result
			for i := range got {
				var err error
				got[i], err = r.Retrieve(t.Context(), Request{
					WorkspaceID: store.WorkspaceID, Datastores: []domain.Datastore{store}, Query: "gate", TopK: 10, Explain: i%2 == 0,
				})
				if err != nil || len(got[i].Fragments) != 10 {
					t.Errorf("%d fragments: %v", len(got[i].Fragments), err)
				}
			}
			for i := range got {
				if diff := cmp.Diff(got[i%2], got[i]); diff != "" {
					t.Errorf("world %d, round %d (-first +got):\n%s", n, i, diff)
					return
				}
			}
		})
	}
	all.Wait()
}
