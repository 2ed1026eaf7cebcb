package extract

import (
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// docxParagraph gathers one paragraph.
type docxParagraph struct {
	text         strings.Builder
	style        string
	outline      int
	numID, level string
	joins        bool // its text continues in the next paragraph: its mark was deleted, or it is a drop cap
	pageField    bool // a page number was left out of it
	notes        []string
	links        []domain.BlockLink
	after        []domain.Block // text boxes and drawings that are anchored in it
	readings     []byte         // of ruby that still goes on
	plain        bool           // some of its text is not bold
	label        string         // name of the content control at its start
	labelled     int            // bytes up to the end of that control
}

func (p *docxParagraph) trimmed() string { return strings.TrimSpace(p.text.String()) }

// endRuby puts the readings of the words before it into brackets, once for all characters that have any: put between
// them they would part words.
func (p *docxParagraph) endRuby() {
	if len(p.readings) > 0 {
		p.text.WriteString("（" + string(p.readings) + "）")
		p.readings = nil
	}
}

// write adds text to the open paragraph, unless it belongs to a field's code.
func (w *docxWalker) write(s string) {
	if w.para == nil || s == "" || w.silent() {
		return
	}
	w.para.endRuby()
	w.para.text.WriteString(s)
	w.para.plain = w.para.plain || !w.bold && strings.TrimSpace(s) != ""
}

// inlines walks the children of an element inside a paragraph.
func (w *docxWalker) inlines() { w.sc.each(w.inline) }

// inline takes one element inside a paragraph. It returns true always: elements that are not known are wrappers.
func (w *docxWalker) inline(e xml.StartElement) bool {
	switch e.Name.Local {
	case "t":
		w.write(symbolText(w.sc.text()))
	case "pPr":
		w.paragraphProperties()
	case "r":
		w.bold = false
		w.inlines()
	case "rPr":
		w.runProperties()
	case "hyperlink":
		w.link(linkAddress(w.rels, relationID(e, "id")), xmlAttr(e, "anchor"))
	case "fldSimple":
		w.simpleField(xmlAttr(e, "instr"))
	case "fldChar":
		w.fieldChar(e)
	case "instrText":
		w.fieldCode(w.sc.text())
	case "oMath", "oMathPara":
		w.write(formulaText(w.sc))
	case "ruby":
		w.ruby()
	case "AlternateContent":
		w.choose(w.inline)
	case "sdt":
		w.control()
	case "txbxContent":
		w.aside(w.blocks)
	case "p": // of a drawing
		text := readDrawnParagraph(w.sc, w.rels)
		w.beside(domain.Block{Kind: domain.BlockParagraph, Text: text.text, Links: text.links})
	case "del", "moveFrom", "delText", "delInstrText", "sdtPr", "sdtEndPr", "customXmlPr", "smartTagPr", "rPrChange", "Fallback", "sectPr":
		w.sc.skip()
	default:
		if !w.sign(e) && !w.drawing(e) {
			w.inlines()
		} else {
			w.sc.skip()
		}
	}
	return true
}

// sign takes elements that stand for a character or a reference.
func (w *docxWalker) sign(e xml.StartElement) bool {
	switch e.Name.Local {
	case "tab", "ptab":
		w.write("\t")
	case "br", "cr":
		w.write("\n")
	case "noBreakHyphen":
		w.write("-")
	case "sym":
		w.write(symbol(xmlAttr(e, "font"), xmlAttr(e, "char")))
	case "commentReference":
		if w.para != nil && !w.silent() {
			w.para.notes = append(w.para.notes, noteKey("comment", xmlAttr(e, "id")))
		}
	case "footnoteReference", "endnoteReference":
		if w.para != nil && !w.silent() {
			w.refer(e.Name.Local, xmlAttr(e, "id"), xmlAttr(e, "customMarkFollows"))
		}
	default:
		return false
	}
	return true
}

// drawing takes what is said in a drawing's own elements: its chart or diagram, its picture's description.
func (w *docxWalker) drawing(e xml.StartElement) bool {
	switch e.Name.Local {
	case "chart":
		w.related(relationID(e, "id"), w.r.a.chart)
	case "relIds":
		w.related(relationID(e, "dm"), readDiagram)
	case "docPr":
		if said := altText(xmlAttr(e, "descr")); said != "" && !w.furniture {
			w.beside(domain.Block{Kind: domain.BlockParagraph, Text: said})
		}
	case "OLEObject":
		w.r.a.embeds(w.rels, relationID(e, "id"), xmlAttr(e, "ProgID"))
	case "textpath": // WordArt
		w.beside(domain.Block{Kind: domain.BlockParagraph, Text: xmlAttr(e, "string")})
	default:
		return false
	}
	return true
}

// beside emits a block after the open paragraph.
func (w *docxWalker) beside(b domain.Block) {
	if strings.TrimSpace(b.Text) == "" {
		return
	}
	w.aside(func() { w.send(b) })
}

// related reads the part that a drawing refers to, once.
func (w *docxWalker) related(id string, read func(*xmlScanner, int, func(domain.Block) error) error) {
	rel, ok := w.rels[id]
	if !ok || rel.External || w.r.once[rel.Target] {
		return
	}
	w.r.once[rel.Target] = true
	w.aside(func() {
		w.sc.stop(w.r.a.walk(rel.Target, func(sc *xmlScanner) { sc.stop(read(sc, 0, w.emit)) }))
	})
}

// link walks a hyperlink.
func (w *docxWalker) link(address, anchor string) {
	p := w.para
	if p == nil {
		w.inlines()
		return
	}
	start := p.text.Len()
	w.inlines()
	if address != "" && anchor != "" && !strings.Contains(address, "#") {
		address += "#" + anchor
	}
	p.addLink(start, address)
}

// addLink notes that the text from start on leads to an address.
func (p *docxParagraph) addLink(start int, address string) {
	text := p.text.String()
	if address == "" || start > len(text) || strings.TrimSpace(text[start:]) == "" {
		return
	}
	p.links = addLink(p.links, oneLine(text[start:]), address)
}

func (w *docxWalker) paragraphProperties() {
	p := w.para
	w.sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "pStyle":
			p.style = xmlAttr(e, "val")
		case "framePr":
			if drop := xmlAttr(e, "dropCap"); drop == "drop" || drop == "margin" {
				p.joins = true // a drop cap: the first letter of the next paragraph
			}
		case "outlineLvl":
			p.outline = outlineLevel(xmlAttr(e, "val"))
		case "numPr":
			w.sc.each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "numId":
					p.numID = xmlAttr(e, "val")
				case "ilvl":
					p.level = xmlAttr(e, "val")
				}
				return false
			})
			return true
		case "rPr": // of the paragraph's mark
			w.sc.each(func(e xml.StartElement) bool {
				if e.Name.Local == "del" || e.Name.Local == "moveFrom" {
					p.joins = true
				}
				return false
			})
			return true
		}
		return false
	})
}

// runProperties takes what matters of a run's properties, for the run that they stand in.
func (w *docxWalker) runProperties() {
	w.sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "b":
			w.bold = xmlOn(e)
		case "vanish":
			if xmlOn(e) {
				w.r.p.out.warn("the document holds hidden text; it was read all the same")
			}
		}
		return false
	})
}

// ruby walks characters with their reading.
func (w *docxWalker) ruby() {
	p := w.para
	if p == nil {
		w.sc.skip()
		return
	}
	readings := p.readings // kept from the text below, which would end them
	p.readings = nil
	w.sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "rt":
			w.sc.descend(func(e xml.StartElement) bool {
				if e.Name.Local == "t" {
					readings = append(readings, w.sc.text()...)
					return true
				}
				return false
			})
		case "rubyBase":
			w.inlines()
		default:
			return false
		}
		return true
	})
	if !w.silent() {
		p.readings = readings
	}
}
