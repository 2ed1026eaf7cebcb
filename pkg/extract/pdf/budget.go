package pdf

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// What PDFium is asked for is bounded by what it was asked before and what came of it, never by time: a file has the
// same text on every machine.
const (
	// maxPDFiumCalls is how many calls into the sandbox a file may cost, which is the text of some 1,500 ordinary
	// pages and half a minute. The page on which it is reached is read to its end.
	maxPDFiumCalls = 2_000_000
	// maxHelpless is how many pages in a row PDFium may be asked for without knowing most of their characters. After
	// these it is asked for a part of the pages.
	maxHelpless = 32
	// helplessShare is of how many doubtful pages PDFium is asked for one after that, as others may follow that it
	// knows.
	helplessShare = 16
)

// pdfiumBudget says which of the pages that our own layer did not understand are put to PDFium. Its zero value is ready.
type pdfiumBudget struct {
	helpless int // pages in a row of which PDFium did not know most characters
	passed   int // doubtful pages since PDFium was last asked for one, once there are maxHelpless of them
}

// unasked says why a page was not put to PDFium.
type unasked int

const (
	wasAsked   unasked = iota
	noHelp             // it did not know the characters of the pages before
	spentCalls         // it has cost as much as it may
)

// next says whether PDFium is asked for the next doubtful page, after it has cost so many calls. There has to be
// another text of the page to be content with (alternative) for it to be left out as no help.
func (b *pdfiumBudget) next(calls int, alternative bool) unasked {
	if calls >= maxPDFiumCalls {
		return spentCalls
	}
	if b.exhausted() && alternative {
		if b.passed++; b.passed < helplessShare {
			return noHelp
		}
		b.passed = 0
	}
	return wasAsked
}

// exhausted reports whether PDFium has shown itself to be no help.
func (b *pdfiumBudget) exhausted() bool { return b.helpless >= maxHelpless }

// came takes account of what PDFium found on a page. Pages without characters say nothing about it.
func (b *pdfiumBudget) came(text pdfiumPage) {
	switch {
	case text.chars == 0:
	case text.known*2 < text.chars:
		b.helpless++
	default:
		b.helpless, b.passed = 0, 0
	}
}

// hasMeaning reports whether a reader knew what a character is. Those that PDFium does not know have the code 0, the
// number of their glyph, which is mostly a control character, or one for private use; our own layer has a sign for them.
func hasMeaning(r rune) bool {
	return r != unicode.ReplacementChar && !unicode.Is(unicode.Co, r) && (!unicode.IsControl(r) || unicode.IsSpace(r))
}

// meaningful leaves out of lines what has no meaning, which else would be most of a page that neither reader knows.
func meaningful(lines []pdftext.Line) []pdftext.Line {
	var out []pdftext.Line
	for _, line := range lines {
		var cells []pdftext.Cell
		for _, c := range line.Cells {
			words := strings.FieldsFunc(c.Text, func(r rune) bool { return unicode.IsSpace(r) || !hasMeaning(r) })
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
