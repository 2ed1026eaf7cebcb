package docx

import (
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

type paragraph struct {
	text         strings.Builder
	style        string
	outline      int
	numID, level string
	continues    bool // the text continues in the next paragraph: the paragraph mark was deleted, or this is a drop cap
	pageField    bool // a page number was omitted
	notes        []string
	links        []domain.BlockLink
	after        []domain.Block // text boxes and drawings anchored in the paragraph
	readings     []byte         // readings of the current run of annotated characters
	plain        bool           // some of the text is not bold
	label        string         // name of the content control that starts the paragraph
	labelled     int            // byte offset in the text where that control ends
}

func (p *paragraph) trimmed() string { return strings.TrimSpace(p.text.String()) }

// endRuby writes the collected readings in parentheses after the characters they annotate. Readings written between the
// characters would split words.
func (p *paragraph) endRuby() {
	if len(p.readings) > 0 {
		p.text.WriteString("（" + string(p.readings) + "）")
		p.readings = nil
	}
}

// write adds text to the open paragraph, except field codes, which Word doesn't display either.
func (w *walker) write(s string) {
	if w.para == nil || s == "" || w.inFieldCode() {
		return
	}
	w.para.endRuby()
	w.para.text.WriteString(s)
	w.para.plain = w.para.plain || !w.bold && strings.TrimSpace(s) != ""
}

func (w *walker) inlines() { w.sc.Each(w.inline) }

// inline reads one element within a paragraph, or the content of an unknown element. It always returns true, because
// nothing is left for the caller to read.
func (w *walker) inline(e xml.StartElement) bool {
	switch e.Name.Local {
	case "t":
		w.write(symbolText(w.sc.Text()))
	case "pPr":
		w.paragraphProperties()
	case "r":
		w.bold = false
		w.inlines()
	case "rPr":
		w.runProperties()
	case "hyperlink":
		w.link(ooxml.LinkAddress(w.rels, ooxml.RelationID(e, "id")), xmlscan.Attr(e, "anchor"))
	case "fldSimple":
		w.simpleField(xmlscan.Attr(e, "instr"))
	case "fldChar":
		w.fieldChar(e)
	case "instrText":
		w.fieldCode(w.sc.Text())
	case "oMath", "oMathPara":
		w.write(ooxml.FormulaText(w.sc))
	case "ruby":
		w.ruby()
	case "AlternateContent":
		w.choose(w.inline)
	case "sdt":
		w.control()
	case "txbxContent":
		w.textBox(w.blocks)
	case "p": // a paragraph in a drawing
		text := ooxml.ReadDrawnParagraph(w.sc, w.rels)
		w.emitAfter(domain.Block{Kind: domain.BlockParagraph, Text: text.Text, Links: text.Links})
	case "del", "moveFrom", "delText", "delInstrText", "sdtPr", "sdtEndPr", "customXmlPr", "smartTagPr", "rPrChange", "Fallback", "sectPr":
		w.sc.Skip()
	default:
		if !w.symbol(e) && !w.drawing(e) {
			w.inlines()
		} else {
			w.sc.Skip()
		}
	}
	return true
}

// symbol reads an element that stands for a character or a reference. It returns false for other elements.
func (w *walker) symbol(e xml.StartElement) bool {
	switch e.Name.Local {
	case "tab", "ptab":
		w.write("\t")
	case "br", "cr":
		w.write("\n")
	case "noBreakHyphen":
		w.write("-")
	case "sym":
		w.write(symbol(xmlscan.Attr(e, "font"), xmlscan.Attr(e, "char")))
	case "commentReference":
		if w.para != nil && !w.inFieldCode() {
			w.para.notes = append(w.para.notes, noteKey("comment", xmlscan.Attr(e, "id")))
		}
	case "footnoteReference", "endnoteReference":
		if w.para != nil && !w.inFieldCode() {
			w.addReference(e.Name.Local, xmlscan.Attr(e, "id"), xmlscan.Attr(e, "customMarkFollows"))
		}
	default:
		return false
	}
	return true
}

// drawing reads a chart, a diagram, WordArt or a picture's description. It returns false for other elements.
func (w *walker) drawing(e xml.StartElement) bool {
	switch e.Name.Local {
	case "chart":
		w.related(ooxml.RelationID(e, "id"), w.r.a.Chart)
	case "relIds":
		w.related(ooxml.RelationID(e, "dm"), ooxml.ReadDiagram)
	case "docPr":
		w.said = ooxml.AltText(xmlscan.Attr(e, "descr"))
		if w.said != "" && !w.inHeaderOrFooter {
			w.emitAfter(domain.Block{Kind: domain.BlockParagraph, Text: w.said})
		}
	case "blip":
		w.picture(ooxml.RelationID(e, "embed"), w.said)
	case "imagedata": // in VML, the older language for drawings
		w.picture(ooxml.RelationID(e, "id"), "")
	case "OLEObject":
		w.r.a.Embeds(w.rels, ooxml.RelationID(e, "id"), xmlscan.Attr(e, "ProgID"))
	case "textpath": // WordArt
		w.emitAfter(domain.Block{Kind: domain.BlockParagraph, Text: xmlscan.Attr(e, "string")})
	default:
		return false
	}
	return true
}

// emitAfter queues a block for emission after the open paragraph.
func (w *walker) emitAfter(b domain.Block) {
	if strings.TrimSpace(b.Text) == "" {
		return
	}
	w.textBox(func() { w.send(b) })
}

// picture queues a picture's text for emission after the open paragraph or, in a table, after the table.
func (w *walker) picture(id, alt string) {
	if w.inHeaderOrFooter || w.inFieldCode() {
		return
	}
	blocks, err := w.r.a.PictureText(w.rels[id], alt)
	if err != nil {
		w.sc.Stop(err)
		return
	}
	if w.tables > 0 {
		w.tablePictures = append(w.tablePictures, blocks...)
		return
	}
	for _, b := range blocks {
		w.emitAfter(b)
	}
}

// related reads the part that a drawing refers to, unless it has already been read.
func (w *walker) related(id string, read func(*xmlscan.Scanner, int, func(domain.Block) error) error) {
	rel, ok := w.rels[id]
	if !ok || rel.External || w.r.seen[rel.Target] {
		return
	}
	w.r.seen[rel.Target] = true
	w.textBox(func() {
		w.sc.Stop(w.r.a.Walk(rel.Target, func(sc *xmlscan.Scanner) { sc.Stop(read(sc, 0, w.emit)) }))
	})
}

// link reads a hyperlink.
func (w *walker) link(address, anchor string) {
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

// addLink records a link. Its text starts at offset `start` in the paragraph's text.
func (p *paragraph) addLink(start int, address string) {
	text := p.text.String()
	if address == "" || start > len(text) || strings.TrimSpace(text[start:]) == "" {
		return
	}
	p.links = ooxml.AddLink(p.links, format.OneLine(text[start:]), address)
}

func (w *walker) paragraphProperties() {
	p := w.para
	w.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "pStyle":
			p.style = xmlscan.Attr(e, "val")
		case "framePr":
			if drop := xmlscan.Attr(e, "dropCap"); drop == "drop" || drop == "margin" {
				p.continues = true // the drop cap is the first letter of the next paragraph
			}
		case "outlineLvl":
			p.outline = outlineLevel(xmlscan.Attr(e, "val"))
		case "numPr":
			w.sc.Each(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "numId":
					p.numID = xmlscan.Attr(e, "val")
				case "ilvl":
					p.level = xmlscan.Attr(e, "val")
				}
				return false
			})
			return true
		case "rPr": // properties of the paragraph mark
			w.sc.Each(func(e xml.StartElement) bool {
				if e.Name.Local == "del" || e.Name.Local == "moveFrom" {
					p.continues = true
				}
				return false
			})
			return true
		}
		return false
	})
}

// runProperties records whether the current run is bold, and warns if its text is hidden.
func (w *walker) runProperties() {
	w.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "b":
			w.bold = xmlscan.IsOn(e)
		case "vanish":
			if xmlscan.IsOn(e) {
				w.r.p.Out.Warn("the document has hidden text, which was indexed too")
			}
		}
		return false
	})
}

// ruby reads annotated characters and their readings.
func (w *walker) ruby() {
	p := w.para
	if p == nil {
		w.sc.Skip()
		return
	}
	readings := p.readings // kept here because writing the characters would end p's run of readings
	p.readings = nil
	w.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "rt":
			w.sc.Descend(func(e xml.StartElement) bool {
				if e.Name.Local == "t" {
					readings = append(readings, w.sc.Text()...)
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
	if !w.inFieldCode() {
		p.readings = readings
	}
}
