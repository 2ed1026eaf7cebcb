package ooxml

import (
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/lists"
)

// Cell is a table cell in a text document or on a slide.
type Cell struct {
	Text  string
	Span  int  // number of columns it spans; 0 means 1
	Below bool // it is merged with the cell above it
	Bold  bool // all of its text is bold
}

// Row is a row of cells with the links in its text.
type Row struct {
	Cells []Cell
	Links []domain.BlockLink
}

// Table converts each table row to a block that makes sense on its own. Rows below a header become "column: value; …",
// label-value pairs become "label: value", and a cell merged over several rows appears in each of them.
type Table struct {
	Emit   func(domain.Block) error
	Page   int
	Plain  bool // write tab-separated cells without column names, and each merged cell once
	Inner  bool // the table is in a cell, where tabs are lost; pairs become "label: value" even in plain text
	Styled bool // only the style marks header rows, as in every new table on a slide
	// Named is the number of leading rows marked as the header.
	Named int

	header  []string
	pairs   *table.PairColumns // columns with labels and values; nil if the rows are not pairs
	above   []string           // each column's last text, which the merged cells below it repeat
	pending []Row
	decided bool
}

// Add adds a row.
func (w *Table) Add(row Row) error {
	empty := true
	for i := range row.Cells {
		row.Cells[i].Text = format.OneLine(row.Cells[i].Text)
		empty = empty && row.Cells[i].Text == ""
	}
	if empty {
		return nil
	}
	if !w.Plain {
		for i, text := range table.JoinAmounts(lists.Map(row.Cells, func(c Cell) string { return c.Text })) {
			row.Cells[i].Text = text
		}
	}
	if w.decided {
		return w.write(row)
	}
	if w.pending = append(w.pending, row); len(w.pending) < table.HeaderSample {
		return nil
	}
	return w.Flush()
}

// Flush writes the pending rows. Call it after the last row.
func (w *Table) Flush() error {
	if w.decided {
		return nil
	}
	w.decided = true
	rows := w.pending
	w.pending = nil
	texts := lists.Map(rows, func(r Row) []string { return w.columns(r, false) })
	if n := w.sheetAbove(rows, texts); n > 0 {
		for i, row := range rows[:n] {
			if err := w.block(table.PairsLine(texts[i]), row); err != nil {
				return err
			}
		}
		rows, texts, w.Named = rows[n:], texts[n:], 0
	}
	at, depth := w.headerAt(rows)
	if at < 0 {
		w.pairs = table.FindPairColumns(texts)
	} else if c, ok := table.PairsOf(texts); ok && at == 0 && depth == 1 && !isBoldHeader(rows, 0) && (c.KnownFirst(texts) || w.Styled && c.HasMixedKinds(texts)) {
		at, w.pairs = -1, &c // the style marks the first row even if it is not a header
	}
	for i, row := range rows {
		if i == at {
			names := make([]table.ColumnNames, depth)
			for k := range names {
				names[k] = table.ColumnNames{Cells: w.columns(rows[at+k], true), Exact: rows[at+k].hasWideCell()}
			}
			w.header = table.JoinHeaders(names)
		}
		write := w.write
		if i >= at && i < at+depth {
			write = w.writeUnnamed
		}
		if err := write(row); err != nil {
			return err
		}
	}
	return nil
}

// sheetAbove returns how many leading rows hold properties and their values.
func (w *Table) sheetAbove(rows []Row, texts [][]string) int {
	if w.Plain && !w.Inner || w.Named > 0 && !w.Styled || isBoldHeader(rows, 0) {
		return 0
	}
	return table.PropertyRows(texts, func(int) bool { return false }, func(i int) bool { return len(rows[i].Cells) > 1 && rows[i].hasWideCell() })
}

