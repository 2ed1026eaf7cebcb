package pdf

import (
	"math"
	"strings"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// maxMarkDistance is the maximum distance from the start of a list marker to the start of its item, as a multiple of
// the font size.
const maxMarkDistance = 5

// joinMarks joins list markers to their items. Some programs write all markers after the text. Others leave so much
// space between a marker and its item that the two look like separate table cells.
func joinMarks(lines []pdftext.Line) []pdftext.Line {
	out := make([]pdftext.Line, 0, len(lines))
	var marks []pdftext.Line
	for _, line := range lines {
		switch {
		case len(line.Cells) == 2 && isMark(line.Cells[0].Text) && isNearMark(line.Cells[0], line.Cells[1], line.Size):
			line.Cells = []pdftext.Cell{line.Cells[0].Before(line.Cells[1])}
		case len(line.Cells) == 1 && isMark(line.Cells[0].Text):
			marks = append(marks, line)
		}
		out = append(out, line)
	}
	for _, mark := range marks {
		if i := itemOf(mark, out); i >= 0 {
			item := &out[i]
			item.Cells = []pdftext.Cell{mark.Cells[0].Before(item.Cells[0])}
			for j := range out {
				if standingOf(out[j]) == standingOf(mark) {
					out = append(out[:j], out[j+1:]...)
					break
				}
			}
		}
	}
	return out
}

// itemOf returns the index of the nearest single-cell line to the right of a marker, on the same baseline, or -1 if
// there is none.
func itemOf(mark pdftext.Line, lines []pdftext.Line) int {
	at, least := -1, math.Inf(1)
	for i, line := range lines {
		if line.Turn != mark.Turn || len(line.Cells) != 1 || math.Abs(line.Y-mark.Y) > 0.3*line.Size || !isNearMark(mark.Cells[0], line.Cells[0], line.Size) {
			continue
		}
		if gap := line.Cells[0].X0 - mark.Cells[0].X1; gap < least && !isMark(line.Cells[0].Text) {
			at, least = i, gap
		}
	}
	return at
}

// isNearMark reports whether a cell starts close enough to a marker to be its item.
func isNearMark(mark, item pdftext.Cell, size float64) bool {
	const overlap = 0.3 // maximum overlap of marker and item, as a multiple of the font size
	return item.X0 >= mark.X1-overlap*size && item.X0 <= mark.X0+maxMarkDistance*size
}

// isMark reports whether a string is just a list marker: a bullet, "3." or "(b)".
func isMark(s string) bool {
	const dashes = "–—*-" // mark empty cells in tables
	return len(s) <= 5 && !strings.ContainsAny(s, " \t") && startsItem(s+" x") && !strings.Contains(dashes, s)
}
