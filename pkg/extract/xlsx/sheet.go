package xlsx

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

const (
	maxHyperlinks = 100_000 // maximum number of hyperlinks per sheet
	maxTables     = 1000    // maximum number of tables per sheet
	maxMerged     = 100_000 // maximum number of merged cells per sheet
	maxMergedDown = 256     // maximum number of merged cells that extend into a row from above
	maxRowText    = 1 << 20 // maximum total size of a row's cells in bytes; further cells are dropped
)

// sheetReader reads a sheet's rows.
type sheetReader struct {
	w              *workbook
	ref            sheetRef
	name           func() error // writes the sheet's name before its first row
	links          map[string]string
	remarks        *sheetRemarks
	headers        map[int]bool           // row numbers of table and filter headers
	merged         map[int][]table.Merged // by first row
	above          map[int]mergedText     // merged text that spans the following rows, by column
	rows           *table.Writer
	row            int // number of the last row
	incomplete     bool
	missingResults int // formulas without a stored result
}

// mergedText is the text in a merged cell that spans several rows.
type mergedText struct {
	text string
	last int // number of its last row
}

func (r *sheetReader) read() error {
	if err := r.readTail(); err != nil {
		return err
	}
	out := r.w.p.Out
	r.rows = &table.Writer{Out: out, Sheet: r.ref.name, Plain: r.w.p.Src.PlainRows}
	var failed error
	err := r.w.a.Walk(r.ref.part, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != "row" {
				return false
			}
			sc.Stop(r.readRow(sc, e))
			return true
		})
		failed = sc.Damage
	})
	if err != nil {
		return err
	}
	switch {
	case r.w.a.Files[zip.PartName(r.ref.part)] == nil:
		out.Warn(fmt.Sprintf("sheet %q is missing from the file", r.ref.name))
	case failed != nil:
		out.Warn(fmt.Sprintf("sheet %q is damaged in row %d; only the rows before it were read", r.ref.name, r.row))
	}
	if r.incomplete {
		out.Warn(fmt.Sprintf("sheet %q has cells whose text is missing from the file; they were skipped", r.ref.name))
	}
	if r.missingResults > 0 {
		out.Warn(fmt.Sprintf("sheet %q: skipped %d formulas because the file does not store their results; open it in a spreadsheet program, save it and upload it again", r.ref.name, r.missingResults))
	}
	if err := r.rows.Flush(); err != nil {
		return err
	}
	return r.emitRemarks()
}

// readRow reads the current element as a row.
func (r *sheetReader) readRow(sc *xmlscan.Scanner, e xml.StartElement) error {
	number := r.row + 1
	if n, err := strconv.Atoi(xmlscan.Attr(e, "r")); err == nil && n > 0 && n <= format.MaxSheetRows {
		number = n
	}
	gap := number > r.row+1
	r.row = number
	row := table.Row{Number: number, Header: r.headers[number]}
	column, size := -1, 0
	sc.Each(func(e xml.StartElement) bool {
		if e.Name.Local != "c" {
			return false
		}
		column++
		ref := xmlscan.Attr(e, "r")
		if at, ok := columnOf(ref); ok {
			column = at
		} else {
			ref = ""
		}
		if column >= format.MaxColumns { // only whether there is a value matters
			if hasValue(sc) {
				r.w.p.Out.Warn("rows were cut after " + strconv.Itoa(format.MaxColumns) + " columns")
			}
			return true
		}
		text, link := r.cell(sc, e)
		if text == "" {
			return true
		}
		if size += len(text); size > maxRowText {
			r.w.p.Out.Warn(fmt.Sprintf("sheet %q has rows with more than %s of text, which were cut", r.ref.name, format.SizeText(maxRowText)))
			return true
		}
		for len(row.Cells) <= column {
			row.Cells = append(row.Cells, "")
		}
		row.Cells[column] = text
		if !r.rows.Decided {
			setMarked(&row, column, r.w.styles.isHighlighted(xmlscan.Attr(e, "s")))
		}
		if r.links[ref] != "" {
			link = r.links[ref]
		}
		if link != "" {
			row.Links = append(row.Links, domain.BlockLink{Text: format.OneLine(text), URL: link})
			if !r.rows.Plain {
				row.Targets = append(row.Targets, make([]string, max(column+1-len(row.Targets), 0))...)
				row.Targets[column] = link
			}
		}
		return true
	})
	if r.w.cells += len(row.Cells); r.w.cells > r.w.p.Lim.MaxCells {
		return format.Errorf(format.TooLarge, "the workbook has more than %d cells; split it", r.w.p.Lim.MaxCells)
	}
	if table.Filled(row.Cells) == 0 {
		return r.rows.EmptyRow()
	}
	r.remarks.recordRow(row)
	row.Merged = r.merged[number]
	if !r.rows.Plain {
		r.fillMerged(&row)
	}
	if gap {
		if err := r.rows.EmptyRow(); err != nil {
			return err
		}
	}
	if err := r.name(); err != nil {
		return err
	}
	return r.rows.Add(row)
}

