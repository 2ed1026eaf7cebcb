// Package xlsx reads Excel workbooks.
package xlsx

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
)

// maxSheets is the maximum number of sheets to read from a workbook.
const maxSheets = 10_000

// workbook holds the state while reading an xlsx file. All sheets share it.
type workbook struct {
	p       *format.Parser
	a       *ooxml.Package
	sheets  []sheetRef
	strings *sharedStrings
	styles  *sheetStyles
	cells   int
	tails   map[string]bool // sheet parts that readTail has read
}

// sheetRef is an entry in the workbook's list of sheets.
type sheetRef struct {
	name, part string
	hidden     bool
	veryHidden bool // only a macro can show the sheet
}

// Format describes Excel workbooks.
var Format = ooxml.NewFormat(format.Format{
	Type: ooxml.TypeXlsx, Extensions: []string{".xlsx", ".xlsm", ".xltx"},
	Name: "an xlsx workbook", Label: "Excel (xlsx)", Read: read,
})

// read reads a workbook sheet by sheet and row by row. It writes numbers as displayed and formulas as their stored
// results. Hidden rows and columns are read too, because they have usually been hidden by a filter. Hidden sheets are
// read with a warning, except those that only a macro can show. The parts are read with xmlscan, not excelize: xmlscan
// tolerates common errors (wrong relationships and references, missing styles) and holds only one row in memory.
// excelize is used only to format fractions and numbers with formats in other languages.
func read(p *format.Parser) error {
	a := ooxml.PackageOf(p)
	a.Properties()
	p.Doc.Route = "xlsx"
	main := a.MainPart("xl/workbook.xml")
	if strings.HasSuffix(zip.PartName(main), ".bin") || a.Files["xl/workbook.bin"] != nil {
		return format.Errorf(format.Unsupported, "binary Excel workbooks (.xlsb) cannot be read; save the workbook as xlsx")
	}
	w := &workbook{p: p, a: a, tails: map[string]bool{}}
	rels := a.Relations(main)
	date1904, err := w.list(main, ooxml.ByID(rels))
	if err != nil {
		return err
	}
	if len(w.sheets) == 0 {
		w.findSheets()
		if len(w.sheets) == 0 {
			return format.NotA("xlsx workbook", zip.ErrNoPart)
		}
		p.Out.Warn("the workbook does not list its sheets; all sheets found in the file were read")
	}
	dir := path.Dir(main)
	if w.styles, err = readSheetStyles(a, a.Related(rels, "styles", dir+"/styles.xml"), date1904); err != nil {
		return err
	}
	defer w.styles.close()
	if w.strings, err = readSharedStrings(a, a.Related(rels, "sharedStrings", dir+"/sharedStrings.xml")); err != nil {
		return err
	}
	for _, s := range w.sheets {
		if s.veryHidden {
			p.Out.Warn(fmt.Sprintf("sheet %q is \"very hidden\", so users cannot unhide it; it was skipped", s.name))
			continue
		}
		if s.hidden {
			p.Out.Warn(fmt.Sprintf("sheet %q is hidden; it was indexed too", s.name))
		}
		if err := w.sheet(s); err != nil {
			return err
		}
	}
	if p.Src.PlainRows && p.Out.Letters == 0 { // the workbook has only drawings, which are better than no text
		return w.drawnSheets()
	}
	return nil
}

// list reads the workbook part: the sheets in order, and whether dates count from 1904.
func (w *workbook) list(main string, rels map[string]ooxml.Relation) (date1904 bool, err error) {
	err = w.a.Walk(main, func(sc *xmlscan.Scanner) {
		if _, ok := sc.Root(); !ok {
			return
		}
		sc.Descend(func(e xml.StartElement) bool {
			switch e.Name.Local {
			case "workbookPr":
				v := xmlscan.Attr(e, "date1904")
				date1904 = v == "1" || v == "true"
			case "sheet":
				if len(w.sheets) == maxSheets {
					w.p.Out.Warn(fmt.Sprintf("the workbook has more than %d sheets; the rest were skipped", maxSheets))
					sc.Skip()
					return true
				}
				s := sheetRef{name: format.OneLine(xmlscan.Attr(e, "name"))}
				s.hidden, s.veryHidden = xmlscan.Attr(e, "state") == "hidden", xmlscan.Attr(e, "state") == "veryHidden"
				if r, ok := rels[ooxml.RelationID(e, "id")]; ok {
					s.part = r.Target
				}
				if w.a.Files[zip.PartName(s.part)] == nil { // the relationship points to a missing part
					s.part = fmt.Sprintf("xl/worksheets/sheet%d.xml", len(w.sheets)+1)
				}
				w.sheets = append(w.sheets, s)
			}
			return false
		})
	})
	return date1904, err
}

// findSheets lists the sheets by their parts, ordered by the numbers in the part names.
func (w *workbook) findSheets() {
	for name := range w.a.Files {
		if path.Base(path.Dir(name)) == "worksheets" && strings.HasSuffix(name, ".xml") {
			w.sheets = append(w.sheets, sheetRef{name: strings.TrimSuffix(path.Base(name), ".xml"), part: name})
		}
	}
	number := func(s sheetRef) int {
		n, err := strconv.Atoi(strings.TrimLeft(s.name, "abcdefghijklmnopqrstuvwxyz"))
		if err != nil {
			return maxSheets
		}
		return n
	}
	slices.SortFunc(w.sheets, func(a, b sheetRef) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), strings.Compare(a.part, b.part))
	})
	w.sheets = w.sheets[:min(len(w.sheets), maxSheets)]
}

// sheet reads one sheet: its name, its rows, and its text boxes and charts. If PlainRows is set, it skips text boxes
// and charts, because they aren't in cells.
func (w *workbook) sheet(s sheetRef) error {
	name := w.nameWriter(s)
	r := &sheetReader{w: w, ref: s, name: name}
	if err := r.read(); err != nil || w.p.Src.PlainRows {
		return err
	}
	return w.drawings(s, name)
}

// drawnSheets reads the sheets' drawings, except on sheets that only a macro can show.
func (w *workbook) drawnSheets() error {
	for _, s := range w.sheets {
		if s.veryHidden {
			continue
		}
		if err := w.drawings(s, w.nameWriter(s)); err != nil {
			return err
		}
	}
	return nil
}

// nameWriter returns a function that writes the sheet's name the first time it is called.
func (w *workbook) nameWriter(s sheetRef) func() error {
	named := false
	return func() error {
		if named {
			return nil
		}
		named = true
		return w.p.Out.Add(domain.Block{Kind: domain.BlockHeading, Text: s.name, Level: 1, Sheet: s.name})
	}
}
