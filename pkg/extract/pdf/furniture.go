package pdf

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// content returns a page's lines without the headers and footers repeated from earlier pages.
func (l *layout) content(lines []pdftext.Line) []pdftext.Line {
	now := map[string]float64{}
	drop := map[standing]bool{}
	for _, e := range furnitureLines(lines) {
		text := e.Text()
		masked := maskNumbers(text)
		now[masked] = e.Y
		if !e.Artifact && !l.repeated[masked] && !l.running(masked, e.Y) {
			continue
		}
		numbers, before := numbersOf(text), l.shown[masked]
		// A line as large as a heading, such as "Part 2", is the heading of the text below it, so keep it even if an earlier
		// page has a similar line.
		heads := !e.Artifact && e.Size >= l.body*largerThanBody && format.CountLetters(masked) > 0 && !slices.Equal(numbers, before.numbers)
		if !heads && (before.page == 0 && format.CountLetters(masked) == 0 || before.page > 0 && countsPages(before, numberedLine{l.number, numbers})) {
			drop[standingOf(e)] = true
		}
		if _, known := l.shown[masked]; known || len(l.shown) < maxRepeated {
			l.shown[masked] = numberedLine{l.number, numbers}
		}
	}
	l.recent[l.number%len(l.recent)] = now
	if len(drop) == 0 {
		return lines
	}
	return slices.DeleteFunc(slices.Clone(lines), func(line pdftext.Line) bool { return drop[standingOf(line)] })
}

// furnitureLines returns the lines on a page that may be headers or footers. These are the lines that the file marks as
// artifacts and, if the page has more than a few lines, the lines at its top and bottom edges.
func furnitureLines(lines []pdftext.Line) []pdftext.Line {
	var found []pdftext.Line
	if len(lines) > maxPlainLines {
		found = edgeLines(lines)
	}
	edges := map[standing]bool{}
	for _, e := range found {
		edges[standingOf(e)] = true
	}
	for _, line := range lines {
		if line.Artifact && !edges[standingOf(line)] {
			found = append(found, line)
		}
	}
	return found
}

// standing is a line's position and text.
type standing struct {
	x, y float64
	text string
}

func standingOf(l pdftext.Line) standing { return standing{l.Cells[0].X0, l.Y, l.Text()} }

// running reports whether a line was at the same height `y` on at least two recent pages, as a chapter's running title
// would be. `masked` is the line's text with numbers masked.
func (l *layout) running(masked string, y float64) bool {
	n := 0
	for _, page := range l.recent {
		if at, ok := page[masked]; ok && math.Abs(at-y) < sameHeight {
			n++
		}
	}
	return n >= 2 && isFurniture(masked)
}

// maxRepeated is the maximum number of repeated lines to remember.
const maxRepeated = 10_000

// numberedLine holds the numbers in a repeated line and its page number.
type numberedLine struct {
	page    int
	numbers []int
}

// countsPages reports whether two otherwise equal lines differ only by page numbers. A change in any other number, such
// as an invoice number, is new information.
func countsPages(a, b numberedLine) bool {
	if len(a.numbers) != len(b.numbers) {
		return false
	}
	for i := range a.numbers {
		if d := b.numbers[i] - a.numbers[i]; d != 0 && d != b.page-a.page {
			return false
		}
	}
	return true
}

// numbersOf returns the numbers in a string.
func numbersOf(s string) []int {
	var numbers []int
	for _, digits := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(digits); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// sameHeight is the maximum vertical shift of a repeated line between pages, in points.
const sameHeight = 4

// isFurniture reports whether a repeated line has words or looks like a page number. Other numbers may belong to a
// table that continues on the next page.
func isFurniture(masked string) bool {
	return format.CountLetters(masked) > 0 || strings.Count(masked, "#") <= 2 && len(masked) <= 12
}

// edgeLines returns a page's two highest and two lowest lines.
func edgeLines(lines []pdftext.Line) []pdftext.Line {
	turn := mainTurn(lines)
	var upright []pdftext.Line
	for _, l := range lines {
		if l.Turn == turn {
			upright = append(upright, l)
		}
	}
	slices.SortStableFunc(upright, func(a, b pdftext.Line) int { return cmp.Compare(b.Y, a.Y) })
	if len(upright) <= 4 {
		return upright
	}
	return append(upright[:2:2], upright[len(upright)-2:]...)
}

// maskNumbers replaces each number with one character, so that lines that differ only in page number become equal. A
// line that is just a Roman numeral counts as a number.
func maskNumbers(s string) string {
	if len(s) <= 8 && s != "" && strings.Trim(s, "ivxlcIVXLC") == "" {
		return "#"
	}
	var b strings.Builder
	was := false
	for _, r := range s {
		is := unicode.IsDigit(r)
		if is && was {
			continue
		}
		was = is
		if is {
			r = '#'
		}
		b.WriteRune(r)
	}
	return b.String()
}