func setMarked(r *table.Row, column int, marked bool) {
	for len(r.Marked) < column {
		r.Marked = append(r.Marked, false)
	}
	r.Marked = append(r.Marked[:column], marked)
}

// fillMerged copies the text of merged cells that extend down into a row to that row, unless the text is long. It also
// records the merged cells that start in the row.
func (r *sheetReader) fillMerged(row *table.Row) {
	for column, m := range r.above {
		if m.last < row.Number {
			delete(r.above, column)
			continue
		}
		for len(row.Cells) <= column {
			row.Cells = append(row.Cells, "")
		}
		if row.Cells[column] == "" {
			row.Cells[column] = m.text
		}
	}
	for _, m := range row.Merged {
		if m.RowSpan < 2 || m.Column >= len(row.Cells) || len(r.above) == maxMergedDown {
			continue
		}
		if text := row.Cells[m.Column]; text != "" && len(text) <= table.MaxMergedText {
			r.above[m.Column] = mergedText{text, row.Number + m.RowSpan - 1}
		}
	}
}

// hasValue reports whether the current element, a cell, has a value.
func hasValue(sc *xmlscan.Scanner) bool {
	found := false
	sc.Each(func(e xml.StartElement) bool {
		found = found || e.Name.Local == "v" || e.Name.Local == "is"
		return false
	})
	return found
}

// columnOf returns the 0-based column of a cell reference such as "AB12".
func columnOf(ref string) (int, bool) {
	n := 0
	for i := 0; i < len(ref) && i < 4; i++ {
		c := ref[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			return n - 1, n > 0
		}
		n = n*26 + int(c-'A') + 1
	}
	return 0, false
}

// cell reads the current element as a cell. It returns the text as displayed and, for a HYPERLINK formula, the URL.
func (r *sheetReader) cell(sc *xmlscan.Scanner, e xml.StartElement) (text, link string) {
	var value, inline, formula string
	computed := false
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "v":
			value = sc.Text()
		case "is":
			inline = richText(sc)
		case "f":
			formula, computed = sc.Text(), true
		default:
			return false
		}
		return true
	})
	linked, link := formulaLink(formula)
	trimmed := strings.TrimSpace(value)
	switch xmlscan.Attr(e, "t") {
	case "s":
		i, err := strconv.Atoi(trimmed)
		if err != nil {
			return "", link
		}
		s, ok := r.w.strings.at(i)
		r.incomplete = r.incomplete || !ok
		return s, link
	case "inlineStr":
		if inline == "" {
			inline = unescapeXstring(value)
		}
		return inline, link
	case "str":
		return unescapeXstring(value), link
	case "b":
		switch trimmed {
		case "1", "true":
			return "TRUE", link
		case "0", "false":
			return "FALSE", link
		}
		return trimmed, link
	case "e":
		return trimmed, link
	case "d": // an ISO 8601 date, in strict workbooks
		return strings.Replace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(trimmed, "Z"), ".000"), "T00:00:00"), "T", " ", 1), link
	}
	if trimmed == "" {
		if computed && inline == "" {
			if inline = linked; inline == "" {
				r.missingResults++
			}
		}
		return inline, link
	}
	style, err := strconv.Atoi(xmlscan.Attr(e, "s"))
	if err != nil {
		style = 0
	}
	return r.w.styles.show(trimmed, style), link
}

// hyperlinkFormula matches =HYPERLINK("URL", "text"). The URL must be a constant; the text may be an expression.
var hyperlinkFormula = lazyregexp.New(`(?i)^=?\s*HYPERLINK\(\s*"((?:[^"]|"")+)"\s*(?:\)|,\s*"((?:[^"]|"")*)"\s*\)|,)`)

// formulaLink returns a HYPERLINK formula's text and URL. Both are "" for other formulas.
func formulaLink(formula string) (text, address string) {
	m := hyperlinkFormula().FindStringSubmatch(formula)
	if m == nil || strings.HasPrefix(m[1], "#") {
		return "", ""
	}
	address = strings.ReplaceAll(m[1], `""`, `"`)
	return cmp.Or(strings.ReplaceAll(m[2], `""`, `"`), address), address
}

