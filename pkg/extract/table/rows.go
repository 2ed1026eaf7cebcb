// Package table turns the rows of a table into blocks that can be understood alone: it finds header rows, properties and
// values, and names the columns of each cell. All formats with tables use it.
package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// HeaderSample is how many rows are looked at to find the header row.
const HeaderSample = 20

// Row is a row of a table: its cells, where it stands, and what it links to.
type Row struct {
	Number int // in its sheet or file, from 1; 0 where that means nothing
	Cells  []string
	Header bool   // it is known to name the columns
	Marked []bool // of its cells: set off by bold letters or a ground; nil unknown
	Merged []Merged
	Links  []domain.BlockLink
	// Targets are the addresses to write after the cells, by column; nil for none.
	Targets []string
}

// Merged is a cell that covers others to its right and below it.
type Merged struct {
	Column       int // from 0
	Across, Down int // columns and rows it covers, itself among them
}

// Writer turns the rows of a table into blocks. Once it has seen enough of them to tell which row names the
// columns, it writes each following row as "column: value; …", which can be found and understood on its own. Rows of a
// property and its value each are written as "property: value".
type Writer struct {
	Out      *format.Sink
	Page     int
	Sheet    string
	Plain    bool // cells parted by tabs, whatever the header
	IsHeader bool // the caller knows that the first row is the header

	Header  []string
	pairs   *PairColumns // nil where rows are no pairs
	pending []Row
	Decided bool
}

// Add takes the next row. Empty rows are passed over.
func (w *Writer) Add(r Row) error {
	row := make([]string, 0, min(len(r.Cells), format.MaxColumns))
	for _, c := range r.Cells[:min(len(r.Cells), format.MaxColumns)] {
		row = append(row, format.OneLine(c))
	}
	if len(r.Cells) > format.MaxColumns {
		w.Out.Warn("rows with more than " + strconv.Itoa(format.MaxColumns) + " columns were cut")
	}
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	if len(row) == 0 {
		return nil
	}
	r.Cells = row
	if w.Decided && r.Header {
		w.Decided = false
	}
	if w.Decided {
		return w.write(r)
	}
	w.pending = append(w.pending, r)
	if len(w.pending) < HeaderSample {
		return nil
	}
	return w.decide(false)
}

// Gap says that an empty row stands here: what follows may be another table, with a header row of its own.
func (w *Writer) Gap() error {
	if !w.Decided {
		// A single row is the title of what follows.
		if len(w.pending) < 2 {
			return nil
		}
		if err := w.decide(true); err != nil {
			return err
		}
	}
	w.Decided = false
	return nil
}

// Flush writes what is still held back; call it after the last row.
func (w *Writer) Flush() error {
	if w.Decided {
		return nil
	}
	return w.decide(false)
}

