package pdf

import (
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/wordset"
)

// describe records the document's metadata.
func (s *source) describe(p *format.Parser) {
	if s.own == nil {
		p.Doc.Title = s.pdfium.title
		return
	}
	about := s.own.Properties()
	for _, text := range []*string{&about.Title, &about.Author, &about.Subject, &about.Keywords} {
		*text = cleanProperty(*text)
	}
	p.Doc.Title, p.Doc.Language = about.Title, s.own.Language()
	if about.Title == "" && s.pdfium != nil {
		p.Doc.Title = s.pdfium.title
	}
	p.Meta(domain.MetaAuthor, about.Author)
	p.Meta(domain.MetaDescription, about.Subject)
	p.Meta(domain.MetaKeywords, about.Keywords)
	p.Meta(domain.MetaCreated, timeText(about.Created))
	p.Meta(domain.MetaModified, timeText(about.Modified))
}

// placeholders are default values that programs write for empty properties.
var placeholders = wordset.Of("anonymous untitled unspecified unknown none author title subject")

// cleanProperty returns a property's value without the prefixes that word processors put before a file name, or "" if
// the value is a placeholder.
func cleanProperty(text string) string {
	for _, program := range []string{"Microsoft Word - ", "Microsoft PowerPoint - ", "Microsoft Excel - "} {
		text = strings.TrimPrefix(text, program)
	}
	if placeholders[strings.ToLower(strings.Trim(text, "()<> "))] {
		return ""
	}
	return text
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// maxPageLinks limits how many links per page are matched with lines.
const maxPageLinks = 1000

// links returns the links on page i, counted from 0.
func (s *source) links(i int) []pdftext.Link {
	if s.own == nil {
		return nil
	}
	links := s.own.Links(i)
	return links[:min(len(links), maxPageLinks)]
}

// linkFinder collects the links on a block's lines.
type linkFinder struct {
	links []pdftext.Link // links on the page
	found []domain.BlockLink
	on    int // number of the line with the last link found
	line  int
}

// linksOf returns the links on the given lines, each with the words it covers.
func linksOf(links []pdftext.Link, lines ...pdftext.Line) []domain.BlockLink {
	f := linkFinder{links: links}
	for _, line := range lines {
		f.find(line)
	}
	return f.found
}

func (f *linkFinder) find(line pdftext.Line) {
	f.line++
	for _, link := range f.links {
		text := linkText(link, line)
		if text == "" {
			continue
		}
		if n := len(f.found); n > 0 && f.found[n-1].URL == link.URL && f.on == f.line-1 {
			if len(f.found[n-1].Text) < format.MaxLinkText {
				f.found[n-1].Text = joinLines(f.found[n-1].Text, text) // the link continues from the line above
			}
		} else if n < domain.MaxBlockLinks {
			f.found = append(f.found, domain.BlockLink{Text: text, URL: link.URL})
		}
		f.on = f.line
	}
}

// linkText returns the part of a line that a link covers, or "" if there is none.
func linkText(link pdftext.Link, line pdftext.Line) string {
	const middle = 0.3 // height of the middle of small letters above the baseline, as a multiple of the font size
	x0, x1, y0, y1 := alongLine(pdftext.Box{X0: link.X0, Y0: link.Y0, X1: link.X1, Y1: link.Y1}, line.Turn)
	if y := line.Y + middle*line.Size; y < y0 || y > y1 {
		return ""
	}
	var parts []string
	for _, c := range line.Cells {
		if text := c.Between(x0, x1); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}

// alongLine returns a box's coordinates along and across a page's lines. `turn` is the lines' direction.
func alongLine(b pdftext.Box, turn int) (x0, x1, y0, y1 float64) {
	switch turn {
	case 1:
		b.X0, b.X1, b.Y0, b.Y1 = b.Y0, b.Y1, -b.X0, -b.X1
	case 2:
		b.X0, b.X1, b.Y0, b.Y1 = -b.X0, -b.X1, -b.Y0, -b.Y1
	case 3:
		b.X0, b.X1, b.Y0, b.Y1 = -b.Y0, -b.Y1, b.X0, b.X1
	}
	return min(b.X0, b.X1), max(b.X0, b.X1), min(b.Y0, b.Y1), max(b.Y0, b.Y1)
}
