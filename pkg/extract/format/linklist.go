package format

import "github.com/sluice/sluice/pkg/domain"

const (
	// minListLinks is the minimum number of links in a link list.
	minListLinks = 5
	// minLinkedPercent is the minimum percentage of a list's letters in links, not counting headings. Indexes and
	// tables of contents have 80% or more. Articles have up to 40%, and so do reference pages that link every name.
	minLinkedPercent = 60
	// minListingPercent is the minimum percentage of a source listing's letters in code.
	minListingPercent = 80
	// docsLink is the text of Sphinx's links from a definition in a source listing to its documentation.
	docsLink = "[docs]"
)

// linkCount counts a document's letters and links. `letters` counts all letters, `linked` those in links and `code`
// those in code. `links` counts all links, and `back` those that lead from code to its documentation.
type linkCount struct{ letters, linked, links, code, back int }

// add counts a block's links and letters, except in headings.
func (c *linkCount) add(b domain.Block) {
	if b.Kind == domain.BlockHeading {
		return
	}
	letters, linked := CountLetters(b.Text), 0
	for _, l := range b.Links {
		linked += CountLetters(l.Text)
		if b.Kind == domain.BlockCode && l.Text == docsLink {
			c.back++
		}
	}
	if b.Kind == domain.BlockCode {
		c.code += letters
	}
	if len(b.Links) >= domain.MaxBlockLinks { // the block may have had more links than recorded
		linked = letters
	}
	c.letters += letters
	c.linked += min(linked, letters)
	c.links += len(b.Links)
}

// isList reports whether the document is a list of links, or a source listing that links to its documentation. Either
// way, the real content is on the linked pages.
func (c *linkCount) isList() bool {
	if c.back > 0 && c.code*100 >= c.letters*minListingPercent {
		return true
	}
	return c.links >= minListLinks && c.linked*100 >= c.letters*minLinkedPercent
}
