package embedded

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
)

// inverted is a term and the rows that have it.
type inverted struct {
	term     string
	rows     int // that it was counted in, a facet perhaps twice
	postings []posting
}

// invert lists the rows of each term of a batch. slots are ascending.
func invert(slots []uint32, batch []*prepared) []inverted {
	lists, which := listed(batch)
	room := make([]posting, len(which)) // all postings lie in one piece of memory
	for n := range lists {
		l := &lists[n]
		l.postings, room = room[:0:l.rows], room[l.rows:]
	}
	for i, p := range batch {
		for n, list := range which[:len(p.terms)] {
			l := &lists[list]
			l.postings = append(l.postings, posting{slots[i], p.terms[n].Count, p.length})
		}
		for _, list := range which[len(p.terms):][:len(p.facets)] {
			l := &lists[list]
			if n := len(l.postings); n == 0 || l.postings[n-1].slot != slots[i] {
				l.postings = append(l.postings, posting{slots[i], 1, 0})
			}
		}
		which = which[len(p.terms)+len(p.facets):]
	}
	return lists
}

// listed makes a list for each term of a batch, which says in how many rows it is and is yet to be filled, and tells the list of each
// term of each row, its filter terms behind the others. Rows that were prepared together share the numbers of terms: only once for
// each of them a term is looked up as a string.
func listed(batch []*prepared) (lists []inverted, which []uint32) {
	total, most := 0, 0
	var words *analysis.Batch
	for _, p := range batch {
		total += len(p.terms) + len(p.facets)
		if p.words != words {
			words = p.words
			most += len(words.Terms())
		}
	}
	which = make([]uint32, 0, total)
	lists = make([]inverted, 0, min(most, total))
	at := make(map[string]uint32, min(most, total))
	words = nil
	var terms []string
	var known []uint32 // the list of each of the terms and one; 0 while it was not looked up
	name := func(term uint32) {
		n := known[term]
		if n == 0 {
			var ok bool
			if n, ok = at[terms[term]]; !ok {
				lists = append(lists, inverted{term: terms[term]})
				n = uint32(len(lists))
				at[terms[term]] = n
			}
			known[term] = n
		}
		lists[n-1].rows++
		which = append(which, n-1)
	}
	for _, p := range batch {
		if p.words != words {
			words, terms = p.words, p.words.Terms()
			known = append(known[:0], make([]uint32, len(terms))...)
		}
		for _, t := range p.terms {
			name(t.Term)
		}
		for _, f := range p.facets {
			name(f)
		}
	}
	return lists, which
}

// eachInOrder calls f for each list in order of terms. Most terms differ in their first eight bytes, which compare as one number.
func eachInOrder(lists []inverted, f func(inverted) error) error {
	type key struct {
		start uint64
		list  uint32
	}
	keys := make([]key, len(lists))
	for n, l := range lists {
		var start [8]byte
		copy(start[:], l.term)
		keys[n] = key{binary.BigEndian.Uint64(start[:]), uint32(n)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return cmp.Compare(lists[a.list].term, lists[b.list].term)
	})
	for _, k := range keys {
		if err := f(lists[k.list]); err != nil {
			return err
		}
	}
	return nil
}
