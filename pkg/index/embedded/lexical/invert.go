package lexical

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
)

// Document is a row's terms: those of its text and context, and those that filters ask for.
type Document struct {
	Length uint32               // terms of text and context, weighed
	Terms  []analysis.TermCount // each once, by its number among the words of its batch
	Facets []uint32             // filter terms, by their numbers; one may come twice
}

// Inverted is a batch by terms.
type Inverted struct {
	terms    []string  // each once
	lists    []span    // which postings are of each
	postings []Posting // of all terms
	order    []termKey // of the terms that there are postings of
}

// span is a part of something: from ≤ i < to.
type span struct{ from, to uint32 }

// termKey says where a term stands in order. Most terms differ in their first eight bytes, which compare as one number.
type termKey struct {
	start uint64
	batch uint32 // that has the term, where several are read together
	term  uint32
}

// startOf is what a term begins with.
func startOf(term string) uint64 {
	var start [8]byte
	copy(start[:], term)
	return binary.BigEndian.Uint64(start[:])
}

// Invert lists the rows of each term of a batch. What its postings have in the place of a slot, which is yet to be chosen, is the
// number of the row in the batch. The numbers of rows' terms are those of words.
func Invert(words *analysis.Batch, documents []Document) Inverted {
	terms := words.Terms()
	out := Inverted{terms: terms, lists: make([]span, len(terms)), order: make([]termKey, 0, len(terms))}
	for _, p := range documents { // each list's length first, a facet perhaps twice for a row
		for _, t := range p.Terms {
			out.lists[t.Term].to++
		}
		for _, f := range p.Facets {
			out.lists[f].to++
		}
	}
	total := uint32(0)
	for n := range out.lists {
		l := &out.lists[n]
		if l.to > 0 { // else only rows have it that others of the same key have replaced
			out.order = append(out.order, termKey{start: startOf(terms[n]), term: uint32(n)})
		}
		length := l.to
		l.from, l.to = total, total
		total += length
	}
	out.postings = make([]Posting, total)
	for i, p := range documents {
		for _, t := range p.Terms {
			l := &out.lists[t.Term]
			out.postings[l.to] = Posting{uint32(i), t.Count, p.Length}
			l.to++
		}
		for _, f := range p.Facets {
			l := &out.lists[f]
			if l.from == l.to || out.postings[l.to-1].Slot != uint32(i) {
				out.postings[l.to] = Posting{uint32(i), 1, 0}
				l.to++
			}
		}
	}
	slices.SortFunc(out.order, func(a, b termKey) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return strings.Compare(terms[a.term], terms[b.term])
	})
	return out
}

// Placed is a batch whose rows have been given slots.
type Placed struct {
	Inverted
	Slots []uint32 // of the rows, ascending
}

// eachPlacedTerm calls f for each term of batches in order, with all its postings in order of slots: those of a batch are below those
// of the next. f must not keep the postings.
func eachPlacedTerm(batches []Placed, f func(term string, ps []Posting)) {
	order := mergedOrder(batches)
	var ps []Posting
	for len(order) > 0 {
		first := order[0]
		term := batches[first.batch].terms[first.term]
		ps = ps[:0]
		for len(order) > 0 && order[0].start == first.start {
			b := &batches[order[0].batch]
			if b.terms[order[0].term] != term {
				break
			}
			l := b.lists[order[0].term]
			for _, p := range b.postings[l.from:l.to] {
				p.Slot = b.Slots[p.Slot]
				ps = append(ps, p)
			}
			order = order[1:]
		}
		f(term, ps)
	}
}

// mergedOrder returns the order of all batches' terms; where several have one, in order of batches.
func mergedOrder(batches []Placed) []termKey {
	runs := make([][]termKey, len(batches))
	for n, b := range batches {
		runs[n] = slices.Clone(b.order)
		for i := range runs[n] {
			runs[n][i].batch = uint32(n)
		}
	}
	term := func(k termKey) string { return batches[k.batch].terms[k.term] }
	merge := func(a, b []termKey) []termKey {
		out := make([]termKey, 0, len(a)+len(b))
		for len(a) > 0 && len(b) > 0 {
			if a[0].start < b[0].start || a[0].start == b[0].start && term(a[0]) <= term(b[0]) {
				out, a = append(out, a[0]), a[1:]
			} else {
				out, b = append(out, b[0]), b[1:]
			}
		}
		return append(append(out, a...), b...)
	}
	for len(runs) > 1 {
		half := runs[:0]
		for i := 0; i < len(runs); i += 2 {
			if i+1 == len(runs) {
				half = append(half, runs[i])
			} else {
				half = append(half, merge(runs[i], runs[i+1]))
			}
		}
		runs = half
	}
	if len(runs) == 0 {
		return nil
	}
	return runs[0]
}

// BuildBlocks packs the postings of batches into blocks without checksums, and returns the first term of each.
func BuildBlocks(batches []Placed) (blocks [][]byte, firsts []string) {
	builder := BlockBuilder{Put: func(block []byte) error {
		blocks = append(blocks, block)
		return nil
	}}
	eachPlacedTerm(batches, func(term string, ps []Posting) { _ = builder.Add(term, ps) }) // only put could fail
	_ = builder.Close()
	return blocks, builder.Firsts
}
