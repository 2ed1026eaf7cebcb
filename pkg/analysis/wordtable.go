package analysis

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
)

// maxKnownBytes bounds the words that are remembered as they are written.
const maxKnownBytes = 24

// wordKey is a word of 1 to maxKnownBytes bytes, none of which is zero, and zeros behind it: three numbers, little-endian.
type wordKey [maxKnownBytes / 8]uint64

func keyOf(text string) (key wordKey) {
	i := 0
	for ; len(text) > 8; i++ {
		key[i] = binary.LittleEndian.Uint64([]byte(text[:8]))
		text = text[8:]
	}
	var last [8]byte
	copy(last[:], text)
	key[i] = binary.LittleEndian.Uint64(last[:])
	return key
}

func (k wordKey) text() string {
	var b [maxKnownBytes]byte
	for i, v := range k {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	return strings.TrimRight(string(b[:]), "\x00")
}

// wordTable finds what is known of a word. Its keys lie in the table itself, so that a word that is there is found by one look at
// memory where a map takes three. Its zero value is empty.
type wordTable struct {
	slots []wordSlot // a power of two of them, at least half of them free
	seeds wordKey    // odd numbers that nobody can know who would choose words to lie in one place
	shift int        // how far a hash is shifted to be a place
	count int
}

// wordSlot is free while it has no word.
type wordSlot struct {
	key  wordKey
	word *knownWord
}

// find returns the slot that has a word, or where it would be.
func (t *wordTable) find(key wordKey) *wordSlot {
	if len(t.slots) == 0 {
		t.grow()
	}
	hash := key[0]*t.seeds[0] + key[1]*t.seeds[1] + key[2]*t.seeds[2]
	hash ^= hash >> 32
	hash *= t.seeds[0]
	for at := int(hash >> t.shift); ; at = (at + 1) & (len(t.slots) - 1) {
		if s := &t.slots[at]; s.word == nil || s.key == key {
			return s
		}
	}
}

// add adds a word that is not there.
func (t *wordTable) add(key wordKey, word *knownWord) *wordSlot {
	if t.count++; 2*t.count > len(t.slots) {
		t.grow()
	}
	s := t.find(key)
	*s = wordSlot{key, word}
	return s
}

func (t *wordTable) grow() {
	old := t.slots
	if len(old) == 0 {
		const first = 10 // bits of the first places
		t.slots, t.shift = make([]wordSlot, 1<<first), 64-first
		for i := range t.seeds {
			t.seeds[i] = rand.Uint64() | 1
		}
		return
	}
	t.slots = make([]wordSlot, 2*len(old))
	t.shift--
	for _, s := range old {
		if s.word != nil {
			*t.find(s.key) = s
		}
	}
}
