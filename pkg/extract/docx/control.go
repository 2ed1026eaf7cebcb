package docx

import (
	"encoding/xml"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// control holds the properties of a content control.
type control struct {
	label string // the control's name, used to label its value; "" if there is none
	box   string // a check box's symbol; "" for other controls
}

// controlProperties reads the properties of a content control from the current element.
func (w *walker) controlProperties() control {
	var c control
	named := true
	w.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "alias":
			c.label = format.OneLine(xmlscan.Attr(e, "val"))
		case "showingPlcHdr", "docPartObj", "docPartList", "bibliography", "citation": // no value, or part of the text
			named = false
		case "checkbox":
			c.box = w.checkbox()
			return true
		}
		return false
	})
	if !named || w.inHeaderOrFooter || w.tables > 0 || w.r.p.Src.PlainRows || utf8.RuneCountInString(c.label) > table.MaxLabel {
		c.label = "" // in a table, the adjacent cell is the label
	}
	return c
}

// checkbox reads the current element, a check box, and returns a ticked or empty box.
func (w *walker) checkbox() string {
	box := "☐"
	w.sc.Each(func(e xml.StartElement) bool {
		if e.Name.Local == "checked" && xmlscan.IsOn(e) {
			box = "☒"
		}
		return false
	})
	return box
}

// control reads a content control within a paragraph. For a check box, it writes a Unicode symbol, because the symbol
// in the file depends on a font.
func (w *walker) control() {
	var c control
	begins := w.para != nil && w.para.label == "" && w.para.text.Len() <= table.MaxLabel && w.para.trimmed() == ""
	w.sc.Each(func(e xml.StartElement) bool {
		switch {
		case e.Name.Local == "sdtPr":
			c = w.controlProperties()
		case e.Name.Local == "sdtContent" && c.box != "":
			w.write(c.box)
			w.sc.Skip()
		default:
			return w.inline(e)
		}
		return true
	})
	if begins && w.para.label == "" {
		w.para.label, w.para.labelled = c.label, w.para.text.Len()
	}
}

// labelledText returns the paragraph's text, preceded by a content control's label if the text is just that control's
// value.
func (p *paragraph) labelledText() string {
	text := p.trimmed()
	if p.label == "" || strings.TrimSpace(p.text.String()[:p.labelled]) != text {
		return text
	}
	return addLabel(p.label, text)
}

// addLabel puts the label before a value unless the value already starts with it.
func addLabel(label, value string) string {
	if label == "" || value == "" || strings.HasPrefix(strings.ToLower(value), strings.ToLower(label)) {
		return value
	}
	return table.PairLine(label, value)
}

// blockControl reads a content control that contains paragraphs. A single paragraph gets the control's name as a label.
func (w *walker) blockControl() {
	var c control
	var first *domain.Block // the first block, held back until it is clear whether it is the only one
	count, emit := 0, w.emit
	w.emit = func(b domain.Block) error {
		if count++; count == 1 && c.label != "" {
			first = &b
			return nil
		}
		if first != nil {
			if err := emit(*first); err != nil {
				return err
			}
			first = nil
		}
		return emit(b)
	}
	w.sc.Each(func(e xml.StartElement) bool {
		switch {
		case e.Name.Local == "sdtPr":
			c = w.controlProperties()
		case e.Name.Local == "sdtContent" && c.box != "":
			w.send(domain.Block{Kind: domain.BlockParagraph, Text: c.box})
			w.sc.Skip()
		default:
			return w.block(e)
		}
		return true
	})
	w.emit = emit
	if first != nil {
		if first.Kind == domain.BlockParagraph {
			first.Text = addLabel(c.label, first.Text)
		}
		w.send(*first)
	}
}
