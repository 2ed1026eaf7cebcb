package extract

import "github.com/sluice/sluice/pkg/domain"

const (
	// minListLinks is the least number of links of a page that is a list of links.
	minListLinks = 10
	// minLinkedPercent is the least share of a list's text, without headings, that is in links to other pages. Indexes and
	// tables of contents have 80 % and more; articles and reference pages that link each name have up to 40 %.
	minLinkedPercent = 65
)

// linkCount counts the text of a document that is in links.
type linkCount struct{ letters, linked, links int }

// add counts a block. Headings belong to what they head, linked or not.
func (c *linkCount) add(b domain.Block) {
	if b.Kind == domain.BlockHeading {
		return
	}
	letters, linked := countLetters(b.Text), 0
	for _, l := range b.Links {
		linked += countLetters(l.Text)
	}
	if len(b.Links) >= domain.MaxBlockLinks { // further links of the block are not told
		linked = letters
	}
	c.letters += letters
	c.linked += min(linked, letters)
	c.links += len(b.Links)
}

// isList reports whether the document is a list of links.
func (c *linkCount) isList() bool {
	return c.links >= minListLinks && c.linked*100 >= c.letters*minLinkedPercent
}
