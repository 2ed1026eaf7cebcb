package xlsx

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

const (
	maxRemarks     = 20_000  // maximum number of commented cells in a sheet
	maxRemarkBytes = 8 << 20 // maximum size of a sheet's comments in bytes; further comments are dropped
)

// sheetRemarks holds the comments on a sheet's cells.
type sheetRemarks struct {
	order []cellName // the commented cells, row by row
	texts map[cellName]*cellRemark
	rows  map[int][]cellName
	size  int
	cut   bool // comments were dropped
}

type cellName struct{ row, column int } // from 1

type cellRemark struct {
	context string // values of the commented cell and of its row's first cell
	lines   []string
}

// readRemarks reads the sheet's threads and notes. If a cell has a thread, its note is just a copy of the thread for
// old programs and is skipped.
func (r *sheetReader) readRemarks(rels []ooxml.Relation) error {
	r.remarks = &sheetRemarks{texts: map[cellName]*cellRemark{}, rows: map[int][]cellName{}}
	var threads, notes []string
	for _, rel := range rels {
		switch {
		case rel.External:
		case strings.EqualFold(rel.Kind(), "threadedComment"):
			threads = append(threads, rel.Target)
		case rel.Kind() == "comments":
			notes = append(notes, rel.Target)
		}
	}
	for _, part := range threads {
		if err := r.remarks.read(r.w.a, part, "threadedComment", nil); err != nil {
			return err
		}
	}
	threaded := make(map[cellName]bool, len(r.remarks.texts))
	for cell := range r.remarks.texts {
		threaded[cell] = true
	}
	for _, part := range notes {
		if err := r.remarks.read(r.w.a, part, "comment", threaded); err != nil {
			return err
		}
	}
	for cell := range r.remarks.texts {
		r.remarks.order = append(r.remarks.order, cell)
		r.remarks.rows[cell.row] = append(r.remarks.rows[cell.row], cell)
	}
	slices.SortFunc(r.remarks.order, func(a, b cellName) int {
		return cmp.Or(a.row-b.row, a.column-b.column)
	})
	return nil
}

// read adds the comments in a part, except those on the cells in `except`.
func (s *sheetRemarks) read(a *ooxml.Package, part, element string, except map[cellName]bool) error {
	return a.Walk(part, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != element {
				return false
			}
			column, row, err := excelize.CellNameToCoordinates(strings.ReplaceAll(xmlscan.Attr(e, "ref"), "$", ""))
			cell := cellName{row, column}
			if err != nil || except[cell] {
				sc.Skip()
				return true
			}
			text := ""
			sc.Each(func(e xml.StartElement) bool {
				if e.Name.Local != "text" {
					return false
				}
				if element == "comment" {
					text = richText(sc)
				} else {
					text = sc.Text()
				}
				return true
			})
			s.add(cell, format.OneLine(text))
			return true
		})
	})
}

func (s *sheetRemarks) add(cell cellName, text string) {
	if text == "" {
		return
	}
	if s.size > maxRemarkBytes || len(s.texts) >= maxRemarks && s.texts[cell] == nil {
		s.cut = true
		return
	}
	if s.texts[cell] == nil {
		s.texts[cell] = &cellRemark{}
	}
	s.size += len(text)
	s.texts[cell].lines = append(s.texts[cell].lines, text)
}

// recordRow records values from a row with comments, so that each comment can be shown with its cell.
func (s *sheetRemarks) recordRow(row table.Row) {
	if s == nil {
		return
	}
	for _, cell := range s.rows[row.Number] {
		first := row.Cells[slices.IndexFunc(row.Cells, func(c string) bool { return c != "" })]
		own := ""
		if cell.column <= len(row.Cells) {
			own = row.Cells[cell.column-1]
		}
		about := []string{format.OneLine(first)}
		if own != "" && own != first {
			about = append(about, format.OneLine(own))
		}
		s.texts[cell].context = format.Cut(strings.Join(about, "; "), table.MaxMergedText)
	}
}

// emitRemarks writes the comments. Call it after the sheet's last row.
func (r *sheetReader) emitRemarks() error {
	if r.remarks == nil || len(r.remarks.order) == 0 || !r.w.a.ReadsComments() {
		return nil
	}
	if r.remarks.cut {
		r.w.p.Out.Warn(fmt.Sprintf("sheet %q has too many comments; the rest were skipped", r.ref.name))
	}
	for _, cell := range r.remarks.order {
		remark := r.remarks.texts[cell]
		name, err := excelize.CoordinatesToCellName(cell.column, cell.row)
		if err != nil {
			continue
		}
		if remark.context != "" {
			name += " (" + remark.context + ")"
		}
		if err := r.name(); err != nil {
			return err
		}
		text := name + ": " + strings.Join(remark.lines, "\n")
		if err := r.w.p.Out.Add(domain.Block{Kind: domain.BlockParagraph, Text: text, Sheet: r.ref.name, Row: cell.row}); err != nil {
			return err
		}
	}
	return nil
}
