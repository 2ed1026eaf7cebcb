package lexical

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
)

const (
	// boundSlack inflates sums of bounds, because scores are summed in a different order and may round up past their
	// bound.
	boundSlack = 1 + 1e-9
	// In a window with at most sparsePostings postings, only the slots marked as touched are examined, not the whole
	// window.
	sparsePostings = windowSlots / 4
	// If at most sparseFiltered slots in a window pass the filter, each of these slots is looked up in the lists.
	sparseFiltered = windowSlots / 64
	// Cost of looking up a row in a list, relative to reading a posting.
	lookupCost = 5
)

// maxScore finds the best rows window by window. It skips a window if no row in it can exceed the threshold θ. In other
// windows, it splits the lists into essential and non-essential ones. The non-essential lists are those with the lowest
// bounds, as long as the sum of their bounds stays below θ. A row that is only in non-essential lists cannot exceed θ,
// so these lists are read only for rows whose score in the essential lists comes close to θ. (MaxScore: Turtle and
// Flood, Query Evaluation: Strategies and Optimizations, Information Processing & Management 31(6), 1995. Windows
// provide block-max bounds.)
type maxScore struct {
	*scratch
	lists  []*TermList
	filter bitmap.Set
	top    *topk.TopK

	// For each list, in the current window:
	from         []int     // first posting; while rows are looked up in a sparse list, the next candidate
	next         []int     // first posting after the window
	bounds       []float64 // largest impact; 0 if there are no postings
	nonEssential []bool

	order []int // lists with postings in the window
}

