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
)

// TermList is a word's postings of live rows, of all of its forms together, as they count while a space has the same rows. It is
// immutable.
//
// What a posting counts follows from how often the row has the word and how long it is, and few pairs of these are different:
// a posting has the number of its pair, which takes a third of the memory of what follows from it, or a sixth. The slots of a word
// that many rows have are told by their last byte, with where the postings of each 256 slots begin, which takes a quarter of the
// memory of their numbers.
type TermList struct {
	version   int64   // the version of the space since which it has these rows
	weight    float64 // inverse document frequency
	Postings  int     // postings
	maxImpact float64 // the most that the word adds to a row's score

	slots      []uint32  // ascending; nil of a dense list, which has the following in its place
	lowBytes   []uint8   // the last bytes of slots
	blockStart []uint32  // where the postings of each block of slots begin, and last how many there are in all
	windowMax  []float32 // no less than what the word adds to the score of any row of each window

	kinds       kindColumn // of each posting: which of the following it has
	impacts     []float64  // what the word adds to the row's score
	frequencies []uint32   // how often the row has it
}

const (
	// windowSlots is how many slots are scored at once: their scores stay in the processor's nearest memory meanwhile.
	windowSlots = 4096
	windowWords = windowSlots / 64
	// blockSlots is how many slots a byte tells apart.
	blockSlots   = 256
	windowBlocks = windowSlots / blockSlots
	// densePostings and denseShare are from how many postings on, and from which share of all slots, a list is dense.
	densePostings = 1024
	denseShare    = 100
)

// windowsOf is how many windows so many slots take.
func windowsOf(slots uint32) int { return (int(slots) + windowSlots - 1) / windowSlots }

// bytes is what the list takes.
func (t *TermList) bytes() int64 {
	return int64(4*len(t.slots)+len(t.lowBytes)+4*len(t.blockStart)+4*len(t.windowMax)+8*cap(t.impacts)+4*cap(t.frequencies)) + t.kinds.bytes() + 288
}

// dense reports whether the list has ends in place of slots.
func (t *TermList) dense() bool { return t.lowBytes != nil }

// kindColumn are numbers of kinds, in as few bytes as they fit: one of the slices has them.
type kindColumn struct {
	small  []uint8
	middle []uint16
	large  []uint32
}

// set takes numbers, all of which are below kinds.
func (k *kindColumn) set(numbers []uint32, kinds int) {
	switch {
	case kinds <= math.MaxUint8+1:
		k.small = make([]uint8, len(numbers))
		for i, n := range numbers {
			k.small[i] = uint8(n)
		}
	case kinds <= math.MaxUint16+1:
		k.middle = make([]uint16, len(numbers))
		for i, n := range numbers {
			k.middle[i] = uint16(n)
		}
	default:
		k.large = append([]uint32{}, numbers...)
	}
}

func (k *kindColumn) bytes() int64 { return int64(len(k.small) + 2*len(k.middle) + 4*len(k.large)) }

func (k *kindColumn) of(i int) uint32 {
	switch {
	case k.small != nil:
		return uint32(k.small[i])
	case k.middle != nil:
		return uint32(k.middle[i])
	}
	return k.large[i]
}

// find returns which posting is that of a slot, if there is one. from is that of a slot before, or 0: what is looked for lies near
// as a rule.
func (t *TermList) find(slot uint32, from int) (at int, ok bool) {
	if !t.dense() {
		return seek(t.slots, from, slot)
	}
	block := slot / blockSlots
	begin, end := t.blockStart[block], t.blockStart[block+1]
	n := bytes.IndexByte(t.lowBytes[begin:end], uint8(slot))
	return int(begin) + n, n >= 0
}

// seek returns where in a list, from an index on, a slot is or would be, and whether it is there.
func seek(slots []uint32, from int, slot uint32) (int, bool) {
	step := 1
	for from+step < len(slots) && slots[from+step] < slot {
		from += step
		step *= 2
	}
	at, ok := slices.BinarySearch(slots[from:min(from+step+1, len(slots))], slot)
	return from + at, ok
}

