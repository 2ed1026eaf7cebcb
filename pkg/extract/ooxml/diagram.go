package ooxml

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// diagramPoint is a node in a SmartArt diagram.
type diagramPoint struct {
	text     string
	children []diagramLink
}

type diagramLink struct {
	to    string
	order int
}

// maxDiagramDepth is the maximum nesting depth of a diagram's nodes.
const maxDiagramDepth = 50

// ReadDiagram emits a diagram's nodes as a nested list in outline order. `page` is the slide's number, or 0.
func ReadDiagram(sc *xmlscan.Scanner, page int, emit func(domain.Block) error) error {
	points := map[string]*diagramPoint{}
	var order []string
	root := ""
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "pt":
			id := xmlscan.Attr(e, "modelId")
			switch xmlscan.Attr(e, "type") {
			case "doc":
				root = id
			case "pres": // a node that just describes how another one is drawn
				return false
			}
			points[id] = &diagramPoint{text: drawnText(sc)}
			order = append(order, id)
			return true
		case "cxn":
			from := points[xmlscan.Attr(e, "srcId")]
			if t := xmlscan.Attr(e, "type"); from != nil && (t == "" || t == "parOf") {
				at, _ := strconv.Atoi(xmlscan.Attr(e, "srcOrd"))
				from.children = append(from.children, diagramLink{xmlscan.Attr(e, "destId"), at})
			}
		}
		return false
	})
	var tell func(id string, level int) error
	tell = func(id string, level int) error {
		pt := points[id]
		if pt == nil || level > maxDiagramDepth {
			return nil
		}
		delete(points, id)
		if pt.text != "" {
			if err := emit(domain.Block{Kind: domain.BlockListItem, Text: pt.text, Level: max(level, 1), Page: page}); err != nil {
				return err
			}
		}
		slices.SortStableFunc(pt.children, func(a, b diagramLink) int { return cmp.Compare(a.order, b.order) })
		for _, c := range pt.children {
			if err := tell(c.to, level+1); err != nil {
				return err
			}
		}
		return nil
	}
	for _, id := range append([]string{root}, order...) { // nodes without a parent come last
		if err := tell(id, 0); err != nil {
			return err
		}
	}
	return nil
}

// drawnText returns all DrawingML text in the current element. Paragraphs are joined with spaces.
func drawnText(sc *xmlscan.Scanner) string {
	var b strings.Builder
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "t", "v":
			if strings.HasSuffix(e.Name.Space, "diagram") { // a diagram node's "t" contains paragraphs
				return false
			}
			b.WriteString(sc.Text())
			return true
		case "f", "Fallback": // a reference into a workbook
			sc.Skip()
			return true
		case "p", "br":
			b.WriteByte(' ')
		}
		return false
	})
	return format.OneLine(b.String())
}