// scratch accumulates the scores in a window. It is all zeros between windows.
type scratch struct {
	scores  [windowSlots]float64
	touched [windowWords]uint64
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

// Top returns up to `limit` live slots that pass the filter and have the best BM25 scores, in no particular order.
func (v Reader) Top(l *Query, filter bitmap.Set, limit int) []topk.Scored {
	if len(l.lists) == 0 {
		return nil
	}
	buf := scratchPool.Get().(*scratch)
	defer scratchPool.Put(buf)
	n := len(l.lists)
	numbers := make([]int, 3*n)
	s := &maxScore{
		scratch: buf, lists: l.lists, filter: filter, top: topk.New(limit),
		from: numbers[:n:n], next: numbers[n : 2*n : 2*n], order: numbers[2*n:][:0],
		bounds: make([]float64, n), nonEssential: make([]bool, n),
	}
	for w := range windowsOf(v.Slots) {
		s.window(w)
	}
	return s.top.Items()
}

// window searches one window and passes rows that may be among the best to top.Offer.
func (s *maxScore) window(w int) {
	var passing bitmap.Set // the window's part of the filter
	passes := windowSlots
	if s.filter != nil {
		passing = s.filter[w*windowWords : min((w+1)*windowWords, len(s.filter))]
		passes = passing.Len()
	}
	if passes == 0 {
		return
	}
	total := s.setBounds(w)
	threshold, full := s.top.Threshold()
	if total == 0 || full && total <= threshold { // if scores are equal, the lower slot ranks first
		return
	}
	if passes <= sparseFiltered {
		passing.Each(func(i int) { s.offer(w, i) })
	} else {
		s.score(w, threshold, full, passing)
	}
	s.top.CompactOnce()
}

// setBounds sets each list's upper bound on its contribution to a score in window w, and returns the sum.
func (s *maxScore) setBounds(w int) (total float64) {
	begin := uint32(w) * windowSlots
	end := begin + windowSlots
	s.order = s.order[:0]
	for i, t := range s.lists {
		s.nonEssential[i] = false
		if t.dense() {
			s.bounds[i] = float64(t.windowMax[w])
			s.from[i], s.next[i] = int(t.blockStart[w*windowBlocks]), int(t.blockStart[(w+1)*windowBlocks])
		} else {
			s.bounds[i] = t.maxImpact
			s.from[i], s.next[i] = t.rangeOf(begin, end, s.next[i])
		}
		if s.from[i] == s.next[i] {
			s.bounds[i] = 0
			continue
		}
		s.order = append(s.order, i)
		total += s.bounds[i]
	}
	return total * boundSlack
}

// score adds up the impacts in the essential lists and passes rows that may be among the best to s.top.Offer.
func (s *maxScore) score(w int, threshold float64, full bool, passing bitmap.Set) {
	otherBound, required := 0.0, 0.0 // bound of the non-essential lists; score that the essential lists must exceed
	if full {
		otherBound = s.partition(threshold)
		required = max(threshold-otherBound, 0)
	}
	postings := 0
	for _, i := range s.order {
		if !s.nonEssential[i] {
			postings += s.next[i] - s.from[i]
		}
	}
	few := postings <= sparsePostings
	for i, t := range s.lists {
		if s.bounds[i] > 0 && !s.nonEssential[i] {
			t.addWindow(s.scratch, w, s.from[i], s.next[i], few)
		}
	}
	if few || passing != nil {
		candidates := passing
		if few {
			if candidates = s.touched[:]; passing != nil {
				candidates = candidates[:len(passing)]
				candidates.Intersect(passing)
			}
		}
		for at, word := range candidates {
			for ; word != 0; word &= word - 1 {
				if i := at*64 + bits.TrailingZeros64(word); s.scores[i%windowSlots] > required {
					required = s.offerPartial(w, i, otherBound, required)
				}
			}
		}
	} else {
		for i := range s.scores {
			if s.scores[i] > required {
				required = s.offerPartial(w, i, otherBound, required)
			}
		}
	}
	clear(s.scores[:])
	clear(s.touched[:])
}

// offerPartial offers row i in window w to top. So far, the row's score covers only the essential lists; the
// non-essential lists add at most otherBound. offerPartial returns the new value of `required`: the essential score
// that the next row must exceed to be offered. `required` doesn't change until there is a threshold.
func (s *maxScore) offerPartial(w, i int, otherBound, required float64) float64 {
	if otherBound > 0 {
		s.offer(w, i)
	} else {
		s.top.Offer(topk.Scored{Slot: uint32(w*windowSlots + i), Score: s.scores[i]})
	}
	if threshold, full := s.top.Threshold(); full {
		return max(threshold-otherBound, 0)
	}
	return required
}

// partition marks the non-essential lists and returns the sum of their bounds. Promising rows will be looked up in all
// lists, one at a time. If that could cost more than reading the non-essential lists, partition marks none and returns
// 0.
func (s *maxScore) partition(threshold float64) (otherBound float64) {
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.bounds[a], s.bounds[b]) })
	count, skipped := 0, 0 // number of non-essential lists and of their postings
	for _, i := range s.order[:len(s.order)-1] {
		more := (otherBound + s.bounds[i]) * boundSlack
		if more > threshold {
			break
		}
		otherBound = more
		count++
		skipped += s.next[i] - s.from[i]
	}
	read := 0
	for _, i := range s.order[count:] {
		read += s.next[i] - s.from[i]
	}
	if read*len(s.order)*lookupCost > skipped {
		return 0
	}
	for _, i := range s.order[:count] {
		s.nonEssential[i] = true
	}
	return otherBound
}

// offer looks up a row in all lists, adds up its score and offers it to s.top. Slots must be passed in ascending order.
func (s *maxScore) offer(w, i int) {
	slot := uint32(w*windowSlots + i)
	score := 0.0
	for j, t := range s.lists {
		if s.bounds[j] == 0 {
			continue
		}
		at, ok := t.find(slot, s.from[j])
		if !t.dense() {
			s.from[j] = at
		}
		if ok {
			score += t.impacts[t.kinds.at(at)]
		}
	}
	if score > 0 {
		s.top.Offer(topk.Scored{Slot: slot, Score: score})
	}
}
