package pdf

import (
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// trimmed returns the grid without empty rows at the top and bottom, which appear if a picture touches the table, and
// without borders that no longer coincide with any rule. It returns nil if the remainder is too small for a table.
func (g *grid) trimmed(lines []pdftext.Line) *grid {
	first, last := g.rows(), -1
	for _, line := range lines {
		r := g.rowAt(line)
		first, last = min(first, r), max(last, r)
	}
	if first > last {
		return nil
	}
	out := &grid{turn: g.turn, xs: slices.Clone(g.xs), ys: slices.Clone(g.ys[first : last+2])}
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
	for r := out.rows() - 2; r >= 0; r-- { // vertical rules may begin and end at a border without horizontal rules
		if slices.Contains(out.below[r], true) {
			continue
		}
		for k := range out.parts[r] {
			out.parts[r][k] = out.parts[r][k] || out.parts[r+1][k]
		}
		out.below[r] = out.below[r+1]
		out.parts, out.below = slices.Delete(out.parts, r+1, r+2), slices.Delete(out.below, r+1, r+2)
		out.ys = slices.Delete(out.ys, r+1, r+2)
	}
	if out.columns() < 2 {
		return nil
	}
	return out
}

// region is a table cell, which may span several grid cells.
type region struct {
	row, column         int
	rowSpan, columnSpan int
}

// regions joins grid cells that no rule separates into table cells. `ok` is false if a table cell isn't a rectangle,
// because the rules must then belong to a drawing.
func (g *grid) regions() (all []region, ok bool) {
	columns := g.columns()
	seen := make([]bool, g.rows()*columns)
	for start := range seen {
		if seen[start] {
			continue
		}
		seen[start] = true
		open := []int{start}
		c := region{row: start / columns, column: start % columns}
		size, last, left, right := 0, start, c.column, c.column
		visit := func(i int, joined bool) {
			if joined && !seen[i] {
				seen[i] = true
				open = append(open, i)
			}
		}
		for len(open) > 0 {
			i := open[len(open)-1]
			open = open[:len(open)-1]
			r, k := i/columns, i%columns
			size, last, left, right = size+1, max(last, i), min(left, k), max(right, k)
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
		c.rowSpan, c.columnSpan = last/columns-c.row+1, right-c.column+1
		if left < c.column || c.columnSpan*c.rowSpan != size {
			return nil, false
		}
		all = append(all, g.split(c)...)
	}
	return all, true
}

// split splits a region at vertical rules that end inside it, such as those below a name that spans several columns. It
// splits each grid row at the row's own rules, then merges parts with the same columns if no rule separates them. A
// region without such rules stays whole.
func (g *grid) split(c region) []region {
	var all []region
	above := make([]int, c.columnSpan) // by column: the part that began there in the row above, from 1; 0 if none
	for r := c.row; r < c.row+c.rowSpan; r++ {
		here := make([]int, c.columnSpan)
		for k := c.column; k < c.column+c.columnSpan; {
			part := region{row: r, column: k, rowSpan: 1, columnSpan: 1}
			for k++; k < c.column+c.columnSpan && !g.parts[r][k-1]; k++ {
				part.columnSpan++
			}
			at := above[part.column-c.column]
			if at > 0 && all[at-1].columnSpan == part.columnSpan && slices.Contains(g.below[r-1][part.column:k], false) {
				all[at-1].rowSpan++
			} else {
				all = append(all, part)
				at = len(all)
			}
			here[part.column-c.column] = at
		}
		above = here
	}
	return all
}
