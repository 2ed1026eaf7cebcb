// Package pdfgarbled detects wrongly decoded PDF text.
//
// A font's map from glyphs to characters may be missing or wrong. The page then looks correct, but its text is garbage.
// There are two signs: words with undecoded characters ([Unknown]), and letter pairs that occur in no language
// ([HasSubstitutedLetters]).
package pdfgarbled

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// IsDecoded reports whether a character was decoded. For unknown characters, pdftext returns a marker, and PDFium
// returns 0, a private-use character or the glyph's number, which is usually small enough to look like a control
// character.
func IsDecoded(r rune) bool {
	return r != unicode.ReplacementChar && !unicode.Is(unicode.Co, r) && (!unicode.IsControl(r) || unicode.IsSpace(r))
}

// WithoutUnknown removes undecoded characters, and lines that consist of nothing else. Otherwise a page that neither
// reader can decode would yield mostly such characters.
func WithoutUnknown(lines []pdftext.Line) []pdftext.Line {
	var out []pdftext.Line
	for _, line := range lines {
		var cells []pdftext.Cell
		for _, c := range line.Cells {
			words := strings.FieldsFunc(c.Text, func(r rune) bool { return unicode.IsSpace(r) || !IsDecoded(r) })
			if len(words) > 0 {
				cells = append(cells, pdftext.Cell{Text: strings.Join(words, " "), X0: c.X0, X1: c.X1})
			}
		}
		if line.Cells = cells; len(cells) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// Unknown counts undecoded characters in a page's words. A single undecoded character outside a word is not counted,
// because it is probably a bullet, an arrow or another symbol rather than lost text.
type Unknown struct {
	chars   int // characters in all words
	unknown int // unknown characters in words that contain several of them
}

// IsSignificant reports whether so many characters are unknown that a reader would notice gaps.
func (u Unknown) IsSignificant() bool {
	const aLine = 20
	return u.unknown >= aLine || u.unknown > 0 && u.unknown*4 >= u.chars
}

// IsLarge reports whether so much of the page is unknown that OCR is better than the decoded text. OCR makes mistakes
// too, especially in languages it isn't set up for, so a few undecoded lines don't count.
func (u Unknown) IsLarge() bool {
	const tenth = 10
	return u.IsSignificant() && u.unknown*tenth >= u.chars
}

// add counts a word's characters. Code 0 is a character that PDFium does not know.
func (u *Unknown) add(word []rune) {
	const text = 3 // minimum number of unknown characters in a word that counts
	unknown, alike := 0, true
	var first rune
	for _, r := range word {
		if r != 0 && IsDecoded(r) {
			continue
		}
		if unknown++; unknown == 1 {
			first = r
		}
		alike = alike && r == first
	}
	u.chars += len(word)
	if drawn := alike && unicode.Is(unicode.Co, first); unknown >= text && !drawn { // a line of one repeated ornament is a drawing
		u.unknown += unknown
	}
}

// AddWords counts the characters in the words of `text`.
func (u *Unknown) AddWords(text []rune) {
	from := 0
	for n, r := range text {
		if unicode.IsSpace(r) {
			u.add(text[from:n])
			from = n + 1
		}
	}
	u.add(text[from:])
}

// UnknownIn counts the undecoded characters in lines.
func UnknownIn(lines []pdftext.Line) Unknown {
	var u Unknown
	for _, line := range lines {
		for _, c := range line.Cells {
			u.AddWords([]rune(c.Text))
		}
	}
	return u
}
