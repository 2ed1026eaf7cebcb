package pdftext

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding/charmap"
)

// glyphRunes finds the characters of glyph names. The PDF library has the Adobe glyph list but shows it only
// through the encoding of a font, so the names are put to it as fonts of a small document.
func glyphRunes(names []string) map[string]rune {
	known := make(map[string]rune, len(names))
	var asked []string
	var body bytes.Buffer
	body.WriteString("%PDF-1.7\n1 0 obj\n<<")
	for _, name := range names {
		if r := runeByRule(name); r != 0 {
			known[name] = r
			continue
		}
		base, _, _ := strings.Cut(name, ".")
		if base == "" || strings.ContainsFunc(base, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
		}) {
			continue
		}
		fmt.Fprintf(&body, "/F%d<</Encoding<</Differences[0/%s]>>>>", len(asked), base)
		asked = append(asked, name)
	}
	if len(asked) == 0 {
		return known
	}
	body.WriteString(">>\nendobj\n")
	at := body.Len()
	fmt.Fprintf(&body, "xref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<</Root 1 0 R/Size 2>>\nstartxref\n%d\n%%%%EOF", at)
	r, err := pdf.NewReader(bytes.NewReader(body.Bytes()), int64(body.Len()))
	if err != nil {
		return known
	}
	root := r.Trailer().Key("Root")
	for i, name := range asked {
		f := pdf.Font{V: root.Key("F" + strconv.Itoa(i))}
		if text := f.Encoder().Decode("\x00"); text != "\x00" && text != "" {
			known[name] = []rune(text)[0]
		}
	}
	return known
}

// runeByRule reads names that carry their code: uni20AC, u1F600.
func runeByRule(name string) rune {
	base, _, _ := strings.Cut(name, ".")
	var hex string
	switch {
	case strings.HasPrefix(base, "uni") && len(base) >= 7:
		hex = base[3:7]
	case strings.HasPrefix(base, "u") && len(base) >= 5 && len(base) <= 7:
		hex = base[1:]
	default:
		return 0
	}
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || v == 0 || v > 0x10ffff {
		return 0
	}
	return rune(v)
}

// standardHigh is the upper half of Adobe's standard encoding, by octal rows; zero where there is nothing.
var standardHigh = map[byte]rune{
	0xa1: '¡', 0xa2: '¢', 0xa3: '£', 0xa4: '⁄', 0xa5: '¥', 0xa6: 'ƒ', 0xa7: '§', 0xa8: '¤', 0xa9: '\'', 0xaa: '“',
	0xab: '«', 0xac: '‹', 0xad: '›', 0xae: 'ﬁ', 0xaf: 'ﬂ', 0xb1: '–', 0xb2: '†', 0xb3: '‡', 0xb4: '·', 0xb6: '¶',
	0xb7: '•', 0xb8: '‚', 0xb9: '„', 0xba: '”', 0xbb: '»', 0xbc: '…', 0xbd: '‰', 0xbf: '¿', 0xc1: '`', 0xc2: '´',
	0xc3: 'ˆ', 0xc4: '˜', 0xc5: '¯', 0xc6: '˘', 0xc7: '˙', 0xc8: '¨', 0xca: '˚', 0xcb: '¸', 0xcd: '˝', 0xce: '˛',
	0xcf: 'ˇ', 0xd0: '—', 0xe1: 'Æ', 0xe3: 'ª', 0xe8: 'Ł', 0xe9: 'Ø', 0xea: 'Œ', 0xeb: 'º', 0xf1: 'æ', 0xf5: 'ı',
	0xf8: 'ł', 0xf9: 'ø', 0xfa: 'œ', 0xfb: 'ß',
}

// symbolLetters and symbolSigns are the parts of the Symbol font that texts use: Greek by the Latin key it stands
// on, and signs by code.
const symbolLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var (
	symbolGreek = []rune("ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ")
	symbolSigns = map[byte]rune{
		0x22: '∀', 0x24: '∃', 0x27: '∋', 0x2a: '∗', 0x2d: '−', 0x40: '≅', 0x5c: '∴', 0x5e: '⊥', 0x7e: '∼', 0xa3: '≤',
		0xa5: '∞', 0xa7: '♣', 0xab: '↔', 0xac: '←', 0xad: '↑', 0xae: '→', 0xaf: '↓', 0xb0: '°', 0xb1: '±', 0xb3: '≥',
		0xb4: '×', 0xb5: '∝', 0xb6: '∂', 0xb7: '•', 0xb8: '÷', 0xb9: '≠', 0xba: '≡', 0xbb: '≈', 0xbc: '…', 0xc4: '⊗',
		0xc5: '⊕', 0xc6: '∅', 0xc7: '∩', 0xc8: '∪', 0xc9: '⊃', 0xca: '⊇', 0xcb: '⊄', 0xcc: '⊂', 0xcd: '⊆', 0xce: '∈',
		0xcf: '∉', 0xd0: '∠', 0xd1: '∇', 0xd2: '®', 0xd3: '©', 0xd4: '™', 0xd5: '∏', 0xd6: '√', 0xd7: '⋅', 0xd8: '¬',
		0xd9: '∧', 0xda: '∨', 0xdb: '⇔', 0xdc: '⇐', 0xde: '⇒', 0xe5: '∑', 0xf2: '∫',
	}
)

// baseEncoding is the table of a named encoding of simple fonts.
func baseEncoding(name string) [256]rune {
	var table [256]rune
	for i := 0x20; i < 0x7f; i++ {
		table[i] = rune(i)
	}
	switch name {
	case "WinAnsiEncoding":
		for i := 0x80; i < 0x100; i++ {
			table[i] = charmap.Windows1252.DecodeByte(byte(i))
		}
		for _, i := range []int{0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d} {
			table[i] = '•'
		}
		table[0xad] = '-'
	case "MacRomanEncoding":
		for i := 0x80; i < 0x100; i++ {
			table[i] = charmap.Macintosh.DecodeByte(byte(i))
		}
		table[0xca] = ' '
	case "Symbol":
		for i, c := range []byte(symbolLetters) {
			table[c] = symbolGreek[i]
		}
		for c, r := range symbolSigns {
			table[c] = r
		}
	default:
		table['\''], table['`'] = '’', '‘'
		for c, r := range standardHigh {
			table[c] = r
		}
	}
	return table
}

// Widths of the printable ASCII characters in the standard fonts that files need not describe, from space on, in
// thousandths of the font size.
var (
	helveticaWidths = [95]int16{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
		556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
		722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
		556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
		260, 334, 584,
	}
	timesWidths = [95]int16{
		250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500,
		500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889,
		722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500,
		444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480,
		200, 480, 541,
	}
)

// standardWidth is the width of a character in one of the standard fonts.
func standardWidth(fontName string, r rune) float64 {
	lower := strings.ToLower(fontName)
	if strings.Contains(lower, "courier") || strings.Contains(lower, "mono") {
		return 600
	}
	table := &helveticaWidths
	if strings.Contains(lower, "times") || strings.Contains(lower, "serif") || strings.Contains(lower, "roman") {
		table = &timesWidths
	}
	if r >= 0x20 && r < 0x7f {
		return float64(table[r-0x20])
	}
	return 556
}
