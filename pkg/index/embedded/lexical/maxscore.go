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
	// boundSlack makes a sum of bounds no less than what rounding may make of a sum, in another order, of what they bound.
	boundSlack = 1 + 1e-9
	// sparsePostings is up to how many postings in a window their slots are gone through, in place of all.
	sparsePostings = windowSlots / 4
	// sparsePassing is up to how many slots of a window pass a filter if they are looked up in the lists.
	sparsePassing = windowSlots / 64
	// lookupCost is how many postings are gone through in the time in which a row is looked up in one list.
	lookupCost = 5
)

// maxScore goes through the slots of a space by windows, and finds the best rows by words. A window in which no row can be among
// them is left out, and in the others the words that count least, which together cannot bring a row among the best, are looked up
// for those rows alone that the other words have brought near (MaxScore: Turtle and Flood, Query evaluation: strategies and
// optimizations, Information Processing & Management 31(6), 1995).
type maxScore struct {
	*scratch
	lists  []*TermList
	filter bitmap.Set
	top    *topk.TopK

	// Of each list, about the window that is looked at.
	from         []int     // its first posting; of a list that is not dense, while rows are looked up, the first that may be of the next
	next         []int     // the first one beyond
	bounds       []float64 // the most that the word adds to a row; 0 where no row has it
	nonEssential []bool    // whether it is looked up

	order []int // lists that have postings in the window
}

// scratch is where a window's rows are scored. It is all zero between windows.
type scratch struct {
	scores  [windowSlots]float64
	touched [windowWords]uint64
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

// Top returns the best rows by words that pass a filter.
func (v Reader) Top(l *Query, filter bitmap.Set, limit int) []topk.Scored {
	if len(l.lists) == 0 {
		return nil
	}
	room := scratchPool.Get().(*scratch)
	defer scratchPool.Put(room)
	n := len(l.lists)
	numbers := make([]int, 3*n)
	s := &maxScore{
		scratch: room, lists: l.lists, filter: filter, top: topk.New(limit),
		from: numbers[:n:n], next: numbers[n : 2*n : 2*n], order: numbers[2*n:][:0],
		bounds: make([]float64, n), nonEssential: make([]bool, n),
	}
	for w := range windowsOf(v.Slots) {
		s.window(w)
	}
	return s.top.Items()
}

// window offers the rows of a window that may be among the best.
func (s *maxScore) window(w int) {
	var passing bitmap.Set // of the window's slots
	passes := windowSlots
	if s.filter != nil {
		passing = s.filter[w*windowWords : min((w+1)*windowWords, len(s.filter))]
		passes = passing.Len()
	}
	if passes == 0 {
		return
	}
	total := s.setBounds(w)
	floor, full := s.top.Threshold()
	if total == 0 || full && total <= floor { // of equal ones the first is kept
		return
	}
	if passes <= sparsePassing {
		passing.Each(func(i int) { s.offer(w, i) })
	} else {
		s.score(w, floor, full, passing)
	}
	s.top.CompactOnce()
}

// setBounds finds out what each word adds to a row of the window at most, and returns what all of them do.
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
			s.from[i], s.next[i] = t.between(begin, end, s.next[i])
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

// score adds up what words count in the rows of the window, and offers those that may be among the best.
func (s *maxScore) score(w int, floor float64, full bool, passing bitmap.Set) {
	rest, least := 0.0, 0.0 // what the lesser words add at most, and what the others must add more than
	if full {
		rest = s.partition(floor)
		least = max(floor-rest, 0)
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
				if i := at*64 + bits.TrailingZeros64(word); s.scores[i%windowSlots] > least {
					least = s.offerScored(w, i, rest, least)
				}
			}
		}
	} else {
		for i := range s.scores {
			if s.scores[i] > least {
				least = s.offerScored(w, i, rest, least)
			}
		}
	}
	clear(s.scores[:])
	clear(s.touched[:])
}

// offerScored offers a row that scores something without the lesser words, and returns what the next one must score more than.
func (s *maxScore) offerScored(w, i int, rest, least float64) float64 {
	if rest > 0 {
		s.offer(w, i)
	} else {
		s.top.Offer(topk.Scored{Slot: uint32(w*windowSlots + i), Score: s.scores[i]})
	}
	if floor, full := s.top.Threshold(); full {
		return max(floor-rest, 0)
	}
	return least
}

// partition finds the words that together cannot bring a row among the best, and returns what they add at most: none, where to look
// those rows up that have others would take longer than to go through all that have these.
func (s *maxScore) partition(floor float64) (rest float64) {
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(s.bounds[a], s.bounds[b]) })
	lesser, gone := 0, 0 // how many there are, and their postings
	for _, i := range s.order[:len(s.order)-1] {
		more := (rest + s.bounds[i]) * boundSlack
		if more > floor {
			break
		}
		rest = more
		lesser++
		gone += s.next[i] - s.from[i]
	}
	left := 0
	for _, i := range s.order[lesser:] {
		left += s.next[i] - s.from[i]
	}
	if left*len(s.order)*lookupCost > gone {
		return 0
	}
	for _, i := range s.order[:lesser] {
		s.nonEssential[i] = true
	}
	return rest
}

// offer looks a row of the window up in all lists. It is called in order of slots.
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
			score += t.impacts[t.kinds.of(at)]
		}
	}
	if score > 0 {
		s.top.Offer(topk.Scored{Slot: slot, Score: score})
	}
}
