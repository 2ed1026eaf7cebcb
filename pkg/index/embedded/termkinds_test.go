package embedded

import (
	"math/rand/v2"
	"testing"

	"github.com/sluice/sluice/pkg/index/bm25"
)

// TestAListCountsEveryPostingAsItIs compares lists of few and of very many different postings with what BM25 says of each.
func TestAListCountsEveryPostingAsItIs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(15, 16))
	for name, draw := range map[string]func() (times, length uint32){
		"few kinds":             func() (uint32, uint32) { return 1 + rng.Uint32N(3), 50 + rng.Uint32N(20) },
		"long rows":             func() (uint32, uint32) { return 1 + rng.Uint32N(40), rng.Uint32N(3000) },
		"more than 16 bits say": func() (uint32, uint32) { return 1 + rng.Uint32N(400), rng.Uint32N(100_000) },
	} {
		const rows = 90_000
		v := view{snapshot: &snapshot{rows: rows, length: rows * 70, slots: rows}}
		ps := make([]posting, rows)
		for i := range ps {
			times, length := draw()
			ps[i] = posting{uint32(i), times, length}
		}
		for range 2 { // the second time with what the first has left
			list := v.listOf(ps)
			scores := make([]float64, rows)
			list.addTo(scores)
			for i, p := range ps {
				want := list.weight * bm25.Saturated(float64(p.tf), bm25.Norm(float64(p.length), 70))
				if scores[i] != want || list.timesOf(i) != p.tf || list.slots[i] != p.slot {
					t.Fatalf("%s: posting %+v counts %v, want %v, and is there %d times", name, p, scores[i], want, list.timesOf(i))
				}
			}
		}
		if few := name != "more than 16 bits say"; few != (v.listOf(ps).more == nil) {
			t.Errorf("%s: %d kinds", name, len(v.listOf(ps).impacts))
		}
	}
}
