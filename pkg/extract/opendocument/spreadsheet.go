package opendocument

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

const (
	maxRowText     = 1 << 20 // maximum size of a row's text in bytes
	maxRemarks     = 20_000  // maximum number of comments in a sheet
	maxRemarkBytes = 8 << 20 // maximum size of a sheet's comments in bytes
	maxMergedDown  = 1024    // maximum number of merged cells that extend into the rows below
)

// spreadsheet reads the sheets of a spreadsheet.
func (r *reader) spreadsheet(sc *xmlscan.Scanner) {
	cells := 0
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "table":
			s := &sheet{r: r, sc: sc, name: format.OneLine(xmlscan.Attr(e, "name")), cells: &cells, above: map[int]mergedText{}}
			s.read()
		case "spreadsheet":
			return false
		default: // settings, names, and copies of other files
			sc.Skip()
		}
		return true
	})
}

// sheet holds the state of reading a sheet.
type sheet struct {
	r      *reader
	sc     *xmlscan.Scanner
	name   string
	cells  *int // number of cells in all sheets
	rows   *table.Writer
	row    int  // number of the last row
	gap    bool // there were empty rows since the last row with text
	named  bool
	above  map[int]mergedText
	after  []domain.Block // comments and text boxes, which follow the rows
	size   int            // bytes of text in `after`
	header bool           // the rows are marked as headers
}

// mergedText is the text in a merged cell that spans several rows.
type mergedText struct {
	text string
	last int // number of its last row
}

func (s *sheet) read() {
	s.rows = &table.Writer{Out: s.r.p.Out, Sheet: s.name, Plain: s.r.p.Src.PlainRows}
	s.sc.Descend(s.element)
	s.sc.Stop(s.rows.Flush())
	for _, b := range s.after {
		s.sc.Stop(s.heading())
		if s.sc.Err == nil {
			s.sc.Stop(s.r.p.Out.Add(b))
		}
	}
}

// element reads an element in the sheet. For a group of rows, it does nothing and returns false, so that the caller
// reads the rows one by one.
func (s *sheet) element(e xml.StartElement) bool {
	switch e.Name.Local {
	case "table-row":
		s.sc.Stop(s.readRow(e))
	case "table-header-rows":
		s.header = true
		s.sc.Descend(s.element)
		s.header = false
	case "shapes":
		s.boxes(s.sc.Descend)
	case "table-row-group", "table-rows":
		return false
	default: // columns, forms, the source of linked cells
		s.sc.Skip()
	}
	return true
}

// heading writes the sheet's name before its first text.
func (s *sheet) heading() error {
	if s.named {
		return nil
	}
	s.named = true
	return s.r.p.Out.Add(domain.Block{Kind: domain.BlockHeading, Text: s.name, Level: 1, Sheet: s.name})
}

// cell is a cell in a sheet.
type cell struct {
	text          string
	link          string
	times         int // number of columns it is repeated in
	columns, rows int // number of columns and rows it spans
}

// readRow reads a row, which may have a repeat count.
func (s *sheet) readRow(e xml.StartElement) error {
	times := 1
	if n, err := strconv.Atoi(xmlscan.Attr(e, "number-rows-repeated")); err == nil && n > 1 {
		times = min(n, format.MaxSheetRows)
	}
	row := table.Row{Header: s.header}
	column, size := 0, 0
	s.sc.Each(func(e xml.StartElement) bool {
		if e.Name.Local != "table-cell" && e.Name.Local != "covered-table-cell" {
			return false
		}
		c := s.readCell(e, column)
		if column >= format.MaxColumns && c.text != "" {
			s.r.p.Out.Warn("rows were cut after " + strconv.Itoa(format.MaxColumns) + " columns")
		}
		copies := min(c.times, format.MaxColumns-column) // number of columns to write the text in
		if len(c.text)*copies > maxRepeated {
			copies = 1
		}
		if more := len(c.text) * copies; size+more > maxRowText {
			s.r.p.Out.Warn(fmt.Sprintf("sheet %q has rows with more than %s of text, which were cut", s.name, format.SizeText(maxRowText)))
			c.text = ""
		} else {
			size += more
		}
		for i := range copies {
			s.put(&row, column+i, c)
		}
		column = min(column+c.times, format.MaxColumns)
		return true
	})
	if s.sc.Err != nil {
		return nil
	}
	if *s.cells += len(row.Cells); *s.cells > s.r.p.Lim.MaxCells {
		return format.Errorf(format.TooLarge, "the spreadsheet has more than %d cells; split it", s.r.p.Lim.MaxCells)
	}
	if table.Filled(row.Cells) == 0 {
		s.row, s.gap = min(s.row+times, format.MaxSheetRows), true
		return nil
	}
	return s.emit(row, times)
}

// put adds a cell to a row.
func (s *sheet) put(row *table.Row, column int, c cell) {
	if c.text == "" {
		return
	}
	row.Cells = append(row.Cells, make([]string, column+1-len(row.Cells))...)
	row.Cells[column] = c.text
	if c.columns > 1 || c.rows > 1 {
		row.Merged = append(row.Merged, table.Merged{Column: column, ColumnSpan: c.columns, RowSpan: c.rows})
	}
	if c.link != "" {
		row.Links = append(row.Links, domain.BlockLink{Text: format.OneLine(c.text), URL: c.link})
		if !s.rows.Plain {
			row.Targets = append(row.Targets, make([]string, column+1-len(row.Targets))...)
			row.Targets[column] = c.link
		}
	}
}

