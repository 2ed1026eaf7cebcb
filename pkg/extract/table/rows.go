// Package table converts tables' rows to blocks that make sense on their own. It finds headers and property-value pairs
// and prefixes cells with column names. All formats with tables use it.
package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lists"
)

// HeaderSample is the number of rows to examine for the header row.
const HeaderSample = 20

// Row is a table row: its cells, position and links.
type Row struct {
	Number int // row number in the sheet or file, from 1; 0 if rows have no numbers
	Cells  []string
	Header bool   // the document marks it as a header row
	Marked []bool // for each cell, whether bold text or a background highlights it; nil if unknown
	Merged []Merged
	Links  []domain.BlockLink
	// Targets are link URLs to write after the cells, by column. It may be nil.
	Targets []string
}

// Merged is a cell that spans columns to its right or rows below it.
type Merged struct {
	Column              int // from 0
	ColumnSpan, RowSpan int // number of columns and rows it spans, including its own
}

// Writer converts a table's rows to blocks. Once it has seen enough rows to find the header, it writes each row as
// "column: value; …", so that the row can be found and understood on its own. Property-value pairs become "property:
// value".
type Writer struct {
	Out      *format.Sink
	Page     int
	Sheet    string
	Plain    bool // write tab-separated cells without column names
	IsHeader bool // the first row is known to be the header

	Header  []string
	pairs   *PairColumns // nil if the rows are not pairs
	pending []Row
	Decided bool
}

// Add adds the next row. It ignores empty rows.
func (w *Writer) Add(r Row) error {
	row := make([]string, 0, min(len(r.Cells), format.MaxColumns))
	for _, c := range r.Cells[:min(len(r.Cells), format.MaxColumns)] {
		row = append(row, format.OneLine(c))
	}
	if len(r.Cells) > format.MaxColumns {
		w.Out.Warn("rows were cut after " + strconv.Itoa(format.MaxColumns) + " columns")
	}
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	if len(row) == 0 {
		return nil
	}
	if r.Number == 0 && !w.Plain { // in spreadsheets, units have columns of their own
		row = JoinAmounts(row)
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

// EmptyRow marks an empty row. The rows after it may be another table with its own header.
func (w *Writer) EmptyRow() error {
	if !w.Decided {
		// A single row before an empty row is probably the title of the next table.
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

// Flush writes the pending rows. Call it after the last row.
func (w *Writer) Flush() error {
	if w.Decided {
		return nil
	}
	return w.decide(false)
}

// decide finds out whether the pending rows have a header, are records without a header, or are label-value pairs, and
// writes the rows accordingly. `ended` is true if an empty row follows.
func (w *Writer) decide(ended bool) error {
	w.Decided = true
	rows := w.pending
	w.pending = nil
	cells := lists.Map(rows, func(r Row) []string { return r.Cells })
	if n := w.sheetAbove(rows, cells); n > 0 {
		w.pairs, w.Header = nil, nil
		for _, r := range rows[:n] {
			if err := w.emit(r, PairsLine(r.textWithLinks())); err != nil {
				return err
			}
		}
		w.pending = rows[n:]
		return w.decide(ended)
	}
	if w.isDoubleSheet(rows) {
		w.pairs, w.Header = nil, nil
		for _, r := range rows {
			if err := w.emit(r, PairsLine(r.textWithLinks())); err != nil {
				return err
			}
		}
		return nil
	}
	at, depth := w.headerAt(rows, cells)
	if ended && len(rows) == 2 && at == 0 && !rows[0].Header && !valuesBelow(cells) && Filled(cells[0]) == 2 && w.Header == nil {
		at = -1 // two lines above a table are more often its title than a table with one record
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
		if i < at && Filled(r.Cells) < Filled(cells[at+depth-1]) { // a title for the table below
			if err := w.emit(r, strings.Join(r.textWithLinks(), "\t")); err != nil {
				return err
			}
			continue
		}
		if i >= at && i < at+depth {
			if err := w.emit(r, strings.Join(r.textWithLinks(), "\t")); err != nil {
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

// headerAt returns the index of the first header row, or -1 if there is none, and the number of header rows.
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
		at = -1 // the rows after the gap look like those before it and have no new header
	}
	return at, depth
}

// pairsIn returns the label and value columns of a property table. It returns nil if the rows seem to be records, for
// example because the first row is highlighted, a row is marked as a header, or the rows continue a table after a gap.
// `at` is the index of the possible header row, or -1.
func (w *Writer) pairsIn(rows []Row, cells [][]string, at int) *PairColumns {
	c, ok := PairsOf(cells)
	if !ok || w.IsHeader || w.Header != nil && at < 0 && Filled(w.Header) <= 2 || slices.ContainsFunc(rows, func(r Row) bool { return r.Header }) {
		return nil
	}
	if len(rows) > 1 && rows[0].allMarked() && !rows[1].allMarked() {
		return nil
	}
	if at < 0 || c.colons(cells) || labelsMarked(rows, c) || c.HasMixedKinds(cells) || c.hasKnownLabels(cells) {
		return &c
	}
	return nil
}

// isMarked reports whether a column's cell is highlighted.
func (r *Row) isMarked(column int) bool { return column < len(r.Marked) && r.Marked[column] }

// allMarked reports whether all of the row's cells are highlighted.
func (r *Row) allMarked() bool {
	for i, c := range r.Cells {
		if c != "" && !r.isMarked(i) {
			return false
		}
	}
	return true
}

// labelsMarked reports whether all labels are highlighted and no values are.
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
		if text, ok := w.pairs.Line(r.textWithLinks()); ok {
			return w.emit(r, text)
		}
	}
	if w.Plain || w.Header == nil || w.isNote(r.Cells) {
		return w.emit(r, strings.Join(r.textWithLinks(), "\t"))
	}
	return w.emit(r, NamedCells(w.Header, r.textWithLinks()))
}

// NamedCells formats a row as "column: value; …", so that it can be found and understood without its header.
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

// isNote reports whether a row repeats the header, or is a heading or remark with words only in the first column.
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

// textWithLinks returns the cells, each followed by its link URL unless the text already contains it. The number of
// URLs is limited to a block's maximum number of links.
func (r *Row) textWithLinks() []string {
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

// ColumnNames is a header row with one name per column.
type ColumnNames struct {
	Cells []string
	Exact bool // merged cells define each name's columns
}

// names returns a header row's names. If a cell spans several columns, each of these columns gets its name.
func (r *Row) names() ColumnNames {
	n := ColumnNames{Cells: slices.Clone(r.Cells)}
	for _, m := range r.Merged {
		if m.ColumnSpan < 2 || m.Column >= len(r.Cells) {
			continue
		}
		n.Exact = true
		for i := m.Column + 1; i < min(m.Column+m.ColumnSpan, format.MaxColumns); i++ {
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

// JoinHeaders joins each column's header cells into one name, such as "2024 Revenue". If the table has no merged cells,
// the name of a column group is only in the group's first column, but also applies to the empty cells on its right.
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

// MaxMergedText is the maximum length, in bytes, of a merged cell whose text is repeated in all rows it spans.
const MaxMergedText = 200
