package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/format"
)

// maxAfterPager is the maximum number of letters outside links that may follow the links to the previous and next
// pages. It allows for text such as a last-modified date.
const maxAfterPager = 100

// isPager reports whether an element holds links to the previous and next pages, as at the end of a GitBook page. The
// element must consist of one or two links, each with a label such as "Next" followed by a page title.
func (s *boilerplateFinder) isPager(n *html.Node, w weight) bool {
	if w.links == 0 || w.links > 2 || w.prose() > 0 || w.headings > 0 || w.letters > 300 {
		return false
	}
	for c := range n.Descendants() {
		if c.DataAtom == atom.A && attr(c, "href") != "" && !isNeighbourLabel(c) {
			return false
		}
	}
	after := 0
	for ; n != nil && n != s.root; n = n.Parent {
		for c := n.NextSibling; c != nil; c = c.NextSibling {
			if after += s.t.weights[c].clear.prose(); after > maxAfterPager {
				return false
			}
		}
	}
	return true
}

// isNeighbourLabel reports whether a link starts with the label "previous", "prev" or "next", followed by more text.
func isNeighbourLabel(link *html.Node) bool {
	label := ""
	for c := range link.Descendants() {
		text := ""
		if c.Type == html.TextNode {
			text = strings.TrimSpace(c.Data)
		}
		switch {
		case format.CountLetters(text) == 0:
		case label != "":
			return true
		default:
			if label = lettersOf(text); label != "previous" && label != "next" && label != "prev" {
				return false
			}
		}
	}
	return false
}
