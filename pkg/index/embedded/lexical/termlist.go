package lexical

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/index/bm25"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
	"github.com/sluice/sluice/pkg/lists"
)

// TermList contains the live rows' postings for all forms of a word, and each posting's contribution to the score (its
// impact). It is immutable. A cached list is valid until the space's rows change.
//
// A posting's impact depends only on its kind, i.e. its term frequency and document length. There are few kinds, so a
// posting stores the number of its kind in one, two or four bytes. A dense list doesn't store whole slots, only the
// lowest byte of each slot and, per block of 256 slots, the index of the first posting.
type TermList struct {
	version   int64   // version of the rows
	weight    float64 // inverse document frequency or a multiple of it; see times
	Postings  int     // number of postings
	maxImpact float64 // largest impact

	slots      []uint32  // ascending; nil in a dense list, which has the next three fields instead
	lowBytes   []uint8   // lowest byte of each slot
	blockStart []uint32  // index of the first posting in each block of slots, followed by the number of postings
	windowMax  []float32 // upper bound of the impacts in each window

	kinds       kindColumn // kind of each posting: an index into `impacts` and `frequencies`
	impacts     []float64  // weight · saturated frequency
	frequencies []uint32   // term frequency
}

const (
	// Number of slots per window, chosen so that a window's scores fit into the L1 cache.
	windowSlots = 4096
	windowWords = windowSlots / 64
	// Number of slots per block, chosen so that one byte identifies a slot in its block.
	blockSlots   = 256
	windowBlocks = windowSlots / blockSlots
	// A list is dense if it has at least densePostings postings and they cover at least 1/denseShare of all slots.
	densePostings = 1024
	denseShare    = 100
)

// windowsOf returns the number of windows that cover the given number of slots.
func windowsOf(slots uint32) int { return (int(slots) + windowSlots - 1) / windowSlots }

func (t *TermList) bytes() int64 {
	return int64(4*len(t.slots)+len(t.lowBytes)+4*len(t.blockStart)+4*len(t.windowMax)+8*cap(t.impacts)+4*cap(t.frequencies)) + t.kinds.bytes() + 288
}

func (t *TermList) dense() bool { return t.lowBytes != nil }

// kindColumn stores each posting's kind number (see kind) in the smallest integer type that fits.
type kindColumn struct {
	small  []uint8
	middle []uint16
	large  []uint32
}

// set stores the postings' kind numbers, which must be less than `kinds`.
func (k *kindColumn) set(numbers []uint32, kinds int) {
	switch {
	case kinds <= math.MaxUint8+1:
		k.small = narrow[uint8](numbers)
	case kinds <= math.MaxUint16+1:
		k.middle = narrow[uint16](numbers)
	default:
		k.large = append([]uint32{}, numbers...)
	}
}

func narrow[K uint8 | uint16](numbers []uint32) []K {
	return lists.Map(numbers, func(n uint32) K { return K(n) })
}

func (k *kindColumn) bytes() int64 { return int64(len(k.small) + 2*len(k.middle) + 4*len(k.large)) }

func (k *kindColumn) at(i int) uint32 {
	switch {
	case k.small != nil:
		return uint32(k.small[i])
	case k.middle != nil:
		return uint32(k.middle[i])
	}
	return k.large[i]
}

// find returns the index of a slot's posting and whether there is one. In a sparse list, it starts searching at index
// `from`, which must not be past the posting.
func (t *TermList) find(slot uint32, from int) (at int, ok bool) {
	if !t.dense() {
		return seek(t.slots, from, slot)
	}
	block := slot / blockSlots
	begin, end := t.blockStart[block], t.blockStart[block+1]
	n := bytes.IndexByte(t.lowBytes[begin:end], uint8(slot))
	return int(begin) + n, n >= 0
}

