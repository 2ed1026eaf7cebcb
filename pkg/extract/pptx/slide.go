package pptx

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// slideWalker collects the text on a slide, layout, master or notes page: the title, then the shapes in reading order.
type slideWalker struct {
	r            *reader
	page         int
	list         []ooxml.Relation
	rels         map[string]ooxml.Relation // relationships by id
	isLayout     bool                      // the part is a layout or master, whose placeholders hold prompts
	isNotes      bool
	title        string
	titleLinks   []domain.BlockLink
	isTitleSlide bool // the slide has a title slide's layout
	blocks       []domain.Block
	boxes        []slideBox // shapes in the open group or slide
	count        int        // blocks in all boxes
}

func (r *reader) newSlide(part string, number int) *slideWalker {
	list := r.a.Relations(part)
	return &slideWalker{r: r, page: number, list: list, rels: ooxml.ByID(list)}
}

// walk reads a part. It calls `first` with the root element before reading the shapes.
func (s *slideWalker) walk(part string, first func(root xml.StartElement)) error {
	return s.r.a.Walk(part, func(sc *xmlscan.Scanner) {
		if root, ok := sc.Root(); ok {
			first(root)
			sc.Descend(func(e xml.StartElement) bool { return s.shape(sc, e) })
			s.blocks = inReadingOrder(s.boxes, s.r.p.Src.PlainRows)
		}
		if sc.Damage != nil {
			s.r.p.Out.Warn(fmt.Sprintf("slide %d is damaged; only the text before the damage was read", s.page))
		}
	})
}

// put stores a block until the whole slide has been read.
func (s *slideWalker) put(b domain.Block) {
	b.Page = s.page
	s.count++
	box := &s.boxes[len(s.boxes)-1]
	box.blocks = append(box.blocks, b)
}

// add is like put, for callers that need a function that returns an error.
func (s *slideWalker) add(b domain.Block) error {
	s.put(b)
	return nil
}

// shape reads an element of the shape tree.
func (s *slideWalker) shape(sc *xmlscan.Scanner, e xml.StartElement) bool {
	switch e.Name.Local {
	case "sp", "cxnSp":
		s.box(func() { s.textShape(sc) })
	case "pic":
		s.box(func() { s.picture(sc) })
	case "graphicFrame":
		s.box(func() { s.frame(sc) })
	case "grpSp":
		s.group(sc)
	case "AlternateContent":
		ooxml.ChooseOne(sc, s.size, func(e xml.StartElement) bool { return s.shape(sc, e) })
	case "extLst", "timing", "transition", "controls", "custDataLst":
		sc.Skip()
	default:
		return false
	}
	return true
}

func (s *slideWalker) size() int { return s.count + len(s.title) }

// box reads a shape into a new box. If the shape has no text, the box is dropped.
func (s *slideWalker) box(read func()) {
	s.boxes = append(s.boxes, slideBox{})
	read()
	if last := len(s.boxes) - 1; len(s.boxes[last].blocks) == 0 {
		s.boxes = s.boxes[:last]
	}
}

// place reads the current element, an xfrm, as the position of the open box. Only the box's first xfrm counts.
func (s *slideWalker) place(sc *xmlscan.Scanner) {
	if box := &s.boxes[len(s.boxes)-1]; box.frame.known {
		sc.Skip()
	} else {
		box.frame = readSlideFrame(sc)
	}
}

// group reads a group of shapes and keeps their text together.
func (s *slideWalker) group(sc *xmlscan.Scanner) {
	outer, frame := s.boxes, slideFrame{}
	s.boxes = nil
	sc.Descend(func(e xml.StartElement) bool {
		if e.Name.Local != "grpSpPr" {
			return s.shape(sc, e)
		}
		sc.Each(func(e xml.StartElement) bool {
			if e.Name.Local != "xfrm" {
				return false
			}
			frame = readSlideFrame(sc)
			return true
		})
		return true
	})
	blocks := inReadingOrder(s.boxes, s.r.p.Src.PlainRows)
	if s.boxes = outer; len(blocks) > 0 {
		s.boxes = append(s.boxes, slideBox{frame: frame, blocks: blocks})
	}
}

