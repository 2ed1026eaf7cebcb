package extract

import (
	"encoding/xml"
	"errors"
	"strings"
)

// docxWalker turns WordprocessingML into blocks.
type docxWalker struct {
	p         *parser
	styles    docxStyles
	numbering *docxNumbering
	seen      map[string]bool // parts read, and texts of headers and footers
	once      bool            // paragraphs that were emitted before are left out

	stack []*docxParagraph // paragraphs that stand open: a text box stands inside another paragraph
	table *docxTable       // the innermost open table

	notes *docxNotes
	due   []string // keys of notes that the open table refers to
}

// docxParagraph gathers one paragraph.
type docxParagraph struct {
	text         strings.Builder
	style        string
	outline      int
	numID, level string
	notes        []string // keys of the notes it refers to
}

// docxTable gathers the current row of a table; a table inside a cell becomes text of that cell.
type docxTable struct {
	outer *docxTable
	rows  *rowWriter // nil for a table inside another
	cells []string
	cell  strings.Builder
}

// part walks one XML part.
func (w *docxWalker) part(data []byte) error {
	sc := newXMLScanner(data)
	w.stack, w.table = nil, nil
	for {
		if err := w.p.ctx.Err(); err != nil {
			return err
		}
		tok, err := sc.next()
		if errors.Is(err, errTooDeep) {
			return fail(TooLarge, "the document is nested deeper than %d levels", maxDepth)
		}
		if err != nil {
			w.p.out.warn("the document is damaged; it was read up to the damage")
			return w.finish()
		}
		switch e := tok.(type) {
		case nil:
			return w.finish()
		case xml.StartElement:
			err = w.start(sc, e)
		case xml.EndElement:
			err = w.end(e)
		}
		if err != nil {
			return err
		}
	}
}

// finish emits what a truncated part left open.
func (w *docxWalker) finish() error {
	for len(w.stack) > 0 {
		if err := w.endParagraph(); err != nil {
			return err
		}
	}
	for w.table != nil {
		if err := w.endTable(); err != nil {
			return err
		}
	}
	return nil
}

func (w *docxWalker) top() *docxParagraph {
	if len(w.stack) == 0 {
		return nil
	}
	return w.stack[len(w.stack)-1]
}

func (w *docxWalker) start(sc *xmlScanner, e xml.StartElement) error {
	switch e.Name.Local {
	case "del", "moveFrom", "instrText", "delText", "Fallback", "rPrChange", "pPrChange", "sectPr", "tblGrid":
		return sc.skip()
	case "footnote", "endnote":
		if t := xmlAttr(e, "type"); t == "separator" || t == "continuationSeparator" {
			return sc.skip()
		}
		w.notes.open = noteKey(e.Name.Local, xmlAttr(e, "id"))
	case "footnoteReference", "endnoteReference":
		w.refer(e.Name.Local, xmlAttr(e, "id"))
	case "p":
		w.stack = append(w.stack, &docxParagraph{})
	case "tbl":
		w.table = &docxTable{outer: w.table}
		if w.table.outer == nil {
			w.table.rows = &rowWriter{out: w.p.out, plain: w.p.src.PlainRows}
		}
	case "tblHeader":
		if w.table != nil && w.table.rows != nil && len(w.table.rows.pending) == 0 {
			w.table.rows.isHeader = true
		}
	case "t":
		return w.characters(sc)
	}
	if p := w.top(); p != nil {
		p.property(e)
	}
	return nil
}

// property takes what an element inside a paragraph says about it.
func (p *docxParagraph) property(e xml.StartElement) {
	switch e.Name.Local {
	case "pStyle":
		p.style = xmlAttr(e, "val")
	case "outlineLvl":
		p.outline = int(parseSmall(xmlAttr(e, "val"))) + 1
	case "numId":
		p.numID = xmlAttr(e, "val")
	case "ilvl":
		p.level = xmlAttr(e, "val")
	case "tab", "ptab":
		if xmlAttr(e, "pos") == "" { // not a tab stop of the paragraph's properties
			p.text.WriteByte('\t')
		}
	case "br", "cr":
		p.text.WriteByte('\n')
	case "noBreakHyphen":
		p.text.WriteByte('-')
	}
}

