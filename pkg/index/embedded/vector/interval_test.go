package vector

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
)

func TestSearchesByIntervalsAreExact(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	const rows = 5000
	for name, source := range drawings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(91, 92))
			s := vectorsOnly(t, source.dimensions, rows, func() []float32 { return source.next(rng) })
			some := bitmap.NewSet(s.Slots)
			for slot := range s.Slots {
				if rng.IntN(3) == 0 {
					some.Add(slot)
				}
			}
			for _, filter := range []bitmap.Set{nil, some} {
				for _, limit := range []int{1, 10, 200, 3000} {
					query := source.next(rng)
					want, err := ScanExact(t.Context(), s, filter, query, limit, rows)
					if err != nil {
						t.Fatal(err)
					}
					got, err := ScanIntervals(t.Context(), s, filter, query, limit, rows)
					if err != nil {
						t.Fatal(err)
					}
					best := topk.New(limit)
					for _, row := range got {
						best.Offer(row)
					}
					if diff := cmp.Diff(slices.Clone(want.Best(limit)), best.Best(limit)); diff != "" {
						t.Errorf("the nearest %d, filtered: %t (-all vectors +intervals):\n%s", limit, filter != nil, diff)
					}
				}
			}
		})
	}
}
