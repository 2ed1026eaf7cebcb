package pdf

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/lists"
)

var (
	// leader matches the dots between a title and its page number, with or without spaces.
	leader = lazyregexp.New(`[ \t]*(?:(?:[.·•‧․_][ \t]?){4,}|[…⋯][ \t]*(?:[….·⋯][ \t]*)+)[ \t]*`)
	// contentsEnd matches the page number at the end of an entry, after the leader has been replaced.
	contentsEnd = lazyregexp.New(` … (?:[A-Za-z]{1,3}[-–])?(?:\d{1,5}|[ivxlcIVXLC]{1,8})(?:[-–]\d{1,5})?$`)
	// numbering matches the number at the start of a section title.
	numbering = lazyregexp.New(`^(\d{1,3}(?:\.\d{1,3}){0,5})\.?\s+\S`)
)

// leaderText replaces the leader dots in a table of contents entry.
const leaderText = " … "

// joinContents joins each table of contents entry into one cell: title, leaderText, page number. Programs write the
// leader dots in many ways, sometimes as separate lines.
func joinContents(lines []pdftext.Line) []pdftext.Line {
	if !slices.ContainsFunc(lines, func(l pdftext.Line) bool {
		return strings.ContainsAny(l.Text(), ".·•‧․_…⋯") && leader().MatchString(l.Text())
	}) {
		return lines
	}
	out := make([]pdftext.Line, 0, len(lines))
	for _, line := range lines {
		if n := len(out); n > 0 && out[n-1].Turn == line.Turn && math.Abs(out[n-1].Y-line.Y) < 0.3*line.Size &&
			(onlyLeader(line.Cells[0].Text) || onlyLeader(out[n-1].Cells[len(out[n-1].Cells)-1].Text)) {
			out[n-1].Cells = append(slices.Clone(out[n-1].Cells), line.Cells...)
			continue
		}
		out = append(out, line)
	}
	for i, line := range out {
		if cells := contentsCells(line.Cells); cells != nil {
			out[i].Cells = cells
		}
	}
	return out
}

// onlyLeader reports whether a string consists only of dots and spaces.
func onlyLeader(s string) bool { return s != "" && strings.Trim(s, ".·•‧․_…⋯ ") == "" }

// contentsCells joins a table of contents line's cells into one cell per entry. Two entries may be side by side. It
// returns nil for other lines.
func contentsCells(cells []pdftext.Cell) []pdftext.Cell {
	var entries []pdftext.Cell
	open := -1
	for i, c := range cells {
		if open < 0 {
			open = i
		}
		if i+1 < len(cells) && (!endsWithPageNumber(c.Text) || !leader().MatchString(joinedText(cells[open:i+1]))) {
			continue
		}
		text := joinedText(cells[open : i+1])
		at := leader().FindAllStringIndex(text, -1)
		if len(at) == 0 {
			return nil
		}
		last := at[len(at)-1]
		title, page := strings.TrimRight(text[:last[0]], " \t"), strings.TrimSpace(text[last[1]:])
		entry := title + leaderText + page
		if title == "" || !contentsEnd().MatchString(entry) {
			return nil
		}
		entries = append(entries, pdftext.Cell{Text: entry, X0: cells[open].X0, X1: c.X1})
		open = -1
	}
	return entries
}

func joinedText(cells []pdftext.Cell) string {
	texts := lists.Map(cells, func(c pdftext.Cell) string { return c.Text })
	return strings.Join(texts, " ")
}

// endsWithPageNumber reports whether a string ends in a separate page number, in Arabic or Roman numerals.
func endsWithPageNumber(s string) bool {
	rest := strings.TrimRight(s, "0123456789ivxlcIVXLC")
	return len(rest) < len(s) && (rest == "" || strings.HasSuffix(rest, " ") || onlyLeader(rest[len(rest)-1:]))
}

// isContents reports whether a line is, or ends, a table of contents entry.
func isContents(text string) bool { return contentsEnd().MatchString(text) }

// numbersOn reports whether the section number in `text` can follow the one in `before`, as in "5." → "5.1", "5.1.3" →
// "5.2", or "5.2" → "6".
func numbersOn(text, before string) bool {
	a, b := numbering().FindStringSubmatch(before), numbering().FindStringSubmatch(text)
	if a == nil || b == nil {
		return false
	}
	x, y := strings.Split(a[1], "."), strings.Split(b[1], ".")
	if len(x) == 1 && len(y) == 1 {
		return false // may be list items, which have separate rules
	}
	last, err := strconv.Atoi(y[len(y)-1])
	if err != nil || !slices.Equal(y[:len(y)-1], x[:min(len(y)-1, len(x))]) {
		return false
	}
	if len(y) > len(x) {
		return last == 1 && len(y) == len(x)+1
	}
	previous, err := strconv.Atoi(x[len(y)-1])
	return err == nil && last == previous+1
}
