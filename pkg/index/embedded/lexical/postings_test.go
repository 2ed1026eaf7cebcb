package lexical

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func FuzzDecodePostings(f *testing.F) {
	f.Add("")
	var b BlockBuilder
	b.Put = func(block []byte) error {
		f.Add(string(block))
		return nil
	}
	var many BlockBuilder
	many.Put = b.Put
	for i := range 100 { // enough terms for several blocks; some terms fill several entries
		ps := make([]Posting, 1+i%3*blockBytes/8)
		for j := range ps {
			ps[j] = Posting{uint32(j), 1, 9}
		}
		if err := many.Add(fmt.Sprintf("term%03d", i), ps); err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(many.Close(), b.Add("alpha", []Posting{{1, 1, 5}, {9, 3, 200}}), b.Add("beta", []Posting{{4, 1, 1}}), b.Close()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, block string) {
		var ps []Posting
		found := make(map[string][]entry)
		var terms []string
		err := entries(block, func(e entry) bool {
			var err error
			ps, err = decodePostings(ps[:0], e.data, e.count)
			if err == nil && len(ps) != e.count {
				t.Fatalf("%d postings of %d", len(ps), e.count)
			}
			found[e.term] = append(found[e.term], e)
			terms = append(terms, e.term)
			return true
		})
		m, markErr := mark(block)
		if (markErr == nil) != (err == nil) {
			t.Fatalf("marking it: %v, reading it: %v", markErr, err)
		}
		if err != nil || !slices.IsSorted(terms) {
			return
		}
		for _, term := range append(terms, "", "b", "\xff") {
			var got []entry
			if err := m.eachEntry(term, func(e entry) bool { got = append(got, e); return true }); err != nil || !slices.Equal(got, found[term]) {
				t.Fatalf("%d entries of %q are found, want %d: %v", len(got), term, len(found[term]), err)
			}
		}
	})
}