// between returns the postings, from and to, of slots from begin on and below end, in a list that is not dense. at is a posting before
// the first of them, or 0.
func (t *TermList) between(begin, end uint32, at int) (from, to int) {
	if at < len(t.slots) && t.slots[at] < begin {
		at, _ = seek(t.slots, at, begin)
	}
	to = at
	for to < len(t.slots) && t.slots[to] < end {
		to++
	}
	return at, to
}

// addWindow adds what the word counts to the scores of those rows of a window that have it, and marks these if that is asked for; those of
// lists that are not dense are marked in any case. from is the first posting of the window, end the first one beyond it.
func (t *TermList) addWindow(room *scratch, window, from, end int, mark bool) {
	switch {
	case t.kinds.small != nil:
		addWindow(t, t.kinds.small, room, window, from, end, mark)
	case t.kinds.middle != nil:
		addWindow(t, t.kinds.middle, room, window, from, end, mark)
	default:
		addWindow(t, t.kinds.large, room, window, from, end, mark)
	}
}

func addWindow[K uint8 | uint16 | uint32](t *TermList, kinds []K, room *scratch, window, from, end int, mark bool) {
	impacts := t.impacts
	if !t.dense() {
		kinds = kinds[from:end]
		for i, slot := range t.slots[from:end] {
			slot %= windowSlots
			room.scores[slot] += impacts[kinds[i]]
			room.touched[slot/64] |= 1 << (slot % 64)
		}
		return
	}
	for b, begin := range t.blockStart[window*windowBlocks:][:windowBlocks] {
		ends := t.lowBytes[begin:t.blockStart[window*windowBlocks+b+1]]
		kinds := kinds[begin:][:len(ends)]
		scores := (*[blockSlots]float64)(room.scores[b*blockSlots:])
		for i, end := range ends {
			scores[end] += impacts[kinds[i]]
		}
		if mark {
			touched := (*[blockSlots / 64]uint64)(room.touched[b*blockSlots/64:])
			for _, end := range ends {
				touched[end/64] |= 1 << (end % 64)
			}
		}
	}
}

// TermList returns the list of a word with these forms, from the cache when it was made of the same rows.
func (v Reader) TermList(ctx context.Context, forms []string) (*TermList, error) {
	if len(v.Segments) == 0 {
		return v.listOf(nil), nil
	}
	key := cache.Key{Space: v.Opening, Kind: cache.List, Term: strings.Join(forms, "\x00")}
	if found, ok := v.Caches.Lists.Get(key); ok {
		if list := found.(*TermList); list.version == v.Version {
			return list, nil
		}
	}
	g := gathererPool.Get().(*gatherer)
	defer gathererPool.Put(g)
	g.postings, g.runs = g.postings[:0], g.runs[:0]
	for _, form := range forms {
		for _, seg := range v.Segments {
			from := len(g.postings)
			var err error
			if g.postings, err = v.segmentPostings(ctx, seg, form, g.postings); err != nil {
				return nil, err
			}
			g.add(from)
		}
	}
	list := v.listOf(g.parts()...)
	v.Caches.Lists.Replace(key, list, list.bytes()+int64(len(key.Term)))
	return list, nil
}

// listOf works out what postings of live rows count in the view. The parts are in order of slots, one after the other.
func (v Reader) listOf(parts ...[]Posting) *TermList {
	room := listPool.Get().(*listBuilder)
	defer listPool.Put(room)
	defer room.reset()
	for _, ps := range parts {
		for _, p := range ps {
			if v.Live.Has(p.Slot) {
				room.slots = append(room.slots, p.Slot)
				room.numbers = append(room.numbers, room.kindOf(p.tf, p.length))
			}
		}
	}
	n := len(room.slots)
	t := &TermList{version: v.Version, weight: bm25.Weight(float64(v.Rows), float64(n)), Postings: n}
	average := 1.0
	if v.Rows > 0 && v.Length > 0 {
		average = float64(v.Length) / float64(v.Rows)
	}
	t.impacts, t.frequencies = make([]float64, len(room.kinds)), make([]uint32, len(room.kinds))
	for i, k := range room.kinds {
		t.frequencies[i] = k.frequency
		t.impacts[i] = t.weight * bm25.Saturated(float64(k.frequency), bm25.Norm(float64(k.length), average))
		t.maxImpact = max(t.maxImpact, t.impacts[i])
	}
	t.kinds.set(room.numbers, len(room.kinds))
	if n < densePostings || n < int(v.Slots)/denseShare {
		t.slots = append([]uint32{}, room.slots...)
	} else {
		t.encodeDense(room, v.Slots)
	}
	return t
}

