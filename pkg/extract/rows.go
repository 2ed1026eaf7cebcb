package extract

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// headerSample is how many rows are looked at to find the header row.
const headerSample = 20

// rowWriter turns the rows of a table into blocks. Once it has seen enough of them to tell which row names the
// columns, it writes each following row as "column: value; …", which can be found and understood on its own.
type rowWriter struct {
	out      *sink
	page     int
	sheet    string
	plain    bool // cells parted by tabs, whatever the header
	isHeader bool // the caller knows that the first row is the header

	header  []string
	pending [][]string
	decided bool
}

// add takes the next row.
func (w *rowWriter) add(cells []string) error {
	row := make([]string, 0, len(cells))
	for _, c := range cells[:min(len(cells), maxColumns)] {
		row = append(row, oneLine(c))
	}
	if len(cells) > maxColumns {
		w.out.warn("rows with more than " + strconv.Itoa(maxColumns) + " columns were cut")
	}
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	if len(row) == 0 {
		return nil
	}
	if w.decided {
		return w.write(row)
	}
	w.pending = append(w.pending, row)
	if len(w.pending) < headerSample {
		return nil
	}
	return w.decide()
}

// flush writes what is still held back; call it after the last row.
func (w *rowWriter) flush() error {
	if w.decided {
		return nil
	}
	return w.decide()
}

func (w *rowWriter) decide() error {
	w.decided = true
	at := headerRow(w.pending)
	if w.isHeader && len(w.pending) > 1 && filled(w.pending[0]) > 1 {
		at = 0
	}
	rows := w.pending
	w.pending = nil
	for i, row := range rows {
		if i == at {
			w.header = row
			if err := w.emit(strings.Join(row, "\t")); err != nil {
				return err
			}
			continue
		}
		if err := w.write(row); err != nil {
			return err
		}
	}
	return nil
}

func (w *rowWriter) write(row []string) error {
	if w.plain || w.header == nil {
		return w.emit(strings.Join(row, "\t"))
	}
	var b strings.Builder
	for i, cell := range row {
		if cell == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		if i < len(w.header) && w.header[i] != "" {
			b.WriteString(strings.TrimRight(w.header[i], ": "))
			b.WriteString(": ")
		}
		b.WriteString(cell)
	}
	return w.emit(b.String())
}

func (w *rowWriter) emit(text string) error {
	return w.out.add(domain.Block{Kind: domain.BlockTableRow, Text: text, Page: w.page, Sheet: w.sheet})
}

// headerRow finds the row that names the columns, or -1: the first row that fills most columns of the table, holds
// only distinct short words, and is followed by a row of a different nature or by at least two rows.
func headerRow(rows [][]string) int {
	width := 0
	for _, r := range rows {
		width = max(width, filled(r))
	}
	if width < 2 {
		return -1
	}
	for i, r := range rows {
		if filled(r)*5 < width*3 || filled(r) < 2 {
			continue // a title or a note above the table
		}
		if i == len(rows)-1 || !namesColumns(r) {
			return -1
		}
		return i
	}
	return -1
}

func namesColumns(row []string) bool {
	seen := make(map[string]bool, len(row))
	for _, c := range row {
		if c == "" {
			continue
		}
		if seen[c] || utf8.RuneCountInString(c) > 80 || looksNumeric(c) {
			return false
		}
		seen[c] = true
	}
	return true
}

// looksNumeric reports whether a cell is a value rather than a name: a number, a date, an amount. A bare year is
// taken for a column name, as in tables of figures by year.
func looksNumeric(s string) bool {
	if n, err := strconv.Atoi(s); err == nil && n >= 1900 && n <= 2100 {
		return false
	}
	digits, letters := 0, 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits > 0 && letters*2 < digits || strings.Contains(s, "@") || strings.HasPrefix(s, "http")
}

func filled(row []string) int {
	n := 0
	for _, c := range row {
		if c != "" {
			n++
		}
	}
	return n
}
