package extract

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// headerSample is how many rows are looked at to find the header row.
const headerSample = 20

// tableRow is a row of a table: its cells, where it stands, and what it links to.
type tableRow struct {
	number int // in its sheet or file, from 1; 0 where that means nothing
	cells  []string
	header bool   // it is known to name the columns
	marked []bool // of its cells: set off by bold letters or a ground; nil unknown
	merged []mergedCell
	links  []domain.BlockLink
	// targets are the addresses to write after the cells, by column; nil for none.
	targets []string
}

// mergedCell is a cell that covers others to its right and below it.
type mergedCell struct {
	column       int // from 0
	across, down int // columns and rows it covers, itself among them
}

// rowWriter turns the rows of a table into blocks. Once it has seen enough of them to tell which row names the
// columns, it writes each following row as "column: value; …", which can be found and understood on its own. Rows of a
// property and its value each are written as "property: value".
type rowWriter struct {
	out      *sink
	page     int
	sheet    string
	plain    bool // cells parted by tabs, whatever the header
	isHeader bool // the caller knows that the first row is the header

	header  []string
	pairs   *pairColumns // nil where rows are no pairs
	pending []tableRow
	decided bool
}

// add takes the next row. Empty rows are passed over.
func (w *rowWriter) add(r tableRow) error {
	row := make([]string, 0, min(len(r.cells), maxColumns))
	for _, c := range r.cells[:min(len(r.cells), maxColumns)] {
		row = append(row, oneLine(c))
	}
	if len(r.cells) > maxColumns {
		w.out.warn("rows with more than " + strconv.Itoa(maxColumns) + " columns were cut")
	}
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	if len(row) == 0 {
		return nil
	}
	r.cells = row
	if w.decided && r.header {
		w.decided = false
	}
	if w.decided {
		return w.write(r)
	}
	w.pending = append(w.pending, r)
	if len(w.pending) < headerSample {
		return nil
	}
	return w.decide(false)
}

// gap says that an empty row stands here: what follows may be another table, with a header row of its own.
func (w *rowWriter) gap() error {
	if !w.decided {
		// A single row is the title of what follows.
		if len(w.pending) < 2 {
			return nil
		}
		if err := w.decide(true); err != nil {
			return err
		}
	}
	w.decided = false
	return nil
}

// flush writes what is still held back; call it after the last row.
func (w *rowWriter) flush() error {
	if w.decided {
		return nil
	}
	return w.decide(false)
}

// decide tells header, records and pairs apart in the rows held back; ended says that an empty row follows.
func (w *rowWriter) decide(ended bool) error {
	w.decided = true
	rows := w.pending
	w.pending = nil
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = r.cells
	}
	if n := w.sheetAbove(rows, cells); n > 0 {
		w.pairs, w.header = nil, nil
		for _, r := range rows[:n] {
			if err := w.emit(r, pairsLine(r.shown())); err != nil {
				return err
			}
		}
		w.pending = rows[n:]
		return w.decide(ended)
	}
	if w.isDoubleSheet(rows) {
		w.pairs, w.header = nil, nil
		for _, r := range rows {
			if err := w.emit(r, pairsLine(r.shown())); err != nil {
				return err
			}
		}
		return nil
	}
	at, depth := w.headerAt(rows, cells)
	if ended && len(rows) == 2 && at == 0 && !rows[0].header && !valuesBelow(cells) && filled(cells[0]) == 2 && w.header == nil {
		at = -1 // two lines above a table say what it is about, more often than they are a table of one record
	}
	if w.pairs = w.pairsIn(rows, cells, at); w.pairs != nil {
		w.header, at = nil, -1
	}
	for i, r := range rows {
		if i == at {
			names := make([]columnNames, depth)
			for k := range names {
				names[k] = rows[at+k].names()
			}
			w.header = joinHeaders(names)
		}
		if i < at && filled(r.cells) < filled(cells[at+depth-1]) { // a title of the table that begins below it
			if err := w.emit(r, strings.Join(r.shown(), "\t")); err != nil {
				return err
			}
			continue
		}
		if i >= at && i < at+depth {
			if err := w.emit(r, strings.Join(r.shown(), "\t")); err != nil {
				return err
			}
			continue
		}
		if err := w.write(r); err != nil {
			return err
		}
	}
	return nil
}

// headerAt finds the rows that name the columns; at is -1 where there are none.
func (w *rowWriter) headerAt(rows []tableRow, cells [][]string) (at, depth int) {
	at, depth = mergedHeader(rows)
	if at < 0 {
		at, depth = headerRows(cells)
	}
	if w.isHeader && len(rows) > 1 && filled(cells[0]) > 1 {
		at, depth = 0, 1
	}
	if known := slices.IndexFunc(rows, func(r tableRow) bool { return r.header }); known >= 0 {
		at, depth = known, 1
	} else if w.header != nil && at >= 0 && !valuesBelow(cells[at+depth-1:]) {
		at = -1 // rows after a gap that look no different from those before it
	}
	return at, depth
}

