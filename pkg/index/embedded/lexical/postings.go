package lexical

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
)

// Posting records that a term occurs `tf` times in the row at the given slot. `length` is the number of terms in the row.
type Posting struct {
	Slot   uint32
	tf     uint32
	length uint32
}

// Size in bytes at which a block is closed. It is also the approximate maximum size of an entry.
const blockBytes = 16 << 10

// appendPostings encodes postings. A block is a sequence of entries sorted by term:
//
//	uvarint length of term, term, uvarint number of postings, uvarint length of the data, data
//
// An entry's data is its postings, sorted by slot:
//
//	uvarint 2·(difference to the previous slot) + (tf > 1), uvarint tf if tf > 1, uvarint length
//
// A term with many postings has consecutive entries in several blocks.
func appendPostings(dst []byte, ps []Posting) []byte {
	var prev uint32
	for _, p := range ps {
		delta := uint64(p.Slot-prev) << 1
		if p.tf > 1 {
			dst = binary.AppendUvarint(dst, delta|1)
			dst = binary.AppendUvarint(dst, uint64(p.tf))
		} else {
			dst = binary.AppendUvarint(dst, delta)
		}
		dst = binary.AppendUvarint(dst, uint64(p.length))
		prev = p.Slot
	}
	return dst
}

// errBlock means that a block's checksum matches but its content is invalid.
var errBlock = fmt.Errorf("%w: a block of postings cannot be read", index.ErrCorrupt)

// decodePostings appends the n postings of an entry to `dst`.
func decodePostings(dst []Posting, data string, n int) ([]Posting, error) {
	dst = slices.Grow(dst, min(n, len(data)/2)) // at least two bytes each
	var slot, delta, tf, length uint64
	var ok bool
	for range n {
		// Fast path: most numbers take one byte.
		if len(data) > 0 && data[0] < 0x80 {
			delta, data = uint64(data[0]), data[1:]
		} else if delta, data, ok = uvarint(data); !ok {
			return dst, errBlock
		}
		tf = 1
		if delta&1 == 1 {
			if tf, data, ok = uvarint(data); !ok {
				return dst, errBlock
			}
		}
		if len(data) > 0 && data[0] < 0x80 {
			length, data = uint64(data[0]), data[1:]
		} else if length, data, ok = uvarint(data); !ok {
			return dst, errBlock
		}
		if slot += delta >> 1; slot > bitmap.MaxSlots {
			return dst, errBlock
		}
		dst = append(dst, Posting{uint32(slot), uint32(tf), uint32(length)})
	}
	return dst, nil
}

// uvarint reads a number of up to 35 bits from s and returns it with the rest of s. It returns false if there is no
// such number.
func uvarint(s string) (uint64, string, bool) {
	if len(s) > 0 && s[0] < 0x80 {
		return uint64(s[0]), s[1:], true
	}
	var v uint64
	for i := 0; i < min(len(s), 5); i++ {
		v |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return v, s[i+1:], true
		}
	}
	return 0, s, false
}

type entry struct {
	term  string
	count int
	data  string
}

// entries calls `yield` with each entry in a block. It stops when `yield` returns false.
func entries(block string, yield func(entry) bool) error {
	for len(block) > 0 {
		e, rest, ok := firstEntry(block)
		if !ok {
			return errBlock
		}
		if block = rest; !yield(e) {
			return nil
		}
	}
	return nil
}

// firstEntry returns the first entry in a block and the remainder of the block.
func firstEntry(block string) (e entry, rest string, ok bool) {
	n, rest, ok := uvarint(block)
	if !ok || n > uint64(len(rest)) {
		return e, "", false
	}
	e.term, rest = rest[:n], rest[n:]
	count, rest, ok := uvarint(rest)
	if !ok || count > uint64(len(rest)) {
		return e, "", false
	}
	e.count = int(count)
	if n, rest, ok = uvarint(rest); !ok || n > uint64(len(rest)) {
		return e, "", false
	}
	e.data = rest[:n]
	return e, rest[n:], true
}

