package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// parseHTML builds the tree of a page and settles in it which elements that are hidden from screen readers are shown to
// everybody else, so that nobody has to look through their content again.
func parseHTML(page string) (*html.Node, error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return nil, err
	}
	showHidden(doc)
	reveal(doc)
	return doc, nil
}

// showHidden takes the mark off elements that are hidden from screen readers alone: pages hide their body while a dialog
// is open, and divisions of paragraphs that are drawn otherwise. It reports whether there is a paragraph in the element.
func showHidden(n *html.Node) bool {
	paragraph := false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if showHidden(c) || c.DataAtom == atom.P {
			paragraph = true
		}
	}
	if n.DataAtom == atom.Body || n.DataAtom == atom.Main || n.DataAtom == atom.Div && paragraph && !modal(n) {
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "aria-hidden" })
	}
	return paragraph
}
