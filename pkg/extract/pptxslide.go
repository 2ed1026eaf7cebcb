package extract

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// slideWalker gathers the text of one slide, layout, master or page of notes. Shapes come in reading
// order; the title comes first wherever it stands.
type slideWalker struct {
	r          *pptxReader
	page       int
	list       []relation
	rels       map[string]relation // list by id
	ground     bool                // a layout or master: its placeholders hold prompts, not text
	isNotes    bool
	title      string
	titleLinks []domain.BlockLink
	opens      bool // the slide is a title slide
	blocks     []domain.Block
	boxes      []slideBox // shapes of the open group, or of the slide
	count      int        // of blocks in all of them
}

func (r *pptxReader) newSlide(part string, number int) *slideWalker {
	list := r.a.relations(part)
	return &slideWalker{r: r, page: number, list: list, rels: byID(list)}
}

// walk reads a part; first sees its outermost element.
func (s *slideWalker) walk(part string, first func(root xml.StartElement)) error {
	return s.r.a.walk(part, func(sc *xmlScanner) {
		if root, ok := sc.root(); ok {
			first(root)
			sc.descend(func(e xml.StartElement) bool { return s.shape(sc, e) })
			s.blocks = inReadingOrder(s.boxes, s.r.p.src.PlainRows)
		}
		if sc.damage != nil {
			s.r.p.out.warn(fmt.Sprintf("slide %d is damaged; it was read up to the damage", s.page))
		}
	})
}

// put keeps a block of the slide until its title is known.
func (s *slideWalker) put(b domain.Block) {
	b.Page = s.page
	s.count++
	box := &s.boxes[len(s.boxes)-1]
	box.blocks = append(box.blocks, b)
}

// add is put for those that can fail.
func (s *slideWalker) add(b domain.Block) error {
	s.put(b)
	return nil
}

// shape takes one element of the tree of shapes; groups are walked through.
func (s *slideWalker) shape(sc *xmlScanner, e xml.StartElement) bool {
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
		chooseOne(sc, s.size, func(e xml.StartElement) bool { return s.shape(sc, e) })
	case "extLst", "timing", "transition", "controls", "custDataLst":
		sc.skip()
	default:
		return false
	}
	return true
}

func (s *slideWalker) size() int { return s.count + len(s.title) }

// box reads a shape into a new box.
func (s *slideWalker) box(read func()) {
	s.boxes = append(s.boxes, slideBox{})
	read()
	if last := len(s.boxes) - 1; len(s.boxes[last].blocks) == 0 {
		s.boxes = s.boxes[:last]
	}
}

// place reads the position of the open box from the xfrm element whose start was returned last. Only the first xfrm counts.
func (s *slideWalker) place(sc *xmlScanner) {
	if box := &s.boxes[len(s.boxes)-1]; box.frame.known {
		sc.skip()
	} else {
		box.frame = readSlideFrame(sc)
	}
}

// group reads a group of shapes, whose texts stay together.
func (s *slideWalker) group(sc *xmlScanner) {
	outer, frame := s.boxes, slideFrame{}
	s.boxes = nil
	sc.descend(func(e xml.StartElement) bool {
		if e.Name.Local != "grpSpPr" {
			return s.shape(sc, e)
		}
		sc.each(func(e xml.StartElement) bool {
			if e.Name.Local != "xfrm" {
				return false
			}
			frame = readSlideFrame(sc)
			return true
		})
		return true
	})
	blocks := inReadingOrder(s.boxes, s.r.p.src.PlainRows)
	if s.boxes = outer; len(blocks) > 0 {
		s.boxes = append(s.boxes, slideBox{frame: frame, blocks: blocks})
	}
}

