package pdf

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// readingOrder sorts a page's lines into reading order. Nearly all programs write files in reading order, including
// columns and boxes, so readingOrder keeps the file's order if that order is plausible. Otherwise it sorts the lines by
// position. Text whose direction differs from the rest of the page, such as a stamp in the margin, comes last.
func readingOrder(lines []pdftext.Line) []pdftext.Line {
	turn := mainTurn(lines)
	main := make([]pdftext.Line, 0, len(lines))
	var turned []pdftext.Line
	for _, l := range lines {
		if l.Turn == turn {
			main = append(main, l)
		} else {
			turned = append(turned, l)
		}
	}
	if scattered(main) {
		main = sortByPosition(main, 0)
	}
	return append(main, turned...)
}

// scattered reports whether the lines' order is implausible: many are above the line before them in the same column.
func scattered(lines []pdftext.Line) bool {
	const atLeast = 6
	if len(lines) < atLeast {
		return false
	}
	back := 0
	for i := 1; i < len(lines); i++ {
		a, b := lines[i-1], lines[i]
		if b.Y > a.Y+0.5*b.Size && overlap(a, b) > 0.5 {
			back++
		}
	}
	return back*3 >= len(lines)
}

// extent returns the line's left and right ends.
func extent(l pdftext.Line) (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, c := range l.Cells {
		from, to = min(from, c.X0, c.X1), max(to, c.X0, c.X1)
	}
	return from, to
}

// overlap returns the horizontal overlap of two lines as a fraction of the narrower line's width.
func overlap(a, b pdftext.Line) float64 {
	a0, a1 := extent(a)
	b0, b1 := extent(b)
	width := max(min(a1-a0, b1-b0), 1)
	return max(0, min(a1, b1)-max(a0, b0)) / width
}

// sortByPosition sorts lines by recursively cutting the page along white space. It cuts the page into columns if a gap
// runs through all lines, and otherwise horizontally at the widest gap.
func sortByPosition(lines []pdftext.Line, depth int) []pdftext.Line {
	const deepest = 24
	if len(lines) < 2 {
		return lines
	}
	if depth < deepest {
		if left, right := cutColumns(lines); right != nil {
			return append(sortByPosition(left, depth+1), sortByPosition(right, depth+1)...)
		}
		if upper, lower := cutAcross(lines); lower != nil {
			return append(sortByPosition(upper, depth+1), sortByPosition(lower, depth+1)...)
		}
	}
	slices.SortStableFunc(lines, func(a, b pdftext.Line) int {
		if math.Abs(a.Y-b.Y) < 0.3*min(a.Size, b.Size) {
			a0, _ := extent(a)
			b0, _ := extent(b)
			return cmp.Compare(a0, b0)
		}
		return cmp.Compare(b.Y, a.Y)
	})
	return lines
}

// cutColumns splits lines at the widest gap that runs from top to bottom. Both sides of the gap must be columns of
// text, not columns of a table.
func cutColumns(lines []pdftext.Line) (left, right []pdftext.Line) {
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b pdftext.Line) int {
		a0, _ := extent(a)
		b0, _ := extent(b)
		return cmp.Compare(a0, b0)
	})
	best, cut, reach := 0.0, 0.0, math.Inf(-1)
	for _, l := range sorted {
		from, to := extent(l)
		if gap := from - reach; gap > best && !math.IsInf(reach, -1) && gap > 0.8*l.Size {
			best, cut = gap, from
		}
		reach = max(reach, to)
	}
	if best == 0 {
		return nil, nil
	}
	for _, l := range lines {
		if from, _ := extent(l); from < cut {
			left = append(left, l)
		} else {
			right = append(right, l)
		}
	}
	if !isColumn(left) || !isColumn(right) {
		return nil, nil
	}
	return left, right
}

// isColumn reports whether the lines are long enough for a column of text.
func isColumn(lines []pdftext.Line) bool {
	long := 0
	for _, l := range lines {
		if len(l.Text()) > 20 {
			long++
		}
	}
	return len(lines) >= 2 && long*2 >= len(lines)
}

// cutAcross splits lines at the largest vertical distance between neighbouring lines, which must be clearly larger than
// ordinary line spacing.
func cutAcross(lines []pdftext.Line) (upper, lower []pdftext.Line) {
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b pdftext.Line) int { return cmp.Compare(b.Y, a.Y) })
	best, at := 0.0, 0
	for i := 1; i < len(sorted); i++ {
		if gap := (sorted[i-1].Y - sorted[i].Y) / max(sorted[i].Size, 1); gap > best {
			best, at = gap, i
		}
	}
	if best < 1.6 {
		return nil, nil
	}
	return slices.Clone(sorted[:at]), slices.Clone(sorted[at:])
}