// seek gallops through the ascending slots[from:] to the first element that is at least `slot`. It returns that
// element's index and whether the two are equal.
func seek(slots []uint32, from int, slot uint32) (int, bool) {
	step := 1
	for from+step < len(slots) && slots[from+step] < slot {
		from += step
		step *= 2
	}
	at, ok := slices.BinarySearch(slots[from:min(from+step+1, len(slots))], slot)
	return from + at, ok
}

// rangeOf returns the index range of the postings with slots in [begin, end). The list must be sparse. The search
// starts at index `at`, which must not be past the first such posting.
func (t *TermList) rangeOf(begin, end uint32, at int) (from, to int) {
	if at < len(t.slots) && t.slots[at] < begin {
		at, _ = seek(t.slots, at, begin)
	}
	to = at
	for to < len(t.slots) && t.slots[to] < end {
		to++
	}
	return at, to
}

// addWindow adds the impacts of postings [from, end) to their window's scores and marks their slots as touched. In a
// dense list, it marks them only if `mark` is set.
func (t *TermList) addWindow(buf *scratch, window, from, end int, mark bool) {
	switch {
	case t.kinds.small != nil:
		addWindow(t, t.kinds.small, buf, window, from, end, mark)
	case t.kinds.middle != nil:
		addWindow(t, t.kinds.middle, buf, window, from, end, mark)
	default:
		addWindow(t, t.kinds.large, buf, window, from, end, mark)
	}
}

func addWindow[K uint8 | uint16 | uint32](t *TermList, kinds []K, buf *scratch, window, from, end int, mark bool) {
	impacts := t.impacts
	if !t.dense() {
		kinds = kinds[from:end]
		for i, slot := range t.slots[from:end] {
			slot %= windowSlots
			buf.scores[slot] += impacts[kinds[i]]
			buf.touched[slot/64] |= 1 << (slot % 64)
		}
		return
	}
	for b, begin := range t.blockStart[window*windowBlocks:][:windowBlocks] {
		ends := t.lowBytes[begin:t.blockStart[window*windowBlocks+b+1]]
		kinds := kinds[begin:][:len(ends)]
		scores := (*[blockSlots]float64)(buf.scores[b*blockSlots:])
		for i, end := range ends {
			scores[end] += impacts[kinds[i]]
		}
		if mark {
			touched := (*[blockSlots / 64]uint64)(buf.touched[b*blockSlots/64:])
			for _, end := range ends {
				touched[end/64] |= 1 << (end % 64)
			}
		}
	}
}

// TermList returns the list for a word's forms, from the cache if possible.
func (v Reader) TermList(ctx context.Context, forms []string) (*TermList, error) {
	if len(v.Segments) == 0 {
		return v.listOf(nil), nil
	}
	return v.cachedList(strings.Join(forms, "\x00"), func(g *postingsMerger) (*TermList, error) {
		if err := v.collect(ctx, g, forms); err != nil {
			return nil, err
		}
		return v.listOf(g.parts()...), nil
	})
}

// cachedList returns a list from the cache, or calls `build` with a merger from the pool.
func (v Reader) cachedList(term string, build func(*postingsMerger) (*TermList, error)) (*TermList, error) {
	key := cache.Key{Space: v.OpenID, Kind: cache.List, Term: term}
	if found, ok := v.Caches.Lists.Get(key); ok {
		if list := found.(*TermList); list.version == v.Version {
			return list, nil
		}
	}
	g := mergerPool.Get().(*postingsMerger)
	defer mergerPool.Put(g)
	list, err := build(g)
	if err != nil {
		return nil, err
	}
	v.Caches.Lists.Replace(key, list, list.bytes()+int64(len(term)))
	return list, nil
}

// collect empties g and reads the postings for a word's forms into it.
func (v Reader) collect(ctx context.Context, g *postingsMerger, forms []string) (err error) {
	g.postings, g.runs = g.postings[:0], g.runs[:0]
	for _, form := range forms {
		for _, seg := range v.Segments {
			from := len(g.postings)
			if g.postings, err = v.segmentPostings(ctx, seg, form, g.postings); err != nil {
				return err
			}
			g.add(from)
		}
	}
	return nil
}

