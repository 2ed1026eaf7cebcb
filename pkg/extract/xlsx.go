package extract

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"
)

// xlsx reads workbooks sheet by sheet. Values are as shown (dates and numbers in their formats), formulas by the
// value stored with them.
func (p *parser) xlsx(a *archive) error {
	p.doc.Title = a.coreTitle()
	p.doc.Route = "xlsx/excelize"
	f, err := excelize.OpenReader(io.NewSectionReader(p.src.Data, 0, p.src.Size), excelize.Options{
		UnzipSizeLimit:    p.lim.MaxUnpacked,
		UnzipXMLSizeLimit: 16 << 20, // larger sheets are streamed from a temporary file
	})
	if err != nil {
		if errors.Is(err, excelize.ErrWorkbookPassword) {
			return oleError(TypeXlsx)
		}
		return damaged("xlsx workbook", err)
	}
	defer f.Close()
	cells := 0
	for _, sheet := range f.GetSheetList() {
		if err := p.sheet(f, sheet, &cells); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) sheet(f *excelize.File, sheet string, cells *int) error {
	rows, err := f.Rows(sheet)
	if err != nil {
		// Chart and dialogue sheets have no rows.
		p.out.warn(fmt.Sprintf("sheet %q has no cells that can be read", sheet))
		return nil
	}
	defer rows.Close()
	w := &rowWriter{out: p.out, sheet: sheet, plain: p.src.PlainRows}
	named := false
	for read := 0; rows.Next(); read++ {
		if read == maxSheetRows { // rows that are not there are counted up to the next one's number, whatever it claims
			p.out.warn(fmt.Sprintf("sheet %q numbers its rows beyond %d; the rest of it was left out", sheet, maxSheetRows))
			break
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		row, err := rows.Columns()
		if err != nil {
			p.out.warn(fmt.Sprintf("a row of sheet %q could not be read", sheet))
			break
		}
		if *cells += len(row); *cells > p.lim.MaxCells {
			return fail(TooLarge, "the workbook has more than %d cells", p.lim.MaxCells)
		}
		if filled(row) == 0 {
			continue
		}
		if !named {
			named = true
			if err := p.sheetHeading(sheet); err != nil {
				return err
			}
		}
		if err := w.add(row); err != nil {
			return err
		}
	}
	return w.flush()
}

func (p *parser) sheetHeading(sheet string) error {
	return p.out.heading(1, strings.TrimSpace(sheet), 0)
}
