package pdf

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/table"
)

// gridRows returns a table's rows, with the lines in each cell joined. A grid row that holds several table rows,
// because no rules separate them, is split.
func (l *layout) gridRows(t *gridText, regions []region, stacked bool) []table.Row {
	filledBands, firstBand := 0, -1
	for r, band := range t.bands {
		if len(band) > 0 {
			filledBands++
			if firstBand < 0 {
				firstBand = r
			}
		}
	}
	byRow := make([][]region, t.rows())
	for _, c := range regions {
		for r := c.row; r < c.row+c.rowSpan; r++ {
			byRow[r] = append(byRow[r], c)
		}
	}
	texts := map[region]string{}
	var rows []table.Row
	for r, band := range t.bands {
		const headerLines, fewBands = 3, 4
		header := r == firstBand && len(band) <= headerLines && filledBands > 1
		key := t.keyColumn(r)
		switch {
		case t.severalRows(r, header):
			rows = append(rows, l.lineRows(t, r, nil)...)
			continue
		case !header && key >= 0:
			rows = append(rows, l.keyedRows(t, r, key)...)
			continue
		case !header && stacked && filledBands <= fewBands && t.wideLines(r) > 1:
			rows = append(rows, l.lineRows(t, r, t.spans())...)
			continue
		}
		row := table.Row{Cells: make([]string, t.columns()), Marked: t.boldCells(t.cells[r]...), Links: linksOf(l.links, band...)}
		for _, c := range byRow[r] {
			if _, told := texts[c]; !told { // the region's first row, ignoring rows that were split
				down := c.row + c.rowSpan - r
				texts[c] = t.regionText(region{r, c.column, down, c.columnSpan})
				row.Cells[c.column] = texts[c]
				if c.columnSpan > 1 || down > 1 {
					row.Merged = append(row.Merged, table.Merged{Column: c.column, ColumnSpan: c.columnSpan, RowSpan: down})
				}
			} else if c.row > firstBand && len(texts[c]) <= table.MaxMergedText && !l.p.Src.PlainRows {
				row.Cells[c.column] = texts[c] // each row must make sense on its own
			}
		}
		rows = append(rows, row)
	}
	return slices.DeleteFunc(rows, func(r table.Row) bool { return table.Filled(r.Cells) == 0 })
}

// boldCells reports, for each column, whether all of its text in the given lines is bold.
func (t *gridText) boldCells(lines ...[]pdftext.Cell) []bool {
	bold, plain := make([]bool, t.columns()), make([]bool, t.columns())
	for _, cells := range lines {
		for k, c := range cells {
			bold[k] = bold[k] || c.Text != "" && c.Bold()
			plain[k] = plain[k] || c.Text != "" && !c.Bold()
		}
	}
	for k := range bold {
		bold[k] = bold[k] && !plain[k]
	}
	return bold
}

func (t *gridText) wideLines(r int) int {
	n := 0
	for _, cells := range t.cells[r] {
		some := 0
		for _, c := range cells {
			if c.Text != "" {
				some++
			}
		}
		if some > 1 {
			n++
		}
	}
	return n
}

// regionText joins the lines in a cell.
func (t *gridText) regionText(c region) string {
	var text []byte
	for r := c.row; r < c.row+c.rowSpan; r++ {
		for _, cells := range t.cells[r] {
			text = appendLine(text, cells[c.column].Text)
		}
	}
	return string(text)
}

