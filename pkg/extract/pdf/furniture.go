package pdf

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// content is a page's lines without the headers and footers that have been shown before.
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
		// In letters as large as a heading's, "Part 2" on the second page names what follows.
		heads := !e.Artifact && e.Size >= l.body*largerThanBody && format.CountLetters(masked) > 0 && !slices.Equal(numbers, before.numbers)
		if !heads && (before.page == 0 && format.CountLetters(masked) == 0 || before.page > 0 && countsPages(before, numberedLine{l.number, numbers})) {
			drop[standingOf(e)] = true
		}
		if _, known := l.shown[masked]; known || len(l.shown) < mostShown {
			l.shown[masked] = numberedLine{l.number, numbers}
		}
	}
	l.recent[l.number%len(l.recent)] = now
	if len(drop) == 0 {
		return lines
	}
	return slices.DeleteFunc(slices.Clone(lines), func(line pdftext.Line) bool { return drop[standingOf(line)] })
}

// furnitureLines are the lines of a page that may be headers or footers: those at its edges, unless it has only a few,
// and those that the file itself calls so.
func furnitureLines(lines []pdftext.Line) []pdftext.Line {
	var found []pdftext.Line
	if len(lines) > fewLines {
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

// standing tells the lines of a page apart.
type standing struct {
	x, y float64
	text string
}

func standingOf(l pdftext.Line) standing { return standing{l.Cells[0].X0, l.Y, l.Text()} }

// running reports whether a line at the edge of a page stood there on two of the pages just before, as the heading of a
// chapter does.
func (l *layout) running(masked string, y float64) bool {
	n := 0
	for _, page := range l.recent {
		if at, ok := page[masked]; ok && math.Abs(at-y) < sameHeight {
			n++
		}
	}
	return n >= 2 && isFurniture(masked)
}

// mostShown bounds the repeated lines that are remembered.
const mostShown = 10_000

// numberedLine is a repeated line as it was on a page.
type numberedLine struct {
	page    int
	numbers []int
}

// countsPages reports whether two lines that are the same but for their numbers differ as pages do. A line with another
// number, an invoice's say, tells something new.
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

// numbersOf are the numbers in a text.
func numbersOf(s string) []int {
	var numbers []int
	for _, digits := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(digits); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// sameHeight is how far apart the baselines of a repeated line may be on different pages, in points.
const sameHeight = 4

// isFurniture reports whether a repeated text is words or a page's number, and not the figures of a table that goes on
// over pages.
func isFurniture(masked string) bool {
	return format.CountLetters(masked) > 0 || strings.Count(masked, "#") <= 2 && len(masked) <= 12
}

// edgeLines are the two highest and the two lowest lines of a page.
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

// maskNumbers replaces every number by one sign, so that lines which differ in the page's number are the same. A line
// that is a Roman number alone is one too.
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
