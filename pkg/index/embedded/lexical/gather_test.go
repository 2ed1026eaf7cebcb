package lexical

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMergedPostingsAreSortedBySlot(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 3))
	for range 500 {
		g := &postingsMerger{}
		times := make(map[uint32]uint32)
		for range rng.IntN(7) {
			from, slot := len(g.postings), rng.Uint32N(50)
			for range rng.IntN(20) {
				p := Posting{slot, 1 + rng.Uint32N(3), 9}
				g.postings = append(g.postings, p)
				times[p.Slot] += p.tf
				slot += 1 + rng.Uint32N(9)
			}
			g.add(from)
		}
		var want []Posting
		for slot, tf := range times {
			want = append(want, Posting{slot, tf, 9})
		}
		slices.SortFunc(want, func(a, b Posting) int { return int(a.Slot) - int(b.Slot) })
		got := slices.Concat(g.parts()...)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
