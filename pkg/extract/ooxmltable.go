package extract

import (
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// officeCell is one cell of a table in a text document or on a slide.
type officeCell struct {
	text  string
	span  int  // columns it covers; 0 and 1 are one
	below bool // goes on from the cell above it, which it is merged with
	bold  bool // all of its text is
}

// officeRow is one row with what its text links to.
type officeRow struct {
	cells []officeCell
	links []domain.BlockLink
}

// officeTable turns the rows of a table into one block each. Where a row names the columns, the rows after it are
// written as "column: value; …", and what is merged over several rows is said in each: a row must be understood alone.
// Rows of a label and a value are written as "label: value".
type officeTable struct {
	emit   func(domain.Block) error
	page   int
	plain  bool // cells separated by tabs, without column names, each merged cell once
	inner  bool // nested in a cell, where tabs are lost: pairs become "label: value" even in plain text
	styled bool // the header rows come only from the style, which every new table on a slide has
	// named is how many rows at the start the table itself says to name the columns.
	named int

	header  []string
	pairs   *pairColumns // nil where rows are no pairs of a label and a value
	above   []string     // what the last row with a text of its own has in each column
	pending []officeRow
	decided bool
}

// maxMergedText is how long a merged cell may be to be said again in the rows that it covers, in bytes.
const maxMergedText = 200

// add takes the next row.
func (w *officeTable) add(row officeRow) error {
	empty := true
	for i := range row.cells {
		row.cells[i].text = oneLine(row.cells[i].text)
		empty = empty && row.cells[i].text == ""
	}
	if empty {
		return nil
	}
	if w.decided {
		return w.write(row)
	}
	if w.pending = append(w.pending, row); len(w.pending) < headerSample {
		return nil
	}
	return w.flush()
}

// flush writes what is still held back; call it after the last row.
func (w *officeTable) flush() error {
	if w.decided {
		return nil
	}
	w.decided = true
	rows := w.pending
	w.pending = nil
	texts := make([][]string, len(rows))
	for i, r := range rows {
		texts[i] = w.columns(r, false)
	}
	if n := w.sheetAbove(rows, texts); n > 0 {
		for i, row := range rows[:n] {
			if err := w.block(pairsLine(texts[i]), row); err != nil {
				return err
			}
		}
		rows, texts, w.named = rows[n:], texts[n:], 0
	}
	at, depth := w.headerAt(rows)
	if at < 0 {
		w.pairs = headless(texts)
	} else if c, ok := pairsOf(texts); ok && at == 0 && depth == 1 && !bolder(rows, 0) && (c.knownFirst(texts) || w.styled && c.differ(texts)) {
		at, w.pairs = -1, &c // the style highlights the first row, even if it is not a header
	}
	for i, row := range rows {
		if i == at {
			names := make([]columnNames, depth)
			for k := range names {
				names[k] = columnNames{cells: w.columns(rows[at+k], true), exact: rows[at+k].wide()}
			}
			w.header = joinHeaders(names)
		}
		write := w.write
		if i >= at && i < at+depth {
			write = w.bare
		}
		if err := write(row); err != nil {
			return err
		}
	}
	return nil
}

// sheetAbove returns the number of rows with properties and values at the start.
func (w *officeTable) sheetAbove(rows []officeRow, texts [][]string) int {
	if w.plain && !w.inner || w.named > 0 && !w.styled || bolder(rows, 0) {
		return 0
	}
	return propertyRows(texts, func(int) bool { return false }, func(i int) bool { return len(rows[i].cells) > 1 && rows[i].wide() })
}

// headerAt finds the rows that name the columns; at is -1 where there are none. Where the table does not say so itself,
// two columns are more often names with their values than a header with rows, and it takes bold letters to tell.
func (w *officeTable) headerAt(rows []officeRow) (at, depth int) {
	at, depth = mergedOfficeHeader(rows)
	texts, width := make([][]string, len(rows)), 0
	for i, r := range rows {
		texts[i] = w.columns(r, false)
		width = max(width, len(texts[i]))
	}
	if w.styled && len(rows) > 1 && proseRow(texts[0], texts[1:]) {
		return -1, 0
	}
	if w.named > 0 && len(rows) > w.named && len(rows[0].cells) > 1 && (at != 0 || depth < w.named) {
		return 0, w.named
	}
	if at >= 0 { // PowerPoint marks the first row alone, however many its cells reach down to
		return at, depth
	}
	at, depth = headerRows(texts)
	if at >= 0 && (width > 2 || bolder(rows, at)) {
		return at, depth
	}
	return -1, 0
}

// mergedOfficeHeader finds a header of several rows by its merged cells: names of groups over columns, beside names that
// go on in the rows below. at is -1 where there is none.
func mergedOfficeHeader(rows []officeRow) (at, depth int) {
	at = slices.IndexFunc(rows, func(r officeRow) bool { return len(r.cells) > 1 })
	if at < 0 || !rows[at].wide() {
		return -1, 0
	}
	for depth = 1; at+depth < len(rows) && rows[at+depth].goesOn(); depth++ {
	}
	if depth < 2 || depth > maxHeaderRows || at+depth >= len(rows) {
		return -1, 0
	}
	for _, r := range rows[at : at+depth] {
		for _, c := range r.cells {
			if !allNames([]string{c.text}) {
				return -1, 0
			}
		}
	}
	return at, depth
}

// wide reports whether a cell of the row covers several columns.
func (r *officeRow) wide() bool {
	return slices.ContainsFunc(r.cells, func(c officeCell) bool { return c.span > 1 })
}

// goesOn reports whether a cell of the row is merged with the one above it.
func (r *officeRow) goesOn() bool {
	return slices.ContainsFunc(r.cells, func(c officeCell) bool { return c.below })
}

// bolder reports whether the row is bold and the one after it is not.
func bolder(rows []officeRow, at int) bool {
	return at+1 < len(rows) && allBold(rows[at]) && !allBold(rows[at+1])
}

func allBold(r officeRow) bool {
	for _, c := range r.cells {
		if c.text != "" && !c.bold {
			return false
		}
	}
	return true
}

// columns spreads the cells over the columns that they cover; repeat says their text in each.
func (w *officeTable) columns(r officeRow, repeat bool) []string {
	var cols []string
	for _, c := range r.cells {
		for i := range max(c.span, 1) {
			if len(cols) == maxColumns {
				return cols
			}
			if i == 0 || repeat {
				cols = append(cols, c.text)
			} else {
				cols = append(cols, "")
			}
		}
	}
	return cols
}

func (w *officeTable) write(row officeRow) error {
	if w.pairs != nil && (!w.plain || w.inner) {
		if text, ok := w.pairs.line(w.columns(row, false)); ok {
			return w.block(text, row)
		}
	}
	if w.plain || w.header == nil || len(row.cells) == 1 {
		return w.bare(row)
	}
	var b strings.Builder
	col := 0
	for _, c := range row.cells {
		if col >= maxColumns {
			break
		}
		for len(w.above) <= col {
			w.above = append(w.above, "")
		}
		text := c.text
		switch {
		case !c.below:
			w.above[col] = text
		case text == "" && len(w.above[col]) <= maxMergedText:
			text = w.above[col]
		}
		if text != "" {
			if b.Len() > 0 {
				b.WriteString("; ")
			}
			if col < len(w.header) && w.header[col] != "" {
				b.WriteString(strings.TrimRight(w.header[col], ": "))
				b.WriteString(": ")
			}
			b.WriteString(text)
		}
		col += max(c.span, 1)
	}
	return w.block(b.String(), row)
}

// bare writes the cells alone.
func (w *officeTable) bare(row officeRow) error {
	texts := make([]string, 0, min(len(row.cells), maxColumns))
	for _, c := range row.cells[:min(len(row.cells), maxColumns)] {
		texts = append(texts, c.text)
	}
	return w.block(strings.TrimRight(strings.Join(texts, "\t"), "\t"), row)
}

func (w *officeTable) block(text string, row officeRow) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return w.emit(domain.Block{Kind: domain.BlockTableRow, Text: text, Page: w.page, Links: row.links})
}
