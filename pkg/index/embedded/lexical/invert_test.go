package lexical

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/analysis"
)

// TestTermsOfBatchesAreMergedInOrder inverts batches of random words and compares the merged postings with a plain
// list. Some words share their first eight bytes.
func TestTermsOfBatchesAreMergedInOrder(t *testing.T) {
	t.Parallel()
	for _, batches := range []int{1, 2, 3, 7, 16} {
		rng := rand.New(rand.NewPCG(71, uint64(batches)))
		want := make(map[string][]Posting)
		var placed []Placed
		slot := uint32(0)
		for n := range batches {
			words := new(analysis.Analyzer).Batch()
			var rows []Document
			var slots []uint32
			for range rng.IntN(5) {
				slot += 1 + uint32(rng.IntN(3))
				p := Document{Length: uint32(rng.IntN(100))}
				for _, w := range rng.Perm(30)[:rng.IntN(20)] {
					term := fmt.Sprintf("beginning%d", w*w*w)
					if w%3 == 0 {
						term = term[w%8:]
					}
					p.Terms = append(p.Terms, analysis.TermCount{Term: words.Name(term), Count: uint32(1 + w)})
					want[term] = append(want[term], Posting{slot, uint32(1 + w), p.Length})
				}
				facet := fmt.Sprint("facet", rng.IntN(3))
				for range 1 + rng.IntN(2) { // to be stored only once
					p.Facets = append(p.Facets, words.Name(facet))
				}
				want[facet] = append(want[facet], Posting{slot, 1, 0})
				rows, slots = append(rows, p), append(slots, slot)
			}
			words.Name(fmt.Sprint("of no row", n))
			placed = append(placed, Placed{Invert(words, rows), slots})
		}
		got := make(map[string][]Posting)
		var order []string
		eachPlacedTerm(placed, func(term string, ps []Posting) {
			order = append(order, term)
			got[term] = slices.Clone(ps)
		})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Posting{})); diff != "" {
			t.Fatalf("%d batches (-want +got):\n%s", batches, diff)
		}
		if len(order) != len(want) || !slices.IsSorted(order) {
			t.Fatalf("%d batches: %d terms in the order %q", batches, len(order), order)
		}
	}
}
