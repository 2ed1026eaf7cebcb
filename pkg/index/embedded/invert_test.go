package embedded

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/analysis"
)

// TestTermsOfBatchesAreReadTogetherInOrder inverts batches of random words, of which some begin with the same eight bytes, and compares
// what is read of all of them with a plain list.
func TestTermsOfBatchesAreReadTogetherInOrder(t *testing.T) {
	t.Parallel()
	for _, batches := range []int{1, 2, 3, 7, 16} {
		rng := rand.New(rand.NewPCG(71, uint64(batches)))
		want := make(map[string][]posting)
		var placed []placing
		slot := uint32(0)
		for n := range batches {
			words := new(analysis.Analyzer).Batch()
			var rows []document
			var slots []uint32
			for range rng.IntN(5) {
				slot += 1 + uint32(rng.IntN(3))
				p := document{length: uint32(rng.IntN(100))}
				for _, w := range rng.Perm(30)[:rng.IntN(20)] {
					term := fmt.Sprintf("beginning%d", w*w*w)
					if w%3 == 0 {
						term = term[w%8:]
					}
					p.terms = append(p.terms, analysis.TermCount{Term: words.Name(term), Count: uint32(1 + w)})
					want[term] = append(want[term], posting{slot, uint32(1 + w), p.length})
				}
				facet := fmt.Sprint("facet", rng.IntN(3))
				for range 1 + rng.IntN(2) { // more than once is told once
					p.facets = append(p.facets, words.Name(facet))
				}
				want[facet] = append(want[facet], posting{slot, 1, 0})
				rows, slots = append(rows, p), append(slots, slot)
			}
			words.Name(fmt.Sprint("of no row", n))
			placed = append(placed, placing{invert(words, rows), slots})
		}
		got := make(map[string][]posting)
		var order []string
		eachTermPlaced(placed, func(term string, ps []posting) {
			order = append(order, term)
			got[term] = slices.Clone(ps)
		})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(posting{})); diff != "" {
			t.Fatalf("%d batches (-want +got):\n%s", batches, diff)
		}
		if len(order) != len(want) || !slices.IsSorted(order) {
			t.Fatalf("%d batches: %d terms in the order %q", batches, len(order), order)
		}
	}
}
