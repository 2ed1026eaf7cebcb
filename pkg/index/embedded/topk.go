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

// topK keeps the k best of what it is offered: a binary heap with the worst on top.
type topK struct {
	k    int
	heap []scored
}

func newTopK(k int) *topK { return &topK{k: k, heap: make([]scored, 0, min(k, 1024))} }

// floor returns the worst score that is kept, when k are kept: what does not beat it need not be offered.
func (t *topK) floor() (float64, bool) {
	if len(t.heap) < t.k {
		return 0, false
	}
	return t.heap[0].score, true
}

func (t *topK) offer(s scored) {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, s)
		t.up(len(t.heap) - 1)
		return
	}
	if t.k > 0 && s.before(t.heap[0]) {
		t.heap[0] = s
		t.down(0)
	}
}

// merge offers all that another one has kept.
func (t *topK) merge(other *topK) {
	for _, s := range other.heap {
		t.offer(s)
	}
}

// best returns the n best of what is kept, best first.
func (t *topK) best(n int) []scored {
	slices.SortFunc(t.heap, func(a, b scored) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	return t.heap[:min(n, len(t.heap))]
}

func (t *topK) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.heap[parent].before(t.heap[i]) {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

func (t *topK) down(i int) {
	for {
		worst := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(t.heap) && t.heap[worst].before(t.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}
