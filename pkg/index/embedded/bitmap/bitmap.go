// Package bitmap implements sets of slots. A slot is a row's number in a space and is less than MaxSlots. A word
// represents 64 slots: slot s is bit s%64 of word s/64.
package bitmap

import (
	"iter"
	"math/bits"
)

// MaxSlots is the maximum number of slots in a space.
const MaxSlots = 1 << 30

const (
	// ChunkWords is the number of words per chunk. A chunk holds 65,536 slots in 8 KiB.
	ChunkWords = 1024
	chunkSlots = ChunkWords * 64
)

// Bitmap is an immutable set of slots. Edits copy only the chunks they change.
type Bitmap struct{ chunks [][]uint64 }

// FromChunks returns a bitmap with the given chunks of ChunkWords words each. Empty chunks may be nil.
func FromChunks(chunks [][]uint64) Bitmap { return Bitmap{chunks} }

// Word returns the slots 64w to 64w+63 as bits, or 0 beyond the last chunk.
func (b Bitmap) Word(w int) uint64 {
	if c := w / ChunkWords; c < len(b.chunks) && b.chunks[c] != nil {
		return b.chunks[c][w%ChunkWords]
	}
	return 0
}

// Has reports whether a slot is in the set.
func (b Bitmap) Has(slot uint32) bool { return b.Word(int(slot/64))&(1<<(slot%64)) != 0 }

// Count returns how many of the first n slots are in the set. n is rounded up to a multiple of 64.
func (b Bitmap) Count(n uint32) int64 { return int64(Set(nil).CountIn(b, n)) }

// Rewrite starts an edit that marks all chunks as changed.
func (b Bitmap) Rewrite() *Edit {
	e := b.Edit()
	for c, words := range b.chunks {
		if words != nil {
			e.changedChunks[c] = true
		}
	}
	return e
}

// Edit starts an edit. The edit works on a copy, so b does not change.
func (b Bitmap) Edit() *Edit {
	return &Edit{chunks: append([][]uint64(nil), b.chunks...), changedChunks: make(map[int]bool)}
}

// Edit is a mutable copy of a Bitmap. It is not safe for concurrent use.
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

// Set adds a slot.
func (e *Edit) Set(slot uint32) { e.chunk(slot)[slot/64%ChunkWords] |= 1 << (slot % 64) }

// Clear removes a slot.
func (e *Edit) Clear(slot uint32) { e.chunk(slot)[slot/64%ChunkWords] &^= 1 << (slot % 64) }

// Done returns the edited bitmap. After Done, only Changed may be called.
func (e *Edit) Done() Bitmap { return Bitmap{e.chunks} }

// Has reports whether a slot is in the edited set.
func (e *Edit) Has(slot uint32) bool { return e.Done().Has(slot) }

// Changed yields the index and the words of each changed chunk, in no particular order.
func (e *Edit) Changed() iter.Seq2[int, []uint64] {
	return func(yield func(int, []uint64) bool) {
		for c := range e.changedChunks {
			if !yield(c, e.chunks[c]) {
				return
			}
		}
	}
}

// Set is the set of slots that pass a search's filter, with one bit per slot. All slots pass a nil Set.
type Set []uint64

// NewSet returns an empty set for slots less than n.
func NewSet(n uint32) Set { return make(Set, (int(n)+63)/64) }

// Add adds a slot, which must be less than the n passed to NewSet.
func (s Set) Add(slot uint32) { s[slot/64] |= 1 << (slot % 64) }

// Word returns the slots 64w to 64w+63 as bits. A bit is 1 if the slot passes.
func (s Set) Word(w int) uint64 {
	if s == nil {
		return ^uint64(0)
	}
	return s[w]
}

// Has reports whether a slot passes.
func (s Set) Has(slot uint32) bool { return s == nil || s[slot/64]&(1<<(slot%64)) != 0 }

// Intersect removes from s the slots that are not in `other`. Neither set may be nil, and `other` must have at least as
// many words as s.
func (s Set) Intersect(other Set) {
	for i := range s {
		s[i] &= other[i]
	}
}

// Union adds the slots in `other` to s. Neither set may be nil, and `other` must have at least as many words as s.
func (s Set) Union(other Set) {
	for i := range s {
		s[i] |= other[i]
	}
}

// Complement inverts s, which must not be nil. The result may contain slots beyond the n passed to NewSet.
func (s Set) Complement() {
	for i := range s {
		s[i] = ^s[i]
	}
}

// Len returns the number of slots. The set must not be nil.
func (s Set) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Each calls f with each slot in ascending order. The set must not be nil.
func (s Set) Each(f func(i int)) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

// CountIn returns how many of the first n slots are in b and pass the filter. n is rounded up to a multiple of 64.
func (s Set) CountIn(b Bitmap, n uint32) int {
	count := 0
	for w := range (int(n) + 63) / 64 {
		count += bits.OnesCount64(b.Word(w) & s.Word(w))
	}
	return count
}
