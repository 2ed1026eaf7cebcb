package lexical

import (
	"context"

	"github.com/sluice/sluice/pkg/analysis"
)

// Lists for terms with synonyms count frequencies in fifths, because analysis.SynonymWeight is a multiple of 1/5.
const (
	synonymScale  = 5
	synonymFifths = uint32(analysis.SynonymWeight * synonymScale)
)

// listFor returns the list for a query term and its alternatives.
func (v Reader) listFor(ctx context.Context, t analysis.QueryTerm) (*TermList, error) {
	if len(t.Alternatives) == 0 || len(v.Segments) == 0 {
		return v.TermList(ctx, t.Forms)
	}
	return v.cachedList(t.Identity(), func(g *postingsMerger) (*TermList, error) {
		all, err := v.postings(ctx, g, t.Forms, synonymScale)
		if err != nil {
			return nil, err
		}
		for _, a := range t.Alternatives {
			var having []Posting
			for i, forms := range a.Words {
				ps, err := v.postings(ctx, g, forms, synonymFifths)
				switch {
				case err != nil:
					return nil, err
				case i == 0:
					having = ps
				default:
					having = intersection(having, ps)
				}
				if len(having) == 0 {
					break
				}
			}
			all = union(all, having)
		}
		return v.scaledList(synonymScale, all), nil
	})
}

// postings returns the postings for a word's forms, sorted by slot, with the frequencies multiplied by `factor`.
func (v Reader) postings(ctx context.Context, g *postingsMerger, forms []string, factor uint32) ([]Posting, error) {
	if err := v.collect(ctx, g, forms); err != nil {
		return nil, err
	}
	var out []Posting
	for _, ps := range g.parts() {
		for _, p := range ps {
			p.tf *= factor
			out = append(out, p)
		}
	}
	return out, nil
}

// intersection returns the postings for slots in both lists, with the lower frequency. Both lists must be sorted by
// slot. The result reuses a's memory.
func intersection(a, b []Posting) []Posting {
	out := a[:0]
	for _, p := range a {
		for len(b) > 0 && b[0].Slot < p.Slot {
			b = b[1:]
		}
		if len(b) > 0 && b[0].Slot == p.Slot {
			p.tf = min(p.tf, b[0].tf)
			out = append(out, p)
		}
	}
	return out
}

// union returns the postings for slots in either list and adds up their frequencies. Both lists must be sorted by slot.
func union(a, b []Posting) []Posting {
	if len(b) == 0 {
		return a
	}
	out := make([]Posting, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Slot < b[0].Slot:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0].Slot < a[0].Slot:
			out, b = append(out, b[0]), b[1:]
		default:
			p := a[0]
			p.tf += b[0].tf
			out, a, b = append(out, p), a[1:], b[1:]
		}
	}
	return out
}