// encodeDense sets what a dense list has in place of slots.
func (t *TermList) encodeDense(room *listBuilder, slots uint32) {
	windows := windowsOf(slots)
	t.lowBytes, t.blockStart, t.windowMax = make([]uint8, t.Postings), make([]uint32, windows*windowBlocks+1), make([]float32, windows)
	above := make([]float32, len(t.impacts))
	for i, impact := range t.impacts {
		if above[i] = float32(impact); float64(above[i]) < impact {
			above[i] = math.Nextafter32(above[i], math.MaxFloat32)
		}
	}
	at := 0
	for block := range windows * windowBlocks {
		t.blockStart[block] = uint32(at)
		begin, most := uint32(block*blockSlots), float32(0)
		for at < t.Postings && room.slots[at]-begin < blockSlots {
			t.lowBytes[at] = uint8(room.slots[at])
			if a := above[room.numbers[at]]; a > most { // max would look for numbers that are none
				most = a
			}
			at++
		}
		w := block / windowBlocks
		t.windowMax[w] = max(t.windowMax[w], most)
	}
	t.blockStart[windows*windowBlocks] = uint32(t.Postings)
}

// listBuilder is where a list is made. It numbers pairs of how often a row has a word and how long it is, in the order in which they
// come.
type listBuilder struct {
	slots   []uint32
	numbers []uint32 // of their pairs
	kinds   []kind   // by number

	common [commonFrequencies * commonLengths]uint32 // numbers and one, of pairs of small numbers
	rare   map[kind]uint32                           // numbers of all others
}

// kind is how often a row has a word, and how many terms it has in all.
type kind struct{ frequency, length uint32 }

// What is looked up in a table: nearly all that there is.
const (
	commonFrequencies = 16
	commonLengths     = 1024
)

var listPool = sync.Pool{New: func() any { return &listBuilder{rare: make(map[kind]uint32)} }}

// kindOf returns the number of a pair.
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

// reset makes ready for another list.
func (r *listBuilder) reset() {
	for _, k := range r.kinds {
		if k.frequency < commonFrequencies && k.length < commonLengths {
			r.common[k.frequency*commonLengths+k.length] = 0
		}
	}
	r.slots, r.numbers, r.kinds = r.slots[:0], r.numbers[:0], r.kinds[:0]
	clear(r.rare)
}

// gatherer is where the postings of a word are brought together.
type gatherer struct {
	postings []Posting
	runs     []run // of postings in order of slots
	spare    []Posting
}

// run is a part of a slice.
type run struct{ from, to int }

// add notes that the postings from an index on are a run.
func (g *gatherer) add(from int) {
	if len(g.postings) > from {
		g.runs = append(g.runs, run{from, len(g.postings)})
	}
}

// parts returns the postings gathered in order of slots, one part after the other; those of one slot, which has several forms of a
// word, are added up.
func (g *gatherer) parts() [][]Posting {
	// As a rule each segment has slots of its own range.
	slices.SortFunc(g.runs, func(a, b run) int { return cmp.Compare(g.postings[a.from].Slot, g.postings[b.from].Slot) })
	parts := make([][]Posting, 0, len(g.runs))
	for i, r := range g.runs {
		if i > 0 && g.postings[g.runs[i-1].to-1].Slot >= g.postings[r.from].Slot {
			return [][]Posting{g.united()}
		}
		parts = append(parts, g.postings[r.from:r.to])
	}
	return parts
}

// united returns the postings gathered as one part.
func (g *gatherer) united() []Posting {
	for len(g.runs) > 1 {
		g.mergePairs()
	}
	return united(g.postings)
}

// mergePairs makes one run of each two.
func (g *gatherer) mergePairs() {
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

// united adds up those of the postings, which are in order of slots, that are of one slot.
func united(ps []Posting) []Posting {
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
