package opendocument

import (
	"encoding/xml"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// presentation reads a presentation's slides.
func (r *reader) presentation(sc *xmlscan.Scanner) {
	sc.Descend(func(e xml.StartElement) bool {
		switch {
		case e.Name.Local == "presentation":
			return false
		case e.Name.Local != "page": // settings, and header and footer texts
			sc.Skip()
		case r.p.Doc.Pages >= r.p.Lim.MaxPages:
			r.p.Out.Warn(fmt.Sprintf("only the first %d slides were read", r.p.Lim.MaxPages))
			sc.Skip()
		default:
			r.p.Doc.Pages++
			(&slide{r: r, sc: sc, page: r.p.Doc.Pages}).read()
		}
		return true
	})
}

// slide collects a slide's text. The title comes first, even if it isn't the first shape.
type slide struct {
	r      *reader
	sc     *xmlscan.Scanner
	page   int
	title  []domain.Block
	blocks []domain.Block
	notes  []domain.Block
}

func (s *slide) read() {
	s.shapes(&s.blocks)
	heading, titled := domain.Block{Kind: domain.BlockHeading, Level: 1}, false
	for _, b := range s.title {
		if heading.Text != "" {
			heading.Text += " "
		}
		heading.Text += format.OneLine(b.Text)
		heading.Links = append(heading.Links, b.Links...)
		titled = true
	}
	all := append(s.blocks, s.notes...)
	if titled {
		all = append([]domain.Block{heading}, all...)
		if s.page == 1 && s.r.p.Doc.Title == "" {
			s.r.p.Doc.Title = heading.Text
		}
	}
	for i, b := range all {
		b.Page, b.Apart = s.page, i == 0 && !titled
		s.sc.Stop(s.r.p.Out.Add(b))
	}
}

// shapes reads the shapes in the current element and appends their blocks to `blocks`.
func (s *slide) shapes(blocks *[]domain.Block) {
	w := &walker{r: s.r, sc: s.sc, emit: func(b domain.Block) error {
		*blocks = append(*blocks, b)
		return nil
	}}
	s.sc.Descend(func(e xml.StartElement) bool {
		switch {
		case xmlscan.Attr(e, "placeholder") == "true" && e.Name.Local == "frame": // a frame that still shows its prompt
			s.sc.Skip()
		case e.Name.Local == "notes":
			s.shapes(&s.notes)
		case e.Name.Local == "annotation":
			s.comment(w)
		case e.Name.Local == "frame" && s.isTitle(e):
			title := &walker{r: s.r, sc: s.sc, emit: func(b domain.Block) error {
				s.title = append(s.title, b)
				return nil
			}}
			title.drawing()
		case e.Name.Local == "frame" && isFooter(xmlscan.Attr(e, "class")):
			s.sc.Skip()
		default:
			return w.element(e)
		}
		return true
	})
}

// isTitle reports whether a frame is the slide's first title frame.
func (s *slide) isTitle(e xml.StartElement) bool {
	return xmlscan.Attr(e, "class") == "title" && len(s.title) == 0
}

// isFooter reports whether frames of this class repeat on every slide.
func isFooter(class string) bool {
	switch class {
	case "header", "footer", "date-time", "page-number":
		return true
	}
	return false
}

func (s *slide) comment(w *walker) {
	if s.r.p.Src.PlainRows {
		s.r.p.Out.Warn("the document has comments, which are indexed but not part of its plain text")
		s.sc.Skip()
		return
	}
	s.sc.Each(func(e xml.StartElement) bool { return (e.Name.Local == "p" || e.Name.Local == "list") && w.element(e) })
}