// textShape reads a shape and the text in it.
func (s *slideWalker) textShape(sc *xmlscan.Scanner) {
	holder, index := "", ""
	var paragraphs []ooxml.DrawnParagraph
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "ph":
			if holder, index = xmlscan.Attr(e, "type"), xmlscan.Attr(e, "idx"); holder == "" {
				holder = "body"
			}
		case "xfrm":
			s.place(sc)
			return true
		case "p":
			paragraphs = append(paragraphs, ooxml.ReadDrawnParagraph(sc, s.rels))
			return true
		case "extLst", "Fallback":
			sc.Skip()
			return true
		}
		return false
	})
	if s.isLayout && holder != "" {
		return
	}
	box := &s.boxes[len(s.boxes)-1]
	if box.isPlaceholder = holder != ""; box.isPlaceholder && !box.frame.known {
		box.frame = s.r.inheritedFrame(s.list, holder, index)
	}
	switch holder {
	case "title", "ctrTitle":
		if !s.isNotes {
			s.isTitleSlide = s.isTitleSlide || holder == "ctrTitle"
			s.heading(paragraphs)
			return
		}
	case "sldNum", "dt", "ftr", "hdr":
		s.footer(holder, paragraphs)
		return
	case "sldImg":
		return
	}
	s.paragraphs(paragraphs, (holder == "body" || holder == "obj") && !s.isNotes)
}

// heading joins a title's lines. Lines beyond the maximum title size become paragraphs.
func (s *slideWalker) heading(paragraphs []ooxml.DrawnParagraph) {
	for _, p := range paragraphs {
		if len(s.title) > format.MaxTitle {
			s.put(domain.Block{Kind: domain.BlockParagraph, Text: p.Text, Links: p.Links})
			continue
		}
		s.title = strings.TrimSpace(s.title + " " + p.Text)
		s.titleLinks = append(s.titleLinks, p.Links...)
	}
}

// footer reads a slide's date, number or footer. Each footer is emitted once per presentation. PowerPoint automatically
// adds the date, number and footer to notes pages, so they are skipped there.
func (s *slideWalker) footer(holder string, paragraphs []ooxml.DrawnParagraph) {
	for _, p := range paragraphs {
		if s.isNotes || holder == "ftr" && s.r.once["text "+p.Text] {
			continue
		}
		s.r.once["text "+p.Text] = true
		s.put(domain.Block{Kind: domain.BlockParagraph, Text: p.Text, Links: p.Links})
	}
}

// paragraphs adds paragraphs to the open box. `listed` means that the box's paragraphs have bullets by default.
func (s *slideWalker) paragraphs(paragraphs []ooxml.DrawnParagraph, listed bool) {
	counts := map[int]int{} // last automatic number by level
	for _, p := range paragraphs {
		if p.Text == "" {
			continue
		}
		b := domain.Block{Kind: domain.BlockParagraph, Text: p.Text, Links: p.Links}
		if p.Bullet == "char" || p.Bullet == "auto" || p.Bullet == "" && (listed || p.Level > 0) {
			b.Kind, b.Level = domain.BlockListItem, p.Level+1
		}
		for level := range counts {
			if level > p.Level || level == p.Level && p.Bullet != "auto" {
				delete(counts, level)
			}
		}
		if p.Bullet == "auto" {
			if _, on := counts[p.Level]; !on {
				counts[p.Level] = p.Start - 1
			}
			counts[p.Level]++
			b.Text = autoNumber(counts[p.Level], p.Scheme) + " " + b.Text
		}
		s.put(b)
	}
}

