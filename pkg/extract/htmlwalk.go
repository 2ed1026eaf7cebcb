package extract

import (
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlWalker turns a tree of HTML into blocks. The parser of golang.org/x/net bounds the depth of trees (512), so
// recursion is safe.
type htmlWalker struct {
	p          *parser
	skipChrome bool // leave out what surrounds the content: see chrome
	buf        strings.Builder
	list       int   // nesting of lists
	ordinals   []int // items so far of each open list
	item       bool  // the text in buf belongs to a list item
	err        error
}

// run emits the blocks of the tree.
func (w *htmlWalker) run(n *html.Node) error {
	w.node(n)
	w.flush()
	return w.err
}

// flush emits the text gathered so far as a paragraph or list item.
func (w *htmlWalker) flush() {
	text := squeeze(w.buf.String())
	w.buf.Reset()
	if w.err != nil || text == "" {
		return
	}
	if w.item && w.list > 0 {
		w.err = w.p.out.item(w.list, text, 0)
		return
	}
	w.err = w.p.out.paragraph(text, 0)
}

func (w *htmlWalker) children(n *html.Node) {
	for c := n.FirstChild; c != nil && w.err == nil; c = c.NextSibling {
		w.node(c)
	}
}

func (w *htmlWalker) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.buf.WriteString(n.Data)
		return
	case html.ElementNode:
	default:
		w.children(n)
		return
	}
	if invisible(n) {
		return
	}
	if w.skipChrome && chrome(n) {
		w.titles(n)
		return
	}
	if w.err = w.p.ctx.Err(); w.err != nil {
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.flush()
		if w.err == nil {
			w.err = w.p.out.heading(int(n.Data[1]-'0'), nodeText(n), 0)
		}
	case atom.Pre, atom.Code:
		if n.DataAtom == atom.Code && !strings.Contains(rawText(n), "\n") {
			w.children(n)
			return
		}
		w.flush()
		if w.err == nil {
			w.err = w.p.out.add(domain.Block{Kind: domain.BlockCode, Text: rawText(n)})
		}
	case atom.Table:
		w.flush()
		w.table(n)
	case atom.Ul, atom.Ol, atom.Menu:
		w.flush()
		w.list++
		w.ordinals = append(w.ordinals, 0)
		w.children(n)
		w.flush()
		w.ordinals = w.ordinals[:len(w.ordinals)-1]
		w.list--
	case atom.Li:
		w.flush()
		was := w.item
		w.item = true
		w.number(n)
		w.children(n)
		w.flush()
		w.item = was
	case atom.Br:
		w.buf.WriteByte('\n')
	case atom.Img:
		if alt := attr(n, "alt"); len(alt) > 3 && w.skipChrome {
			w.buf.WriteString(" " + alt + " ")
		}
	default:
		if isBlockElement(n.DataAtom) {
			w.flush()
			w.children(n)
			w.flush()
			return
		}
		w.children(n)
	}
}

// titles emits the main headings of a header that is left out otherwise: many pages put theirs there.
func (w *htmlWalker) titles(header *html.Node) {
	if header.DataAtom != atom.Header {
		return
	}
	for n := range header.Descendants() {
		if n.DataAtom == atom.H1 && w.err == nil {
			w.flush()
			w.node(n)
		}
	}
}

// number writes the number of an item of an ordered list, which browsers show and the source leaves out.
func (w *htmlWalker) number(li *html.Node) {
	if n := len(w.ordinals); n > 0 && li.Parent != nil && li.Parent.DataAtom == atom.Ol {
		w.ordinals[n-1]++
		w.buf.WriteString(strconv.Itoa(w.ordinals[n-1]) + ". ")
	}
}

// table emits the rows of a table. A table that holds other blocks (one cell, or a table in a cell) is layout and
// is read as if it were not there.
func (w *htmlWalker) table(t *html.Node) {
	if layoutTable(t) {
		for n := range t.Descendants() {
			if n.Type == html.ElementNode && (n.DataAtom == atom.Td || n.DataAtom == atom.Th) && enclosing(n, atom.Table) == t {
				w.children(n)
				w.flush()
			}
		}
		return
	}
	rows := &rowWriter{out: w.p.out, plain: w.p.src.PlainRows}
	first := true
	for tr := range t.Descendants() {
		if tr.Type != html.ElementNode || w.err != nil {
			continue
		}
		if tr.DataAtom == atom.Caption {
			w.err = w.p.out.paragraph(nodeText(tr), 0)
		}
		if tr.DataAtom != atom.Tr {
			continue
		}
		var cells []string
		heads := 0
		for c := tr.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Th {
				heads++
			}
			if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
				cells = append(cells, nodeText(c))
			}
		}
		if first {
			rows.isHeader = heads > 1 && heads == len(cells)
			first = false
		}
		w.err = rows.add(cells)
	}
	if w.err == nil {
		w.err = rows.flush()
	}
}

func layoutTable(t *html.Node) bool {
	cells := 0
	for n := range t.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.Pre:
			return true
		case atom.Td, atom.Th:
			cells++
		}
	}
	return cells < 2
}

func enclosing(n *html.Node, a atom.Atom) *html.Node {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.DataAtom == a {
			return n
		}
	}
	return nil
}

// invisible reports elements whose text no reader sees.
func invisible(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Title, atom.Svg, atom.Iframe,
		atom.Object, atom.Canvas, atom.Select, atom.Datalist, atom.Textarea:
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			return a.Val == "true" && n.DataAtom != atom.Body && n.DataAtom != atom.Div
		case "style":
			if strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "display:none") {
				return true
			}
		}
	}
	return false
}

// chrome reports elements that surround the content of a page.
func chrome(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Footer, atom.Button:
		return true
	case atom.Header, atom.Aside:
		return enclosing(n, atom.Main) == nil && enclosing(n, atom.Article) == nil
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "search", "menu", "menubar":
		return true
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

// nodeText is the text of a subtree on one line, with spaces where blocks meet.
func nodeText(n *html.Node) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.Type {
			case html.TextNode:
				b.WriteString(c.Data)
			case html.ElementNode:
				if invisible(c) {
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
	return oneLine(b.String())
}

// rawText is the text of a subtree as it stands, for code.
func rawText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type == html.ElementNode && c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// squeeze folds white space within lines and drops empty lines.
func squeeze(s string) string {
	lines := strings.Split(s, "\n")
	joined := make([]string, 0, len(lines))
	for _, l := range lines {
		if l = oneLine(l); l != "" {
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
