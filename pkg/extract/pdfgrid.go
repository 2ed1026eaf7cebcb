package extract

import (
	"cmp"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// placed is what stands at a place of a page: a line, or a table made of several.
type placed struct {
	line  pdftext.Line
	table *ruledTable
}

// ruledTable is a table whose cells rules part.
type ruledTable struct {
	rows    []tableRow
	columns []column
	size    float64 // of its text
	header  bool    // the first row is set off as the names of columns are
}

// takeGrids takes the lines that stand in the grids of tables out of a page's lines and puts a table where the first of
// them stood. Inner grids come first, so that a table in a cell of another is a table.
func (l *pdfLayout) takeGrids(lines []pdftext.Line) []placed {
	items := make([]placed, len(lines))
	for i, line := range lines {
		items[i].line = line
	}
	grids := slices.Clone(l.grids)
	slices.SortStableFunc(grids, func(a, b grid) int {
		return cmp.Compare((a.right()-a.left())*(a.top()-a.bottom()), (b.right()-b.left())*(b.top()-b.bottom()))
	})
	for i := range grids {
		items = l.takeGrid(&grids[i], items)
	}
	return items
}

// takeGrid puts a table in place of the lines inside a grid, if they make one.
func (l *pdfLayout) takeGrid(g *grid, items []placed) []placed {
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

// framesPage reports whether a few rules across have most of a page's many lines between them, as those below a running
// title and above a footer have.
func (g *grid) framesPage(inside, all int) bool {
	const fewRules, manyLines = 4, 20
	return g.parts == nil && len(g.ys) <= fewRules && inside > manyLines && inside*5 > all*3
}

// middleHeight is how far above its baseline the middle of a line is, in parts of its size.
const middleHeight = 0.3

// divide parts a line into what stands inside the grid and what stands beside it.
func (g *grid) divide(line pdftext.Line) (in, out pdftext.Line) {
	if y := line.Y + middleHeight*line.Size; line.Turn != g.turn || y > g.top() || y < g.bottom() {
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

// trimmed is the grid without rows at its top and bottom that hold no text, as where a picture touches a table, and
// without borders that part nothing then. It returns nil where nothing is left that a table needs.
func (g *grid) trimmed(lines []pdftext.Line) *grid {
	first, last := g.rows(), -1
	for _, line := range lines {
		r := g.rowAt(line)
		first, last = min(first, r), max(last, r)
	}
	if first > last {
		return nil
	}
	out := &grid{turn: g.turn, xs: slices.Clone(g.xs), ys: g.ys[first : last+2]}
	if g.parts == nil {
		return out
	}
	for r := first; r <= last; r++ {
		out.parts, out.below = append(out.parts, slices.Clone(g.parts[r])), append(out.below, slices.Clone(g.below[r]))
	}
	for k := out.columns() - 2; k >= 0; k-- {
		if slices.ContainsFunc(out.parts, func(row []bool) bool { return row[k] }) {
			continue
		}
		out.xs = slices.Delete(out.xs, k+1, k+2)
		for r := range out.parts {
			out.below[r][k+1] = out.below[r][k] && out.below[r][k+1]
			out.parts[r], out.below[r] = slices.Delete(out.parts[r], k, k+1), slices.Delete(out.below[r], k, k+1)
		}
	}
	for r := out.rows() - 2; r >= 0; r-- { // rules down may begin and end where nothing runs across
		if slices.Contains(out.below[r], true) {
			continue
		}
		for k := range out.parts[r] {
			out.parts[r][k] = out.parts[r][k] || out.parts[r+1][k]
		}
		out.below[r] = out.below[r+1]
		out.parts, out.below = slices.Delete(out.parts, r+1, r+2), slices.Delete(out.below, r+1, r+2)
		out.ys = slices.Delete(slices.Clone(out.ys), r+1, r+2)
	}
	if out.columns() < 2 {
		return nil
	}
	return out
}

// gridText is the text of a grid, by rows.
type gridText struct {
	*grid
	stacked bool               // the columns are not parted by rules
	bands   [][]pdftext.Line   // by row of the grid: its lines, highest first; those on one baseline are one
	cells   [][][]pdftext.Cell // by row, line and column
}

// rowAt is the row of the grid in which a line stands.
func (g *grid) rowAt(line pdftext.Line) int {
	y := line.Y + middleHeight*line.Size
	at := 0
	for at < g.rows()-1 && y < g.ys[at+1] {
		at++
	}
	return at
}

// textOf puts lines into the rows of a grid and parts them at its columns.
func (g *grid) textOf(lines []pdftext.Line) *gridText {
	t := &gridText{grid: g, bands: make([][]pdftext.Line, g.rows()), cells: make([][][]pdftext.Cell, g.rows())}
	for _, line := range lines {
		r := g.rowAt(line)
		t.bands[r] = append(t.bands[r], line)
	}
	for r, band := range t.bands {
		t.bands[r] = baselines(band)
	}
	return t
}

// baselines sorts lines from top to bottom and joins those that stand side by side.
func baselines(lines []pdftext.Line) []pdftext.Line {
	slices.SortStableFunc(lines, func(a, b pdftext.Line) int { return cmp.Compare(b.Y, a.Y) })
	var out []pdftext.Line
	for _, line := range lines {
		if n := len(out); n > 0 && out[n-1].Y-line.Y < 0.4*min(line.Size, out[n-1].Size) {
			out[n-1].Cells = slices.Concat(out[n-1].Cells, line.Cells)
			out[n-1].Bold = out[n-1].Bold && line.Bold
			continue
		}
		out = append(out, line)
	}
	return out
}

// part parts the lines of all rows at the borders of their columns.
func (t *gridText) part() {
	for r, band := range t.bands {
		if t.openRow(r) && t.apart(band) {
			for k := range t.parts[r] {
				t.parts[r][k] = true
			}
		}
		var cuts []float64
		var column []int // that begins behind each cut
		for k := range t.columns() - 1 {
			if t.parts[r][k] {
				cuts, column = append(cuts, t.xs[k+1]), append(column, k+1)
			}
		}
		for _, line := range band {
			cells := make([]pdftext.Cell, t.columns())
			for _, c := range line.Cells {
				cuts := cuts
				if t.stacked && len(line.Cells) == 1 && reachesOver(c, cuts, line.Size) {
					cuts = nil
				}
				for i, part := range c.Cut(cuts...) {
					if part.Text == "" {
						continue
					}
					at := 0
					if i > 0 {
						at = column[i-1]
					} else if cuts == nil {
						at, _ = slices.BinarySearch(t.xs[1:t.columns()], c.X0)
					}
					if cells[at].Text == "" {
						cells[at] = part
						continue
					}
					cells[at].Text += " " + part.Text
					cells[at].X0, cells[at].X1 = min(cells[at].X0, part.X0), max(cells[at].X1, part.X1)
				}
			}
			t.cells[r] = append(t.cells[r], cells)
		}
	}
}

// openRow reports whether no rule parts the cells of a row.
func (t *gridText) openRow(r int) bool {
	for k := range t.columns() - 1 {
		if t.parts[r][k] {
			return false
		}
	}
	return true
}

// apart reports whether the text of a row stands in columns although no rules part them, as where only every other row
// has a background.
func (t *gridText) apart(band []pdftext.Line) bool {
	parts := 0
	for _, line := range band {
		for i, c := range line.Cells {
			if i > 0 {
				parts++
			}
			for k := range t.columns() - 1 {
				if x := t.xs[k+1]; min(c.X0, c.X1) < x && max(c.X0, c.X1) > x {
					return false
				}
			}
		}
	}
	return parts > 0
}

// region is a cell of a table, which may cover several of the grid.
type region struct {
	row, column  int
	down, across int
}

// regions joins the cells of a grid that no rule parts. ok is false where they are no rectangles: then the rules are
// those of a drawing.
func (g *grid) regions() (all []region, ok bool) {
	columns := g.columns()
	of := make([]int, g.rows()*columns)
	for i := range of {
		of[i] = -1
	}
	for start := range of {
		if of[start] >= 0 {
			continue
		}
		n := len(all)
		of[start] = n
		open := []int{start}
		size, last := 0, start
		for len(open) > 0 {
			i := open[len(open)-1]
			open = open[:len(open)-1]
			size, last = size+1, max(last, i)
			r, k := i/columns, i%columns
			visit := func(j int, joined bool) {
				if joined && of[j] < 0 {
					of[j] = n
					open = append(open, j)
				}
			}
			if k+1 < columns {
				visit(i+1, !g.parts[r][k])
			}
			if k > 0 {
				visit(i-1, !g.parts[r][k-1])
			}
			if r+1 < g.rows() {
				visit(i+columns, !g.below[r][k])
			}
			if r > 0 {
				visit(i-columns, !g.below[r-1][k])
			}
		}
		// The first cell met is the upper left one of a rectangle, the last the lower right one.
		cell := region{start / columns, start % columns, last/columns - start/columns + 1, last%columns - start%columns + 1}
		if cell.across < 1 || cell.across*cell.down != size {
			return nil, false
		}
		all = append(all, cell)
	}
	return all, true
}