// markedBlock is a block with the offsets of some entries, for binary search.
type markedBlock struct {
	block string
	marks []int32 // offset of every markEvery-th entry except the first
}

// Number of entries between recorded offsets.
const markEvery = 16

// mark validates a block and records the offsets for binary search. It returns errBlock if the block is invalid.
func mark(block string) (markedBlock, error) {
	m, n := markedBlock{block: block}, 0
	for rest := block; len(rest) > 0; n++ {
		if n > 0 && n%markEvery == 0 {
			m.marks = append(m.marks, int32(len(block)-len(rest)))
		}
		var ok bool
		if _, rest, ok = firstEntry(rest); !ok {
			return markedBlock{}, errBlock
		}
	}
	m.marks = slices.Clip(m.marks)
	return m, nil
}

func (m markedBlock) bytes() int64 { return int64(len(m.block) + 4*len(m.marks) + 40) }

// eachEntry calls `yield` with each entry for a term. It stops when `yield` returns false.
func (m markedBlock) eachEntry(term string, yield func(entry) bool) error {
	return m.eachEntryFrom(term, func(e entry) bool { return e.term == term && yield(e) })
}

// eachEntryFrom calls `yield` with each entry whose term is `term` or greater. It stops when `yield` returns false.
func (m markedBlock) eachEntryFrom(term string, yield func(entry) bool) error {
	at := sort.Search(len(m.marks), func(i int) bool {
		e, _, ok := firstEntry(m.block[m.marks[i]:])
		return !ok || e.term >= term
	})
	from := int32(0)
	if at > 0 {
		from = m.marks[at-1]
	}
	return entries(m.block[from:], func(e entry) bool {
		return e.term < term || yield(e)
	})
}

// BlockBuilder packs postings into blocks. The postings must be sorted by term.
type BlockBuilder struct {
	Put        func(block []byte) error // receives each block, without checksum
	block      []byte
	scratch    []byte
	FirstTerms []string // first term in each block
}

// Add appends a term's postings, which must be sorted by slot. It fails if Put cannot store a block.
func (b *BlockBuilder) Add(term string, ps []Posting) error {
	const step = blockBytes / 8 // maximum number of postings per entry; each takes a few bytes
	for len(ps) > 0 {
		n := min(step, len(ps))
		if len(b.block) >= blockBytes {
			if err := b.Close(); err != nil {
				return err
			}
		}
		if len(b.block) == 0 {
			b.FirstTerms = append(b.FirstTerms, strings.Clone(term))
			if b.block == nil && len(b.FirstTerms) > 1 { // after the first block, expect full ones
				b.block = make([]byte, 0, blockBytes+blockBytes/4)
			}
		}
		b.scratch = appendPostings(b.scratch[:0], ps[:n])
		b.block = binary.AppendUvarint(b.block, uint64(len(term)))
		b.block = append(b.block, term...)
		b.block = binary.AppendUvarint(b.block, uint64(n))
		b.block = binary.AppendUvarint(b.block, uint64(len(b.scratch)))
		b.block = append(b.block, b.scratch...)
		ps = ps[n:]
	}
	return nil
}

// Close passes the last block to Put.
func (b *BlockBuilder) Close() error {
	if len(b.block) == 0 {
		return nil
	}
	err := b.Put(b.block)
	b.block = nil
	return err
}

// EncodeDirectory encodes a segment's directory for storage: the first term in each of its blocks, and a checksum.
func EncodeDirectory(id int64, firsts []string) []byte {
	var out []byte
	for _, f := range firsts {
		out = binary.AppendUvarint(out, uint64(len(f)))
		out = append(out, f...)
	}
	return checksum.Seal(id, out)
}

func decodeDirectory(id int64, data []byte) ([]string, error) {
	data, err := checksum.Unseal(id, data, "a directory of postings")
	if err != nil {
		return nil, err
	}
	var firsts []string
	raw := string(data)
	for len(data) > 0 {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			return nil, errBlock
		}
		start := len(raw) - len(data) + size
		firsts = append(firsts, raw[start:start+int(n)])
		data = data[size+int(n):]
	}
	return firsts, nil
}
