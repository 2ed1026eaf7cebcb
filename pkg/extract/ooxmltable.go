package extract

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// gridCell is one cell of a table in a text document or on a slide.
type gridCell struct {
	text  string
	span  int  // columns it covers; 0 and 1 are one
	below bool // goes on from the cell above it, which it is merged with
	bold  bool // all of its text is
}

// gridRow is one row with what its text links to.
type gridRow struct {
	cells []gridCell
	links []domain.BlockLink
}

// gridWriter turns the rows of a table into one block each. Where a row names the columns, the rows after it are
// written as "column: value; …", and what is merged over several rows is said in each: a row must be understood alone.
type gridWriter struct {
	emit  func(domain.Block) error
	page  int
	plain bool // cells parted by tabs, whatever the header, each said once
	// named says that the table's first row is known to name the columns.
	named bool

	header  []string
	above   []string // what the last row with a text of its own has in each column
	pending []gridRow
	decided bool
}

// maxMergedText is how long a merged cell may be to be said again in the rows that it covers, in bytes.
const maxMergedText = 200

// add takes the next row.
func (w *gridWriter) add(row gridRow) error {
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
func (w *gridWriter) flush() error {
	if w.decided {
		return nil
	}
	w.decided = true
	rows := w.pending
	w.pending = nil
	at := w.headerAt(rows)
	for i, row := range rows {
		if i != at {
			if err := w.write(row); err != nil {
				return err
			}
			continue
		}
		w.header = w.columns(row, true)
		if err := w.block(strings.Join(w.columns(row, false), "\t"), row); err != nil {
			return err
		}
	}
	return nil
}

// headerAt finds the row that names the columns, or -1. Where the table does not say so itself, two columns are more
// often names with their values than a header with rows, and it takes bold letters to tell.
func (w *gridWriter) headerAt(rows []gridRow) int {
	texts := make([][]string, len(rows))
	for i, r := range rows {
		texts[i] = w.columns(r, false)
	}
	if w.named && len(rows) > 1 && filled(texts[0]) > 0 && len(rows[0].cells) > 1 {
		return 0
	}
	at := headerRow(texts)
	if at < 0 {
		return -1
	}
	width := 0
	for _, t := range texts {
		width = max(width, len(t))
	}
	if width > 2 || bolder(rows, at) {
		return at
	}
	return -1
}

// bolder reports whether the row is bold and the one after it is not.
func bolder(rows []gridRow, at int) bool {
	return at+1 < len(rows) && allBold(rows[at]) && !allBold(rows[at+1])
}

func allBold(r gridRow) bool {
	for _, c := range r.cells {
		if c.text != "" && !c.bold {
			return false
		}
	}
	return true
}

// columns spreads the cells over the columns that they cover; repeat says their text in each.
func (w *gridWriter) columns(r gridRow, repeat bool) []string {
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

func (w *gridWriter) write(row gridRow) error {
	if w.plain || w.header == nil || len(row.cells) == 1 {
		return w.block(strings.TrimRight(strings.Join(w.columns(row, false), "\t"), "\t"), row)
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

func (w *gridWriter) block(text string, row gridRow) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return w.emit(domain.Block{Kind: domain.BlockTableRow, Text: text, Page: w.page, Links: row.links})
}
