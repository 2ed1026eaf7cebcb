package lexical

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice/sluice/pkg/index/bm25"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
)

// TestMaxScoreEqualsAFullScan compares the results with a full scan that adds up scores in word order. It covers common
// and rare words, few and many windows, few and many equal scores, and all kinds of filters.
func TestMaxScoreEqualsAFullScan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		slots := 1 + rng.Uint32N(40_000)
		v := Reader{Rows: int64(slots), Length: int64(slots) * 70, Slots: slots, Live: allLive(slots)}
		kinds := []uint32{1, 3, 200}[rng.IntN(3)]
		l := &Query{}
		for range 1 + rng.IntN(9) {
			share := []float64{0.0003, 0.01, 0.05, 0.3, 0.9}[rng.IntN(5)]
			clumps := rng.IntN(3) == 0 // occurs only in some slot ranges
			var ps []Posting
			for slot := range slots {
				if rng.Float64() < share && (!clumps || slot/5000%3 == 1) {
					ps = append(ps, Posting{slot, 1 + rng.Uint32N(kinds), 60 + rng.Uint32N(kinds)})
				}
			}
			l.lists = append(l.lists, v.listOf(ps).times(bm25.Repeated(1+rng.IntN(3))))
		}
		scores := make([]float64, slots)
		for _, list := range l.lists {
			for slot := range slots {
				if at, ok := list.find(slot, 0); ok {
					scores[slot] += list.impacts[list.kinds.at(at)]
				}
			}
		}
		var filter bitmap.Set
		if share := []float64{1, 0, 0.0001, 0.003, 0.1, 0.9}[rng.IntN(6)]; share < 1 {
			filter = bitmap.NewSet(slots)
			clumps := rng.IntN(2) == 0 // exclude whole windows
			for slot := range slots {
				if rng.Float64() < share && (!clumps || slot/6000%3 == 1) {
					filter.Add(slot)
				}
			}
		}
		for _, limit := range []int{1, 10, 200, 10_000} {
			want := topk.New(limit)
			for slot, score := range scores {
				if score > 0 && filter.Has(uint32(slot)) {
					want.Offer(topk.Scored{Slot: uint32(slot), Score: score})
				}
			}
			got := topk.New(limit)
			for _, s := range v.Top(l, filter, limit) {
				got.Offer(s)
			}
			if want, got := fmt.Sprint(want.Best(limit)), fmt.Sprint(got.Best(limit)); got != want {
				t.Fatalf("seed %d, %d slots, %d words, the best %d:\n%.300s\nwant\n%.300s", seed, slots, len(l.lists), limit, got, want)
			}
		}
		room := scratchPool.Get().(*scratch)
		if *room != (scratch{}) {
			t.Fatalf("seed %d: what a scan has left is not zero", seed)
		}
		scratchPool.Put(room)
	}
}