// severalRows reports whether the lines in a grid row are separate table rows. This is the case if two or more columns
// have text on nearly every line and the lines are not wrapped. A line counts as wrapped if the next line's first word
// would not have fitted on it. Lines with one or two words, lines with numbers, and lines that end in leader dots never
// count as wrapped. Headers are wrapped by hand, so for them only numbers are evidence of separate rows.
func (t *gridText) severalRows(r int, header bool) bool {
	lines := t.cells[r]
	if len(lines) < 2 {
		return false
	}
	some, full, breaks, forced, words, cells := 0, 0, 0, 0, 0, 0
	numbers := false // some column has a number on every line
	for k := range t.columns() {
		n := 0
		for _, line := range lines {
			if line[k].Text != "" {
				n++
			}
		}
		if n > 0 {
			some++
		}
		if n*5 < len(lines)*4 {
			continue
		}
		full++
		numeric := n == len(lines)
		const padding = 1.5 // left and right padding together, as a multiple of the font size
		width := t.xs[k+1] - t.xs[k] - padding*t.bands[r][0].Size
		for _, line := range lines {
			width = max(width, line[k].X1-line[k].X0)
		}
		for i, line := range lines {
			if line[k].Text == "" {
				continue
			}
			numeric = numeric && isValue(line[k].Text)
			cells++
			words += 1 + strings.Count(line[k].Text, " ")
			if i == 0 || lines[i-1][k].Text == "" {
				continue
			}
			a, b := lines[i-1][k], line[k]
			breaks++
			const space = 0.3 // width of a space, as a multiple of the font size
			if (a.X1-a.X0)+firstWordWidth(b)+space*t.bands[r][i].Size < width || strings.HasSuffix(a.Text, "..") {
				forced++
			}
		}
		numbers = numbers || numeric
	}
	if full < 2 || header {
		return full >= 2 && numbers
	}
	return numbers || forced*2 > breaks || len(lines) > 2 && full == some && words <= 2*cells
}

// keyColumn returns the first column with values on most lines of a grid row, or -1 if there is none. Each of these
// values starts a table row, whose other cells may have several lines.
func (t *gridText) keyColumn(r int) int {
	const fewest = 3 // minimum number of values
	lines := t.cells[r]
	for k := range t.columns() {
		n, values := 0, 0
		for _, cells := range lines {
			if cells[k].Text != "" {
				n++
				if isValue(cells[k].Text) {
					values++
				}
			}
		}
		if values == n && n >= fewest && n*2 > len(lines) && lines[0][k].Text != "" {
			return k
		}
	}
	return -1
}

// keyedRows starts a table row at each line with text in the key column.
func (l *layout) keyedRows(t *gridText, r, key int) []table.Row {
	var rows []table.Row
	for i, row := range l.lineRows(t, r, nil) {
		if t.cells[r][i][key].Text != "" {
			rows = append(rows, row)
			continue
		}
		last := &rows[len(rows)-1] // the first line has a key
		for k, text := range row.Cells {
			last.Cells[k] = joinLines(last.Cells[k], text)
		}
		last.Links = append(last.Links, row.Links...)
	}
	return rows
}

// isValue reports whether a string is a value, such as a date or a number, possibly with a unit.
func isValue(s string) bool {
	if s != "" && s[0] >= '0' && s[0] <= '9' && strings.Count(s, " ") < 2 {
		return true
	}
	digits := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits*2 > format.CountLetters(s)
}

// firstWordWidth returns the width of the first word in a cell.
func firstWordWidth(c pdftext.Cell) float64 {
	words := c.Words()
	if len(words) == 0 {
		return 0
	}
	return words[0].X1 - words[0].X0
}

// lineRows turns each line in a grid row into a table row. If `columns` is not empty, it joins lines that look like a
// cell's second line to the row above.
func (l *layout) lineRows(t *gridText, r int, columns []column) []table.Row {
	lines := make([]pdftext.Line, 0, len(t.bands[r]))
	for i, line := range t.bands[r] {
		line.Cells = nil
		for _, c := range t.cells[r][i] {
			if c.Text != "" {
				line.Cells = append(line.Cells, c)
			}
		}
		if len(line.Cells) > 0 {
			lines = append(lines, line)
		}
	}
	if columns != nil {
		return l.rowsOf(lines, columns, false)
	}
	var rows []table.Row
	for i, line := range t.bands[r] {
		row := table.Row{Cells: make([]string, t.columns()), Marked: t.boldCells(t.cells[r][i]), Links: linksOf(l.links, line)}
		for k, c := range t.cells[r][i] {
			row.Cells[k] = c.Text
		}
		rows = append(rows, row)
	}
	return rows
}

func (g *grid) spans() []column {
	columns := make([]column, g.columns())
	for k := range columns {
		columns[k] = column{g.xs[k], g.xs[k+1]}
	}
	return columns
}
