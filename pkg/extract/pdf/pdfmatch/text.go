// Package pdfmatch finds passages of extracted text on a PDF's pages.
//
// Extraction changes the text: it joins divided words, adds spaces, column names and labels, and reorders columns and
// cells. So a passage is not searched for as a whole. The package splits it into words and picks a position for each
// word, so that the words follow each other as naturally as possible.
package pdfmatch

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Box is an upright rectangle on the displayed page, in points. The origin is the page's upper left corner, and Y grows
// downwards.
type Box struct{ X0, Y0, X1, Y1 float64 }

// Glyph is a visible glyph on a page.
type Glyph struct {
	Page    int // from 1
	Line    int // its line number, counted in reading order over all pages
	Text    string
	Box     Box
	Size    float64 // font size, in points
	Begins  bool    // it is the first glyph in a word
	Cell    bool    // it is the first glyph in a cell
	Slanted bool    // its line is parallel to neither edge of the page
}

// Text is the text of some pages, prepared for searching.
type Text struct {
	glyphs []Glyph
	core   []coreRune
	byRune map[rune][]int32 // indexes of the core by rune
	rtl    bool             // most letters run from right to left
}

// coreRune is a letter or digit on the pages. Only letters and digits are compared with a passage.
type coreRune struct {
	r      rune
	glyph  int32
	begins bool // it begins a word
}

// NewText returns the text of pages. The glyphs must be in reading order.
func NewText(glyphs []Glyph) *Text {
	t := &Text{glyphs: glyphs, core: make([]coreRune, 0, len(glyphs)), byRune: map[rune][]int32{}}
	var folded []rune
	begins := true
	rtl := 0
	for i, g := range glyphs {
		begins = begins || g.Begins || g.Cell || i > 0 && g.Line != glyphs[i-1].Line
		for _, r := range g.Text {
			folded = fold(folded[:0], r)
			if len(folded) == 0 {
				begins = begins || !unicode.Is(unicode.Mn, r)
				continue
			}
			for _, f := range folded {
				t.byRune[f] = append(t.byRune[f], int32(len(t.core)))
				t.core = append(t.core, coreRune{f, int32(i), begins})
				begins = false
				if unicode.In(f, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko) {
					rtl++
				}
			}
		}
	}
	t.rtl = rtl*2 > len(t.core)
	return t
}

// fold appends a character's letters and digits without accents. It appends nothing for other characters.
func fold(dst []rune, r rune) []rune {
	if r < utf8.RuneSelf {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			dst = append(dst, r)
		}
		return dst
	}
	var buf [utf8.UTFMax]byte
	parts := norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition()
	if parts == nil {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Mc, r) {
			dst = append(dst, r)
		}
		return dst
	}
	for len(parts) > 0 {
		p, n := utf8.DecodeRune(parts)
		parts = parts[n:]
		if unicode.IsLetter(p) || unicode.IsNumber(p) || unicode.Is(unicode.Mc, p) {
			dst = append(dst, p)
		}
	}
	return dst
}

// glyphOf returns the glyph of a core rune.
func (t *Text) glyphOf(core int32) *Glyph { return &t.glyphs[t.core[core].glyph] }