// headerAt returns the index of the first header row, or -1 if there is none, and the number of header rows. In an
// unmarked two-column table, only a bold row is a header, because such tables usually hold names and values.
func (w *Table) headerAt(rows []Row) (at, depth int) {
	at, depth = mergedOfficeHeader(rows)
	texts, width := make([][]string, len(rows)), 0
	for i, r := range rows {
		texts[i] = w.columns(r, false)
		width = max(width, len(texts[i]))
	}
	if w.Styled && len(rows) > 1 && table.ProseRow(texts[0], texts[1:]) {
		return -1, 0
	}
	if w.Named > 0 && len(rows) > w.Named && len(rows[0].Cells) > 1 && (at != 0 || depth < w.Named) {
		return 0, w.Named
	}
	if at >= 0 { // PowerPoint marks only the first row, even if header cells span several
		return at, depth
	}
	at, depth = table.HeaderRows(texts)
	if at >= 0 && (width > 2 || isBoldHeader(rows, at)) {
		return at, depth
	}
	return -1, 0
}

// mergedOfficeHeader finds a multi-row header by its merged cells: group names that span columns, next to names that
// span rows. It returns the index of its first row, or -1 if there is none, and the number of its rows.
func mergedOfficeHeader(rows []Row) (at, depth int) {
	at = slices.IndexFunc(rows, func(r Row) bool { return len(r.Cells) > 1 })
	if at < 0 || !rows[at].hasWideCell() {
		return -1, 0
	}
	for depth = 1; at+depth < len(rows) && rows[at+depth].continuesAbove(); depth++ {
	}
	if depth < 2 || depth > table.MaxHeaderRows || at+depth >= len(rows) {
		return -1, 0
	}
	for _, r := range rows[at : at+depth] {
		for _, c := range r.Cells {
			if !table.AllNames([]string{c.Text}) {
				return -1, 0
			}
		}
	}
	return at, depth
}

// hasWideCell reports whether a cell spans several columns.
func (r *Row) hasWideCell() bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Span > 1 })
}

// continuesAbove reports whether a cell is merged with the one above.
func (r *Row) continuesAbove() bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Below })
}

// isBoldHeader reports whether rows[at] is bold and the next row is not.
func isBoldHeader(rows []Row, at int) bool {
	return at+1 < len(rows) && allBold(rows[at]) && !allBold(rows[at+1])
}

func allBold(r Row) bool {
	return !slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Text != "" && !c.Bold })
}

// columns returns one text per column. If a cell spans several columns, its text is only in the first of them, or in
// all of them if `repeat` is set.
func (w *Table) columns(r Row, repeat bool) []string {
	var cols []string
	for _, c := range r.Cells {
		for i := range max(c.Span, 1) {
			if len(cols) == format.MaxColumns {
				return cols
			}
			if i == 0 || repeat {
				cols = append(cols, c.Text)
			} else {
				cols = append(cols, "")
			}
		}
	}
	return cols
}

func (w *Table) write(row Row) error {
	if w.pairs != nil && (!w.Plain || w.Inner) {
		if text, ok := w.pairs.Line(w.columns(row, false)); ok {
			return w.block(text, row)
		}
	}
	if w.Plain || w.header == nil || len(row.Cells) == 1 {
		return w.writeUnnamed(row)
	}
	var b strings.Builder
	col := 0
	for _, c := range row.Cells {
		if col >= format.MaxColumns {
			break
		}
		for len(w.above) <= col {
			w.above = append(w.above, "")
		}
		text := c.Text
		switch {
		case !c.Below:
			w.above[col] = text
		case text == "" && len(w.above[col]) <= table.MaxMergedText:
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
		col += max(c.Span, 1)
	}
	return w.block(b.String(), row)
}

// writeUnnamed writes a row without column names.
func (w *Table) writeUnnamed(row Row) error {
	texts := make([]string, 0, min(len(row.Cells), format.MaxColumns))
	for _, c := range row.Cells[:min(len(row.Cells), format.MaxColumns)] {
		texts = append(texts, c.Text)
	}
	return w.block(strings.TrimRight(strings.Join(texts, "\t"), "\t"), row)
}

func (w *Table) block(text string, row Row) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return w.Emit(domain.Block{Kind: domain.BlockTableRow, Text: text, Page: w.Page, Links: row.Links})
}
