package bitmap

import (
	"iter"
	"math/bits"
)

// MaxSlots bounds a space; slots are numbered by 32 bits, and so many are far beyond what one machine scans.
const MaxSlots = 1 << 30

// ChunkWords is how many words one chunk of a bitset has: 65,536 slots, 8 KiB.
const (
	ChunkWords = 1024
	chunkSlots = ChunkWords * 64
)

// Bitmap is an immutable set of slots. An edit copies only the chunks that it touches.
type Bitmap struct {
	chunks [][]uint64
}

// Word returns the w-th group of 64 slots.
func (b Bitmap) Word(w int) uint64 {
	if c := w / ChunkWords; c < len(b.chunks) && b.chunks[c] != nil {
		return b.chunks[c][w%ChunkWords]
	}
	return 0
}

func (b Bitmap) Has(slot uint32) bool {
	return b.Word(int(slot/64))&(1<<(slot%64)) != 0
}

// FromChunks is a bitmap of chunks, each of chunkWords words or nil.
func FromChunks(chunks [][]uint64) Bitmap { return Bitmap{chunks} }

// Rewrite starts a copy of which every chunk that there is counts as changed.
func (b Bitmap) Rewrite() *Edit {
	e := b.Edit()
	for c, words := range b.chunks {
		if words != nil {
			e.changedChunks[c] = true
		}
	}
	return e
}

// Edit starts a changed copy.
func (b Bitmap) Edit() *Edit {
	return &Edit{chunks: append([][]uint64(nil), b.chunks...), changedChunks: make(map[int]bool)}
}

// Edit is a bitset being changed by one goroutine.
type Edit struct {
	chunks        [][]uint64
	changedChunks map[int]bool // chunks that differ from the original
}

func (e *Edit) chunk(slot uint32) []uint64 {
	c := int(slot / chunkSlots)
	for len(e.chunks) <= c {
		e.chunks = append(e.chunks, nil)
	}
	if !e.changedChunks[c] {
		fresh := make([]uint64, ChunkWords)
		copy(fresh, e.chunks[c])
		e.chunks[c] = fresh
		e.changedChunks[c] = true
	}
	return e.chunks[c]
}

func (e *Edit) Set(slot uint32) {
	e.chunk(slot)[slot/64%ChunkWords] |= 1 << (slot % 64)
}

func (e *Edit) Clear(slot uint32) {
	e.chunk(slot)[slot/64%ChunkWords] &^= 1 << (slot % 64)
}

func (e *Edit) Done() Bitmap { return Bitmap{e.chunks} }

func (e *Edit) Has(slot uint32) bool { return e.Done().Has(slot) }

// Changed yields the number and the words of each chunk that differs from the original.
func (e *Edit) Changed() iter.Seq2[int, []uint64] {
	return func(yield func(int, []uint64) bool) {
		for c := range e.changedChunks {
			if !yield(c, e.chunks[c]) {
				return
			}
		}
	}
}

// Count counts the slots below slots.
func (b Bitmap) Count(slots uint32) int64 { return int64(Set(nil).CountIn(b, slots)) }

// Set is a set of slots that one search builds: its filter. A nil slotSet lets every slot pass.
type Set []uint64

func NewSet(slots uint32) Set { return make(Set, (int(slots)+63)/64) }

func (s Set) Add(slot uint32) { s[slot/64] |= 1 << (slot % 64) }

func (s Set) Word(w int) uint64 {
	if s == nil {
		return ^uint64(0)
	}
	return s[w]
}

func (s Set) Has(slot uint32) bool {
	return s == nil || s[slot/64]&(1<<(slot%64)) != 0
}

// Intersect removes from s what other lacks.
func (s Set) Intersect(other Set) {
	for i := range s {
		s[i] &= other[i]
	}
}

// Len is how many slots are in the set.
func (s Set) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Each calls f for each slot of the set, in ascending order.
func (s Set) Each(f func(i int)) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

// CountIn counts the slots that are in both sets.
func (s Set) CountIn(live Bitmap, slots uint32) int {
	n := 0
	for w := range (int(slots) + 63) / 64 {
		n += bits.OnesCount64(live.Word(w) & s.Word(w))
	}
	return n
}
