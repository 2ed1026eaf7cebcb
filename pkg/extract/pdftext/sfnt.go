package pdftext

import "encoding/binary"

// glyphText reads the character map of an embedded TrueType font backwards: from glyph numbers to text. It returns
// nil when the font has no Unicode map.
func glyphText(data []byte) map[uint32]string {
	u16 := func(at int) int {
		if at < 0 || at+2 > len(data) {
			return 0
		}
		return int(binary.BigEndian.Uint16(data[at:]))
	}
	u32 := func(at int) int { return u16(at)<<16 | u16(at+2) }
	table := 0
	for i := range min(u16(4), 64) {
		if rec := 12 + 16*i; rec+16 <= len(data) && string(data[rec:rec+4]) == "cmap" {
			table = u32(rec + 8)
		}
	}
	if table == 0 || table >= len(data) {
		return nil
	}
	text := map[uint32]string{}
	budget := 1 << 20 // segments of a hostile font may overlap
	add := func(glyph, r int) {
		budget--
		if _, ok := text[uint32(glyph)]; !ok && glyph != 0 && len(text) < maxMapped {
			text[uint32(glyph)] = string(rune(r))
		}
	}
	for i := range min(u16(table+2), 64) {
		rec := table + 4 + 8*i
		platform, kind := u16(rec), u16(rec+2)
		if platform != 0 && (platform != 3 || kind != 1 && kind != 10) {
			continue
		}
		sub := table + u32(rec+4)
		switch u16(sub) {
		case 4:
			segments := u16(sub+6) / 2
			for s := range segments {
				end, start := u16(sub+14+2*s), u16(sub+16+2*segments+2*s)
				delta := u16(sub + 16 + 4*segments + 2*s)
				offsetAt := sub + 16 + 6*segments + 2*s
				offset := u16(offsetAt)
				for c := start; c <= end && c != 0xffff && budget > 0; c++ {
					g := (c + delta) & 0xffff
					if offset != 0 {
						if g = u16(offsetAt + offset + 2*(c-start)); g != 0 {
							g = (g + delta) & 0xffff
						}
					}
					add(g, c)
				}
			}
		case 12:
			for g := range min(u32(sub+12), 10_000) {
				at := sub + 16 + 12*g
				start, end, first := u32(at), u32(at+4), u32(at+8)
				for c := start; c <= end && budget > 0; c++ {
					add(first+c-start, c)
				}
			}
		}
	}
	if len(text) == 0 {
		return nil
	}
	return text
}
