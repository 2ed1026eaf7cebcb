package pdf

import (
	"cmp"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/table"
)

// tableLines is the maximum number of lines per table. The remainder of a longer table becomes another table.
const tableLines = 400

// takeTable separates a table at the start of `lines` from the lines below it. The table has at least two lines with
// several cells each; lines between them may continue a cell. If there is no table, takeTable returns nil and all
// lines.
func takeTable(lines []pdftext.Line) (table, rest []pdftext.Line) {
	n, rows := 0, 0
	for i := 0; i < min(len(lines), tableLines); i++ {
		l := lines[i]
		if l.Filled || i > 0 && l.Y > lines[i-1].Y+0.2*l.Size || len(l.Text()) > 600 {
			break
		}
		if len(l.Cells) >= 2 || rows > 0 && sameRow(lines[i-1], l) {
			n = i + 1
			rows++
			continue
		}
		if rows == 0 || !continuesCell(lines[i-1], l) || i+1 >= len(lines) || i-n >= 3 {
			break
		}
	}
	if rows < 2 {
		return nil, lines
	}
	table, rest = lines[:n], lines[n:]
	// Some programs write the header to the file after the rows below it.
	if len(rest) > 0 && len(rest[0].Cells) >= 2 && len(rest[0].Cells) >= len(table[0].Cells) && overlap(rest[0], table[0]) > 0.5 {
		if up := (rest[0].Y - table[0].Y) / max(rest[0].Size, 1); up > 0.5 && up < 4 {
			table = append([]pdftext.Line{rest[0]}, table...)
			rest = rest[1:]
		}
	}
	return table, rest
}

// sameRow reports whether a line is on the same row as the line before it.
func sameRow(a, b pdftext.Line) bool {
	_, end := extent(a)
	from, _ := extent(b)
	return max(a.Y-b.Y, b.Y-a.Y) < 0.3*min(a.Size, b.Size) && from >= end
}

// continuesCell reports whether l, if it has a single cell, may continue a cell in the row above.
func continuesCell(above, l pdftext.Line) bool {
	if len(l.Cells) != 1 || above.Y-l.Y > 1.5*l.Size || above.Size-l.Size > 0.5 || l.Size-above.Size > 0.5 {
		return false
	}
	from, _ := extent(above)
	return l.Cells[0].X0 >= from-0.5*l.Size
}

// column is a table column, represented by its horizontal range.
type column struct{ from, to float64 }

// columnsOf derives a table's columns from the rows with the most cells. It returns nil if these rows' cells do not
// line up.
func columnsOf(lines []pdftext.Line) []column {
	most := 0
	for _, l := range lines {
		most = max(most, len(l.Cells))
	}
	var cells []column
	for _, l := range lines {
		if len(l.Cells) == most {
			for _, c := range l.Cells {
				cells = append(cells, column{min(c.X0, c.X1), max(c.X0, c.X1)})
			}
		}
	}
	slices.SortFunc(cells, func(a, b column) int { return cmp.Compare(a.from, b.from) })
	var columns []column
	for _, c := range cells {
		if n := len(columns); n > 0 && c.from < columns[n-1].to {
			columns[n-1].to = max(columns[n-1].to, c.to)
		} else {
			columns = append(columns, c)
		}
	}
	if len(columns) != most {
		return nil
	}
	return columns
}

// columnAt returns a cell's column: the one with the largest overlap or, if none overlaps, the nearest.
func columnAt(columns []column, c pdftext.Cell) int {
	best, shared := 0, -1e18
	for i, col := range columns {
		if s := min(col.to, max(c.X0, c.X1)) - max(col.from, min(c.X0, c.X1)); s > shared {
			best, shared = i, s
		}
	}
	return best
}

// rowsOf assigns the cells in a table's lines to its columns and joins the lines of multi-line cells.
func (l *layout) rowsOf(lines []pdftext.Line, columns []column, rtl bool) []table.Row {
	var rows []table.Row
	pitch := rowPitch(lines)
	for i, line := range lines {
		row, bold := make([]string, len(columns)), make([]bool, len(columns))
		filled := 0
		for _, c := range line.Cells {
			at := columnAt(columns, c)
			if rtl {
				at = len(columns) - 1 - at
			}
			if row[at] != "" {
				row[at] += " "
				bold[at] = bold[at] && c.Bold()
			} else {
				filled++
				bold[at] = c.Bold()
			}
			row[at] += c.Text
		}
		if i > 0 && (sameRow(lines[i-1], line) || lines[i-1].Y-line.Y < 0.85*pitch && (row[0] == "" || filled == 1) && filled < len(columns)) {
			last := &rows[len(rows)-1]
			for c, text := range row {
				last.Cells[c] = joinLines(last.Cells[c], text)
			}
			last.Links = append(last.Links, linksOf(l.links, line)...)
			continue
		}
		rows = append(rows, table.Row{Cells: row, Marked: bold, Links: linksOf(l.links, line)})
	}
	return rows
}

