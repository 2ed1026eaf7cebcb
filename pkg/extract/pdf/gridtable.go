package pdf

import (
	"slices"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/table"
)

// ruledTable converts the lines inside a grid to a table. It returns nil if the grid is a box around paragraphs, a
// form, a drawing or a page frame.
func (l *layout) ruledTable(g *grid, lines []pdftext.Line) *pageTable {
	if g = g.trimmed(lines); g == nil {
		return nil
	}
	stacked := g.parts == nil
	if stacked {
		if g = g.withColumns(lines); g == nil {
			return nil
		}
	}
	cells := 0
	for _, line := range lines {
		cells += len(line.Cells)
	}
	if cells*g.columns() > maxGridText {
		return nil
	}
	t := g.textOf(lines)
	t.stacked = stacked
	t.part()
	regions, ok := g.regions()
	if !ok || !t.isTable(regions) || stacked && (!t.hasHeader() || l.framesText(t)) {
		return nil
	}
	rows := l.gridRows(t, regions, stacked)
	if !tabular(rows) {
		return nil
	}
	table := &pageTable{rows: rows, columns: g.spans(), size: lines[0].Size, header: t.boldHeader()}
	if mostlyRTL(lines) {
		table.mirror()
	}
	table.dropEmptyColumns()
	if len(table.columns) < 2 {
		return nil
	}
	table.named = table.names()
	return table
}

// isTable reports whether the text in a grid forms a table: most cells have text, the text is not prose, and few cells
// are merged. Forms have many merged cells, because their cells have different widths.
func (t *gridText) isTable(regions []region) bool {
	const proseCell = 400 // average number of bytes per cell from which text is prose in columns
	full, size, merged := 0, 0, 0
	for _, c := range regions {
		n := 0
		if c.columnSpan > 1 || c.rowSpan > 1 {
			merged++
		}
		for r := c.row; r < c.row+c.rowSpan; r++ {
			for _, cells := range t.cells[r] {
				n += len(cells[c.column].Text)
			}
		}
		if n > 0 {
			full++
			size += n
		}
	}
	return full >= 4 && full*2 >= len(regions) && merged*5 <= 2*len(regions) && size < proseCell*full
}

// tabular reports whether at least two rows, and at least half of the rows with text, have text in several columns.
func tabular(rows []table.Row) bool {
	wide, some := 0, 0
	for _, r := range rows {
		n := table.Filled(r.Cells)
		if n > 0 {
			some++
		}
		if n > 1 {
			wide++
		}
	}
	return wide >= 2 && wide*2 >= some
}

// boldHeader reports whether the first row with text is bold and the next is not.
func (t *gridText) boldHeader() bool {
	first := true
	for _, band := range t.bands {
		if len(band) == 0 {
			continue
		}
		bold := !slices.ContainsFunc(band, func(l pdftext.Line) bool { return !l.Bold })
		if !first {
			return !bold
		}
		if !bold {
			return false
		}
		first = false
	}
	return false
}

// mostlyRTL reports whether most letters in the given lines run from right to left.
func mostlyRTL(lines []pdftext.Line) bool {
	rtl, all := 0, 0
	for _, l := range lines {
		for _, r := range l.Text() {
			if unicode.IsLetter(r) {
				all++
				if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana) {
					rtl++
				}
			}
		}
	}
	return rtl*2 > all
}

// mirror reverses the columns of a right-to-left table, so that the rightmost comes first.
func (t *pageTable) mirror() {
	n := len(t.columns)
	for i := range t.rows {
		slices.Reverse(t.rows[i].Cells)
		slices.Reverse(t.rows[i].Marked)
		for j, m := range t.rows[i].Merged {
			t.rows[i].Merged[j].Column = n - m.Column - m.ColumnSpan
		}
		for _, m := range t.rows[i].Merged {
			cells := t.rows[i].Cells
			if end := m.Column + m.ColumnSpan - 1; cells[m.Column] == "" {
				cells[m.Column], cells[end] = cells[end], ""
			}
		}
	}
}

// dropEmptyColumns removes columns without any text, such as those between double rules.
func (t *pageTable) dropEmptyColumns() {
	for k := len(t.columns) - 1; k >= 0; k-- {
		if slices.ContainsFunc(t.rows, func(r table.Row) bool { return r.Cells[k] != "" }) {
			continue
		}
		t.columns = slices.Delete(t.columns, k, k+1)
		for i := range t.rows {
			t.rows[i].Cells = slices.Delete(t.rows[i].Cells, k, k+1)
			if k < len(t.rows[i].Marked) {
				t.rows[i].Marked = slices.Delete(t.rows[i].Marked, k, k+1)
			}
			for j := range t.rows[i].Merged {
				switch m := &t.rows[i].Merged[j]; {
				case m.Column > k:
					m.Column--
				case m.Column+m.ColumnSpan > k:
					m.ColumnSpan--
				}
			}
		}
	}
}

// names reports whether the first row with several cells can name the columns: either every column except perhaps the
// first has a name, or the row has merged cells, which show the columns that a name covers.
func (t *pageTable) names() bool {
	for _, r := range t.rows {
		if table.Filled(r.Cells) < 2 {
			continue
		}
		return slices.ContainsFunc(r.Merged, func(m table.Merged) bool { return m.ColumnSpan > 1 }) || !slices.Contains(r.Cells[1:], "")
	}
	return false
}
