package pdf

import (
	"cmp"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// placed is an item on a page: a line, or a table that consists of several lines.
type placed struct {
	line  pdftext.Line
	table *pageTable
}

// takeGrids replaces the lines in each grid that forms a table with that table, at the first line's position. Inner
// grids come first, so that tables nested in cells are recognised.
func (l *layout) takeGrids(lines []pdftext.Line) []placed {
	items := make([]placed, len(lines))
	for i, line := range lines {
		items[i].line = line
	}
	if len(l.grids)*len(lines) > maxGridWork {
		return items
	}
	grids := slices.Clone(l.grids)
	slices.SortStableFunc(grids, func(a, b grid) int {
		return cmp.Compare((a.right()-a.left())*(a.top()-a.bottom()), (b.right()-b.left())*(b.top()-b.bottom()))
	})
	tried := 0
	// Try the largest grids first. If a name spans several rows, the rules between those rows are shorter than the
	// table's other rules and may form a smaller grid on their own.
	for i := len(grids) - 1; i >= 0 && tried < maxReaching; i-- {
		if grids[i].parts == nil {
			tried++
			items = l.takeReaching(&grids[i], items)
		}
	}
	for i := range grids {
		items = l.takeGrid(&grids[i], items)
	}
	return items
}

// maxReaching is the maximum number of grids per page to try with takeReaching.
const maxReaching = 20

// takeGrid replaces the lines inside a grid with a table, if they form one.
func (l *layout) takeGrid(g *grid, items []placed) []placed {
	if !slices.ContainsFunc(items, func(i placed) bool { return i.table == nil && g.atHeight(i.line) }) {
		return items
	}
	if g.parts == nil {
		g.addHeaderRow(items)
	}
	var inside []pdftext.Line
	first := -1
	rest := make([]placed, 0, len(items))
	for _, item := range items {
		if item.table != nil {
			rest = append(rest, item)
			continue
		}
		in, out := g.divide(item.line)
		if len(in.Cells) > 0 {
			if first < 0 {
				first = len(rest)
			}
			inside = append(inside, in)
		}
		if len(out.Cells) > 0 {
			rest = append(rest, placed{line: out})
		}
	}
	const fewest = 2 // minimum number of lines
	if len(inside) < fewest || g.framesPage(len(inside), len(items)) {
		return items
	}
	table := l.ruledTable(g, inside)
	if table == nil {
		return items
	}
	return slices.Insert(rest, first, placed{table: table})
}

// takeReaching replaces the lines between a grid's rules, and the header lines above them, with a table. It handles
// only tables whose names span several columns or rows, because the rules alone do not show the spans.
func (l *layout) takeReaching(g *grid, items []placed) []placed {
	const header = 8 // maximum number of header lines above the first rule
	first, last := -1, -1
	for i, item := range items {
		if in, _ := g.divide(item.line); item.table == nil && len(in.Cells) > 0 {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first < 0 || last-first > alignedLines {
		return items
	}
	for from := max(0, first-header); from <= first; from++ {
		var lines []pdftext.Line
		for _, item := range items[from : last+1] {
			if item.table == nil {
				lines = append(lines, item.line)
			}
		}
		if len(lines) <= last-from {
			continue // another table is between the lines
		}
		if table, rest := l.takeAligned(lines); table != nil && table.spanning && len(rest) == 0 {
			return slices.Concat(items[:from], []placed{{table: table}}, items[last+1:])
		}
	}
	return items
}

// framesPage reports whether a few horizontal rules enclose most of a full page. Such rules often just separate the
// running title and the footer.
func (g *grid) framesPage(inside, all int) bool {
	const maxRules, manyLines = 4, 20
	return g.parts == nil && len(g.ys) <= maxRules && inside > manyLines && inside*5 > all*3
}

// atHeight reports whether a line is at the grid's height and has the grid's direction.
func (g *grid) atHeight(line pdftext.Line) bool {
	y := line.Y + pdftext.MiddleHeight*line.Size
	return line.Turn == g.turn && y <= g.top() && y >= g.bottom()
}

// divide splits a line into the cells inside and outside the grid.
func (g *grid) divide(line pdftext.Line) (in, out pdftext.Line) {
	if !g.atHeight(line) {
		return pdftext.Line{}, line
	}
	in, out = line, line
	in.Cells, out.Cells = nil, nil
	for _, c := range line.Cells {
		x0, x1 := min(c.X0, c.X1), max(c.X0, c.X1)
		switch {
		case x1 < g.left() || x0 > g.right():
			out.Cells = append(out.Cells, c)
		case x0 >= g.left()-sameRule && x1 <= g.right()+sameRule:
			in.Cells = append(in.Cells, c)
		default:
			for i, part := range c.Cut(g.left(), g.right()) {
				switch {
				case part.Text == "":
				case i == 1:
					in.Cells = append(in.Cells, part)
				default:
					out.Cells = append(out.Cells, part)
				}
			}
		}
	}
	return in, out
}
