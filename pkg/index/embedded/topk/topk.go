// Package topk selects the k best items by score.
package topk

import "slices"

// Scored is a slot with its score: a BM25 score or an inner product.
type Scored struct {
	Slot  uint32
	Score float64
}

// ranksAbove reports whether a ranks above b: the higher score wins, then the lower slot. This makes the selection
// independent of the scan order.
func (a Scored) ranksAbove(b Scored) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Slot < b.Slot
}

// Minimum number of items beyond K that a TopK buffers before it drops the worst ones.
const minSpare = 64

// TopK keeps the K best of the offered items. It is an unordered buffer: when it holds about a quarter more than K
// items, quickselect drops all but the K best. This takes amortised constant time per item; a heap would take log K.
type TopK struct {
	K        int
	capacity int
	items    []Scored
	kth      Scored // worst item after the last selection; valid if `full` is set
	full     bool
}

// New returns a TopK that keeps the k best items.
func New(k int) *TopK {
	t := &TopK{items: make([]Scored, 0, min(k+max(minSpare, k/4), 1024))}
	t.Reset(k)
	return t
}

// Reset removes all items and sets k. It reuses the TopK's memory.
func (t *TopK) Reset(k int) {
	*t = TopK{K: k, capacity: k + max(minSpare, k/4), items: t.items[:0]}
}

// Threshold returns a score that at least K offered items reach, so there's no need to offer lower ones. `known` is
// false if there's no such score yet.
func (t *TopK) Threshold() (score float64, known bool) { return t.kth.Score, t.full }

// Offer adds an item unless it can't be among the K best.
func (t *TopK) Offer(s Scored) {
	if t.full && !s.ranksAbove(t.kth) {
		return
	}
	t.items = append(t.items, s)
	if len(t.items) >= t.capacity {
		t.Compact()
	}
}

// Compact drops all but the K best items, which raises the threshold as far as possible.
func (t *TopK) Compact() {
	if t.K == 0 || len(t.items) < t.K {
		t.items = t.items[:min(t.K, len(t.items))]
		return
	}
	selectBest(t.items, t.K)
	t.items = t.items[:t.K]
	t.kth, t.full = t.items[t.K-1], true
}

// CompactOnce calls Compact to set a first threshold, if there are enough items for one.
func (t *TopK) CompactOnce() {
	if !t.full && len(t.items) >= t.K {
		t.Compact()
	}
}

// Merge offers the items of another TopK.
func (t *TopK) Merge(other *TopK) {
	for _, s := range other.items {
		t.Offer(s)
	}
}

// Items returns the K best items, or all if there are fewer, in no particular order. The TopK owns the slice.
func (t *TopK) Items() []Scored {
	t.Compact()
	return t.items
}

// Best returns the n best items, best first. n must not exceed K. The TopK owns the slice.
func (t *TopK) Best(n int) []Scored {
	kept := t.Items()
	slices.SortFunc(kept, func(a, b Scored) int {
		if a.ranksAbove(b) {
			return -1
		}
		return 1
	})
	return kept[:min(n, len(kept))]
}

// selectBest uses quickselect to move the k best items to the front, ending with the k-th best. It requires 1 ≤ k ≤
// len(s).
func selectBest(s []Scored, k int) {
	from, to := 0, len(s) // contains the index of the k-th best
	for to-from > 1 {
		// Scans often offer items in order, so pick the median of three as the pivot.
		a, b, c := s[from], s[from+(to-from)/2], s[to-1]
		if b.ranksAbove(a) {
			a, b = b, a
		}
		if c.ranksAbove(b) {
			if b = c; c.ranksAbove(a) {
				b = a
			}
		}
		i, j := from, to-1
		for i <= j {
			for s[i].ranksAbove(b) {
				i++
			}
			for b.ranksAbove(s[j]) {
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
