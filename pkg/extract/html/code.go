package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// lineNumberClasses are the classes that highlighters use for line numbers and buttons in code.
var lineNumberClasses = []string{
	"lineno", "linenos", "linenodiv", "line-number", "line-numbers", "line-numbers-rows", "linenumber", "lnt", "gutter", "rouge-gutter",
	"blob-num", "hljs-ln-numbers", "code-gutter", "cm-gutters", "CodeMirror-gutter", "copy", "copybtn", "copy-button", "copy-btn", "btn-copy",
	"clipboard", "code-copy", "zeroclipboard-container", "buttonGroup", "toolbar-item", "linenos-col", "react-syntax-highlighter-line-number",
}

func isLineNumber(n *html.Node) bool {
	class := attr(n, "class")
	if class == "" {
		return false
	}
	for _, g := range lineNumberClasses {
		// A pre element with the class line-numbers holds the code itself. Its numbers come from CSS, so keep its text.
		if hasClass(n, g) && n.DataAtom != atom.Pre && n.DataAtom != atom.Code && n.DataAtom != atom.Table {
			return true
		}
	}
	return false
}

// codeText returns the text in a code element. It keeps line breaks and indentation and drops line numbers and buttons.
func codeText(n *html.Node) string {
	var b strings.Builder
	newline := func() {
		if s := b.String(); s != "" && s[len(s)-1] != '\n' {
			b.WriteByte('\n')
		}
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				b.WriteString(c.Data)
			case c.Type != html.ElementNode || isLineNumber(c):
			case c.DataAtom == atom.Br:
				b.WriteByte('\n')
			case c.DataAtom == atom.Button, c.DataAtom == atom.Style, c.DataAtom == atom.Script, c.DataAtom == atom.Svg, attr(c, "aria-hidden") == "true":
			case c.DataAtom == atom.Td: // code next to a line number; the row already starts a new line
				walk(c)
			case isBlockElement(c.DataAtom):
				newline()
				walk(c)
				newline()
			default:
				walk(c)
			}
		}
	}
	walk(n)
	return b.String()
}

// codeTable reports whether a table or div lays out code, with one row or cell per line and possibly line numbers.
func codeTable(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Table:
		if hasClass(n, "hljs-ln") || hasClass(n, "js-file-line-container") {
			return true
		}
		for _, class := range []string{"highlighttable", "rouge-table", "lntable", "codehilitetable", "rouge-line-table"} {
			if hasClass(n, class) {
				return true
			}
		}
	case atom.Div:
		return hasClass(n, "CodeMirror-code") || hasClass(n, "cm-content") || hasClass(n, "view-lines")
	}
	return false
}
