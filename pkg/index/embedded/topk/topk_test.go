package topk

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTopK_equals_sorting(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	rng := rand.New(rand.NewPCG(41, 42))
	for range 400 {
		n, k, kinds := rng.IntN(3000), 1+rng.IntN(400), 1+rng.IntN(5000)
		all := make([]Scored, n)
		for i := range all {
			all[i] = Scored{uint32(i), float64(rng.IntN(kinds))} // with many ties
		}
		order := []string{"as it comes", "rising", "falling"}[rng.IntN(3)]
		switch order {
		case "rising":
			slices.SortFunc(all, func(a, b Scored) int { return int(a.Score - b.Score) })
		case "falling":
			slices.SortFunc(all, func(a, b Scored) int { return int(b.Score - a.Score) })
		}
		one, other := New(k), New(k)
		for i, s := range all {
			if i%3 == 0 {
				other.Offer(s)
			} else {
				one.Offer(s)
			}
			if threshold, full := one.Threshold(); full {
				if reached := countReaching(one.items, threshold); i%64 == 0 && reached < k {
					t.Fatalf("%d of %d %s: %d of %d kept reach the floor", i, n, order, reached, k)
				}
			}
		}
		one.Merge(other)
		slices.SortFunc(all, func(a, b Scored) int {
			if a.ranksAbove(b) {
				return -1
			}
			return 1
		})
		if diff := cmp.Diff(all[:min(n, k)], one.Best(k), cmp.AllowUnexported(Scored{})); diff != "" {
			t.Fatalf("the %d best of %d %s (-want +got):\n%s", k, n, order, diff)
		}
	}
}

func countReaching(pile []Scored, threshold float64) (n int) {
	for _, s := range pile {
		if s.Score >= threshold {
			n++
		}
	}
	return n
}
