package embedded

import (
	"iter"
	"math/bits"
)

// maxSlots bounds a space; slots are numbered by 32 bits, and so many are far beyond what one machine scans.
const maxSlots = 1 << 30

// chunkWords is how many words one chunk of a bitset has: 65,536 slots, 8 KiB.
const (
	chunkWords = 1024
	chunkSlots = chunkWords * 64
)

// bitset is an immutable set of slots. An edit copies only the chunks that it touches.
type bitset struct {
	chunks [][]uint64
}

// word returns the w-th group of 64 slots.
func (b bitset) word(w int) uint64 {
	if c := w / chunkWords; c < len(b.chunks) && b.chunks[c] != nil {
		return b.chunks[c][w%chunkWords]
	}
	return 0
}

func (b bitset) has(slot uint32) bool {
	return b.word(int(slot/64))&(1<<(slot%64)) != 0
}

// fromChunks is a bitmap of chunks, each of chunkWords words or nil.
func fromChunks(chunks [][]uint64) bitset { return bitset{chunks} }

// rewrite starts a copy of which every chunk that there is counts as changed.
func (b bitset) rewrite() *bitsetEdit {
	e := b.edit()
	for c, words := range b.chunks {
		if words != nil {
			e.dirty[c] = true
		}
	}
	return e
}

// edit starts a changed copy.
func (b bitset) edit() *bitsetEdit {
	return &bitsetEdit{chunks: append([][]uint64(nil), b.chunks...), dirty: make(map[int]bool)}
}

// bitsetEdit is a bitset being changed by one goroutine.
type bitsetEdit struct {
	chunks [][]uint64
	dirty  map[int]bool // chunks that differ from the original
}

func (e *bitsetEdit) chunk(slot uint32) []uint64 {
	c := int(slot / chunkSlots)
	for len(e.chunks) <= c {
		e.chunks = append(e.chunks, nil)
	}
	if !e.dirty[c] {
		fresh := make([]uint64, chunkWords)
		copy(fresh, e.chunks[c])
		e.chunks[c] = fresh
		e.dirty[c] = true
	}
	return e.chunks[c]
}

func (e *bitsetEdit) set(slot uint32) {
	e.chunk(slot)[slot/64%chunkWords] |= 1 << (slot % 64)
}

func (e *bitsetEdit) clear(slot uint32) {
	e.chunk(slot)[slot/64%chunkWords] &^= 1 << (slot % 64)
}

func (e *bitsetEdit) done() bitset { return bitset{e.chunks} }

func (e *bitsetEdit) has(slot uint32) bool { return e.done().has(slot) }

// changed yields the number and the words of each chunk that differs from the original.
func (e *bitsetEdit) changed() iter.Seq2[int, []uint64] {
	return func(yield func(int, []uint64) bool) {
		for c := range e.dirty {
			if !yield(c, e.chunks[c]) {
				return
			}
		}
	}
}

// count counts the slots below slots.
func (b bitset) count(slots uint32) int64 { return int64(slotSet(nil).count(b, slots)) }

// slotSet is a set of slots that one search builds: its filter. A nil slotSet lets every slot pass.
type slotSet []uint64

func newSlotSet(slots uint32) slotSet { return make(slotSet, (int(slots)+63)/64) }

func (s slotSet) add(slot uint32) { s[slot/64] |= 1 << (slot % 64) }

func (s slotSet) word(w int) uint64 {
	if s == nil {
		return ^uint64(0)
	}
	return s[w]
}

func (s slotSet) has(slot uint32) bool {
	return s == nil || s[slot/64]&(1<<(slot%64)) != 0
}

// keep removes from s what other lacks.
func (s slotSet) keep(other slotSet) {
	for i := range s {
		s[i] &= other[i]
	}
}

// size is how many slots are in the set.
func (s slotSet) size() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// each calls f for each slot of the set, in ascending order.
func (s slotSet) each(f func(i int)) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

// count counts the slots that are in both sets.
func (s slotSet) count(live bitset, slots uint32) int {
	n := 0
	for w := range (int(slots) + 63) / 64 {
		n += bits.OnesCount64(live.word(w) & s.word(w))
	}
	return n
}
