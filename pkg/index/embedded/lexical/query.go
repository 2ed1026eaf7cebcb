package lexical

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

var mergerPool = sync.Pool{New: func() any { return new(postingsMerger) }}

// Query is the lexical part of a query, with its terms' posting lists.
type Query struct {
	lists   []*TermList
	names   []string           // term names
	Weights map[string]float64 // weights by term; see index.Result
	Max     float64            // upper bound of scores: see index.Result
}

// Query reads the posting lists for a query's terms, keeping the bm25.MaxTerms terms with the highest weights. Filters
// don't affect scores: document frequencies and lengths cover all live rows.
func (v Reader) Query(ctx context.Context, terms []analysis.QueryTerm) (*Query, error) {
	l := &Query{Weights: make(map[string]float64, len(terms))}
	for _, t := range terms {
		list, err := v.listFor(ctx, t)
		if err != nil {
			return nil, err
		}
		l.lists, l.names = append(l.lists, list.times(bm25.Repeated(t.Count))), append(l.names, t.Name)
	}
	if len(l.lists) > bm25.MaxTerms {
		l.keepWeightiest(bm25.MaxTerms)
	}
	for i, t := range l.lists {
		l.Weights[l.names[i]] = t.weight
		l.Max += t.weight * bm25.Ceiling
	}
	return l, nil
}

func (l *Query) keepWeightiest(n int) {
	order := make([]int, len(l.lists))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.lists[b].weight, l.lists[a].weight) })
	lists, names := make([]*TermList, 0, n), make([]string, 0, n)
	for _, i := range order[:n] {
		lists, names = append(lists, l.lists[i]), append(names, l.names[i])
	}
	l.lists, l.names = lists, names
}

// Fill sets Lexical, Terms and Counts in the given hits. `slots` holds the hits' slots in ascending order.
func (l *Query) Fill(hits []index.Hit, slots []uint32) {
	var all []int                     // backing array for the counts of all hits
	from := make([]int, len(l.lists)) // per list, where to search for the next slot
	terms := make(map[uint64][]string)
	for i, slot := range slots {
		var having uint64 // one bit per list; there are at most bm25.MaxTerms lists
		if cap(all)-len(all) < len(l.lists) {
			all = make([]int, 0, max(len(l.lists), 2*(len(slots)-i))) // hits retain slices of earlier buffers
		}
		n := len(all)
		for j, t := range l.lists {
			at, ok := t.find(slot, from[j])
			from[j] = at
			if ok {
				having |= 1 << j
				kind := t.kinds.at(at)
				hits[i].Lexical += t.impacts[kind]
				all = append(all, int(t.frequencies[kind]))
			}
		}
		if having == 0 {
			continue
		}
		names, ok := terms[having]
		if !ok {
			names = l.namesOf(having)
			terms[having] = names
		}
		hits[i].Terms, hits[i].Counts = names, all[n:len(all):len(all)]
	}
}

func (l *Query) namesOf(lists uint64) []string {
	names := make([]string, 0, bits.OnesCount64(lists))
	for ; lists != 0; lists &= lists - 1 {
		names = append(names, l.names[bits.TrailingZeros64(lists)])
	}
	return names
}