// readTail reads data that the rows depend on but that comes after them: links, merged cells, and the header rows of
// tables and filters. It skips the rows without parsing them.
func (r *sheetReader) readTail() error {
	part, err := r.w.a.Open(r.ref.part)
	if err != nil {
		return nil // reading the rows will return the error
	}
	defer part.Close()
	if !r.w.tails[r.ref.part] { // the rows are unpacked again later, and only then count towards the limit
		r.w.tails[r.ref.part] = true
		before := r.w.a.Left
		defer func() { r.w.a.Left = before }()
	}
	in := bufio.NewReaderSize(part, 64<<10)
	if err := skipRows(in); err != nil {
		if _, ok := errors.AsType[*format.Error](err); ok {
			return err
		}
		return nil
	}
	rels := r.w.a.Relations(r.ref.part)
	r.links, r.headers = map[string]string{}, map[int]bool{}
	r.merged, r.above = map[int][]table.Merged{}, map[int]mergedText{}
	merged := 0
	targets := ooxml.ByID(rels)
	sc := xmlscan.New(r.w.p.Ctx, io.MultiReader(strings.NewReader("<worksheet>"), in))
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "hyperlink":
			if address := ooxml.LinkAddress(targets, ooxml.RelationID(e, "id")); address != "" && len(r.links) < maxHyperlinks {
				ref, _, _ := strings.Cut(xmlscan.Attr(e, "ref"), ":")
				r.links[strings.ReplaceAll(ref, "$", "")] = address
			}
		case "oleObject":
			r.w.a.Embeds(targets, ooxml.RelationID(e, "id"), xmlscan.Attr(e, "progId"))
		case "autoFilter":
			r.headerOf(xmlscan.Attr(e, "ref"))
		case "mergeCell":
			if row, m, ok := mergedRange(xmlscan.Attr(e, "ref")); ok && merged < maxMerged {
				merged++
				r.merged[row] = append(r.merged[row], m)
			}
		}
		return false
	})
	if sc.Err != nil {
		return sc.Err
	}
	r.w.a.EmbedsRest(rels)
	if err := r.readRemarks(rels); err != nil {
		return err
	}
	return r.readTables(rels)
}

func (r *sheetReader) readTables(rels []ooxml.Relation) error {
	tables := 0
	for _, rel := range rels {
		if rel.Kind() != "table" || rel.External {
			continue
		}
		if tables++; tables > maxTables {
			return nil
		}
		err := r.w.a.Walk(rel.Target, func(sc *xmlscan.Scanner) {
			if e, ok := sc.Root(); ok && xmlscan.Attr(e, "headerRowCount") != "0" {
				r.headerOf(xmlscan.Attr(e, "ref"))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mergedRange parses a merged cell's reference, such as "B2:C4". It returns the cell and the number of its first row.
func mergedRange(ref string) (row int, m table.Merged, ok bool) {
	first, last, _ := strings.Cut(strings.ReplaceAll(ref, "$", ""), ":")
	col1, row1, err1 := excelize.CellNameToCoordinates(first)
	col2, row2, err2 := excelize.CellNameToCoordinates(last)
	if err1 != nil || err2 != nil || col2 < col1 || row2 < row1 || col1 > format.MaxColumns {
		return 0, table.Merged{}, false
	}
	return row1, table.Merged{Column: col1 - 1, ColumnSpan: col2 - col1 + 1, RowSpan: row2 - row1 + 1}, true
}

// headerOf records a range's first row as a header row if the range has at least two columns and two rows.
func (r *sheetReader) headerOf(ref string) {
	first, last, ok := strings.Cut(strings.ReplaceAll(ref, "$", ""), ":")
	if !ok {
		return
	}
	col1, row1, err1 := excelize.CellNameToCoordinates(first)
	col2, row2, err2 := excelize.CellNameToCoordinates(last)
	if err1 == nil && err2 == nil && col2 > col1 && row2 > row1 {
		r.headers[row1] = true
	}
}

// skipRows skips the rows, up to "</sheetData>" with any namespace prefix.
func skipRows(in *bufio.Reader) error {
	for {
		tag, err := in.ReadSlice('>')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return err
		}
		if strings.HasSuffix(string(tag[max(0, len(tag)-64):]), "sheetData>") || strings.HasSuffix(string(tag[max(0, len(tag)-64):]), "sheetData/>") {
			name := string(tag[max(0, len(tag)-64):])
			if at := strings.LastIndexByte(name, '<'); at >= 0 && (strings.HasPrefix(name[at:], "</") || strings.HasSuffix(name, "/>")) {
				return nil
			}
		}
	}
}