// listOf builds a list from postings, which must be sorted by slot across all parts. It drops dead slots.
func (v Reader) listOf(parts ...[]Posting) *TermList { return v.scaledList(1, parts...) }

// scaledList is like listOf, but frequencies are in units of 1/scale.
func (v Reader) scaledList(scale uint32, parts ...[]Posting) *TermList {
	buf := listPool.Get().(*listBuilder)
	defer listPool.Put(buf)
	defer buf.reset()
	for _, ps := range parts {
		for _, p := range ps {
			if v.Live.Has(p.Slot) {
				buf.slots = append(buf.slots, p.Slot)
				buf.numbers = append(buf.numbers, buf.kindOf(p.tf, p.length))
			}
		}
	}
	n := len(buf.slots)
	t := &TermList{version: v.Version, weight: bm25.Weight(float64(v.Rows), float64(n)), Postings: n}
	average := 1.0
	if v.Rows > 0 && v.Length > 0 {
		average = float64(v.Length) / float64(v.Rows)
	}
	t.impacts, t.frequencies = make([]float64, len(buf.kinds)), make([]uint32, len(buf.kinds))
	for i, k := range buf.kinds {
		t.frequencies[i] = (k.frequency + scale - 1) / scale
		t.impacts[i] = t.weight * bm25.Saturated(float64(k.frequency)/float64(scale), bm25.Norm(float64(k.length), average))
		t.maxImpact = max(t.maxImpact, t.impacts[i])
	}
	t.kinds.set(buf.numbers, len(buf.kinds))
	if n < densePostings || n < int(v.Slots)/denseShare {
		t.slots = append([]uint32{}, buf.slots...)
	} else {
		t.encodeDense(buf, v.Slots)
	}
	return t
}

// times returns a copy of the list with weight and impacts multiplied by a factor.
func (t *TermList) times(factor float64) *TermList {
	if factor == 1 {
		return t
	}
	out := *t
	out.weight *= factor
	out.maxImpact *= factor
	out.impacts = lists.Map(t.impacts, func(impact float64) float64 { return factor * impact })
	out.windowMax = lists.Map(t.windowMax, func(limit float32) float32 { return roundedUp(factor * float64(limit)) })
	return &out
}

// roundedUp returns the smallest float32 that is not less than x.
func roundedUp(x float64) float32 {
	if out := float32(x); float64(out) >= x {
		return out
	}
	return math.Nextafter32(float32(x), math.MaxFloat32)
}

// encodeDense sets the fields of a dense list.
func (t *TermList) encodeDense(buf *listBuilder, slots uint32) {
	windows := windowsOf(slots)
	t.lowBytes, t.blockStart, t.windowMax = make([]uint8, t.Postings), make([]uint32, windows*windowBlocks+1), make([]float32, windows)
	above := lists.Map(t.impacts, roundedUp)
	at := 0
	for block := range windows * windowBlocks {
		t.blockStart[block] = uint32(at)
		begin, limit := uint32(block*blockSlots), float32(0)
		for at < t.Postings && buf.slots[at]-begin < blockSlots {
			t.lowBytes[at] = uint8(buf.slots[at])
			if a := above[buf.numbers[at]]; a > limit { // faster than the built-in max, which also handles NaN
				limit = a
			}
			at++
		}
		w := block / windowBlocks
		t.windowMax[w] = max(t.windowMax[w], limit)
	}
	t.blockStart[windows*windowBlocks] = uint32(t.Postings)
}

// listBuilder collects a list's postings and numbers their kinds in order of appearance.
type listBuilder struct {
	slots   []uint32
	numbers []uint32 // kind number by slot
	kinds   []kind   // kinds, by number

	common [commonFrequencies * commonLengths]uint32 // small kinds by frequency and length: number plus 1, or 0 if new
	rare   map[kind]uint32                           // numbers of all other kinds
}

// kind is a posting's term frequency and the number of terms in its row.
type kind struct{ frequency, length uint32 }

