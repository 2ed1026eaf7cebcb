package extract

import "github.com/sluice/sluice/pkg/domain"

const (
	// minListLinks is the least number of links of a page that is a list of links.
	minListLinks = 5
	// minLinkedPercent is the least share of a list's text, without headings, that is in links to other pages. Indexes and
	// tables of contents have 80 % and more; articles and reference pages that link each name have up to 40 %.
	minLinkedPercent = 60
	// minListingPercent is the least share of the text of a source listing that is code.
	minListingPercent = 80
	// backLink is the text of the links by which Sphinx leads from each definition in a listing to its documentation.
	backLink = "[docs]"
)

// linkCount counts the text of a document that is in links, and in code.
type linkCount struct{ letters, linked, links, code, back int }

// add counts a block. Headings belong to what they head, linked or not.
func (c *linkCount) add(b domain.Block) {
	if b.Kind == domain.BlockHeading {
		return
	}
	letters, linked := countLetters(b.Text), 0
	for _, l := range b.Links {
		linked += countLetters(l.Text)
		if b.Kind == domain.BlockCode && l.Text == backLink {
			c.back++
		}
	}
	if b.Kind == domain.BlockCode {
		c.code += letters
	}
	if len(b.Links) >= domain.MaxBlockLinks { // further links of the block are not told
		linked = letters
	}
	c.letters += letters
	c.linked += min(linked, letters)
	c.links += len(b.Links)
}

// isList reports whether the document is a list of links, or a listing of source code that links to the documentation of what
// it defines: the page behind the links has the answer in both.
func (c *linkCount) isList() bool {
	if c.back > 0 && c.code*100 >= c.letters*minListingPercent {
		return true
	}
	return c.links >= minListLinks && c.linked*100 >= c.letters*minLinkedPercent
}
