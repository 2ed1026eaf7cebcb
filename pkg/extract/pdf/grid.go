package pdf

import (
	"cmp"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// placed is what stands at a place of a page: a line, or a table made of several.
type placed struct {
	line  pdftext.Line
	table *pageTable
}

// takeGrids takes the lines that stand in the grids of tables out of a page's lines and puts a table where the first of
// them stood. Inner grids come first, so that a table in a cell of another is a table.
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
	for i := len(grids) - 1; i >= 0 && tried < maxReaching; i-- { // rules between rows end at names of several rows
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

// maxReaching is how many of a page's grids are tried as tables whose names reach over several columns or rows.
const maxReaching = 20

// takeGrid puts a table in place of the lines inside a grid, if they make one.
func (l *layout) takeGrid(g *grid, items []placed) []placed {
	if !slices.ContainsFunc(items, func(i placed) bool { return i.table == nil && g.beside(i.line) }) {
		return items
	}
	if g.parts == nil {
		g.reachUp(items)
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
	const fewest = 2 // lines
	if len(inside) < fewest || g.framesPage(len(inside), len(items)) {
		return items
	}
	table := l.ruledTable(g, inside)
	if table == nil {
		return items
	}
	return slices.Insert(rest, first, placed{table: table})
}

// takeReaching puts a table in place of the lines between the rules of a grid, and of those of a header above them, if the
// table has names that reach over several columns or rows. In other tables the rules tell more.
func (l *layout) takeReaching(g *grid, items []placed) []placed {
	const header = 8 // lines above the first rule
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
			continue // another table stands between
		}
		if table, rest := l.takeAligned(lines); table != nil && table.reaches && len(rest) == 0 {
			return slices.Concat(items[:from], []placed{{table: table}}, items[last+1:])
		}
	}
	return items
}

// framesPage reports whether a few rules across have most of a page's many lines between them, as those below a running
// title and above a footer have.
func (g *grid) framesPage(inside, all int) bool {
	const fewRules, manyLines = 4, 20
	return g.parts == nil && len(g.ys) <= fewRules && inside > manyLines && inside*5 > all*3
}

// middleHeight is how far above its baseline the middle of a line is, in parts of its size.
const middleHeight = 0.3

// beside reports whether a line stands at the height of the grid and runs in its direction.
func (g *grid) beside(line pdftext.Line) bool {
	y := line.Y + middleHeight*line.Size
	return line.Turn == g.turn && y <= g.top() && y >= g.bottom()
}

// divide parts a line into what stands inside the grid and what stands beside it.
func (g *grid) divide(line pdftext.Line) (in, out pdftext.Line) {
	if !g.beside(line) {
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
