package embedded

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/index/bm25"
)

// termList is a word's postings of live rows, of all of its forms together, as they count at one version of a space. It is
// immutable.
type termList struct {
	version int64
	weight  float64   // inverse document frequency
	slots   []uint32  // ascending
	impacts []float64 // what the word adds to the row's score
	times   []uint32  // how often the row has it
}

// bytes is what the list takes.
func (t *termList) bytes() int64 { return int64(16*len(t.slots)) + 128 }

// termList returns the list of a word with these forms, from the cache when it was made at this version.
func (v view) termList(ctx context.Context, forms []string) (*termList, error) {
	if len(v.segments) == 0 {
		return v.listOf(nil), nil
	}
	key := cacheKey{space: v.space.number, kind: cachedList, term: strings.Join(forms, "\x00")}
	if found, ok := v.space.cache.get(key); ok {
		if list := found.(*termList); list.version == v.version {
			return list, nil
		}
	}
	g := postingPool.Get().(*gathering)
	defer postingPool.Put(g)
	g.postings, g.runs = g.postings[:0], g.runs[:0]
	for _, form := range forms {
		for _, seg := range v.segments {
			from := len(g.postings)
			var err error
			if g.postings, err = v.segmentPostings(ctx, seg, form, g.postings); err != nil {
				return nil, err
			}
			g.add(from)
		}
	}
	list := v.listOf(g.united(v.live))
	v.space.cache.replace(key, list, list.bytes()+int64(len(key.term)))
	return list, nil
}

// listOf works out what postings count at the view's version.
func (v view) listOf(ps []posting) *termList {
	t := &termList{
		version: v.version, weight: bm25.Weight(float64(v.rows), float64(len(ps))),
		slots: make([]uint32, len(ps)), impacts: make([]float64, len(ps)), times: make([]uint32, len(ps)),
	}
	average := 1.0
	if v.rows > 0 && v.length > 0 {
		average = float64(v.length) / float64(v.rows)
	}
	for i, p := range ps {
		t.slots[i], t.times[i] = p.slot, p.tf
		t.impacts[i] = t.weight * bm25.Saturated(float64(p.tf), bm25.Norm(float64(p.length), average))
	}
	return t
}

// gathering is where the postings of a word are brought together.
type gathering struct {
	postings []posting
	runs     []run // of postings in order of slots
	other    []posting
}

// run is a part of a slice.
type run struct{ from, to int }

// add notes that the postings from an index on are a run.
func (g *gathering) add(from int) {
	if len(g.postings) > from {
		g.runs = append(g.runs, run{from, len(g.postings)})
	}
}

// united returns the live ones of the postings gathered, in order of slots; those of one slot, which has several forms of a
// word, are added up.
func (g *gathering) united(live bitset) []posting {
	for len(g.runs) > 1 {
		g.mergePairs()
	}
	return united(slices.DeleteFunc(g.postings, func(p posting) bool { return !live.has(p.slot) }))
}

// mergePairs makes one run of each two.
func (g *gathering) mergePairs() {
	// As a rule each segment has slots of its own range: then merging is copying.
	slices.SortFunc(g.runs, func(a, b run) int { return cmp.Compare(g.postings[a.from].slot, g.postings[b.from].slot) })
	out, runs := g.other[:0], g.runs[:0]
	for i := 0; i < len(g.runs); i += 2 {
		a, from := g.postings[g.runs[i].from:g.runs[i].to], len(out)
		var b []posting
		if i+1 < len(g.runs) {
			b = g.postings[g.runs[i+1].from:g.runs[i+1].to]
		}
		for len(a) > 0 && len(b) > 0 && a[len(a)-1].slot > b[0].slot {
			if a[0].slot <= b[0].slot {
				out, a = append(out, a[0]), a[1:]
			} else {
				out, b = append(out, b[0]), b[1:]
			}
		}
		out = append(append(out, a...), b...)
		runs = append(runs, run{from, len(out)})
	}
	g.postings, g.other, g.runs = out, g.postings, runs
}

// united adds up those of the postings, which are in order of slots, that are of one slot.
func united(ps []posting) []posting {
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
