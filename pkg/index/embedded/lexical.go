package embedded

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/bm25"
)

// scorePool keeps accumulators between searches, a score for each slot; they are all zero. postingPool keeps the room in
// which postings are gathered.
var (
	scorePool   = sync.Pool{New: func() any { return new([]float64) }}
	postingPool = sync.Pool{New: func() any { return new(gathering) }}
)

// lexical is the outcome of the words' leg.
type lexical struct {
	lists    []*termList
	names    []string // by which the query knows the lists
	weights  map[string]float64
	max      float64
	filter   slotSet
	scores   []float64 // by slot; also of rows that do not pass the filter
	postings int       // in all lists
}

// sparse reports whether the lists have so few postings that it is quicker to go through them than through all slots.
func (l *lexical) sparse() bool { return l.postings < len(l.scores)/4 }

// release gives the accumulators back, zeroed.
func (l *lexical) release() {
	if l.sparse() {
		for _, t := range l.lists {
			for _, slot := range t.slots {
				l.scores[slot] = 0
			}
		}
	} else {
		clear(l.scores)
	}
	scores := l.scores[:0]
	l.scores, l.lists = nil, nil
	scorePool.Put(&scores)
}

// score computes the BM25 score of every live row. Frequencies and lengths are those of the whole space, without dead rows,
// so that a filter changes no score.
func (v view) score(ctx context.Context, terms []analysis.QueryTerm, filter slotSet) (*lexical, error) {
	l := &lexical{filter: filter, weights: make(map[string]float64, len(terms))}
	for _, t := range terms {
		list, err := v.termList(ctx, t.Forms)
		if err != nil {
			return nil, err
		}
		l.lists, l.names = append(l.lists, list), append(l.names, t.Name)
	}
	if len(l.lists) > bm25.MaxTerms {
		l.rarest(bm25.MaxTerms)
	}
	scores := scorePool.Get().(*[]float64)
	if cap(*scores) < int(v.slots) {
		*scores = make([]float64, v.slots)
	}
	l.scores = (*scores)[:v.slots]
	for i, t := range l.lists {
		l.weights[l.names[i]] = t.weight
		l.max += t.weight * bm25.Ceiling
		l.postings += len(t.slots)
		t.addTo(l.scores)
	}
	return l, nil
}

// rarest keeps so many lists, those with the fewest postings.
func (l *lexical) rarest(n int) {
	order := make([]int, len(l.lists))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(l.lists[a].slots), len(l.lists[b].slots)) })
	lists, names := make([]*termList, 0, n), make([]string, 0, n)
	for _, i := range order[:n] {
		lists, names = append(lists, l.lists[i]), append(names, l.names[i])
	}
	l.lists, l.names = lists, names
}

// top returns the best rows by words.
func (l *lexical) top(limit int) []scored {
	top := newTopK(limit)
	if !l.sparse() {
		least := 0.0 // what a row must score more than: of equal ones the first is kept
		for slot, score := range l.scores {
			if score <= least || !l.filter.has(uint32(slot)) {
				continue
			}
			top.offer(scored{uint32(slot), score})
			if floor, full := top.floor(); full {
				least = floor
			}
		}
		return top.kept()
	}
	for i, t := range l.lists {
		for _, slot := range t.slots {
			score := l.scores[slot]
			if floor, full := top.floor(); full && score < floor || !l.filter.has(slot) || l.earlier(i, slot) {
				continue
			}
			top.offer(scored{slot, score})
		}
	}
	return top.kept()
}

// earlier reports whether a list before the n-th has a slot.
func (l *lexical) earlier(n int, slot uint32) bool {
	for _, t := range l.lists[:n] {
		if _, ok := slices.BinarySearch(t.slots, slot); ok {
			return true
		}
	}
	return false
}

// fill sets what hits have of the words' leg. slots are those of the hits, in ascending order.
func (l *lexical) fill(hits []index.Hit, slots []uint32) {
	var all []int                     // the counts of all hits, one after another
	from := make([]int, len(l.lists)) // where in each list the next slot is looked for
	terms := make(map[uint64][]string)
	for i, slot := range slots {
		if hits[i].Lexical = l.scores[slot]; hits[i].Lexical == 0 {
			continue
		}
		var having uint64 // a bit for each list; there are bm25.MaxTerms at most
		if cap(all)-len(all) < len(l.lists) {
			all = make([]int, 0, max(len(l.lists), 2*(len(slots)-i))) // those before stay where they are
		}
		n := len(all)
		for j, t := range l.lists {
			at, ok := seek(t.slots, from[j], slot)
			from[j] = at
			if ok {
				having |= 1 << j
				all = append(all, int(t.timesOf(at)))
			}
		}
		names, ok := terms[having]
		if !ok {
			names = l.namesOf(having)
			terms[having] = names
		}
		hits[i].Terms, hits[i].Counts = names, all[n:len(all):len(all)]
	}
}

// namesOf names the lists whose bits are set.
func (l *lexical) namesOf(lists uint64) []string {
	names := make([]string, 0, bits.OnesCount64(lists))
	for ; lists != 0; lists &= lists - 1 {
		names = append(names, l.names[bits.TrailingZeros64(lists)])
	}
	return names
}

// seek returns where in a list, from an index on, a slot is or would be, and whether it is there. What is looked for lies near
// as a rule.
func seek(slots []uint32, from int, slot uint32) (int, bool) {
	step := 1
	for from+step < len(slots) && slots[from+step] < slot {
		from += step
		step *= 2
	}
	at, ok := slices.BinarySearch(slots[from:min(from+step+1, len(slots))], slot)
	return from + at, ok
}
