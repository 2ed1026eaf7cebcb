package lexical

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
)

// Document contains a row's terms.
type Document struct {
	Length uint32               // weighted number of terms in text and context
	Terms  []analysis.TermCount // terms in the vocabulary with their counts
	Facets []uint32             // filter terms by number; duplicates are allowed
}

// Inverted contains a batch of rows' postings by term. The rows have no slots yet, so the postings contain row numbers.
type Inverted struct {
	terms    []string  // without duplicates
	lists    []span    // each term's range in postings
	postings []Posting // grouped by term
	order    []termKey // terms with postings, sorted
}

type span struct{ from, to uint32 }

// termKey is a term's sort key. Most terms differ in their first eight bytes, which are compared as one number.
type termKey struct {
	start uint64
	batch uint32 // the term's batch, if several batches are merged
	term  uint32
}

func startOf(term string) uint64 {
	var start [8]byte
	copy(start[:], term)
	return binary.BigEndian.Uint64(start[:])
}

// Invert returns the documents' postings by term. `words` is the batch that numbered the documents' terms.
func Invert(words *analysis.Batch, documents []Document) Inverted {
	terms := words.Terms()
	out := Inverted{terms: terms, lists: make([]span, len(terms)), order: make([]termKey, 0, len(terms))}
	for _, p := range documents { // count the postings per list; repeated facets count twice
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
		if l.to > 0 { // 0 if all rows with the term were replaced by later ones
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

// Placed is an inverted batch with slots assigned to its rows.
type Placed struct {
	Inverted
	Slots []uint32 // ascending
}

// eachPlacedTerm calls f with each term in sorted order and its postings, sorted by slot. f must not retain the
// postings. The batches must be in order: all slots in a batch are lower than those in the next.
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

// mergedOrder merges the sorted terms from all batches. Equal terms keep the order of their batches.
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

// BuildBlocks encodes the batches' postings as blocks, without checksums. It also returns the first term in each block.
func BuildBlocks(batches []Placed) (blocks [][]byte, firsts []string) {
	builder := BlockBuilder{Put: func(block []byte) error {
		blocks = append(blocks, block)
		return nil
	}}
	eachPlacedTerm(batches, func(term string, ps []Posting) { _ = builder.Add(term, ps) }) // only Put can fail
	_ = builder.Close()
	return blocks, builder.FirstTerms
}
