package opendocument

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

const (
	maxRepeats  = 100      // how often a repeated row with text is written at most
	maxRepeated = 64 << 10 // maximum total size of a cell's repetitions in bytes; a larger cell is written once
)

func (w *walker) table() {
	w.tables++
	defer func() { w.tables-- }()
	t := &grid{w: w, out: ooxml.Table{Emit: w.emit, Plain: w.r.p.Src.PlainRows, Inner: w.tables > 1}}
	w.sc.Descend(t.element)
	w.sc.Stop(t.out.Flush())
	if w.tables == 1 {
		pictures := w.r.tablePictures
		w.r.tablePictures = nil
		for _, b := range pictures {
			w.put(b)
		}
	}
}

// grid holds the state while reading a table.
type grid struct {
	w     *walker
	out   ooxml.Table
	cells int
}

func (t *grid) element(e xml.StartElement) bool {
	switch e.Name.Local {
	case "table-header-rows":
		t.w.sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != "table-row" {
				return false
			}
			t.out.Named++
			t.row(e)
			return true
		})
	case "table-row":
		t.row(e)
	default:
		return false
	}
	return true
}

// row reads a row. A repeated row is written as often as it occurs, or once if it is empty.
func (t *grid) row(e xml.StartElement) {
	var row ooxml.Row
	filled := false
	t.w.sc.Each(func(e xml.StartElement) bool {
		covered := e.Name.Local == "covered-table-cell"
		if !covered && e.Name.Local != "table-cell" {
			return false
		}
		cell := ooxml.Cell{Span: repeats(e, "number-columns-spanned"), Below: covered}
		inner, text := *t.w, strings.Builder{}
		inner.level, inner.label = 0, ""
		inner.emit = func(b domain.Block) error {
			if text.Len() > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(b.Text)
			row.Links = append(row.Links, b.Links...)
			return nil
		}
		t.w.sc.Each(inner.element)
		cell.Text = text.String()
		filled = filled || cell.Text != ""
		times := min(repeats(e, "number-columns-repeated"), format.MaxColumns-len(row.Cells))
		if len(cell.Text)*times > maxRepeated {
			times = min(times, 1)
		}
		for range times {
			row.Cells = append(row.Cells, cell)
		}
		return true
	})
	row.Cells = t.spread(row.Cells)
	times := 1
	if filled {
		times = min(repeats(e, "number-rows-repeated"), maxRepeats)
	}
	for range times {
		if t.cells += len(row.Cells); t.cells > t.w.r.p.Lim.MaxCells {
			t.w.sc.Stop(format.Errorf(format.TooLarge, "the tables have more than %d cells", t.w.r.p.Lim.MaxCells))
			return
		}
		t.w.sc.Stop(t.out.Add(row))
	}
}

// spread removes the placeholders to the right of cells that span several columns, but not those below cells that span
// several rows.
func (t *grid) spread(cells []ooxml.Cell) []ooxml.Cell {
	var kept []ooxml.Cell
	for i := 0; i < len(cells); {
		span := max(cells[i].Span, 1)
		kept = append(kept, cells[i])
		i++
		for n := 1; n < span && i < len(cells) && cells[i].Below; n++ {
			i++
		}
	}
	return kept
}

// repeats returns the repeat count in the named attribute, at least 1.
func repeats(e xml.StartElement, name string) int {
	n, err := strconv.Atoi(xmlscan.Attr(e, name))
	if err != nil {
		return 1
	}
	return min(max(n, 1), format.MaxColumns)
}