// decide tells header, records and pairs apart in the rows held back; ended says that an empty row follows.
func (w *Writer) decide(ended bool) error {
	w.Decided = true
	rows := w.pending
	w.pending = nil
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = r.Cells
	}
	if n := w.sheetAbove(rows, cells); n > 0 {
		w.pairs, w.Header = nil, nil
		for _, r := range rows[:n] {
			if err := w.emit(r, PairsLine(r.shown())); err != nil {
				return err
			}
		}
		w.pending = rows[n:]
		return w.decide(ended)
	}
	if w.isDoubleSheet(rows) {
		w.pairs, w.Header = nil, nil
		for _, r := range rows {
			if err := w.emit(r, PairsLine(r.shown())); err != nil {
				return err
			}
		}
		return nil
	}
	at, depth := w.headerAt(rows, cells)
	if ended && len(rows) == 2 && at == 0 && !rows[0].Header && !valuesBelow(cells) && Filled(cells[0]) == 2 && w.Header == nil {
		at = -1 // two lines above a table say what it is about, more often than they are a table of one record
	}
	if w.pairs = w.pairsIn(rows, cells, at); w.pairs != nil {
		w.Header, at = nil, -1
	}
	for i, r := range rows {
		if i == at {
			names := make([]ColumnNames, depth)
			for k := range names {
				names[k] = rows[at+k].names()
			}
			w.Header = JoinHeaders(names)
		}
		if i < at && Filled(r.Cells) < Filled(cells[at+depth-1]) { // a title of the table that begins below it
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
func (w *Writer) headerAt(rows []Row, cells [][]string) (at, depth int) {
	at, depth = mergedHeader(rows)
	if at < 0 {
		at, depth = HeaderRows(cells)
	}
	if w.IsHeader && len(rows) > 1 && Filled(cells[0]) > 1 {
		at, depth = 0, 1
	}
	if known := slices.IndexFunc(rows, func(r Row) bool { return r.Header }); known >= 0 {
		at, depth = known, 1
	} else if w.Header != nil && at >= 0 && !valuesBelow(cells[at+depth-1:]) {
		at = -1 // rows after a gap that look no different from those before it
	}
	return at, depth
}

// pairsIn finds the columns of labels and values in rows that tell of one thing; nil for rows of records. at is where a
// header would be. A row that is set off, or known, as a header is one, and the rows of a table go on after a gap.
func (w *Writer) pairsIn(rows []Row, cells [][]string, at int) *PairColumns {
	c, ok := PairsOf(cells)
	if !ok || w.IsHeader || w.Header != nil && at < 0 && Filled(w.Header) <= 2 || slices.ContainsFunc(rows, func(r Row) bool { return r.Header }) {
		return nil
	}
	if len(rows) > 1 && rows[0].allMarked() && !rows[1].allMarked() {
		return nil
	}
	if at < 0 || c.colons(cells) || labelsMarked(rows, c) || c.Differ(cells) || c.known(cells) {
		return &c
	}
	return nil
}

// isMarked reports whether the cell in a column is set off.
func (r *Row) isMarked(column int) bool { return column < len(r.Marked) && r.Marked[column] }

// allMarked reports whether all of the row's cells are set off.
func (r *Row) allMarked() bool {
	for i, c := range r.Cells {
		if c != "" && !r.isMarked(i) {
			return false
		}
	}
	return true
}

// labelsMarked reports whether the labels of all rows are set off and their values are not.
func labelsMarked(rows []Row, c PairColumns) bool {
	for _, r := range rows {
		if !r.isMarked(c.label) || r.isMarked(c.value) {
			return false
		}
	}
	return true
}

func (w *Writer) write(r Row) error {
	if w.pairs != nil && !w.Plain {
		if text, ok := w.pairs.Line(r.shown()); ok {
			return w.emit(r, text)
		}
	}
	if w.Plain || w.Header == nil || w.isNote(r.Cells) {
		return w.emit(r, strings.Join(r.shown(), "\t"))
	}
	return w.emit(r, NamedCells(w.Header, r.shown()))
}

// NamedCells writes a row as "column: value; …", which can be found and understood on its own.
func NamedCells(header, row []string) string {
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
func (w *Writer) isNote(cells []string) bool {
	if slices.Equal(cells, w.Header) {
		return true
	}
	first := slices.IndexFunc(w.Header, func(c string) bool { return c != "" })
	return Filled(w.Header) > 2 && Filled(cells) == 1 && len(cells)-1 <= first && !LooksNumeric(cells[len(cells)-1])
}

func (w *Writer) emit(r Row, text string) error {
	return w.Out.Add(domain.Block{Kind: domain.BlockTableRow, Text: text, Page: w.Page, Sheet: w.Sheet, Row: r.Number, Links: r.Links})
}

// shown returns the cells, each with the address that it links to, unless a cell has it. As many columns can have one as a
// block can have links.
func (r *Row) shown() []string {
	if r.Targets == nil {
		return r.Cells
	}
	cells := slices.Clone(r.Cells)
	for i, address := range r.Targets[:min(len(r.Targets), len(cells), domain.MaxBlockLinks)] {
		address = strings.TrimPrefix(address, "mailto:")
		if address == "" || len(address) > format.MaxURL || slices.ContainsFunc(r.Cells, func(c string) bool { return strings.Contains(c, address) }) {
			continue
		}
		cells[i] += " (" + address + ")"
	}
	return cells
}

// ColumnNames is a header row spread over the columns.
type ColumnNames struct {
	Cells []string
	Exact bool // merged cells say which columns a name covers
}

// names spreads a header row over the columns that its merged cells cover.
func (r *Row) names() ColumnNames {
	n := ColumnNames{Cells: slices.Clone(r.Cells)}
	for _, m := range r.Merged {
		if m.Across < 2 || m.Column >= len(r.Cells) {
			continue
		}
		n.Exact = true
		for i := m.Column + 1; i < min(m.Column+m.Across, format.MaxColumns); i++ {
			if i >= len(n.Cells) {
				n.Cells = append(n.Cells, "")
			}
			if n.Cells[i] == "" {
				n.Cells[i] = r.Cells[m.Column]
			}
		}
	}
	return n
}

// JoinHeaders names each column by all header rows above it: "2024 Revenue". Where no cells are merged, a group's name
// stands in its first column alone, so it holds for the empty cells to its right.
func JoinHeaders(rows []ColumnNames) []string {
	names := slices.Clone(rows[len(rows)-1].Cells)
	for _, row := range slices.Backward(rows[:len(rows)-1]) {
		r, group := row.Cells, ""
		for i := range max(len(names), len(r)) {
			if row.Exact || i < len(r) && r[i] != "" {
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

// MaxMergedText is how long a merged cell may be to be said again in the rows that it covers, in bytes.
const MaxMergedText = 200
