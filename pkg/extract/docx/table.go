package docx

import (
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

type tableReader struct {
	w       *walker
	grid    ooxml.Table
	columns int // number of columns in the table's grid; 0 if unknown
	rows    int
}

type row struct {
	cells   []cell
	before  int // number of columns skipped before the first cell
	header  bool
	deleted bool
}

type cell struct {
	span   int
	below  bool
	bold   bool
	blocks []domain.Block
}

// maxCellText is the maximum size of a data cell, in bytes. A row with a longer cell is treated as layout.
const maxCellText = 4000

func (w *walker) table() {
	w.flush()
	t := &tableReader{w: w, grid: ooxml.Table{Emit: w.emit, Plain: w.r.p.Src.PlainRows, Inner: w.tables > 0}}
	w.tables++
	t.walk()
	w.tables--
	w.sc.Stop(t.grid.Flush())
	if w.tables == 0 {
		pictures := w.tablePictures
		w.tablePictures = nil
		for _, b := range pictures {
			w.send(b)
		}
		due := w.tableNotes
		w.tableNotes = nil
		w.sc.Stop(w.r.notes.emit(due, w.emit))
	}
}

func (t *tableReader) walk() {
	t.w.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "tr":
			t.row()
		case "gridCol":
			t.columns++
			return false
		case "tblPr", "del", "moveFrom", "sdtPr", "tblGridChange":
			return false
		default: // the grid, or an element around rows
			t.walk()
		}
		return true
	})
}

func (t *tableReader) row() {
	var row row
	t.rowParts(&row)
	if row.deleted || len(row.cells) == 0 {
		return
	}
	t.rows++
	if t.columns == 1 || row.isLayout() {
		t.w.sc.Stop(t.grid.Flush())
		for _, c := range row.cells {
			for _, b := range c.blocks {
				t.w.send(b)
			}
		}
		return
	}
	if row.header && t.grid.Named == t.rows-1 && t.rows <= table.MaxHeaderRows {
		t.grid.Named++
	}
	t.w.sc.Stop(t.grid.Add(row.asGrid()))
}

// isLayout reports whether the row is used for layout rather than data: a cell has a heading above other text or too
// much text for a value, or the only cell has several paragraphs.
func (r *row) isLayout() bool {
	used, blocks := 0, 0
	for _, c := range r.cells {
		size := 0
		for i, b := range c.blocks {
			size += len(b.Text)
			if b.Kind == domain.BlockHeading && i+1 < len(c.blocks) {
				return true
			}
		}
		if size > maxCellText {
			return true
		}
		if len(c.blocks) > 0 {
			used, blocks = used+1, blocks+len(c.blocks)
		}
	}
	return used == 1 && blocks > 1 && len(r.cells) == 1
}

func (r *row) asGrid() ooxml.Row {
	var g ooxml.Row
	if r.before > 0 {
		g.Cells = append(g.Cells, ooxml.Cell{Span: r.before})
	}
	for _, c := range r.cells {
		var text strings.Builder
		for i, b := range c.blocks {
			if i > 0 && (b.Kind == domain.BlockTableRow || c.blocks[i-1].Kind == domain.BlockTableRow) {
				text.WriteString("; ") // a row in a nested table
			} else if i > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(b.Text)
			g.Links = append(g.Links, b.Links...)
		}
		g.Cells = append(g.Cells, ooxml.Cell{Text: text.String(), Span: c.span, Below: c.below, Bold: c.bold})
	}
	return g
}

func (t *tableReader) rowParts(row *row) {
	t.w.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "tc":
			row.cells = append(row.cells, t.cell())
		case "trPr":
			t.w.sc.Each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "tblHeader":
					row.header = xmlscan.IsOn(e)
				case "gridBefore":
					row.before = int(ooxml.ParseSmall(xmlscan.Attr(e, "val")))
				case "del":
					row.deleted = true
				}
				return false
			})
		case "tblPrEx", "sdtPr", "del", "moveFrom":
			return false
		default: // an element around cells
			t.rowParts(row)
		}
		return true
	})
}

// cell reads a cell into blocks, including the rows of nested tables.
func (t *tableReader) cell() cell {
	w := t.w
	c := cell{span: 1}
	emit, para, carry, fields, mixed := w.emit, w.para, w.carry, w.fields, w.mixed
	w.para, w.carry, w.fields, w.mixed = nil, nil, nil, false
	w.emit = func(b domain.Block) error {
		c.blocks = append(c.blocks, b)
		return nil
	}
	w.sc.Each(func(e xml.StartElement) bool {
		if e.Name.Local == "tcPr" {
			w.sc.Each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "gridSpan":
					c.span = max(int(ooxml.ParseSmall(xmlscan.Attr(e, "val"))), 1)
				case "vMerge":
					c.below = xmlscan.Attr(e, "val") != "restart"
				}
				return false
			})
			return true
		}
		return w.block(e)
	})
	w.flush()
	c.bold = !w.mixed && len(c.blocks) > 0
	w.emit, w.para, w.carry, w.fields, w.mixed = emit, para, carry, fields, mixed
	return c
}
