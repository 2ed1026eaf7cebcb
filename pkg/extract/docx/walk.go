package docx

import (
	"encoding/xml"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// walker turns one part of WordprocessingML into blocks.
type walker struct {
	r         *reader
	sc        *xmlscan.Scanner
	rels      map[string]ooxml.Relation // of the part
	emit      func(domain.Block) error
	main      bool // the body of the file's own document, which may give it a title
	furniture bool // a header or footer

	para   *paragraph // the innermost that stands open
	fields []*field   // fields that stand open, across paragraphs
	carry  *paragraph // whose mark was deleted: the next one goes on with its text
	bold   bool       // the open run is
	mixed  bool       // a paragraph of the open cell is not bold as a whole
	tables int        // open tables, one inside another
	due    []string   // notes that the open tables refer to
}

// part walks a whole part. What stops it is left in the scanner.
func (w *walker) part(sc *xmlscan.Scanner) {
	w.sc = sc
	if _, ok := sc.Root(); ok {
		w.blocks()
		w.flush()
	}
	if sc.Damage != nil {
		w.r.p.Out.Warn("the document is damaged; it was read up to the damage")
	}
}

// flush emits what waits for a paragraph that does not come.
func (w *walker) flush() {
	if p := w.carry; p != nil {
		w.carry = nil
		p.joins = false
		w.finish(p)
	}
}

// blocks walks the children of an element that holds paragraphs and tables.
func (w *walker) blocks() {
	w.sc.Each(w.block)
}

// block takes one element among paragraphs and tables. It returns true always: elements that are not known are
// wrappers, whose content counts.
func (w *walker) block(e xml.StartElement) bool {
	switch e.Name.Local {
	case "p":
		w.paragraph()
	case "tbl":
		w.table()
	case "oMath", "oMathPara":
		w.send(domain.Block{Kind: domain.BlockParagraph, Text: ooxml.FormulaText(w.sc)})
	case "altChunk":
		w.chunk(ooxml.RelationID(e, "id"))
		w.sc.Skip()
	case "AlternateContent":
		w.choose(w.block)
	case "sdt":
		w.blockControl()
	case "del", "moveFrom", "sectPr", "sdtPr", "sdtEndPr", "customXmlPr", "background", "Fallback":
		w.sc.Skip()
	default:
		w.blocks()
	}
	return true
}

// send emits a block; errors end the walk.
func (w *walker) send(b domain.Block) { w.sc.Stop(w.emit(b)) }

// choose walks alternate content, of which only one branch counts.
func (w *walker) choose(take func(e xml.StartElement) bool) {
	count, emit, p := 0, w.emit, w.para
	w.emit = func(b domain.Block) error {
		count++
		return emit(b)
	}
	ooxml.ChooseOne(w.sc, func() int {
		if p != nil {
			return count + p.text.Len() + len(p.after)
		}
		return count
	}, take)
	w.emit = emit
}

// aside walks paragraphs that stand inside another, in a text box: they come after it.
func (w *walker) aside(walk func()) {
	outer, emit, fields, carry := w.para, w.emit, w.fields, w.carry
	w.para, w.fields, w.carry = nil, nil, nil
	if outer != nil {
		w.emit = func(b domain.Block) error {
			outer.after = append(outer.after, b)
			return nil
		}
	}
	walk()
	w.flush()
	w.para, w.emit, w.fields, w.carry = outer, emit, fields, carry
}

// paragraph reads the paragraph whose start was returned last.
func (w *walker) paragraph() {
	p := w.carry
	if p == nil {
		p = &paragraph{}
	}
	w.carry = nil
	// A paragraph that goes on with the text of another has the properties of its own mark.
	p.style, p.outline, p.numID, p.level, p.joins, p.pageField = "", 0, "", "", false, false
	outer := w.para
	w.para = p
	w.inlines()
	p.endRuby()
	w.para = outer
	for _, f := range w.fields { // a code that never ends must not take the rest of the document with it
		f.result = true
	}
	w.finish(p)
}

// finish emits a paragraph as what it is, then what stands beside it.
func (w *walker) finish(p *paragraph) {
	if p.joins {
		w.carry = p
		return
	}
	numID, level, style := p.numID, p.level, p.style
	if numID == "" {
		if numID, level, style = w.r.styles.numbered(p.style); p.level != "" {
			level = p.level
		}
	}
	b := domain.Block{Kind: domain.BlockParagraph, Text: p.trimmed(), Links: p.links}
	n := w.headingLevel(p)
	if n == 0 {
		b.Text = p.told()
	}
	if w.furniture && p.pageField && b.Text != "" && len(format.OneLine(b.Text)) <= maxPageWords {
		b.Text = "" // "Page of"
	}
	if numID != "" && numID != "0" {
		at := w.r.numbering.levelOf(numID, level, style)
		label := w.r.numbering.next(numID, at) // empty paragraphs are counted too
		if b.Text != "" {
			b.Kind, b.Level, b.Text = domain.BlockListItem, at+1, label+b.Text
		}
	}
	if n > 0 && b.Text != "" {
		b.Kind, b.Level, b.Text = domain.BlockHeading, min(n, 6), format.OneLine(b.Text)
		if w.main && w.tables == 0 && w.r.styles.isTitle(p.style) {
			if w.r.titles++; w.r.titles == 1 {
				w.r.title = b.Text
			}
		}
	}
	if b.Text != "" {
		w.mixed = w.mixed || p.plain
		w.send(b)
	}
	for _, b := range p.after {
		w.send(b)
	}
	if w.tables > 0 {
		w.due = append(w.due, p.notes...) // after the table, so as not to part its rows
		return
	}
	w.sc.Stop(w.r.notes.tell(p.notes, w.emit))
}

// maxPageWords is how long the words around a page number may be for the line to be nothing else, in bytes.
const maxPageWords = 12

// headingLevel is the level that the paragraph or its style says, 0 for body text.
func (w *walker) headingLevel(p *paragraph) int {
	switch {
	case p.outline == bodyOutline:
		return 0
	case p.outline > 0:
		return p.outline
	}
	return w.r.styles.headingLevel(p.style)
}