// characters takes the text of a run.
func (w *docxWalker) characters(sc *xmlScanner) error {
	for {
		tok, err := sc.next()
		if err != nil || tok == nil {
			return nil // the damage shows again in part
		}
		switch t := tok.(type) {
		case xml.CharData:
			if p := w.top(); p != nil {
				p.text.Write(t)
			}
		case xml.StartElement:
			if err := sc.skip(); err != nil {
				return nil
			}
		case xml.EndElement:
			return nil
		}
	}
}

func (w *docxWalker) end(e xml.EndElement) error {
	switch e.Name.Local {
	case "p":
		if len(w.stack) > 0 {
			return w.endParagraph()
		}
	case "tc":
		if t := w.table; t != nil {
			t.cells = append(t.cells, t.cell.String())
			t.cell.Reset()
		}
	case "tr":
		return w.endRow()
	case "tbl":
		return w.endTable()
	}
	return nil
}

func (w *docxWalker) endParagraph() error {
	p := w.top()
	w.stack = w.stack[:len(w.stack)-1]
	if err := w.paragraph(p); err != nil {
		return err
	}
	if w.table != nil {
		w.due = append(w.due, p.notes...) // after the table, so as not to part its rows
		return nil
	}
	return w.tell(p.notes)
}

// paragraph emits a paragraph, or puts it into the open table.
func (w *docxWalker) paragraph(p *docxParagraph) error {
	text := strings.TrimSpace(p.text.String())
	numID, level := p.numID, p.level
	if numID == "" {
		numID, level = w.styles.numbered(p.style)
	}
	if text == "" {
		return nil
	}
	if w.once {
		if w.seen["\x00"+text] || len(text) < 3 {
			return nil
		}
		w.seen["\x00"+text] = true
	}
	listed := numID != "" && numID != "0"
	if listed {
		if label := w.numbering.next(numID, level); label != "" {
			text = label + " " + text
		}
	}
	if w.table != nil {
		if w.table.cell.Len() > 0 {
			w.table.cell.WriteByte('\n')
		}
		w.table.cell.WriteString(text)
		return nil
	}
	heading := p.outline
	if heading == 0 || heading > 9 {
		heading = w.styles.headingLevel(p.style)
	}
	switch {
	case heading > 0 && !w.once:
		if w.p.doc.Title == "" && heading == 1 {
			w.p.doc.Title = text
		}
		return w.p.out.heading(heading, text, 0)
	case listed:
		return w.p.out.item(int(parseSmall(level))+1, text, 0)
	default:
		return w.p.out.paragraph(text, 0)
	}
}

func (w *docxWalker) endRow() error {
	t := w.table
	if t == nil {
		return nil
	}
	cells := t.cells
	t.cells = nil
	if t.rows != nil {
		return t.rows.add(cells)
	}
	row := strings.TrimSpace(strings.Join(cells, "\t"))
	if t.outer != nil && row != "" {
		if t.outer.cell.Len() > 0 {
			t.outer.cell.WriteByte('\n')
		}
		t.outer.cell.WriteString(row)
	}
	return nil
}

func (w *docxWalker) endTable() error {
	t := w.table
	if t == nil {
		return nil
	}
	if t.cell.Len() > 0 || len(t.cells) > 0 { // cut off inside a row
		t.cells = append(t.cells, t.cell.String())
		if err := w.endRow(); err != nil {
			return err
		}
	}
	w.table = t.outer
	if t.rows != nil {
		if err := t.rows.flush(); err != nil {
			return err
		}
	}
	if w.table != nil {
		return nil
	}
	due := w.due
	w.due = nil
	return w.tell(due)
}
