package lexical

import (
	"math/rand/v2"
	"testing"

	"github.com/sluice/sluice/pkg/index/bm25"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
)

// TestATermListKeepsEveryPosting compares term lists' scores with BM25, for few and very many kinds of postings in
// adjacent and distant slots.
func TestATermListKeepsEveryPosting(t *testing.T) {
	t.Parallel()
	const postings = 90_000
	rng := rand.New(rand.NewPCG(15, 16))
	for name, c := range map[string]struct {
		draw  func() (times, length uint32)
		bytes int64 // bytes per kind number
	}{
		"few kinds":             {func() (uint32, uint32) { return 1 + rng.Uint32N(3), 50 + rng.Uint32N(20) }, 1},
		"long rows":             {func() (uint32, uint32) { return 1 + rng.Uint32N(40), rng.Uint32N(3000) }, 2},
		"more than 16 bits say": {func() (uint32, uint32) { return 1 + rng.Uint32N(400), rng.Uint32N(100_000) }, 4},
	} {
		for _, apart := range []uint32{1, 2 * denseShare} {
			v := Reader{Rows: postings, Length: postings * 70, Slots: postings * apart, Live: allLive(postings * apart)}
			ps := make([]Posting, postings)
			for i := range ps {
				times, length := c.draw()
				ps[i] = Posting{uint32(i)*apart + rng.Uint32N(apart), times, length}
			}
			var list *TermList
			for range 2 { // the second run reuses the first run's buffers
				list = v.listOf(ps)
			}
			from := 0
			for i, p := range ps {
				want := list.weight * bm25.Saturated(float64(p.tf), bm25.Norm(float64(p.length), 70))
				at, ok := list.find(p.Slot, from)
				if kind := list.kinds.at(at); !ok || at != i || list.impacts[kind] != want || list.frequencies[kind] != p.tf || want > list.maxImpact {
					t.Fatalf("%s: posting %+v is found: %v, at %d and not %d; it counts %v, want %v, and is there %d times", name, p, ok, at, i, list.impacts[kind], want, list.frequencies[kind])
				}
				if next := p.Slot + 1; apart > 1 && next < v.Slots && (i+1 == len(ps) || ps[i+1].Slot != next) {
					if _, ok := list.find(next, at); ok {
						t.Fatalf("%s: slot %d is found and has no posting", name, next)
					}
				}
				from = at
			}
			if dense := apart == 1; dense != list.dense() || list.kinds.bytes() != c.bytes*postings {
				t.Errorf("%s: one in %d slots: dense: %v, %d bytes for the kinds of %d postings", name, apart, list.dense(), list.kinds.bytes(), postings)
			}
		}
	}
}

// allLive returns a set with all slots below `slots`.
func allLive(slots uint32) bitmap.Bitmap {
	edit := bitmap.Bitmap{}.Edit()
	for slot := range slots {
		edit.Set(slot)
	}
	return edit.Done()
}