// Size of the table for small kinds.
const (
	commonFrequencies = 16
	commonLengths     = 1024
)

var listPool = sync.Pool{New: func() any { return &listBuilder{rare: make(map[kind]uint32)} }}

// kindOf returns the kind's number, assigning the next one if the kind is new.
func (r *listBuilder) kindOf(times, length uint32) uint32 {
	if times < commonFrequencies && length < commonLengths {
		known := &r.common[times*commonLengths+length]
		if *known == 0 {
			r.kinds = append(r.kinds, kind{times, length})
			*known = uint32(len(r.kinds))
		}
		return *known - 1
	}
	pair := kind{times, length}
	n, ok := r.rare[pair]
	if !ok {
		n = uint32(len(r.kinds))
		r.kinds = append(r.kinds, pair)
		r.rare[pair] = n
	}
	return n
}

func (r *listBuilder) reset() {
	for _, k := range r.kinds {
		if k.frequency < commonFrequencies && k.length < commonLengths {
			r.common[k.frequency*commonLengths+k.length] = 0
		}
	}
	r.slots, r.numbers, r.kinds = r.slots[:0], r.numbers[:0], r.kinds[:0]
	clear(r.rare)
}

// postingsMerger collects a word's postings from all its forms and all segments.
type postingsMerger struct {
	postings []Posting
	runs     []run // each sorted by slot
	spare    []Posting
}

type run struct{ from, to int }

// add records the postings from index `from` on as a run.
func (g *postingsMerger) add(from int) {
	if len(g.postings) > from {
		g.runs = append(g.runs, run{from, len(g.postings)})
	}
}

// parts returns the postings as slices that are sorted by slot when read in order. If several forms of the word occur
// in the same slot, their postings are combined and their frequencies added up.
func (g *postingsMerger) parts() [][]Posting {
	// Segments usually cover separate slot ranges, so there's nothing to merge.
	slices.SortFunc(g.runs, func(a, b run) int { return cmp.Compare(g.postings[a.from].Slot, g.postings[b.from].Slot) })
	parts := make([][]Posting, 0, len(g.runs))
	for i, r := range g.runs {
		if i > 0 && g.postings[g.runs[i-1].to-1].Slot >= g.postings[r.from].Slot {
			return [][]Posting{g.merged()}
		}
		parts = append(parts, g.postings[r.from:r.to])
	}
	return parts
}

func (g *postingsMerger) merged() []Posting {
	for len(g.runs) > 1 {
		g.mergePairs()
	}
	return mergeEqualSlots(g.postings)
}

// mergePairs merges runs in pairs.
func (g *postingsMerger) mergePairs() {
	slices.SortFunc(g.runs, func(a, b run) int { return cmp.Compare(g.postings[a.from].Slot, g.postings[b.from].Slot) })
	out, runs := g.spare[:0], g.runs[:0]
	for i := 0; i < len(g.runs); i += 2 {
		a, from := g.postings[g.runs[i].from:g.runs[i].to], len(out)
		var b []Posting
		if i+1 < len(g.runs) {
			b = g.postings[g.runs[i+1].from:g.runs[i+1].to]
		}
		for len(a) > 0 && len(b) > 0 && a[len(a)-1].Slot > b[0].Slot {
			if a[0].Slot <= b[0].Slot {
				out, a = append(out, a[0]), a[1:]
			} else {
				out, b = append(out, b[0]), b[1:]
			}
		}
		out = append(append(out, a...), b...)
		runs = append(runs, run{from, len(out)})
	}
	g.postings, g.spare, g.runs = out, g.postings, runs
}

// mergeEqualSlots combines adjacent postings for the same slot and adds up their frequencies.
func mergeEqualSlots(ps []Posting) []Posting {
	out := ps[:0]
	for _, p := range ps {
		if n := len(out); n > 0 && out[n-1].Slot == p.Slot {
			out[n-1].tf += p.tf
		} else {
			out = append(out, p)
		}
	}
	return out
}