// textShape reads a shape with the text in it.
func (s *slideWalker) textShape(sc *xmlScanner) {
	holder, index := "", ""
	var paragraphs []drawnParagraph
	sc.descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "ph":
			if holder, index = xmlAttr(e, "type"), xmlAttr(e, "idx"); holder == "" {
				holder = "body"
			}
		case "xfrm":
			s.place(sc)
			return true
		case "p":
			paragraphs = append(paragraphs, readDrawnParagraph(sc, s.rels))
			return true
		case "extLst", "Fallback":
			sc.skip()
			return true
		}
		return false
	})
	if s.ground && holder != "" {
		return
	}
	box := &s.boxes[len(s.boxes)-1]
	if box.holder = holder != ""; box.holder && !box.frame.known {
		box.frame = s.r.inheritedFrame(s.list, holder, index)
	}
	switch holder {
	case "title", "ctrTitle":
		if !s.isNotes {
			s.opens = s.opens || holder == "ctrTitle"
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

// heading joins the lines of a title. What is far too long for one is text.
func (s *slideWalker) heading(paragraphs []drawnParagraph) {
	for _, p := range paragraphs {
		if len(s.title) > maxTitle {
			s.put(domain.Block{Kind: domain.BlockParagraph, Text: p.text, Links: p.links})
			continue
		}
		s.title = strings.TrimSpace(s.title + " " + p.text)
		s.titleLinks = append(s.titleLinks, p.links...)
	}
}

// footer takes the date, number or footer that stands on a slide; a footer once for the whole presentation. Those of pages
// of notes are the program's.
func (s *slideWalker) footer(holder string, paragraphs []drawnParagraph) {
	for _, p := range paragraphs {
		if s.isNotes || holder == "ftr" && s.r.once["text "+p.text] {
			continue
		}
		s.r.once["text "+p.text] = true
		s.put(domain.Block{Kind: domain.BlockParagraph, Text: p.text, Links: p.links})
	}
}

// paragraphs adds the paragraphs of one body of text. listed says that they have bullets unless they say otherwise.
func (s *slideWalker) paragraphs(paragraphs []drawnParagraph, listed bool) {
	counts := map[int]int{} // automatic numbers by level
	for _, p := range paragraphs {
		if p.text == "" {
			continue
		}
		b := domain.Block{Kind: domain.BlockParagraph, Text: p.text, Links: p.links}
		if p.bullet == "char" || p.bullet == "auto" || p.bullet == "" && (listed || p.level > 0) {
			b.Kind, b.Level = domain.BlockListItem, p.level+1
		}
		for level := range counts {
			if level > p.level || level == p.level && p.bullet != "auto" {
				delete(counts, level)
			}
		}
		if p.bullet == "auto" {
			if _, on := counts[p.level]; !on {
				counts[p.level] = p.start - 1
			}
			counts[p.level]++
			b.Text = autoNumber(counts[p.level], p.scheme) + " " + b.Text
		}
		s.put(b)
	}
}

// autoNumber writes a number as the scheme of DrawingML shows it.
func autoNumber(n int, scheme string) string {
	format := "decimal"
	for prefix, f := range map[string]string{"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman",
		"circleNum": "decimalEnclosedCircle", "ea1Chs": "chineseCounting", "ea1Jpn": "chineseCounting"} {
		if strings.HasPrefix(scheme, prefix) {
			format = f
		}
	}
	text := formatNumber(n, format)
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

// picture takes what the author says of a picture.
func (s *slideWalker) picture(sc *xmlScanner) {
	said := ""
	sc.descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "cNvPr":
			said = altText(xmlAttr(e, "descr"))
		case "xfrm":
			s.place(sc)
			return true
		}
		return false
	})
	if said != "" && !s.ground {
		s.put(domain.Block{Kind: domain.BlockParagraph, Text: said})
	}
}

// frame reads what a graphic frame holds: a table, a chart, a diagram. Embedded objects are left alone.
func (s *slideWalker) frame(sc *xmlScanner) {
	sc.descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "xfrm":
			s.place(sc)
		case "tbl":
			s.table(sc)
		case "chart":
			s.related(sc, relationID(e, "id"), s.r.a.chart)
			sc.skip()
		case "relIds":
			s.related(sc, relationID(e, "dm"), readDiagram)
			sc.skip()
		case "oleObj":
			s.r.a.embeds(s.rels, relationID(e, "id"), xmlAttr(e, "progId"))
			sc.skip()
		case "Fallback":
			sc.skip()
		default:
			return false
		}
		return true
	})
}

// related reads the part that the relationship leads to.
func (s *slideWalker) related(sc *xmlScanner, id string, read func(*xmlScanner, int, func(domain.Block) error) error) {
	rel, ok := s.rels[id]
	if !ok || rel.External {
		return
	}
	sc.stop(s.r.a.walk(rel.Target, func(part *xmlScanner) { part.stop(read(part, s.page, s.add)) }))
}

func (s *slideWalker) table(sc *xmlScanner) {
	w := &officeTable{emit: s.add, page: s.page, plain: s.r.p.src.PlainRows}
	sc.each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "tblPr":
			if first := xmlAttr(e, "firstRow"); first == "1" || first == "true" {
				w.named, w.styled = 1, true
			}
			return false
		case "tr":
			sc.stop(w.add(s.row(sc)))
			return true
		}
		return false
	})
	sc.stop(w.flush())
}

func (s *slideWalker) row(sc *xmlScanner) officeRow {
	var row officeRow
	sc.each(func(e xml.StartElement) bool {
		if e.Name.Local != "tc" {
			return false
		}
		cell := officeCell{span: 1, below: xmlAttr(e, "vMerge") == "1" || xmlAttr(e, "vMerge") == "true"}
		var lines []string
		sc.descend(func(e xml.StartElement) bool {
			if e.Name.Local != "p" {
				return false
			}
			if p := readDrawnParagraph(sc, s.rels); p.text != "" {
				lines = append(lines, p.text)
				cell.bold = (cell.bold || len(lines) == 1) && p.bold
				row.links = append(row.links, p.links...)
			}
			return true
		})
		cell.text = strings.Join(lines, "\n")
		if merged := xmlAttr(e, "hMerge"); (merged == "1" || merged == "true") && len(row.cells) > 0 {
			row.cells[len(row.cells)-1].span++ // covered by the cell before it
			return true
		}
		row.cells = append(row.cells, cell)
		return true
	})
	return row
}
