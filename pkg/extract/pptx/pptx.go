// Package pptx reads PowerPoint presentations.
package pptx

import (
	"encoding/xml"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
)

type reader struct {
	p *format.Parser
	a *ooxml.Package
	// once records what must not be repeated: footer texts, and the masters and layouts already read.
	once           map[string]bool
	withoutHeading bool // the headings above do not apply to the next block, whose slide has no title
	// frames caches the results of placeholderFrames by part.
	frames map[string]map[string]slideFrame
}

// Format describes PowerPoint presentations.
var Format = ooxml.NewFormat(format.Format{
	Type: ooxml.TypePptx, Extensions: []string{".pptx", ".pptm", ".ppsx"},
	Name: "a pptx presentation", Label: "PowerPoint (pptx)", TitleFromHeading: true, Read: read,
})

// read reads a presentation slide by slide, including tables, charts, diagrams and notes. A slide counts as a page.
func read(p *format.Parser) error {
	a := ooxml.PackageOf(p)
	a.Properties()
	p.Doc.Route = "pptx/zip"
	slides, err := slideOrder(a, a.MainPart("ppt/presentation.xml"))
	if err != nil {
		return err
	}
	if len(slides) > p.Lim.MaxPages {
		return format.Errorf(format.TooLarge, "the presentation has %d slides; at most %d can be read", len(slides), p.Lim.MaxPages)
	}
	p.Doc.Pages = len(slides)
	r := &reader{p: p, a: a, once: map[string]bool{}, frames: map[string]map[string]slideFrame{}}
	for i, part := range slides {
		if err := r.slide(part, i+1); err != nil {
			return err
		}
	}
	return nil
}

// slideOrder returns the slides' parts in presentation order. If the presentation lists none, it falls back to the
// order of its relationships and then to the numbers in the part names.
func slideOrder(a *ooxml.Package, main string) ([]string, error) {
	target := map[string]string{}
	var all []string
	for _, r := range a.Relations(main) {
		if r.Kind() == "slide" && !r.External {
			target[r.ID] = r.Target
			all = append(all, r.Target)
		}
	}
	var order []string
	listed := map[string]bool{}
	err := a.Walk(main, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local == "sldId" {
				if t := target[ooxml.RelationID(e, "id")]; t != "" && !listed[t] {
					listed[t] = true
					order = append(order, t)
				}
			}
			return false
		})
	})
	if err != nil {
		return nil, err
	}
	if len(order) > 0 {
		return order, nil
	}
	for n := 1; len(all) == 0 || n <= len(all); n++ {
		part := fmt.Sprintf("ppt/slides/slide%d.xml", n)
		if a.Files[zip.PartName(part)] == nil || len(target) > 0 {
			break
		}
		order = append(order, part)
	}
	if len(all) > 0 {
		return all, nil
	}
	if len(order) == 0 && a.Files[zip.PartName(main)] == nil {
		return nil, format.NotA("pptx presentation", zip.ErrNoPart)
	}
	return order, nil
}

// slide emits one slide: its title, its other content, its layout's and master's text, its notes and its comments. Text
// from a layout or master appears only once per presentation.
func (r *reader) slide(part string, number int) error {
	if r.a.Files[zip.PartName(part)] == nil {
		r.p.Out.Warn(fmt.Sprintf("slide %d is missing from the file", number))
		return nil
	}
	s := r.newSlide(part, number)
	hidden, inherits := false, true
	if err := s.walk(part, func(root xml.StartElement) {
		hidden = xmlscan.Attr(root, "show") == "0" || xmlscan.Attr(root, "show") == "false"
		inherits = xmlscan.Attr(root, "showMasterSp") != "0"
	}); err != nil {
		return err
	}
	if hidden {
		r.p.Out.Warn(fmt.Sprintf("slide %d is hidden; it was indexed too", number))
	}
	if s.title != "" {
		if number == 1 && s.isTitleSlide && r.p.Doc.Title == "" {
			r.p.Doc.Title = format.OneLine(s.title)
		}
		if err := r.p.Out.Add(domain.Block{Kind: domain.BlockHeading, Level: 1, Text: format.OneLine(s.title), Page: number, Links: s.titleLinks}); err != nil {
			return err
		}
	}
	r.a.EmbedsRest(s.list)
	r.withoutHeading = s.title == ""
	if err := r.emit(s.blocks); err != nil {
		return err
	}
	if inherits {
		if err := r.inherited(s.list, number); err != nil {
			return err
		}
	}
	if err := r.notes(s.list, number); err != nil {
		return err
	}
	return r.comments(s.list, number)
}

// comments emits the comments on the slide, with their replies. It reads both of PowerPoint's formats for comments.
func (r *reader) comments(rels []ooxml.Relation, number int) error {
	for _, rel := range rels {
		if rel.Kind() != "comments" || rel.External || r.a.Files[zip.PartName(rel.Target)] == nil || !r.a.ReadsComments() {
			continue
		}
		err := r.a.Walk(rel.Target, func(sc *xmlscan.Scanner) {
			if _, ok := sc.Root(); !ok {
				return
			}
			sc.Descend(func(e xml.StartElement) bool {
				if e.Name.Local != "cm" {
					return false
				}
				sc.Stop(r.emit(readSlideComment(sc, number)))
				return true
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readSlideComment reads the current element as a comment. In the result, the replies follow the comment; in the file,
// they precede it.
func readSlideComment(sc *xmlscan.Scanner, number int) []domain.Block {
	var own, replies []domain.Block
	sc.Descend(func(e xml.StartElement) bool {
		var text string
		switch e.Name.Local {
		case "reply":
			replies = append(replies, readSlideComment(sc, number)...)
			return true
		case "text":
			text = sc.Text()
		case "p":
			text = ooxml.ReadDrawnParagraph(sc, nil).Text
		default:
			return false
		}
		own = append(own, domain.Block{Kind: domain.BlockParagraph, Text: text, Page: number})
		return true
	})
	return append(own, replies...)
}

func (r *reader) emit(blocks []domain.Block) error {
	for _, b := range blocks {
		b.Apart, r.withoutHeading = r.withoutHeading, false
		if err := r.p.Out.Add(b); err != nil {
			return err
		}
	}
	return nil
}

// inherited emits text outside placeholders from the slide's layout and master.
func (r *reader) inherited(rels []ooxml.Relation, number int) error {
	for _, kind := range []string{"slideLayout", "slideMaster"} {
		part := r.a.Related(rels, kind, "")
		if part == "" {
			return nil
		}
		s := r.newSlide(part, number)
		s.isLayout = true
		if !r.once[part] {
			r.once[part] = true
			if err := s.walk(part, func(root xml.StartElement) { r.once["alone "+part] = xmlscan.Attr(root, "showMasterSp") == "0" }); err != nil {
				return err
			}
			if err := r.emit(s.blocks); err != nil {
				return err
			}
		}
		if r.once["alone "+part] {
			return nil
		}
		rels = s.list
	}
	return nil
}

// notes emits the slide's speaker notes.
func (r *reader) notes(rels []ooxml.Relation, number int) error {
	for _, rel := range rels {
		if rel.Kind() != "notesSlide" || rel.External {
			continue
		}
		s := r.newSlide(rel.Target, number)
		s.isNotes = true
		if err := s.walk(rel.Target, func(xml.StartElement) {}); err != nil {
			return err
		}
		if len(s.blocks) > 0 {
			return r.emit(s.blocks)
		}
	}
	return nil
}
