package analysis

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
)

// Maximum length of cached words in bytes.
const maxKnownBytes = 24

// wordKey is a word of 1 to maxKnownBytes nonzero bytes, padded with zeros and stored as three little-endian numbers.
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

// wordTable is a hash table of analysed words. It contains the keys themselves, so a lookup usually takes one memory
// access instead of a Go map's three. The zero value is empty.
type wordTable struct {
	slots []wordSlot // length is a power of two, and at least half are free
	seeds wordKey    // random odd numbers, to prevent deliberate collisions
	shift int        // turns a hash into an index
	count int
}

// wordSlot is a slot in the table. It's free if word is nil.
type wordSlot struct {
	key  wordKey
	word *knownWord
}

// find returns the slot that holds a word, or the free slot for it.
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

// add adds a word that is not in the table yet.
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
		const first = 10 // logarithm of the initial size
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
