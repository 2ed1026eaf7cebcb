package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/format"
)

// isSurrounding reports whether an element's tag or role marks it as a menu, banner, footer or other boilerplate around
// the content.
func isSurrounding(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Button:
		return true
	case atom.Footer:
		return ancestor(n, atom.Blockquote) == nil // a quotation's footer names its author
	case atom.Header, atom.Aside:
		return !inMain(n)
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "search", "menu", "menubar":
		return true
	}
	return false
}

// inMain reports whether an element is in the marked main part of the page or in an article.
func inMain(n *html.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.DataAtom == atom.Main || n.DataAtom == atom.Article || attr(n, "role") == "main" {
			return true
		}
	}
	return false
}

func isBlockElement(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Nav,
		atom.Blockquote, atom.Figure, atom.Figcaption, atom.Address, atom.Dl, atom.Dt, atom.Dd, atom.Form,
		atom.Fieldset, atom.Details, atom.Summary, atom.Hr, atom.Ul, atom.Ol, atom.Li, atom.Table, atom.Tr, atom.Td,
		atom.Th, atom.Pre, atom.Br, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Center, atom.Option,
		atom.Caption, atom.Tbody, atom.Thead, atom.Tfoot, atom.Body, atom.Html:
		return true
	}
	return false
}

// nodeText returns a subtree's text on one line, with spaces between blocks.
func nodeText(n *html.Node) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.Type {
			case html.TextNode:
				b.WriteString(c.Data)
			case html.ElementNode:
				if isInvisible(c) {
					continue
				}
				block := isBlockElement(c.DataAtom)
				if block {
					b.WriteByte(' ')
				}
				walk(c)
				if block {
					b.WriteByte(' ')
				}
			}
		}
	}
	walk(n)
	return format.OneLine(b.String())
}

// collapseSpace collapses white space within lines and drops empty lines.
func collapseSpace(s string) string {
	lines := strings.Split(s, "\n")
	joined := make([]string, 0, len(lines))
	for _, l := range lines {
		if l = format.OneLine(l); l != "" {
			joined = append(joined, l)
		}
	}
	return strings.Join(joined, "\n")
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func isHeading(a atom.Atom) bool {
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// field reports whether an element is an input field.
func field(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Textarea, atom.Select:
		return true
	case atom.Input:
		switch strings.ToLower(attr(n, "type")) {
		case "hidden", "button", "submit", "reset", "image":
			return false
		case "checkbox", "radio":
			return !hasAttr(n, "disabled")
		}
		return true
	}
	return false
}

// isButton reports whether an element is a button of any kind.
func isButton(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Button:
		return true
	case atom.Input:
		switch strings.ToLower(attr(n, "type")) {
		case "button", "submit", "reset", "image":
			return true
		}
	}
	return attr(n, "role") == "button"
}
