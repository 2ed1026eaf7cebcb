package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTopK_keeps_what_sorting_puts_first(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	rng := rand.New(rand.NewPCG(41, 42))
	for range 400 {
		n, k, kinds := rng.IntN(3000), 1+rng.IntN(400), 1+rng.IntN(5000)
		all := make([]scored, n)
		for i := range all {
			all[i] = scored{uint32(i), float64(rng.IntN(kinds))} // many are equal
		}
		order := []string{"as it comes", "rising", "falling"}[rng.IntN(3)]
		switch order {
		case "rising":
			slices.SortFunc(all, func(a, b scored) int { return int(a.score - b.score) })
		case "falling":
			slices.SortFunc(all, func(a, b scored) int { return int(b.score - a.score) })
		}
		one, other := newTopK(k), newTopK(k)
		for i, s := range all {
			if i%3 == 0 {
				other.offer(s)
			} else {
				one.offer(s)
			}
			if floor, full := one.floor(); full {
				if reached := countReaching(one.pile, floor); i%64 == 0 && reached < k {
					t.Fatalf("%d of %d %s: %d of %d kept reach the floor", i, n, order, reached, k)
				}
			}
		}
		one.merge(other)
		slices.SortFunc(all, func(a, b scored) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		if diff := cmp.Diff(all[:min(n, k)], one.best(k), cmp.AllowUnexported(scored{})); diff != "" {
			t.Fatalf("the %d best of %d %s (-want +got):\n%s", k, n, order, diff)
		}
	}
}

func countReaching(pile []scored, floor float64) (n int) {
	for _, s := range pile {
		if s.score >= floor {
			n++
		}
	}
	return n
}
