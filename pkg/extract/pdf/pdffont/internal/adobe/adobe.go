// Package adobe packs and unpacks Adobe's CMap and character tables. Command adobegen packs them, and package pdffont
// unpacks them.
package adobe

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Range maps the codes from Low to Top, each Bytes bytes long, to consecutive glyph numbers that start at CID.
type Range struct {
	Bytes    int
	Low, Top uint32
	CID      uint32
}

// Compare orders ranges by code length and then by code.
func Compare(a, b Range) int { return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Low, b.Low)) }

// CMap maps codes to a character collection's glyph numbers.
type CMap struct {
	Vertical bool
	Base     string  // the CMap that this one extends, or ""
	Spaces   []Range // the ranges of valid codes
	Ranges   []Range // sorted by Compare
}

// Pack encodes the CMap for UnpackCMap.
func (m CMap) Pack() []byte {
	var b []byte
	vertical := byte(0)
	if m.Vertical {
		vertical = 1
	}
	b = append(b, vertical, byte(len(m.Base)))
	b = append(b, m.Base...)
	b = binary.AppendUvarint(b, uint64(len(m.Spaces)))
	for _, s := range m.Spaces {
		b = append(b, byte(s.Bytes))
		b = binary.AppendUvarint(b, uint64(s.Low))
		b = binary.AppendUvarint(b, uint64(s.Top))
	}
	b = binary.AppendUvarint(b, uint64(len(m.Ranges)))
	last := Range{}
	for _, r := range m.Ranges {
		if r.Bytes != last.Bytes {
			last = Range{Bytes: r.Bytes}
		}
		b = append(b, byte(r.Bytes))
		b = binary.AppendVarint(b, int64(r.Low)-int64(last.Top))
		b = binary.AppendUvarint(b, uint64(r.Top-r.Low))
		b = binary.AppendVarint(b, int64(r.CID)-int64(last.CID+last.Top-last.Low))
		last = r
	}
	return b
}

// UnpackCMap decodes data that Pack returned.
func UnpackCMap(b []byte) CMap {
	u := unpacker{b}
	m := CMap{Vertical: u.byte() == 1}
	m.Base = u.string(int(u.byte()))
	m.Spaces = make([]Range, u.uvarint())
	for i := range m.Spaces {
		m.Spaces[i] = Range{Bytes: int(u.byte()), Low: uint32(u.uvarint()), Top: uint32(u.uvarint())}
	}
	m.Ranges = make([]Range, u.uvarint())
	last := Range{}
	for i := range m.Ranges {
		r := Range{Bytes: int(u.byte())}
		if r.Bytes != last.Bytes {
			last = Range{Bytes: r.Bytes}
		}
		r.Low = uint32(u.varint() + int64(last.Top))
		r.Top = r.Low + uint32(u.uvarint())
		r.CID = uint32(u.varint() + int64(last.CID+last.Top-last.Low))
		m.Ranges[i] = r
		last = r
	}
	return m
}

// Text holds the characters for glyph numbers. If a glyph stands for exactly one character, One holds that character.
// Otherwise One holds 0, and if the glyph stands for several characters, they are in Many.
type Text struct {
	One  []rune
	Many map[uint32]string
}

// PackText encodes a map from glyph numbers to characters. UnpackText decodes the result.
func PackText(text map[uint32][]rune) []byte {
	top := uint32(0)
	for c := range text {
		top = max(top, c)
	}
	b := binary.AppendUvarint(nil, uint64(top)+1)
	last := rune(0)
	for c := range top + 1 {
		switch r := text[c]; len(r) {
		case 0:
			b = binary.AppendUvarint(b, 0)
		case 1:
			delta := int64(r[0] - last)
			zigzag := uint64(delta<<1) ^ uint64(delta>>63)
			b = binary.AppendUvarint(b, zigzag+2)
			last = r[0]
		default:
			b = binary.AppendUvarint(b, 1)
			s := string(r)
			b = append(b, byte(len(s)))
			b = append(b, s...)
		}
	}
	return b
}

// UnpackText decodes data that PackText returned.
func UnpackText(b []byte) Text {
	u := unpacker{b}
	t := Text{One: make([]rune, u.uvarint()), Many: map[uint32]string{}}
	last := rune(0)
	for i := range t.One {
		switch v := u.uvarint(); v {
		case 0:
		case 1:
			t.Many[uint32(i)] = u.string(int(u.byte()))
		default:
			v -= 2
			last += rune(int64(v>>1) ^ -int64(v&1))
			t.One[i] = last
		}
	}
	return t
}

// At returns the text for a glyph number, or "" if it has none.
func (t *Text) At(cid uint32) string {
	if int64(cid) < int64(len(t.One)) && t.One[cid] != 0 {
		return string(t.One[cid])
	}
	return t.Many[cid]
}

// Find returns the range that contains the n-byte code, and whether there is one.
func Find(ranges []Range, n int, code uint32) (Range, bool) {
	i, _ := slices.BinarySearchFunc(ranges, Range{Bytes: n, Low: code + 1}, Compare)
	if code == 1<<32-1 {
		i, _ = slices.BinarySearchFunc(ranges, Range{Bytes: n + 1}, Compare)
	}
	// A file's ranges may overlap. The last one that contains the code wins.
	for back := range 8 {
		j := i - 1 - back
		if j < 0 || ranges[j].Bytes != n {
			break
		}
		if code <= ranges[j].Top {
			return ranges[j], true
		}
	}
	return Range{}, false
}

type unpacker struct{ b []byte }

func (u *unpacker) byte() byte {
	if len(u.b) == 0 {
		return 0
	}
	c := u.b[0]
	u.b = u.b[1:]
	return c
}

func (u *unpacker) string(n int) string {
	n = min(n, len(u.b))
	s := string(u.b[:n])
	u.b = u.b[n:]
	return s
}

func (u *unpacker) uvarint() uint64 {
	v, n := binary.Uvarint(u.b)
	u.b = u.b[max(n, 0):]
	return v
}

func (u *unpacker) varint() int64 {
	v, n := binary.Varint(u.b)
	u.b = u.b[max(n, 0):]
	return v
}
