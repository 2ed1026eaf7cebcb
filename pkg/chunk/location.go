package chunk

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum length in bytes of titles and headings. Every chunk stores them, so a one-megabyte heading would inflate the
// index.
const (
	maxTitleBytes   = 300
	maxHeadingBytes = 200
)

// pathSeparator joins the parts of a heading path.
const pathSeparator = " > "

// location is the packer's current location in the document.
type location struct {
	title   string
	subject string // parties and date of a contract
	sheet   string
	at      domain.HeadingPath
}

func newLocation(doc *domain.Document) location {
	return location{title: oneLine(doc.Title, maxTitleBytes), subject: subject(doc.Blocks)}
}

// enter updates the location for the next block: the sheet and, for a heading, the heading path.
func (p *location) enter(b domain.Block) {
	p.sheet = b.Sheet
	b.Sheet = oneLine(b.Sheet, maxHeadingBytes)
	if b.Kind == domain.BlockHeading {
		b.Text = oneLine(b.Text, maxHeadingBytes)
	}
	p.at.Enter(b)
}

func (p *location) path() string { return strings.Join(p.at.Path(), pathSeparator) }

// context returns the title, the subject and the heading path. It omits a heading that repeats the title.
func (p *location) context() string {
	path := p.path()
	if path == p.title {
		path = ""
	}
	return appendTo(appendTo(p.title, p.subject), strings.TrimPrefix(path, p.title+pathSeparator))
}

// oneLine joins the words in s with single spaces and truncates the result to limit bytes at a grapheme boundary.
func oneLine(s string, limit int) string {
	if len(s) > 8*limit {
		s = strings.ToValidUTF8(s[:8*limit], "")
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= limit {
		return s
	}
	end := 0
	for g := graphemes.FromString(s); g.Next() && g.End() <= limit; {
		end = g.End()
	}
	return strings.TrimSpace(s[:end])
}
