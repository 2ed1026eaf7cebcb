package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// parseHTML builds a page's tree. It removes the aria-hidden attribute from elements that sighted users can see, so
// that later steps can skip all elements that still have the attribute.
func parseHTML(page string) (*html.Node, error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return nil, err
	}
	showHidden(doc)
	reveal(doc)
	return doc, nil
}

// showHidden removes aria-hidden from the body, the main element and divs with paragraphs, because sighted users see
// them. Pages set it, for example, to hide these elements from screen readers while a dialog is open. showHidden
// reports whether n contains a paragraph.
func showHidden(n *html.Node) bool {
	paragraph := false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if showHidden(c) || c.DataAtom == atom.P {
			paragraph = true
		}
	}
	if n.DataAtom == atom.Body || n.DataAtom == atom.Main || n.DataAtom == atom.Div && paragraph && !isModal(n) {
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "aria-hidden" })
	}
	return paragraph
}
