package pdffont

import (
	"encoding/binary"

	"golang.org/x/text/encoding/charmap"
)

// sfnt is an embedded TrueType or OpenType font. All reads are bounds-checked, and damaged parts count as missing.
type sfnt struct {
	tables map[string][]byte
}

// parseSFNT finds a font's tables. It returns nil if there are none.
func parseSFNT(data []byte) *sfnt {
	s := &sfnt{tables: map[string][]byte{}}
	base := 0
	if len(data) > 16 && string(data[:4]) == "ttcf" {
		base = int(binary.BigEndian.Uint32(data[12:]))
	}
	for i := range min(u16(data, base+4), 64) {
		rec := base + 12 + 16*i
		if rec < 0 || rec+16 > len(data) {
			break
		}
		at, n := u32(data, rec+8), u32(data, rec+12)
		if at > len(data) {
			continue
		}
		s.tables[string(data[rec:rec+4])] = data[at:min(len(data), at+n)]
	}
	if len(s.tables) == 0 {
		return nil
	}
	return s
}

func u16(b []byte, at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint16(b[at:]))
}

func u32(b []byte, at int) int { return u16(b, at)<<16 | u16(b, at+2) }

// charMap is one of a font's character-to-glyph maps.
type charMap struct {
	platform, kind int
	at             int // offset in table cmap
}

func (s *sfnt) charMaps() []charMap {
	table := s.tables["cmap"]
	var maps []charMap
	for i := range min(u16(table, 2), 64) {
		rec := 4 + 8*i
		maps = append(maps, charMap{u16(table, rec), u16(table, rec+2), u32(table, rec+4)})
	}
	return maps
}

// walk calls `do` with each character in a map and its glyph number.
func (s *sfnt) walk(m charMap, do func(char, glyph int)) {
	table, sub := s.tables["cmap"], m.at
	budget := 1 << 18 // a hostile font's segments may overlap
	add := func(char, glyph int) {
		if budget--; glyph != 0 {
			do(char, glyph)
		}
	}
	switch u16(table, sub) {
	case 0:
		for c := range 256 {
			if at := sub + 6 + c; at < len(table) {
				add(c, int(table[at]))
			}
		}
	case 4:
		segments := u16(table, sub+6) / 2
		for i := range segments {
			end, start := u16(table, sub+14+2*i), u16(table, sub+16+2*segments+2*i)
			delta := u16(table, sub+16+4*segments+2*i)
			offsetAt := sub + 16 + 6*segments + 2*i
			offset := u16(table, offsetAt)
			for c := start; c <= end && c != 0xffff && budget > 0; c++ {
				g := (c + delta) & 0xffff
				if offset != 0 && offset != 0xffff {
					if g = u16(table, offsetAt+offset+2*(c-start)); g != 0 {
						g = (g + delta) & 0xffff
					}
				}
				add(c, g)
			}
		}
	case 6:
		first := u16(table, sub+6)
		for i := range u16(table, sub+8) {
			add(first+i, u16(table, sub+10+2*i))
		}
	case 12:
		for i := range min(u32(table, sub+12), 10_000) {
			at := sub + 16 + 12*i
			start, end, first := u32(table, at), u32(table, at+4), u32(table, at+8)
			for c := start; c <= end && budget > 0; c++ {
				add(c, first+c-start)
			}
		}
	}
}

// glyphText returns text by glyph number. It inverts the Unicode maps; for glyphs that are in none of these maps, it
// uses the glyph names. It returns nil if the font has neither Unicode maps nor glyph names.
func (s *sfnt) glyphText() map[uint32]string {
	text := map[uint32]string{}
	for _, m := range s.charMaps() {
		if m.platform != 0 && (m.platform != 3 || m.kind != 1 && m.kind != 10) {
			continue
		}
		s.walk(m, func(char, glyph int) {
			g := uint32(glyph)
			// If several characters share a glyph, use the most common: a space, not a no-break space.
			if old, ok := text[g]; ok && !isPrivateUse(old) || len(text) >= maxMapped || char < 0x20 || char > 0x10ffff {
				return
			}
			text[g] = string(rune(char))
		})
	}
	for g, name := range s.names() {
		if t := text[uint32(g)]; t == "" || isPrivateUse(t) {
			if name != "" {
				text[uint32(g)] = name
			}
		}
	}
	if cff := s.tables["CFF "]; len(cff) > 0 && len(text) == 0 {
		return parseCFF(cff).glyphText()
	}
	if len(text) == 0 {
		return nil
	}
	return text
}

func isPrivateUse(s string) bool {
	for _, r := range s {
		return r >= 0xe000 && r <= 0xf8ff
	}
	return false
}

// macExtra are the last of the 258 standard glyphs that TrueType fonts refer to by number.
var macExtra = []rune("ŁłŠšŽž¦ÐðÝýÞþ−×¹²³½¼¾₣ĞğİŞşĆćČčđ")

func macGlyph(i int) string {
	switch {
	case i >= 3 && i <= 97:
		return string(rune(i + 0x1d))
	case i >= 98 && i <= 225:
		return string(charmap.Macintosh.DecodeByte(byte(i - 98 + 0x80)))
	case i >= 226 && i < 226+len(macExtra):
		return string(macExtra[i-226])
	}
	return ""
}

// names returns the glyphs' text by glyph number, derived from their names.
func (s *sfnt) names() []string {
	post := s.tables["post"]
	var out []string
	switch u32(post, 0) {
	case 0x10000:
		for i := range 258 {
			out = append(out, macGlyph(i))
		}
	case 0x20000:
		n := u16(post, 32)
		at := 34 + 2*n
		var strings []string
		for at < len(post) && len(strings) < 0x10000 {
			end := min(len(post), at+1+int(post[at]))
			strings = append(strings, string(post[at+1:end]))
			at = end
		}
		for i := range n {
			index := u16(post, 34+2*i)
			switch {
			case index < 258:
				out = append(out, macGlyph(index))
			case index-258 < len(strings):
				out = append(out, glyphName(strings[index-258]))
			default:
				out = append(out, "")
			}
		}
	}
	return out
}

// codeText maps a simple font's character codes to text if the font has no encoding. It uses the font's symbol map or
// Macintosh map. In the symbol map, a character's number is its code, possibly plus 0xF000.
func (s *sfnt) codeText() *[256]string {
	names := s.glyphText()
	var table [256]string
	for _, m := range s.charMaps() {
		symbol := m.platform == 3 && m.kind == 0
		if !symbol && (m.platform != 1 || m.kind != 0) {
			continue
		}
		s.walk(m, func(char, glyph int) {
			if symbol && char >= 0xf000 && char <= 0xf0ff {
				char -= 0xf000
			}
			if char >= 0 && char < 256 && table[char] == "" {
				table[char] = names[uint32(glyph)]
			}
		})
	}
	return &table
}
