package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/format"
)

// maxNoticeLetters is the maximum length, in letters, of a noscript element that just asks users to enable JavaScript.
const maxNoticeLetters = 400

// attachShadows replaces declarative shadow tree templates with their content and moves each host element's children
// into the slots of that content.
func attachShadows(n *html.Node) {
	var template *html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Template && template == nil && (hasAttr(c, "shadowrootmode") || hasAttr(c, "shadowroot")) {
			template = c
			rename(c, atom.Div)
		}
		attachShadows(c)
	}
	if template == nil {
		return
	}
	slots := map[string]*html.Node{}
	for c := range template.Descendants() {
		if c.Type == html.ElementNode && c.DataAtom == atom.Slot && slots[attr(c, "name")] == nil {
			slots[attr(c, "name")] = c
		}
	}
	filled := map[*html.Node]bool{}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if slot := slots[attr(c, "slot")]; c != template && slot != nil {
			if !filled[slot] && strings.TrimSpace(c.Data) != "" {
				filled[slot] = true
				for slot.FirstChild != nil { // remove the fallback content, which is for empty slots only
					slot.RemoveChild(slot.FirstChild)
				}
			}
			n.RemoveChild(c)
			slot.AppendChild(c)
		}
		c = next
	}
}

func rename(n *html.Node, a atom.Atom) {
	n.DataAtom, n.Data = a, a.String()
}

// expandNoscript parses the content of noscript elements unless it just asks for JavaScript.
func expandNoscript(doc *html.Node) {
	var found []*html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Noscript && n.FirstChild != nil && n.FirstChild.Type == html.TextNode && ancestor(n, atom.Head) == nil {
			found = append(found, n)
		}
	}
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	for _, n := range found {
		nodes, err := html.ParseFragmentWithOptions(strings.NewReader(n.FirstChild.Data), body, html.ParseOptionEnableScripting(false))
		if err != nil {
			continue // nested too deeply to be content
		}
		div := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
		for _, c := range nodes {
			div.AppendChild(c)
		}
		text := nodeText(div)
		letters := format.CountLetters(text)
		if letters == 0 && !describesImage(div) || letters < maxNoticeLetters && firstHeading(div) == nil && strings.Contains(strings.ToLower(text), "javascript") {
			continue
		}
		rename(n, atom.Div)
		n.RemoveChild(n.FirstChild)
		for div.FirstChild != nil {
			c := div.FirstChild
			div.RemoveChild(c)
			n.AppendChild(c)
		}
	}
}

// describesImage reports whether an element contains an image with a description.
func describesImage(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.DataAtom == atom.Img && isInformativeAlt(attr(c, "alt")) {
			return true
		}
	}
	return false
}
