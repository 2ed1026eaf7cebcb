package topk

import "slices"

// Scored is a slot with its score in one leg.
type Scored struct {
	Slot  uint32
	Score float64
}

// before reports whether a ranks above b: by score, then the lower slot, so that a ranking never depends on the order of
// scanning.
func (a Scored) before(b Scored) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Slot < b.Slot
}

// minSpare is how many more than are wanted a pile takes in at least until it parts the best from the others.
const minSpare = 64

// TopK keeps the k best of what it is offered, on a pile: what may be among them is put on top, and when there are too many by
// a quarter, those that are not are taken away at once, which is quicker by far than keeping an order.
type TopK struct {
	K        int
	capacity int // how many there are at most
	items    []Scored
	kth      Scored // the worst of k that were parted from the others
	full     bool   // there is such
}

func New(k int) *TopK {
	most := k + max(minSpare, k/4)
	return &TopK{K: k, capacity: most, items: make([]Scored, 0, min(most, 1024))}
}

// Reset empties the pile for the k best of something else.
func (t *TopK) Reset(k int) {
	*t = TopK{K: k, capacity: k + max(minSpare, k/4), items: t.items[:0]}
}

// Threshold returns a score that k of those offered have reached, when it is known: what is below it need not be offered.
func (t *TopK) Threshold() (float64, bool) { return t.kth.Score, t.full }

func (t *TopK) Offer(s Scored) {
	if t.full && !s.before(t.kth) {
		return
	}
	t.items = append(t.items, s)
	if len(t.items) >= t.capacity {
		t.Compact()
	}
}

// Compact takes away all but the k best, and so makes the floor as high as it can be.
func (t *TopK) Compact() {
	if t.K == 0 || len(t.items) < t.K {
		t.items = t.items[:min(t.K, len(t.items))]
		return
	}
	selectBest(t.items, t.K)
	t.items = t.items[:t.K]
	t.kth, t.full = t.items[t.K-1], true
}

// CompactOnce makes a floor as soon as there are enough for one.
func (t *TopK) CompactOnce() {
	if !t.full && len(t.items) >= t.K {
		t.Compact()
	}
}

// Merge offers all that another one has kept.
func (t *TopK) Merge(other *TopK) {
	for _, s := range other.items {
		t.Offer(s)
	}
}

// Items returns the best in no order.
func (t *TopK) Items() []Scored {
	t.Compact()
	return t.items
}

// Best returns the n best of what is kept, best first.
func (t *TopK) Best(n int) []Scored {
	kept := t.Items()
	slices.SortFunc(kept, func(a, b Scored) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	return kept[:min(n, len(kept))]
}

// selectBest brings the k best to the front, 1 ≤ k ≤ len(s), and the worst of them to their end.
func selectBest(s []Scored, k int) {
	from, to := 0, len(s) // where the k-th best is
	for to-from > 1 {
		// The middle one of three parts the rest: scans offer much in an order of its own, which ends would part badly.
		a, b, c := s[from], s[from+(to-from)/2], s[to-1]
		if b.before(a) {
			a, b = b, a
		}
		if c.before(b) {
			if b = c; c.before(a) {
				b = a
			}
		}
		i, j := from, to-1
		for i <= j {
			for s[i].before(b) {
				i++
			}
			for b.before(s[j]) {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k-1 <= j:
			to = j + 1
		case k-1 >= i:
			from = i
		default:
			return
		}
	}
}