// emit writes a row `times` times, up to a limit.
func (s *sheet) emit(row table.Row, times int) error {
	if err := s.heading(); err != nil {
		return err
	}
	if s.gap {
		s.gap = false
		if err := s.rows.EmptyRow(); err != nil {
			return err
		}
	}
	first := s.row + 1
	if !s.rows.Plain {
		s.fillMerged(&row, first)
	}
	for n := range min(times, maxRepeats) {
		if n > 0 {
			if *s.cells += len(row.Cells); *s.cells > s.r.p.Lim.MaxCells {
				return format.Errorf(format.TooLarge, "the spreadsheet has more than %d cells; split it", s.r.p.Lim.MaxCells)
			}
		}
		row.Number = min(first+n, format.MaxSheetRows)
		if err := s.rows.Add(row); err != nil {
			return err
		}
	}
	if times > maxRepeats {
		s.r.p.Out.Warn(fmt.Sprintf("rows repeated more than %[1]d times were read only %[1]d times", maxRepeats))
	}
	s.row = min(s.row+times, format.MaxSheetRows)
	return nil
}

// fillMerged copies the text of merged cells that extend down into a row to that row, unless the text is long. It also
// records the merged cells that start in the row.
func (s *sheet) fillMerged(row *table.Row, number int) {
	for column, m := range s.above {
		if m.last < number {
			delete(s.above, column)
			continue
		}
		if column >= len(row.Cells) {
			row.Cells = append(row.Cells, make([]string, column+1-len(row.Cells))...)
		}
		if row.Cells[column] == "" {
			row.Cells[column] = m.text
		}
	}
	for _, m := range row.Merged {
		if text := row.Cells[m.Column]; m.RowSpan > 1 && len(text) <= table.MaxMergedText && len(s.above) < maxMergedDown {
			s.above[m.Column] = mergedText{text, number + m.RowSpan - 1}
		}
	}
}

// readCell reads the current element as a cell. The cell's text is what a spreadsheet program shows. If the file stores
// only a value, readCell derives the text from the value.
func (s *sheet) readCell(e xml.StartElement, column int) cell {
	c := cell{times: 1, columns: repeats(e, "number-columns-spanned"), rows: repeats(e, "number-rows-spanned")}
	if n, err := strconv.Atoi(xmlscan.Attr(e, "number-columns-repeated")); err == nil && n > 1 {
		c.times = min(n, format.MaxSheetRows)
	}
	var text strings.Builder
	var remark string
	w := &walker{r: s.r, sc: s.sc, emit: func(b domain.Block) error {
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(b.Text)
		if len(b.Links) > 0 && c.link == "" {
			c.link = b.Links[0].URL
		}
		return nil
	}}
	s.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "annotation":
			remark = s.remark()
		case "p", "h", "list":
			return w.element(e)
		case "table": // a table in the cell
			s.sc.Skip()
		default: // shapes anchored to the cell
			s.boxes(func(take func(xml.StartElement) bool) {
				if !take(e) {
					s.sc.Descend(take)
				}
			})
		}
		return true
	})
	c.text = strings.TrimSpace(text.String())
	if c.text == "" {
		c.text = storedValue(e)
	}
	if remark != "" && column < format.MaxColumns {
		s.comment(column, c.text, remark)
	}
	return c
}

// storedValue returns the value of a cell that has no text.
func storedValue(e xml.StartElement) string {
	switch xmlscan.Attr(e, "value-type") {
	case "string":
		return strings.TrimSpace(xmlscan.Attr(e, "string-value"))
	case "date":
		return strings.TrimSuffix(xmlscan.Attr(e, "date-value"), "T00:00:00")
	case "boolean":
		return strings.ToUpper(xmlscan.Attr(e, "boolean-value"))
	case "time":
		return xmlscan.Attr(e, "time-value")
	}
	return xmlscan.Attr(e, "value")
}

// remark returns the text of the current element, a cell comment, without author and date.
func (s *sheet) remark() string {
	var lines []string
	w := &walker{r: s.r, sc: s.sc, emit: func(b domain.Block) error {
		lines = append(lines, b.Text)
		return nil
	}}
	s.sc.Each(func(e xml.StartElement) bool { return (e.Name.Local == "p" || e.Name.Local == "list") && w.element(e) })
	return strings.Join(lines, "\n")
}

// comment keeps a comment until all rows have been written. `text` is the text of the cell that has the comment.
func (s *sheet) comment(column int, text, remark string) {
	if s.r.p.Src.PlainRows {
		s.r.p.Out.Warn("the document has comments, which are indexed but not part of its plain text")
		return
	}
	name, err := excelize.CoordinatesToCellName(column+1, min(s.row+1, format.MaxSheetRows))
	if err != nil {
		return
	}
	if text != "" {
		name += " (" + format.Cut(format.OneLine(text), table.MaxMergedText) + ")"
	}
	s.later(domain.Block{Kind: domain.BlockParagraph, Text: name + ": " + remark, Sheet: s.name, Row: min(s.row+1, format.MaxSheetRows)})
}

// boxes keeps the text in shapes until all rows have been written. `descend` walks the shapes.
func (s *sheet) boxes(descend func(take func(xml.StartElement) bool)) {
	w := &walker{r: s.r, sc: s.sc, emit: func(b domain.Block) error {
		b.Sheet = s.name
		s.later(b)
		return nil
	}}
	descend(w.element)
}

func (s *sheet) later(b domain.Block) {
	if s.size += len(b.Text); s.size > maxRemarkBytes || len(s.after) >= maxRemarks {
		s.r.p.Out.Warn(fmt.Sprintf("sheet %q has too many comments; the rest were skipped", s.name))
		return
	}
	if !s.r.p.Src.PlainRows {
		s.after = append(s.after, b)
	}
}
