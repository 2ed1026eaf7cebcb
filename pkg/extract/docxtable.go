package extract

import (
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// docxTable gathers the rows of a table.
type docxTable struct {
	w       *docxWalker
	grid    officeTable
	columns int // as the table's grid says; 0 unknown
	rows    int
}

// docxRow is what one row holds.
type docxRow struct {
	cells   []docxCell
	before  int // columns that are left free before its first cell
	header  bool
	deleted bool
}

type docxCell struct {
	span   int
	below  bool
	bold   bool
	blocks []domain.Block
}

// maxCellText is how long a cell may be to be a cell, in bytes: what is longer is a text that a table lays out.
const maxCellText = 4000

// table reads the table whose start was returned last.
func (w *docxWalker) table() {
	w.flush()
	t := &docxTable{w: w, grid: officeTable{emit: w.emit, plain: w.r.p.src.PlainRows, inner: w.tables > 0}}
	w.tables++
	t.walk()
	w.tables--
	w.sc.stop(t.grid.flush())
	if w.tables == 0 {
		due := w.due
		w.due = nil
		w.sc.stop(w.r.notes.tell(due, w.emit))
	}
}

func (t *docxTable) walk() {
	t.w.sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "tr":
			t.row()
		case "gridCol":
			t.columns++
			return false
		case "tblPr", "del", "moveFrom", "sdtPr", "tblGridChange":
			return false
		default: // the grid, and wrappers of rows
			t.walk()
		}
		return true
	})
}

func (t *docxTable) row() {
	var row docxRow
	t.rowParts(&row)
	if row.deleted || len(row.cells) == 0 {
		return
	}
	t.rows++
	if t.columns == 1 || row.isLayout() {
		t.w.sc.stop(t.grid.flush())
		for _, c := range row.cells {
			for _, b := range c.blocks {
				t.w.send(b)
			}
		}
		return
	}
	if row.header && t.grid.named == t.rows-1 && t.rows <= maxHeaderRows {
		t.grid.named++
	}
	t.w.sc.stop(t.grid.add(row.asGrid()))
}

// isLayout reports whether the row sets texts side by side, or one apart, rather than values: it has headings over
// other text, one cell of several paragraphs, or more text than a value has.
func (r *docxRow) isLayout() bool {
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

func (r *docxRow) asGrid() officeRow {
	var g officeRow
	if r.before > 0 {
		g.cells = append(g.cells, officeCell{span: r.before})
	}
	for _, c := range r.cells {
		var text strings.Builder
		for i, b := range c.blocks {
			if i > 0 && (b.Kind == domain.BlockTableRow || c.blocks[i-1].Kind == domain.BlockTableRow) {
				text.WriteString("; ") // of a table in the cell
			} else if i > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(b.Text)
			g.links = append(g.links, b.Links...)
		}
		g.cells = append(g.cells, officeCell{text: text.String(), span: c.span, below: c.below, bold: c.bold})
	}
	return g
}

func (t *docxTable) rowParts(row *docxRow) {
	t.w.sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "tc":
			row.cells = append(row.cells, t.cell())
		case "trPr":
			t.w.sc.each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "tblHeader":
					row.header = xmlOn(e)
				case "gridBefore":
					row.before = int(parseSmall(xmlAttr(e, "val")))
				case "del":
					row.deleted = true
				}
				return false
			})
		case "tblPrEx", "sdtPr", "del", "moveFrom":
			return false
		default: // wrappers of cells
			t.rowParts(row)
		}
		return true
	})
}

// cell reads one cell into blocks; those of tables inside it are among them.
func (t *docxTable) cell() docxCell {
	w := t.w
	c := docxCell{span: 1}
	emit, para, carry, fields, mixed := w.emit, w.para, w.carry, w.fields, w.mixed
	w.para, w.carry, w.fields, w.mixed = nil, nil, nil, false
	w.emit = func(b domain.Block) error {
		c.blocks = append(c.blocks, b)
		return nil
	}
	w.sc.each(func(e xml.StartElement) bool {
		if e.Name.Local == "tcPr" {
			w.sc.each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "gridSpan":
					c.span = max(int(parseSmall(xmlAttr(e, "val"))), 1)
				case "vMerge":
					c.below = xmlAttr(e, "val") != "restart"
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
