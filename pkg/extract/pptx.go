package extract

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
)

// pptx reads presentations slide by slide in the order of the show, with tables, charts, diagrams and notes. A
// slide is a page.
func (p *parser) pptx(a *archive) error {
	p.doc.Title = a.coreTitle()
	p.doc.Route = "pptx/zip"
	main := a.mainPart("ppt/presentation.xml")
	slides, err := slideOrder(a, main)
	if err != nil {
		return err
	}
	if len(slides) > p.lim.MaxPages {
		return fail(TooLarge, "the presentation has %d slides, more than the %d that are read", len(slides), p.lim.MaxPages)
	}
	p.doc.Pages = len(slides)
	for i, part := range slides {
		if err := p.slide(a, part, i+1); err != nil {
			return err
		}
	}
	return nil
}

// slideOrder lists the parts of the slides as the presentation orders them.
func slideOrder(a *archive, main string) ([]string, error) {
	data, err := a.read(main)
	if err != nil {
		if KindOf(err) != "" {
			return nil, err
		}
		return nil, damaged("pptx presentation", err)
	}
	target := map[string]string{}
	var all []string
	for _, r := range a.relations(main) {
		if r.kind() == "slide" {
			target[r.ID] = r.Target
			all = append(all, r.Target)
		}
	}
	var order []string
	sc := newXMLScanner(data)
	for {
		tok, err := sc.next()
		if err != nil || tok == nil {
			break
		}
		if e, ok := startOf(tok); ok && e.Name.Local == "sldId" {
			for _, at := range e.Attr {
				if t := target[at.Value]; t != "" && at.Name.Local == "id" && at.Name.Space != "" {
					order = append(order, t)
				}
			}
		}
	}
	if len(order) == 0 {
		return all, nil
	}
	return order, nil
}

func (p *parser) slide(a *archive, part string, number int) error {
	data, err := a.read(part)
	if err != nil {
		if KindOf(err) != "" {
			return err
		}
		p.out.warn(fmt.Sprintf("slide %d could not be read", number))
		return nil
	}
	if err := p.drawing(data, number); err != nil {
		return err
	}
	for _, r := range a.relations(part) {
		switch r.kind() {
		case "chart", "diagramData", "notesSlide":
		default:
			continue
		}
		data, err := a.read(r.Target)
		if KindOf(err) != "" {
			return err
		}
		if err != nil {
			continue // a dangling relationship
		}
		if err := p.drawing(data, number); err != nil {
			return err
		}
	}
	return nil
}

// drawing emits the text of a DrawingML part: a slide, its notes, a chart or a diagram. page is the slide's
// number, 0 in other documents.
func (p *parser) drawing(data []byte, page int) error {
	w := &drawingWalker{p: p, page: page}
	sc := newXMLScanner(data)
	for {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		tok, err := sc.next()
		if errors.Is(err, errTooDeep) {
			return fail(TooLarge, "slide %d is nested deeper than %d levels", page, maxDepth)
		}
		if err != nil {
			p.out.warn(fmt.Sprintf("slide %d is damaged; it was read up to the damage", page))
			return w.finish()
		}
		switch e := tok.(type) {
		case nil:
			return w.finish()
		case xml.StartElement:
			err = w.start(sc, e)
		case xml.EndElement:
			err = w.end(e)
		case xml.CharData:
			if w.inText {
				w.text.Write(e)
			}
		}
		if err != nil {
			return err
		}
	}
}

// drawingWalker turns DrawingML into blocks.
type drawingWalker struct {
	p      *parser
	page   int
	holder string // the placeholder that the current shape fills: title, body, …
	level  int    // of the current paragraph, from 0
	text   strings.Builder
	inText bool
	title  strings.Builder
	rows   *rowWriter
	cells  []string
	cell   strings.Builder
}

func (w *drawingWalker) start(sc *xmlScanner, e xml.StartElement) error {
	switch e.Name.Local {
	case "Fallback":
		return sc.skip()
	case "sp", "graphicFrame", "pic":
		w.holder = ""
	case "ph":
		w.holder = xmlAttr(e, "type")
		if w.holder == "" {
			w.holder = "body"
		}
	case "pPr":
		w.level = int(parseSmall(xmlAttr(e, "lvl")))
	case "t", "v": // v: a value of a chart
		w.inText = true
	case "br":
		w.text.WriteByte('\n')
	case "tbl":
		w.rows = &rowWriter{out: w.p.out, page: w.page, plain: w.p.src.PlainRows}
	case "tblPr":
		if w.rows != nil {
			w.rows.isHeader = xmlAttr(e, "firstRow") == "1"
		}
	}
	return nil
}

func (w *drawingWalker) end(e xml.EndElement) error {
	switch e.Name.Local {
	case "t":
		w.inText = false
	case "v":
		w.inText = false
		w.text.WriteByte(' ')
	case "p", "pt", "ser":
		if e.Name.Local == "pt" {
			return nil // the values of a series stay together
		}
		return w.paragraph()
	case "tc":
		w.cells = append(w.cells, w.cell.String())
		w.cell.Reset()
	case "tr":
		cells := w.cells
		w.cells = nil
		if w.rows != nil {
			return w.rows.add(cells)
		}
	case "tbl":
		rows := w.rows
		w.rows = nil
		if rows != nil {
			return rows.flush()
		}
	case "sp":
		if w.title.Len() > 0 {
			title := w.title.String()
			w.title.Reset()
			if w.page == 1 && w.p.doc.Title == "" {
				w.p.doc.Title = title
			}
			return w.p.out.heading(1, title, w.page)
		}
	}
	return nil
}

func (w *drawingWalker) paragraph() error {
	text := strings.TrimSpace(w.text.String())
	w.text.Reset()
	level := w.level
	w.level = 0
	if text == "" {
		return nil
	}
	switch {
	case w.rows != nil:
		if w.cell.Len() > 0 {
			w.cell.WriteByte('\n')
		}
		w.cell.WriteString(text)
		return nil
	case w.holder == "title" || w.holder == "ctrTitle":
		if w.title.Len() > 0 {
			w.title.WriteByte(' ')
		}
		w.title.WriteString(text)
		return nil
	case w.holder == "sldNum" || w.holder == "dt" || w.holder == "hdr" || w.holder == "ftr":
		return nil // the same on every slide
	case w.holder == "body":
		return w.p.out.item(level+1, text, w.page)
	}
	return w.p.out.paragraph(text, w.page)
}

func (w *drawingWalker) finish() error {
	if err := w.paragraph(); err != nil {
		return err
	}
	if w.rows != nil {
		return w.rows.flush()
	}
	return nil
}
