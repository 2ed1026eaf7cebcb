package pdf

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// gridText is a grid's text, arranged by rows.
type gridText struct {
	*grid
	stacked bool               // there are no rules between the columns
	bands   [][]pdftext.Line   // lines by grid row, highest first; lines on one baseline are joined
	cells   [][][]pdftext.Cell // cells by row, line and column
}

// rowAt returns the grid row that contains a line.
func (g *grid) rowAt(line pdftext.Line) int {
	y := line.Y + pdftext.MiddleHeight*line.Size
	return sort.Search(g.rows()-1, func(r int) bool { return y >= g.ys[r+1] })
}

// textOf assigns each line to one of the grid's rows. The `part` method later splits the lines at the column borders.
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

// baselines sorts lines from top to bottom and joins those on the same baseline.
func baselines(lines []pdftext.Line) []pdftext.Line {
	slices.SortStableFunc(lines, func(a, b pdftext.Line) int { return cmp.Compare(b.Y, a.Y) })
	var out []pdftext.Line
	for _, line := range lines {
		if n := len(out); n > 0 && out[n-1].Y-line.Y < 0.4*min(line.Size, out[n-1].Size) {
			out[n-1].Cells = append(out[n-1].Cells, line.Cells...)
			out[n-1].Bold = out[n-1].Bold && line.Bold
			continue
		}
		line.Cells = slices.Clip(line.Cells) // do not modify the page's lines
		out = append(out, line)
	}
	return out
}

// part splits the lines in all rows at the column borders.
func (t *gridText) part() {
	for r, band := range t.bands {
		if t.openRow(r) && t.hasClearColumns(band) {
			for k := range t.parts[r] {
				t.parts[r][k] = true
			}
		}
		var cuts []float64
		columns := []int{0} // the first column, and the column after each border
		for k := range t.columns() - 1 {
			if t.parts[r][k] {
				cuts, columns = append(cuts, t.xs[k+1]), append(columns, k+1)
			}
		}
		for _, line := range band {
			t.cells[r] = append(t.cells[r], t.partLine(line, cuts, columns))
		}
	}
}

// partLine splits a line at the borders of the grid's columns. If the borders come only from the positions of text and
// not from rules, a title that spans several columns is put into the first one.
func (t *gridText) partLine(line pdftext.Line, cuts []float64, columns []int) []pdftext.Cell {
	cells, texts := make([]pdftext.Cell, t.columns()), make([][]byte, t.columns())
	put := func(at int, c pdftext.Cell) {
		if c.Text == "" {
			return
		}
		if len(texts[at]) == 0 {
			cells[at], texts[at] = c, []byte(c.Text)
			return
		}
		texts[at] = append(append(texts[at], ' '), c.Text...)
		cells[at].X0, cells[at].X1 = min(cells[at].X0, c.X0), max(cells[at].X1, c.X1)
	}
	for _, c := range line.Cells {
		if t.stacked && len(line.Cells) == 1 && spansColumns(c, cuts, line.Size) {
			at, _ := slices.BinarySearch(t.xs[1:t.columns()], c.X0)
			put(at, c.Cut()[0])
			continue
		}
		for i, part := range c.Cut(cuts...) {
			put(columns[i], part)
		}
	}
	for k, text := range texts {
		cells[k].Text = string(text)
	}
	return cells
}

// openRow reports whether there are no rules between the cells in a row.
func (t *gridText) openRow(r int) bool {
	for k := range t.columns() - 1 {
		if t.parts[r][k] {
			return false
		}
	}
	return true
}

// hasClearColumns reports whether a row without rules is clearly divided into columns: several columns have text, and
// no text crosses a border between columns. Such rows are common in tables where only every other row has a background.
func (t *gridText) hasClearColumns(band []pdftext.Line) bool {
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
