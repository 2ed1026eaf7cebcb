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

// cell gathers what a row has scored.
type cell struct {
	score float64
	terms uint64 // bit i: the row has the i-th scored term
}

// cellPool keeps accumulators between searches; they are all zero. postingPool keeps the room of postings.
var (
	cellPool    = sync.Pool{New: func() any { return new([]cell) }}
	postingPool = sync.Pool{New: func() any { return new([]posting) }}
)

// lexical is the outcome of the words' leg.
type lexical struct {
	lists   []termList
	weights map[string]float64
	max     float64
	cells   []cell
	touched []uint32
	room    []posting // what the lists' postings lie in
}

// release gives the accumulators back, zeroed, and the room of the lists, which are gone then.
func (l *lexical) release() {
	for _, slot := range l.touched {
		l.cells[slot] = cell{}
	}
	cells, room := l.cells[:0], l.room[:0]
	l.cells, l.touched, l.lists, l.room = nil, nil, nil, nil
	cellPool.Put(&cells)
	postingPool.Put(&room)
}

// score computes the BM25 score of every live row that passes the filter. Frequencies and lengths are those of the whole
// space, without dead rows, so that a filter changes no score.
func (v view) score(ctx context.Context, terms []analysis.QueryTerm, filter slotSet) (*lexical, error) {
	room := postingPool.Get().(*[]posting)
	lists, kept, err := v.termPostings(ctx, terms, *room)
	if err != nil {
		return nil, err
	}
	l := &lexical{lists: lists, room: kept, weights: make(map[string]float64, len(terms))}
	cells := cellPool.Get().(*[]cell)
	if cap(*cells) < int(v.slots) {
		*cells = make([]cell, v.slots)
	}
	l.cells = (*cells)[:v.slots]
	average := 1.0
	if v.rows > 0 && v.length > 0 {
		average = float64(v.length) / float64(v.rows)
	}
	for i, t := range lists {
		idf := bm25.Weight(float64(v.rows), float64(len(t.postings)))
		l.weights[t.name] = idf
		l.max += idf * bm25.Ceiling
		for _, p := range t.postings {
			if !filter.has(p.slot) {
				continue
			}
			c := &l.cells[p.slot]
			if c.terms == 0 {
				l.touched = append(l.touched, p.slot)
			}
			c.terms |= 1 << i
			c.score += idf * bm25.Saturated(float64(p.tf), bm25.Norm(float64(p.length), average))
		}
	}
	return l, nil
}

// termList is a scored term with its live postings in order of slots.
type termList struct {
	name     string
	postings []posting
}

// termPostings reads the postings of each query term, of all its forms together, into room, which it returns grown. Of more
// terms than can be scored it keeps the rarest.
func (v view) termPostings(ctx context.Context, terms []analysis.QueryTerm, room []posting) ([]termList, []posting, error) {
	lists := make([]termList, 0, len(terms))
	for _, t := range terms {
		from := len(room)
		for _, form := range t.Forms {
			var err error
			if room, err = v.postings(ctx, form, room); err != nil {
				return nil, nil, err
			}
		}
		ps := united(slices.DeleteFunc(room[from:], func(p posting) bool { return !v.live.has(p.slot) }))
		room = room[:from+len(ps)]
		lists = append(lists, termList{t.Name, ps[:len(ps):len(ps)]})
	}
	if len(lists) > bm25.MaxTerms {
		slices.SortStableFunc(lists, func(a, b termList) int { return cmp.Compare(len(a.postings), len(b.postings)) })
		lists = lists[:bm25.MaxTerms]
	}
	return lists, room, nil
}

// united sorts postings by slot and adds up those of one slot, which has several forms of a word.
func united(ps []posting) []posting {
	bySlot := func(a, b posting) int { return cmp.Compare(a.slot, b.slot) }
	if !slices.IsSortedFunc(ps, bySlot) {
		slices.SortFunc(ps, bySlot)
	}
	out := ps[:0]
	for _, p := range ps {
		if n := len(out); n > 0 && out[n-1].slot == p.slot {
			out[n-1].tf += p.tf
		} else {
			out = append(out, p)
		}
	}
	return out
}

// top returns the best rows by words.
func (l *lexical) top(limit int) []scored {
	top := newTopK(limit)
	for _, slot := range l.touched {
		top.offer(scored{slot, l.cells[slot].score})
	}
	return top.heap
}

// fill sets what a hit has of the words' leg.
func (l *lexical) fill(h *index.Hit, slot uint32) {
	c := l.cells[slot]
	h.Lexical = c.score
	if c.terms == 0 {
		return
	}
	n := bits.OnesCount64(c.terms)
	h.Terms, h.Counts = make([]string, 0, n), make([]int, 0, n)
	for i, t := range l.lists {
		if c.terms&(1<<i) == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(t.postings, slot, func(p posting, slot uint32) int { return cmp.Compare(p.slot, slot) })
		h.Terms = append(h.Terms, t.name)
		h.Counts = append(h.Counts, int(t.postings[at].tf))
	}
}
