package pdftext

import (
	"unicode/utf16"
)

// cmap maps character codes to text (ToUnicode) or to glyph numbers (the encoding of a composite font).
type cmap struct {
	lengths  [5]bool // code lengths in bytes that occur in code spaces
	spaces   []codeSpace
	text     map[uint32]string
	ranges   []cidRange
	vertical bool
}

type codeSpace struct {
	n        int
	low, top uint32
}

type cidRange struct {
	low, top, cid uint32
}

// maxMapped bounds the entries of one map.
const maxMapped = 200_000

func parseCMap(data []byte) *cmap {
	m := &cmap{text: map[uint32]string{}}
	t := &tokenizer{data: data}
	var args []token
	for {
		tok := t.next()
		switch {
		case tok.kind == tokEnd:
			return m
		case tok.kind != tokOperator:
			if args = append(args, tok); len(args) > 4*maxMapped {
				return m
			}
			continue
		}
		switch tok.str {
		case "endcodespacerange":
			m.codeSpaces(args)
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				m.set(codeOf(args[i].str), utf16Text(args[i+1].str))
			}
		case "endbfrange":
			m.textRanges(args)
		case "endcidrange":
			for i := 0; i+2 < len(args); i += 3 {
				m.ranges = append(m.ranges, cidRange{codeOf(args[i].str), codeOf(args[i+1].str), uint32(args[i+2].num)})
			}
		case "endcidchar":
			for i := 0; i+1 < len(args); i += 2 {
				c := codeOf(args[i].str)
				m.ranges = append(m.ranges, cidRange{c, c, uint32(args[i+1].num)})
			}
		case "def":
			if n := len(args); n >= 2 && args[n-2].str == "WMode" {
				m.vertical = args[n-1].num == 1
			}
		}
		args = args[:0]
	}
}

func (m *cmap) codeSpaces(args []token) {
	for i := 0; i+1 < len(args); i += 2 {
		n := len(args[i].str)
		if n < 1 || n > 4 {
			continue
		}
		m.lengths[n] = true
		m.spaces = append(m.spaces, codeSpace{n, codeOf(args[i].str), codeOf(args[i+1].str)})
	}
}

func (m *cmap) textRanges(args []token) {
	for i := 0; i+2 < len(args); i += 3 {
		low, top, dst := codeOf(args[i].str), codeOf(args[i+1].str), args[i+2]
		if top < low || top-low > 0xffff {
			continue
		}
		if dst.kind == tokArray {
			for j, item := range dst.items {
				if low+uint32(j) > top {
					break
				}
				m.set(low+uint32(j), utf16Text(item.str))
			}
			continue
		}
		base := []rune(utf16Text(dst.str))
		if len(base) == 0 {
			continue
		}
		for c := low; c <= top && len(m.text) < maxMapped; c++ {
			base[len(base)-1] += rune(min(c-low, 1))
			m.set(c, string(base))
		}
	}
}

func (m *cmap) set(code uint32, text string) {
	if len(m.text) < maxMapped {
		m.text[code] = text
	}
}

// cid is the glyph number of a code.
func (m *cmap) cid(code uint32) (uint32, bool) {
	for i := len(m.ranges) - 1; i >= 0; i-- {
		if r := m.ranges[i]; code >= r.low && code <= r.top {
			return r.cid + code - r.low, true
		}
	}
	return 0, false
}

// codeLength is how many bytes the code at the start of s has.
func (m *cmap) codeLength(s string) int {
	var code uint32
	for n := 1; n <= 4 && n <= len(s); n++ {
		code = code<<8 | uint32(s[n-1])
		if !m.lengths[n] {
			continue
		}
		for _, sp := range m.spaces {
			if sp.n == n && within(code, sp) {
				return n
			}
		}
	}
	for n := 1; n <= 4; n++ {
		if m.lengths[n] {
			return min(n, len(s))
		}
	}
	return 1
}

// within compares byte by byte, as code spaces are rectangles.
func within(code uint32, sp codeSpace) bool {
	for i := range sp.n {
		shift := 8 * i
		b := byte(code >> shift)
		if b < byte(sp.low>>shift) || b > byte(sp.top>>shift) {
			return false
		}
	}
	return true
}

func codeOf(s string) uint32 {
	var c uint32
	for i := range min(len(s), 4) {
		c = c<<8 | uint32(s[i])
	}
	return c
}

// utf16Text decodes big-endian UTF-16; a single byte, which some writers give, is Latin-1.
func utf16Text(s string) string {
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(units))
}
