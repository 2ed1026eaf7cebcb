package embedded

import "slices"

// scored is a slot with its score in one leg.
type scored struct {
	slot  uint32
	score float64
}

// before reports whether a ranks above b: by score, then the lower slot, so that a ranking never depends on the order of
// scanning.
func (a scored) before(b scored) bool {
	return a.score > b.score || a.score == b.score && a.slot < b.slot
}

// pileRoom is how many more than are wanted a pile takes in at least until it parts the best from the others.
const pileRoom = 64

// topK keeps the k best of what it is offered, on a pile: what may be among them is put on top, and when there are too many by
// a quarter, those that are not are taken away at once, which is quicker by far than keeping an order.
type topK struct {
	k    int
	most int // how many there are at most
	pile []scored
	last scored // the worst of k that were parted from the others
	full bool   // there is such
}

func newTopK(k int) *topK {
	most := k + max(pileRoom, k/4)
	return &topK{k: k, most: most, pile: make([]scored, 0, min(most, 1024))}
}

// begin empties the pile for the k best of something else.
func (t *topK) begin(k int) {
	*t = topK{k: k, most: k + max(pileRoom, k/4), pile: t.pile[:0]}
}

// floor returns a score that k of those offered have reached, when it is known: what is below it need not be offered.
func (t *topK) floor() (float64, bool) { return t.last.score, t.full }

func (t *topK) offer(s scored) {
	if t.full && !s.before(t.last) {
		return
	}
	t.pile = append(t.pile, s)
	if len(t.pile) >= t.most {
		t.part()
	}
}

// part takes away all but the k best, and so makes the floor as high as it can be.
func (t *topK) part() {
	if t.k == 0 || len(t.pile) < t.k {
		t.pile = t.pile[:min(t.k, len(t.pile))]
		return
	}
	selectBest(t.pile, t.k)
	t.pile = t.pile[:t.k]
	t.last, t.full = t.pile[t.k-1], true
}

// firstPart makes a floor as soon as there are enough for one.
func (t *topK) firstPart() {
	if !t.full && len(t.pile) >= t.k {
		t.part()
	}
}

// merge offers all that another one has kept.
func (t *topK) merge(other *topK) {
	for _, s := range other.pile {
		t.offer(s)
	}
}

// kept returns the best in no order.
func (t *topK) kept() []scored {
	t.part()
	return t.pile
}

// best returns the n best of what is kept, best first.
func (t *topK) best(n int) []scored {
	kept := t.kept()
	slices.SortFunc(kept, func(a, b scored) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	return kept[:min(n, len(kept))]
}

// selectBest brings the k best to the front, 1 ≤ k ≤ len(s), and the worst of them to their end.
func selectBest(s []scored, k int) {
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
