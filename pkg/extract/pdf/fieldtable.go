package pdf

import (
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdffield"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// withFields returns a page's lines, with the values of the page's form fields added to them.
func withFields(p page) []pdftext.Line {
	return pdffield.Place(p.lines, p.fields, func(lines []pdftext.Line, fields []pdftext.Field) []bool {
		return fieldsInTables(p.grids, lines, fields)
	})
}

// fieldsInTables reports, for each field, whether it belongs to a table of fields: its column has a name in the first
// row, and its row has at least two fields and no text outside the first cell.
func fieldsInTables(grids []grid, lines []pdftext.Line, fields []pdftext.Field) []bool {
	in := make([]bool, len(fields))
	for g := range grids {
		g := &grids[g]
		if g.parts == nil || g.turn != 0 || len(lines)*len(fields) > maxGridWork {
			continue
		}
		filled := make([]bool, g.rows()*g.columns())
		for _, line := range lines {
			if !g.atHeight(line) {
				continue
			}
			r := g.rowAt(line)
			for _, c := range line.Cells {
				for _, w := range c.Words() {
					if x := w.Middle(); x > g.left() && x < g.right() {
						filled[r*g.columns()+columnIn(g.xs, x)] = true
					}
				}
			}
		}
		inRow := map[int]int{} // by row: number of fields in empty cells below names
		cells := make([]int, len(fields))
		for i, field := range fields {
			x, y := (field.Box.X0+field.Box.X1)/2, (field.Box.Y0+field.Box.Y1)/2
			cells[i] = -1
			if x <= g.left() || x >= g.right() || y >= g.ys[1] || y <= g.bottom() {
				continue
			}
			r := g.rowAt(pdftext.Line{Y: y})
			if k := columnIn(g.xs, x); filled[k] && !slices.Contains(filled[r*g.columns()+1:(r+1)*g.columns()], true) && !filled[r*g.columns()+k] {
				cells[i] = r
				inRow[r]++
			}
		}
		for i, r := range cells {
			in[i] = in[i] || r >= 0 && inRow[r] > 1
		}
	}
	return in
}

// columnIn returns the index of the column that contains x. `xs` holds the column borders in ascending order.
func columnIn(xs []float64, x float64) int {
	at, _ := slices.BinarySearch(xs, x)
	return min(max(at-1, 0), len(xs)-2)
}
