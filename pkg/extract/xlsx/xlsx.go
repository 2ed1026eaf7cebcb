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

// maxSheets is the most sheets that are read of one workbook.
const maxSheets = 10_000

// workbook is an xlsx file being read: what its sheets share.
type workbook struct {
	p       *format.Parser
	a       *ooxml.Package
	sheets  []sheetRef
	strings *sharedStrings
	styles  *sheetStyles
	cells   int
	tails   map[string]bool // parts of sheets whose end has been read
}

// sheetRef is a sheet as the workbook lists it.
type sheetRef struct {
	name, part string
	hidden     bool
	unseen     bool // "very hidden": only a program can show it
}

// Format is the format of Excel workbooks.
var Format = ooxml.NewFormat(format.Format{
	Type: ooxml.TypeXlsx, Extensions: []string{".xlsx", ".xlsm", ".xltx"},
	Name: "an xlsx workbook", Label: "Excel (xlsx)", Read: read,
})

// read reads a workbook sheet by sheet, a row at a time. Values are as shown, in their number formats; formulas count by
// the value stored with them. Hidden rows and columns are read, since mostly a filter has hidden them, and hidden sheets
// with a warning; what only a macro could show is left out. The parts are read by our own walker, which bears what
// producers get wrong (relationships, references, missing styles) and holds one row; excelize applies the formats that ask
// for fractions or for other languages.
func read(p *format.Parser) error {
	a := ooxml.PackageOf(p)
	a.Properties()
	p.Doc.Route = "xlsx"
	main := a.MainPart("xl/workbook.xml")
	if strings.HasSuffix(zip.PartName(main), ".bin") || a.Files["xl/workbook.bin"] != nil {
		return format.Errorf(format.Unsupported, "binary Excel workbooks (.xlsb) cannot be read; save it as xlsx")
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
		p.Out.Warn("the workbook does not list its sheets; those found in the file were read")
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
		if s.unseen {
			p.Out.Warn(fmt.Sprintf("sheet %q is hidden from users altogether and was left out", s.name))
			continue
		}
		if s.hidden {
			p.Out.Warn(fmt.Sprintf("sheet %q is hidden; it was read all the same", s.name))
		}
		if err := w.sheet(s); err != nil {
			return err
		}
	}
	if p.Src.PlainRows && p.Out.Letters == 0 { // there is nothing but drawings: better these than no text
		return w.drawnSheets()
	}
	return nil
}

// list reads the workbook part: the sheets in order, and whether days are counted from 1904.
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
					w.p.Out.Warn(fmt.Sprintf("the workbook has more than %d sheets; the rest was left out", maxSheets))
					sc.Skip()
					return true
				}
				s := sheetRef{name: format.OneLine(xmlscan.Attr(e, "name"))}
				s.hidden, s.unseen = xmlscan.Attr(e, "state") == "hidden", xmlscan.Attr(e, "state") == "veryHidden"
				if r, ok := rels[ooxml.RelationID(e, "id")]; ok {
					s.part = r.Target
				}
				if w.a.Files[zip.PartName(s.part)] == nil { // a relationship that leads nowhere
					s.part = fmt.Sprintf("xl/worksheets/sheet%d.xml", len(w.sheets)+1)
				}
				w.sheets = append(w.sheets, s)
			}
			return false
		})
	})
	return date1904, err
}

// findSheets lists the sheets that lie in the file, in the order of their numbers.
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

// sheet reads one sheet: its rows, then the texts and charts drawn upon it. Its name comes before the first of them.
// Where cells are asked for as other tools give them, what is drawn is left out, since it is in no cell.
func (w *workbook) sheet(s sheetRef) error {
	name := w.namer(s)
	r := &sheetReader{w: w, ref: s, name: name}
	if err := r.read(); err != nil || w.p.Src.PlainRows {
		return err
	}
	return w.drawings(s, name)
}

// drawnSheets reads what is drawn upon the sheets that users see.
func (w *workbook) drawnSheets() error {
	for _, s := range w.sheets {
		if s.unseen {
			continue
		}
		if err := w.drawings(s, w.namer(s)); err != nil {
			return err
		}
	}
	return nil
}

// namer writes the sheet's name when it is called first.
func (w *workbook) namer(s sheetRef) func() error {
	named := false
	return func() error {
		if named {
			return nil
		}
		named = true
		return w.p.Out.Add(domain.Block{Kind: domain.BlockHeading, Text: s.name, Level: 1, Sheet: s.name})
	}
}
