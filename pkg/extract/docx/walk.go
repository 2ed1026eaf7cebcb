package docx

import (
	"encoding/xml"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// walker reads one part in WordprocessingML and converts it to blocks.
type walker struct {
	r                *reader
	sc               *xmlscan.Scanner
	rels             map[string]ooxml.Relation // relationships of the part
	emit             func(domain.Block) error
	main             bool // the part is the main document's body, which may contain the title
	inHeaderOrFooter bool // the part is a header or footer

	para       *paragraph // the innermost open paragraph
	fields     []*field   // open fields, which can span paragraphs
	carry      *paragraph // paragraph that continues in the next one
	bold       bool       // the open run is bold
	mixed      bool       // a paragraph in the open cell is not entirely bold
	tables     int        // nesting depth of open tables
	tableNotes []string   // notes that the open tables refer to
	said       string     // description of the open drawing

	tablePictures []domain.Block // text of pictures in the open tables
}

// part reads a whole part. Errors are kept in the scanner.
func (w *walker) part(sc *xmlscan.Scanner) {
	w.sc = sc
	if _, ok := sc.Root(); ok {
		w.blocks()
		w.flush()
	}
	if sc.Damage != nil {
		w.r.p.Out.Warn("the document is damaged; only the text before the damage was read")
	}
}

// flush emits the paragraph that was held back because its text seemed to continue in the next paragraph.
func (w *walker) flush() {
	if p := w.carry; p != nil {
		w.carry = nil
		p.continues = false
		w.finish(p)
	}
}

func (w *walker) blocks() {
	w.sc.Each(w.block)
}

// block reads one element at the paragraph and table level, or the content of an unknown element. It always returns
// true, because nothing is left for the caller to read.
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

// send emits a block. An error ends the walk.
func (w *walker) send(b domain.Block) { w.sc.Stop(w.emit(b)) }

// choose reads alternate content (several versions of the same content). It calls `take` for each element of the
// version that ooxml.ChooseOne selects.
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

// textBox calls `walk` to read a text box within a paragraph. Its blocks are emitted after the paragraph.
func (w *walker) textBox(walk func()) {
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

func (w *walker) paragraph() {
	p := w.carry
	if p == nil {
		p = &paragraph{}
	}
	w.carry = nil
	// p may hold the text of an earlier paragraph that continues here. The joined paragraph gets the properties of its
	// last part, so clear those of the earlier parts.
	p.style, p.outline, p.numID, p.level, p.continues, p.pageField = "", 0, "", "", false, false
	outer := w.para
	w.para = p
	w.inlines()
	p.endRuby()
	w.para = outer
	for _, f := range w.fields { // a field code without an end must not hide everything after it
		f.result = true
	}
	w.finish(p)
}

// finish emits the paragraph as a block, followed by its drawings and notes.
func (w *walker) finish(p *paragraph) {
	if p.continues {
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
		b.Text = p.labelledText()
	}
	if w.inHeaderOrFooter && p.pageField && b.Text != "" && len(format.OneLine(b.Text)) <= maxPageWords {
		b.Text = "" // "Page of"
	}
	if numID != "" && numID != "0" {
		at := w.r.numbering.levelOf(numID, level, style)
		label := w.r.numbering.next(numID, at) // empty paragraphs count too
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
		w.tableNotes = append(w.tableNotes, p.notes...) // emitted after the table, so as not to separate its rows
		return
	}
	w.sc.Stop(w.r.notes.emit(p.notes, w.emit))
}

// maxPageWords is the maximum length, in bytes, of the text that surrounds a page number in a header or footer, as in
// "Page of". If the text without the page number is no longer than this, the paragraph is dropped.
const maxPageWords = 12

// headingLevel returns the heading level set by the paragraph or its style, or 0 for body text.
func (w *walker) headingLevel(p *paragraph) int {
	switch {
	case p.outline == bodyOutline:
		return 0
	case p.outline > 0:
		return p.outline
	}
	return w.r.styles.headingLevel(p.style)
}
