package pdffont

import (
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/pdf/pdffont/internal/adobe"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// cmap maps character codes to text (ToUnicode) or glyph numbers (the encoding of a composite font).
type cmap struct {
	lengths    [5]bool // by length in bytes: a code space has codes of this length
	spaces     []adobe.Range
	text       map[uint32]string
	textRanges []textRange // sorted by low
	cids       []adobe.Range
	base       *cmap // the CMap named by usecmap, or nil
	vertical   bool
}

// textRange maps the codes from low to top to consecutive texts. `first` is the text for `low`. For each further code,
// the last character is incremented.
type textRange struct {
	low, top uint32
	first    string
}

const (
	maxMapped = 200_000 // maximum number of entries in one map
	maxSpaces = 100     // maximum number of code spaces, because every code is compared with all of them
)

// parseCMap parses a CMap, using only the valid parts if it is damaged.
func parseCMap(data []byte) *cmap {
	m := &cmap{text: map[uint32]string{}}
	t := pdfobject.NewScanner(data)
	var args []pdfobject.Token
	for {
		tok := t.Next()
		if tok.Kind == pdfobject.End {
			break
		}
		if tok.Kind != pdfobject.Operator {
			if args = append(args, tok); len(args) > 4*maxMapped {
				break
			}
			continue
		}
		m.operator(tok.Str, args)
		args = args[:0]
	}
	slices.SortStableFunc(m.cids, adobe.Compare)
	slices.SortStableFunc(m.textRanges, func(a, b textRange) int { return cmp.Compare(a.low, b.low) })
	return m
}

func (m *cmap) operator(op string, args []pdfobject.Token) {
	switch op {
	case "endcodespacerange":
		m.codeSpaces(args)
	case "endbfchar":
		for i := 0; i+1 < len(args); i += 2 {
			m.set(codeOf(args[i].Str), destination(args[i+1]))
		}
	case "endbfrange":
		m.mapRanges(args)
	case "endcidrange":
		for i := 0; i+2 < len(args); i += 3 {
			m.cidRange(args[i].Str, args[i+1].Str, args[i+2].Num)
		}
	case "endcidchar":
		for i := 0; i+1 < len(args); i += 2 {
			m.cidRange(args[i].Str, args[i].Str, args[i+1].Num)
		}
	case "usecmap":
		if n := len(args); n > 0 && m.base == nil {
			m.base = predefinedCMap(args[n-1].Str)
		}
	case "def":
		if n := len(args); n >= 2 && args[n-2].Str == "WMode" {
			m.vertical = args[n-1].Num == 1
		}
	}
}

func (m *cmap) codeSpaces(args []pdfobject.Token) {
	for i := 0; i+1 < len(args); i += 2 {
		n := len(args[i].Str)
		if n < 1 || n > 4 || len(m.spaces) >= maxSpaces {
			continue
		}
		m.lengths[n] = true
		m.spaces = append(m.spaces, adobe.Range{Bytes: n, Low: codeOf(args[i].Str), Top: codeOf(args[i+1].Str)})
	}
}

func (m *cmap) cidRange(low, top string, cid float64) {
	r := adobe.Range{Bytes: len(low), Low: codeOf(low), Top: codeOf(top), CID: uint32(max(0, min(cid, 1<<24)))}
	if r.Top >= r.Low && r.Bytes >= 1 && r.Bytes <= 4 && len(m.cids) < maxMapped {
		m.cids = append(m.cids, r)
	}
}

func (m *cmap) mapRanges(args []pdfobject.Token) {
	for i := 0; i+2 < len(args); i += 3 {
		low, top, dst := codeOf(args[i].Str), codeOf(args[i+1].Str), args[i+2]
		if top < low {
			top = low // some programs write this by mistake; the first code is valid
		}
		if dst.Kind == pdfobject.Array {
			for j, item := range dst.Items {
				if uint64(low)+uint64(j) > uint64(top) {
					break
				}
				m.set(low+uint32(j), destination(item))
			}
			continue
		}
		text := destination(dst)
		switch {
		case text == "":
		case top-low < 4:
			for c := low; ; c++ {
				m.set(c, increment(text, c-low))
				if c == top {
					break
				}
			}
		case len(m.textRanges) < maxMapped:
			m.textRanges = append(m.textRanges, textRange{low, min(top, low+0xffff), text})
		}
	}
}

func (m *cmap) set(code uint32, text string) {
	if len(m.text) < maxMapped {
		m.text[code] = text
	}
}

func increment(text string, n uint32) string {
	if n == 0 {
		return text
	}
	r, size := utf8.DecodeLastRuneInString(text)
	if r += rune(n); r > utf8.MaxRune || utf16.IsSurrogate(r) {
		return ""
	}
	return text[:len(text)-size] + string(r)
}

// lookup returns the text for a code, or "" if the map has none.
func (m *cmap) lookup(code uint32) string {
	if s, ok := m.text[code]; ok {
		return s
	}
	i, _ := slices.BinarySearchFunc(m.textRanges, code, func(r textRange, c uint32) int {
		if r.low <= c {
			return -1
		}
		return 1
	})
	for back := 1; back <= 8 && back <= i; back++ { // ranges may overlap
		if r := m.textRanges[i-back]; code <= r.top {
			return increment(r.first, code-r.low)
		}
	}
	if m.base != nil {
		return m.base.lookup(code)
	}
	return ""
}

// entries returns the approximate number of mapped characters.
func (m *cmap) entries() int { return len(m.text) + len(m.textRanges) }

// cid returns the glyph number for an n-byte code, and whether there is one.
func (m *cmap) cid(code uint32, n int) (uint32, bool) {
	if r, ok := adobe.Find(m.cids, n, code); ok {
		return r.CID + code - r.Low, true
	}
	if m.base != nil {
		return m.base.cid(code, n)
	}
	return 0, false
}

// codeLength returns the length in bytes of the code at the start of s.
func (m *cmap) codeLength(s string) int {
	if len(m.spaces) == 0 && m.base != nil {
		return m.base.codeLength(s)
	}
	var code uint32
	for n := 1; n <= 4 && n <= len(s); n++ {
		code = code<<8 | uint32(s[n-1])
		if !m.lengths[n] {
			continue
		}
		for _, sp := range m.spaces {
			if sp.Bytes == n && inCodeSpace(code, sp) {
				return n
			}
		}
	}
	if m.base != nil {
		return m.base.codeLength(s)
	}
	for n := 1; n <= 4; n++ {
		if m.lengths[n] {
			return min(n, len(s))
		}
	}
	return 1
}

// inCodeSpace reports whether a code is in a code space, which limits each byte separately.
func inCodeSpace(code uint32, sp adobe.Range) bool {
	for i := range sp.Bytes {
		shift := 8 * i
		b := byte(code >> shift)
		if b < byte(sp.Low>>shift) || b > byte(sp.Top>>shift) {
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

// destination returns the text for an entry of a ToUnicode map: UTF-16 or a glyph name.
func destination(t pdfobject.Token) string {
	if t.Kind == pdfobject.Name {
		return glyphName(t.Str)
	}
	return utf16Text(t.Str)
}

// utf16Text decodes big-endian UTF-16. Some programs write a single byte instead, which it decodes as Latin-1.
func utf16Text(s string) string {
	switch len(s) {
	case 1:
		return string(rune(s[0]))
	case 2:
		if r := rune(s[0])<<8 | rune(s[1]); !utf16.IsSurrogate(r) {
			return string(r)
		}
		return "\uFFFD"
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		if i == 0 && s[0] == 0xfe && s[1] == 0xff {
			continue // a byte order mark is not text
		}
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(units))
}