// rowPitch returns the usual distance between a table's rows. Lines within a cell are closer together. If all distances
// are equal, each line is a row.
func rowPitch(lines []pdftext.Line) float64 {
	var gaps []float64
	for i := 1; i < len(lines); i++ {
		if len(lines[i].Cells) > 1 && !sameRow(lines[i-1], lines[i]) {
			gaps = append(gaps, lines[i-1].Y-lines[i].Y)
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)*3/4]
}

// openTable is a table with named columns that may continue on the next page or after tableLines lines.
type openTable struct {
	columns []column
	header  []string
}

// matchesColumns reports whether `columns` match the open table's columns. The whole table may be shifted, as it is
// between left-hand and right-hand pages.
func (t *openTable) matchesColumns(columns []column, size float64) bool {
	if t == nil || len(columns) != len(t.columns) || len(columns) == 0 {
		return false
	}
	shift := columns[0].from - t.columns[0].from
	for i, c := range columns {
		// Columns may be left- or right-aligned, so only one edge has to match.
		left, right := c.from-t.columns[i].from-shift, c.to-t.columns[i].to-shift
		if min(max(left, -left), max(right, -right)) > size {
			return false
		}
	}
	return true
}

// table emits the rows of a table without rules.
func (l *layout) table(lines []pdftext.Line) error {
	t := &pageTable{columns: columnsOf(lines), size: lines[0].Size}
	if t.columns == nil {
		for _, line := range lines {
			row := table.Row{Cells: make([]string, len(line.Cells)), Links: linksOf(l.links, line)}
			for i, c := range line.Cells {
				row.Cells[i] = c.Text
			}
			t.rows = append(t.rows, row)
		}
		return l.emitTable(t)
	}
	t.rows = l.rowsOf(lines, t.columns, rightToLeft(lines))
	t.named = len(lines) >= 3 && !slices.Contains(t.rows[0].Cells, "")
	return l.emitTable(t)
}

// pageTable is a table found on a page.
type pageTable struct {
	rows     []table.Row // at least one
	columns  []column    // nil if unknown
	size     float64     // font size, in points
	named    bool        // one of its rows can name the columns
	header   bool        // the first row is known to name the columns
	spanning bool        // names span several columns or rows
}

// emitTable emits a table's rows. It uses column names only if it's certain of them, because a value under the wrong
// name is misleading.
func (l *layout) emitTable(t *pageTable) error {
	w := &table.Writer{Out: l.p.Out, Page: l.number, IsHeader: t.header}
	before := l.open
	l.indents, l.open = nil, nil
	rows, named := t.rows, t.named
	if before.matchesColumns(t.columns, t.size) {
		w.Header, w.Decided, named = before.header, true, true
		if !l.p.Src.PlainRows && slices.Equal(rows[0].Cells, before.header) {
			rows = rows[1:] // the header is repeated on every page
		}
	}
	w.Plain = l.p.Src.PlainRows || !named && !w.IsPropertySheet(rows)
	for _, row := range rows {
		if err := w.Add(row); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if named && w.Header != nil {
		l.open = &openTable{t.columns, w.Header}
	}
	return nil
}

// rightToLeft reports whether most lines' cells run from right to left.
func rightToLeft(lines []pdftext.Line) bool {
	n := 0
	for _, l := range lines {
		if len(l.Cells) > 1 && l.Cells[0].X0 > l.Cells[1].X0 {
			n++
		}
	}
	return n*2 > len(lines)
}

// proseColumns splits lines that run across two to four columns of prose and returns them column by column. Such lines
// look like table rows, but their cells are long and fill the columns. If the lines are a table, proseColumns returns
// nil.
func proseColumns(table []pdftext.Line) []pdftext.Line {
	columns := columnsOf(table)
	if len(columns) < 2 || len(columns) > 4 || len(table) < 4 {
		return nil
	}
	parts := make([][]pdftext.Line, len(columns))
	for _, l := range table {
		for _, c := range l.Cells {
			at := columnAt(columns, c)
			part := l
			part.Cells = []pdftext.Cell{c}
			parts[at] = append(parts[at], part)
		}
	}
	for i, part := range parts {
		length, full := 0, 0
		for _, l := range part {
			length += len(l.Text())
			if c := l.Cells[0]; c.X1-c.X0 > 0.85*(columns[i].to-columns[i].from) {
				full++
			}
		}
		if length < 25*len(part) || full*5 < len(part)*3 || len(part) < 4 {
			return nil
		}
	}
	if rightToLeft(table) {
		slices.Reverse(parts)
	}
	return slices.Concat(parts...)
}