// pairsIn finds the columns of labels and values in rows that tell of one thing; nil for rows of records. at is where a
// header would be. A row that is set off, or known, as a header is one, and the rows of a table go on after a gap.
func (w *rowWriter) pairsIn(rows []tableRow, cells [][]string, at int) *pairColumns {
	c, ok := pairsOf(cells)
	if !ok || w.isHeader || w.header != nil && at < 0 && filled(w.header) <= 2 || slices.ContainsFunc(rows, func(r tableRow) bool { return r.header }) {
		return nil
	}
	if len(rows) > 1 && rows[0].allMarked() && !rows[1].allMarked() {
		return nil
	}
	if at < 0 || c.colons(cells) || labelsMarked(rows, c) || c.differ(cells) || c.known(cells) {
		return &c
	}
	return nil
}

// isMarked reports whether the cell in a column is set off.
func (r *tableRow) isMarked(column int) bool { return column < len(r.marked) && r.marked[column] }

// allMarked reports whether all of the row's cells are set off.
func (r *tableRow) allMarked() bool {
	for i, c := range r.cells {
		if c != "" && !r.isMarked(i) {
			return false
		}
	}
	return true
}

// labelsMarked reports whether the labels of all rows are set off and their values are not.
func labelsMarked(rows []tableRow, c pairColumns) bool {
	for _, r := range rows {
		if !r.isMarked(c.label) || r.isMarked(c.value) {
			return false
		}
	}
	return true
}

func (w *rowWriter) write(r tableRow) error {
	if w.pairs != nil && !w.plain {
		if text, ok := w.pairs.line(r.shown()); ok {
			return w.emit(r, text)
		}
	}
	if w.plain || w.header == nil || w.isNote(r.cells) {
		return w.emit(r, strings.Join(r.shown(), "\t"))
	}
	return w.emit(r, namedCells(w.header, r.shown()))
}

// namedCells writes a row as "column: value; …", which can be found and understood on its own.
func namedCells(header, row []string) string {
	var b strings.Builder
	for i, cell := range row {
		if cell == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		if i < len(header) && header[i] != "" {
			b.WriteString(strings.TrimRight(header[i], ": ") + ": ")
		}
		b.WriteString(cell)
	}
	return b.String()
}

// isNote reports whether a row of a table is no record of it: a heading or a remark between its rows, words in the
// first column alone, or the header once more.
func (w *rowWriter) isNote(cells []string) bool {
	if slices.Equal(cells, w.header) {
		return true
	}
	first := slices.IndexFunc(w.header, func(c string) bool { return c != "" })
	return filled(w.header) > 2 && filled(cells) == 1 && len(cells)-1 <= first && !looksNumeric(cells[len(cells)-1])
}

func (w *rowWriter) emit(r tableRow, text string) error {
	return w.out.add(domain.Block{Kind: domain.BlockTableRow, Text: text, Page: w.page, Sheet: w.sheet, Row: r.number, Links: r.links})
}

// shown returns the cells, each with the address that it links to, unless a cell has it. As many columns can have one as a
// block can have links.
func (r *tableRow) shown() []string {
	if r.targets == nil {
		return r.cells
	}
	cells := slices.Clone(r.cells)
	for i, address := range r.targets[:min(len(r.targets), len(cells), domain.MaxBlockLinks)] {
		address = strings.TrimPrefix(address, "mailto:")
		if address == "" || len(address) > maxURL || slices.ContainsFunc(r.cells, func(c string) bool { return strings.Contains(c, address) }) {
			continue
		}
		cells[i] += " (" + address + ")"
	}
	return cells
}

// columnNames is a header row spread over the columns.
type columnNames struct {
	cells []string
	exact bool // merged cells say which columns a name covers
}

// names spreads a header row over the columns that its merged cells cover.
func (r *tableRow) names() columnNames {
	n := columnNames{cells: slices.Clone(r.cells)}
	for _, m := range r.merged {
		if m.across < 2 || m.column >= len(r.cells) {
			continue
		}
		n.exact = true
		for i := m.column + 1; i < min(m.column+m.across, maxColumns); i++ {
			if i >= len(n.cells) {
				n.cells = append(n.cells, "")
			}
			if n.cells[i] == "" {
				n.cells[i] = r.cells[m.column]
			}
		}
	}
	return n
}

// joinHeaders names each column by all header rows above it: "2024 Revenue". Where no cells are merged, a group's name
// stands in its first column alone, so it holds for the empty cells to its right.
func joinHeaders(rows []columnNames) []string {
	names := slices.Clone(rows[len(rows)-1].cells)
	for _, row := range slices.Backward(rows[:len(rows)-1]) {
		r, group := row.cells, ""
		for i := range max(len(names), len(r)) {
			if row.exact || i < len(r) && r[i] != "" {
				group = ""
			}
			if i < len(r) && r[i] != "" {
				group = r[i]
			}
			if i >= len(names) {
				names = append(names, "")
			}
			if group != "" && group != names[i] {
				names[i] = strings.TrimSpace(group + " " + names[i])
			}
		}
	}
	return names
}
