package embedded

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
)

const (
	// boundSlack makes a sum of bounds no less than what rounding may make of a sum, in another order, of what they bound.
	boundSlack = 1 + 1e-9
	// fewTouched is up to how many postings in a window their slots are gone through, in place of all.
	fewTouched = windowSlots / 4
	// fewPassing is up to how many slots of a window pass a filter if they are looked up in the lists.
	fewPassing = windowSlots / 64
	// lookupCost is how many postings are gone through in the time in which a row is looked up in one list.
	lookupCost = 5
)

// scanning goes through the slots of a space by windows, and finds the best rows by words. A window in which no row can be among
// them is left out, and in the others the words that count least, which together cannot bring a row among the best, are looked up
// for those rows alone that the other words have brought near (MaxScore: Turtle and Flood, Query evaluation: strategies and
// optimizations, Information Processing & Management 31(6), 1995).
type scanning struct {
	*windowRoom
	lists  []*termList
	filter slotSet
	top    *topK

	// Of each list, about the window that is looked at.
	from   []int     // its first posting; of a list that is not dense, while rows are looked up, the first that may be of the next
	next   []int     // the first one beyond
	bounds []float64 // the most that the word adds to a row; 0 where no row has it
	lesser []bool    // whether it is looked up

	order []int // lists that have postings in the window
}

// windowRoom is where a window's rows are scored. It is all zero between windows.
type windowRoom struct {
	scores  [windowSlots]float64
	touched [windowWords]uint64
}

var windowPool = sync.Pool{New: func() any { return new(windowRoom) }}

// topWords returns the best rows by words that pass a filter.
func (v reader) topWords(l *lexical, filter slotSet, limit int) []scored {
	if len(l.lists) == 0 {
		return nil
	}
	room := windowPool.Get().(*windowRoom)
	defer windowPool.Put(room)
	n := len(l.lists)
	numbers := make([]int, 3*n)
	s := &scanning{
		windowRoom: room, lists: l.lists, filter: filter, top: newTopK(limit),
		from: numbers[:n:n], next: numbers[n : 2*n : 2*n], order: numbers[2*n:][:0],
		bounds: make([]float64, n), lesser: make([]bool, n),
	}
	for w := range windowsOf(v.slots) {
		s.window(w)
	}
	return s.top.kept()
}

// window offers the rows of a window that may be among the best.
func (s *scanning) window(w int) {
	var passing slotSet // of the window's slots
	passes := windowSlots
	if s.filter != nil {
		passing = s.filter[w*windowWords : min((w+1)*windowWords, len(s.filter))]
		passes = passing.size()
	}
	if passes == 0 {
		return
	}
	total := s.bound(w)
	floor, full := s.top.floor()
	if total == 0 || full && total <= floor { // of equal ones the first is kept
		return
	}
	if passes <= fewPassing {
		passing.each(func(i int) { s.offer(w, i) })
	} else {
		s.score(w, floor, full, passing)
	}
	s.top.firstPart()
}

// bound finds out what each word adds to a row of the window at most, and returns what all of them do.
func (s *scanning) bound(w int) (total float64) {
	begin := uint32(w) * windowSlots
	end := begin + windowSlots
	s.order = s.order[:0]
	for i, t := range s.lists {
		s.lesser[i] = false
		if t.dense() {
			s.bounds[i] = float64(t.most[w])
			s.from[i], s.next[i] = int(t.from[w*windowBlocks]), int(t.from[(w+1)*windowBlocks])
		} else {
			s.bounds[i] = t.top
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
func (s *scanning) score(w int, floor float64, full bool, passing slotSet) {
	rest, least := 0.0, 0.0 // what the lesser words add at most, and what the others must add more than
	if full {
		rest = s.part(floor)
		least = max(floor-rest, 0)
	}
	postings := 0
	for _, i := range s.order {
		if !s.lesser[i] {
			postings += s.next[i] - s.from[i]
		}
	}
	few := postings <= fewTouched
	for i, t := range s.lists {
		if s.bounds[i] > 0 && !s.lesser[i] {
			t.addWindow(s.windowRoom, w, s.from[i], s.next[i], few)
		}
	}
	if few || passing != nil {
		candidates := passing
		if few {
			if candidates = s.touched[:]; passing != nil {
				candidates = candidates[:len(passing)]
				candidates.keep(passing)
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
func (s *scanning) offerScored(w, i int, rest, least float64) float64 {
	if rest > 0 {
		s.offer(w, i)
	} else {
		s.top.offer(scored{uint32(w*windowSlots + i), s.scores[i]})
	}
	if floor, full := s.top.floor(); full {
		return max(floor-rest, 0)
	}
	return least
}

// part finds the words that together cannot bring a row among the best, and returns what they add at most: none, where to look
// those rows up that have others would take longer than to go through all that have these.
func (s *scanning) part(floor float64) (rest float64) {
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
		s.lesser[i] = true
	}
	return rest
}

// offer looks a row of the window up in all lists. It is called in order of slots.
func (s *scanning) offer(w, i int) {
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
		s.top.offer(scored{slot, score})
	}
}