// autoNumber formats a number in a DrawingML numbering scheme.
func autoNumber(n int, scheme string) string {
	numberFormat := "decimal"
	for prefix, f := range map[string]string{"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman",
		"circleNum": "decimalEnclosedCircle", "ea1Chs": "chineseCounting", "ea1Jpn": "chineseCounting"} {
		if strings.HasPrefix(scheme, prefix) {
			numberFormat = f
		}
	}
	text := format.Number(n, numberFormat)
	switch {
	case strings.HasSuffix(scheme, "ParenBoth"):
		return "(" + text + ")"
	case strings.HasSuffix(scheme, "ParenR"):
		return text + ")"
	case strings.HasSuffix(scheme, "Period"):
		return text + "."
	}
	return text
}

// picture reads a picture's description and the text in the picture.
func (s *slideWalker) picture(sc *xmlscan.Scanner) {
	said, id := "", ""
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "cNvPr":
			said = ooxml.AltText(xmlscan.Attr(e, "descr"))
		case "blip":
			id = ooxml.RelationID(e, "embed")
		case "xfrm":
			s.place(sc)
			return true
		}
		return false
	})
	if s.isLayout {
		return
	}
	if said != "" {
		s.put(domain.Block{Kind: domain.BlockParagraph, Text: said})
	}
	blocks, err := s.r.a.PictureText(s.rels[id], said)
	for _, b := range blocks {
		s.put(b)
	}
	sc.Stop(err)
}

// frame reads a graphic frame's content: a table, chart or diagram. For an embedded object, it just adds a warning.
func (s *slideWalker) frame(sc *xmlscan.Scanner) {
	sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "xfrm":
			s.place(sc)
		case "tbl":
			s.table(sc)
		case "chart":
			s.related(sc, ooxml.RelationID(e, "id"), s.r.a.Chart)
			sc.Skip()
		case "relIds":
			s.related(sc, ooxml.RelationID(e, "dm"), ooxml.ReadDiagram)
			sc.Skip()
		case "oleObj":
			s.r.a.Embeds(s.rels, ooxml.RelationID(e, "id"), xmlscan.Attr(e, "progId"))
			sc.Skip()
		case "Fallback":
			sc.Skip()
		default:
			return false
		}
		return true
	})
}

// related reads the part that the relationship with the given id refers to.
func (s *slideWalker) related(sc *xmlscan.Scanner, id string, read func(*xmlscan.Scanner, int, func(domain.Block) error) error) {
	rel, ok := s.rels[id]
	if !ok || rel.External {
		return
	}
	sc.Stop(s.r.a.Walk(rel.Target, func(part *xmlscan.Scanner) { part.Stop(read(part, s.page, s.add)) }))
}

func (s *slideWalker) table(sc *xmlscan.Scanner) {
	w := &ooxml.Table{Emit: s.add, Page: s.page, Plain: s.r.p.Src.PlainRows}
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "tblPr":
			if first := xmlscan.Attr(e, "firstRow"); first == "1" || first == "true" {
				w.Named, w.Styled = 1, true
			}
			return false
		case "tr":
			sc.Stop(w.Add(s.row(sc)))
			return true
		}
		return false
	})
	sc.Stop(w.Flush())
}

func (s *slideWalker) row(sc *xmlscan.Scanner) ooxml.Row {
	var row ooxml.Row
	sc.Each(func(e xml.StartElement) bool {
		if e.Name.Local != "tc" {
			return false
		}
		cell := ooxml.Cell{Span: 1, Below: xmlscan.Attr(e, "vMerge") == "1" || xmlscan.Attr(e, "vMerge") == "true"}
		var lines []string
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != "p" {
				return false
			}
			if p := ooxml.ReadDrawnParagraph(sc, s.rels); p.Text != "" {
				lines = append(lines, p.Text)
				cell.Bold = (cell.Bold || len(lines) == 1) && p.Bold
				row.Links = append(row.Links, p.Links...)
			}
			return true
		})
		cell.Text = strings.Join(lines, "\n")
		if merged := xmlscan.Attr(e, "hMerge"); (merged == "1" || merged == "true") && len(row.Cells) > 0 {
			row.Cells[len(row.Cells)-1].Span++ // covered by the cell before it
			return true
		}
		row.Cells = append(row.Cells, cell)
		return true
	})
	return row
}
