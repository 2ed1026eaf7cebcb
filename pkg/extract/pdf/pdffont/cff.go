package pdffont

import (
	"math"
	"strings"
)

// cff holds the parts of a Compact Font Format (CFF) font that map glyphs to characters.
type cff struct {
	names    []string // glyph names by glyph number; nil in CID-keyed fonts
	cids     []int    // CIDs by glyph number in CID-keyed fonts; nil in other fonts
	encoding [256]string
	standard bool // the font uses Adobe's standard encoding
}

// parseCFF parses a font, using only the valid parts if it is damaged. It never returns nil.
func parseCFF(data []byte) *cff {
	f := &cff{}
	if len(data) < 4 {
		return f
	}
	_, at := cffIndex(data, int(data[2])) // skip the index of font names
	tops, at := cffIndex(data, at)
	strs, _ := cffIndex(data, at)
	if len(tops) == 0 {
		return f
	}
	top := cffDict(tops[0])
	charStrings, _ := cffIndex(data, int(top[17]))
	n := min(len(charStrings), 0x10000)
	sids := cffCharset(data, top, n)
	if _, ok := top[0xc00|30]; ok {
		f.cids = sids
		return f
	}
	f.names = make([]string, n)
	for g, sid := range sids {
		f.names[g] = cffString(sid, strs)
	}
	f.readEncoding(data, int(top[16]), strs)
	return f
}

// cffIndex returns an INDEX's items and the offset of its end.
func cffIndex(data []byte, at int) (items [][]byte, end int) {
	count := u16(data, at)
	if count == 0 || at < 0 || at+3 > len(data) {
		return nil, at + 2
	}
	size := int(data[at+2])
	if size < 1 || size > 4 {
		return nil, len(data)
	}
	offset := func(i int) int {
		v, p := 0, at+3+i*size
		for j := range size {
			if p+j >= len(data) {
				return -1
			}
			v = v<<8 | int(data[p+j])
		}
		return v
	}
	base := at + 2 + (count+1)*size
	for i := range count {
		a, b := offset(i), offset(i+1)
		if a < 1 || b < a || base+b > len(data) {
			return items, len(data)
		}
		items = append(items, data[base+a:base+b])
	}
	return items, base + offset(count)
}

// cffDict returns the first operand of each operator in a DICT. A two-byte operator's key is 0xc00 plus its second
// byte.
func cffDict(b []byte) map[int]float64 {
	dict := map[int]float64{}
	var args []float64
	for i := 0; i < len(b); {
		c := int(b[i])
		i++
		switch {
		case c <= 21:
			if c == 12 && i < len(b) {
				c = 0xc00 | int(b[i])
				i++
			}
			first := 0.0
			if len(args) > 0 {
				first = args[0]
			}
			dict[c] = first
			args = args[:0]
		case c == 28:
			args = append(args, float64(int16(u16(b, i))))
			i += 2
		case c == 29:
			args = append(args, float64(int32(u32(b, i))))
			i += 4
		case c == 30: // a real number is never an offset, so skip it
			for i < len(b) && b[i]&0xf != 0xf && b[i]>>4 != 0xf {
				i++
			}
			i++
			args = append(args, 0)
		case c >= 32 && c <= 246:
			args = append(args, float64(c-139))
		case c >= 247 && c <= 254 && i < len(b):
			v := (c-247)*256 + int(b[i]) + 108
			if c >= 251 {
				v = -(c-251)*256 - int(b[i]) - 108
			}
			args = append(args, float64(v))
			i++
		}
	}
	for k, v := range dict { // only offsets are used
		if math.IsNaN(v) || v < 0 {
			dict[k] = 0
		}
	}
	return dict
}

// cffCharset returns, for each of n glyphs, the string number of its name or, in CID-keyed fonts, its CID.
func cffCharset(data []byte, top map[int]float64, n int) []int {
	sids := make([]int, n)
	at := int(top[15])
	if at <= 2 { // predefined; in charset 0, the string number is the glyph number
		for g := range sids {
			if at == 0 {
				sids[g] = g
			}
		}
		return sids
	}
	if at >= len(data) {
		return sids
	}
	format := data[at]
	at++
	for g := 1; g < n && at+1 < len(data); {
		first := u16(data, at)
		at += 2
		left := 0
		switch {
		case format == 1 && at < len(data):
			left = int(data[at])
			at++
		case format == 2:
			left = u16(data, at)
			at += 2
		}
		for i := 0; i <= left && g < n; i++ {
			sids[g] = first + i
			g++
		}
	}
	return sids
}

// readEncoding reads the font's encoding, which maps character codes to glyphs.
func (f *cff) readEncoding(data []byte, at int, strs [][]byte) {
	if at == 0 {
		f.standard = true
		return
	}
	if at == 1 || at+1 >= len(data) {
		return
	}
	format, count := data[at], int(data[at+1])
	at += 2
	g := 1
	set := func(code int) {
		if g < len(f.names) && code < 256 {
			f.encoding[code] = f.names[g]
		}
		g++
	}
	for range count {
		if at >= len(data) {
			return
		}
		switch format & 0x7f {
		case 0:
			set(int(data[at]))
			at++
		case 1:
			if at+1 >= len(data) {
				return
			}
			for i := range int(data[at+1]) + 1 {
				set(int(data[at]) + i)
			}
			at += 2
		}
	}
	if format&0x80 != 0 && at < len(data) {
		for i := range int(data[at]) {
			if p := at + 1 + 3*i; p+2 < len(data) {
				f.encoding[data[p]] = cffString(u16(data, p+1), strs)
			}
		}
	}
}

// glyphText returns text by glyph number, derived from the glyphs' names, or nil if no name is known.
func (f *cff) glyphText() map[uint32]string {
	text := map[uint32]string{}
	for g, name := range f.names {
		if t := cffName(name); t != "" {
			text[uint32(g)] = t
		}
	}
	if len(text) == 0 {
		return nil
	}
	return text
}

// cffName returns the text for a glyph name that cffString returned.
func cffName(name string) string {
	if t, ok := strings.CutPrefix(name, "\x00"); ok {
		return t
	}
	return glyphName(name)
}

// cffString returns the name with string number `sid`. For most standard strings, it returns a zero byte and the
// character instead; no name starts with a zero byte.
func cffString(sid int, strs [][]byte) string {
	switch {
	case sid >= 391 && sid-391 < len(strs):
		return string(strs[sid-391])
	case sid >= 1 && sid < 1+len(cffStandard):
		return "\x00" + string(cffStandard[sid-1])
	case sid >= 239 && sid <= 248: // old style figures
		return "\x00" + string(rune('0'+sid-239))
	case sid >= 274 && sid <= 299: // small capitals
		return "\x00" + string(rune('A'+sid-274))
	case sid == 266:
		return "ff"
	case sid == 267:
		return "ffi"
	case sid == 268:
		return "ffl"
	}
	return ""
}

// cffStandard holds the characters for the standard strings, starting with string number 1.
var cffStandard = []rune(" !\"#$%&’()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_‘abcdefghijklmnopqrstuvwxyz{|}~" +
	"¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ–†‡·¶•‚„”»…‰¿`´ˆ˜¯˘˙¨˚¸˝˛ˇ—ÆªŁØŒºæıłøœß" +
	"¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž")
