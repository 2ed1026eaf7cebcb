package embedded

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/index/bm25"
)

// termList is a word's postings of live rows, of all of its forms together, as they count at one version of a space. It is
// immutable.
//
// What a posting counts follows from how often the row has the word and how long it is, and few pairs of these are different:
// a posting has the number of its pair, which takes a third of the memory of what follows from it.
type termList struct {
	version int64
	weight  float64   // inverse document frequency
	slots   []uint32  // ascending
	kinds   []uint16  // of each slot: which of the following it has
	more    []uint32  // in place of kinds, where there are more than these can tell
	impacts []float64 // what the word adds to the row's score
	times   []uint32  // how often the row has it
}

// bytes is what the list takes.
func (t *termList) bytes() int64 {
	return int64(4*len(t.slots)+2*len(t.kinds)+4*len(t.more)+12*len(t.impacts)) + 160
}

// addTo adds what the word counts to the scores of all rows that have it.
func (t *termList) addTo(scores []float64) {
	impacts := t.impacts
	if t.more != nil {
		for i, slot := range t.slots {
			scores[slot] += impacts[t.more[i]]
		}
		return
	}
	kinds := t.kinds[:len(t.slots)]
	for i, slot := range t.slots {
		scores[slot] += impacts[kinds[i]]
	}
}

// timesOf is how often the row has the word that is the i-th of the list.
func (t *termList) timesOf(i int) uint32 {
	if t.more != nil {
		return t.times[t.more[i]]
	}
	return t.times[t.kinds[i]]
}

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
		slots: make([]uint32, len(ps)), kinds: make([]uint16, len(ps)),
	}
	average := 1.0
	if v.rows > 0 && v.length > 0 {
		average = float64(v.length) / float64(v.rows)
	}
	kinds := kindsPool.Get().(*kindsOf)
	defer kindsPool.Put(kinds)
	for i, p := range ps {
		kind := kinds.of(p.tf, p.length)
		if int(kind) == len(t.impacts) {
			t.impacts = append(t.impacts, t.weight*bm25.Saturated(float64(p.tf), bm25.Norm(float64(p.length), average)))
			t.times = append(t.times, p.tf)
		}
		if kind > math.MaxUint16 && t.more == nil {
			t.more = make([]uint32, len(ps))
			for j, k := range t.kinds[:i] {
				t.more[j] = uint32(k)
			}
			t.kinds = nil
		}
		t.slots[i] = p.slot
		if t.more != nil {
			t.more[i] = kind
		} else {
			t.kinds[i] = uint16(kind)
		}
	}
	kinds.forget()
	return t
}

// kindsOf numbers pairs of how often a row has a word and how long it is, in the order in which they come.
type kindsOf struct {
	n      uint32
	common [commonTimes * commonLengths]uint32 // numbers above 0, of pairs of small numbers
	used   []int32                             // which of common are not 0
	rare   map[uint64]uint32                   // of all others
}

// What is looked up in a table: nearly all that there is.
const (
	commonTimes   = 16
	commonLengths = 1024
)

var kindsPool = sync.Pool{New: func() any { return &kindsOf{rare: make(map[uint64]uint32)} }}

// of returns the number of a pair.
func (k *kindsOf) of(times, length uint32) uint32 {
	if times < commonTimes && length < commonLengths {
		at := times*commonLengths + length
		if k.common[at] == 0 {
			k.n++
			k.common[at] = k.n
			k.used = append(k.used, int32(at))
		}
		return k.common[at] - 1
	}
	pair := uint64(times)<<32 | uint64(length)
	n, ok := k.rare[pair]
	if !ok {
		n = k.n
		k.n++
		k.rare[pair] = n
	}
	return n
}

// forget makes ready for another list.
func (k *kindsOf) forget() {
	for _, at := range k.used {
		k.common[at] = 0
	}
	k.n, k.used = 0, k.used[:0]
	clear(k.rare)
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
