package html

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

// writeInline appends text as browsers show it: each run of white space, including line breaks in the source, becomes
// one space.
func writeInline(b *strings.Builder, s string) {
	for s != "" {
		i := strings.IndexAny(s, "\t\n\r\f")
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		b.WriteByte(' ')
		s = strings.TrimLeft(s[i:], " \t\n\r\f")
	}
}

// anchor reads a link. The link's text stays in place, and its URL is recorded.
func (w *walker) anchor(n *html.Node) {
	from := w.buf.Len()
	w.children(n)
	link := domain.BlockLink{URL: w.address(n)}
	if link.URL == "" || w.err != nil || len(w.links) >= domain.MaxBlockLinks {
		return
	}
	if w.buf.Len() >= from { // otherwise the link contains blocks, and its text was emitted with them
		link.Text = format.OneLine(w.buf.String()[from:])
	}
	if link.Text != "" {
		w.links = append(w.links, link)
	}
}

// address returns a link's URL, or "" if the link does not point to another page. The URL is absolute if the base is
// known.
func (w *walker) address(n *html.Node) string {
	href := strings.TrimSpace(attr(n, "href"))
	if href == "" || strings.HasPrefix(href, "#") || len(href) > format.MaxURL {
		return ""
	}
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "", "http", "https", "mailto", "tel", "ftp":
	default:
		return ""
	}
	if w.base != nil && u.Scheme == "" {
		u = w.base.ResolveReference(u)
	}
	return u.String()
}

// linksIn returns the links in an element already read with inline.
func (w *walker) linksIn(n *html.Node) []domain.BlockLink {
	var b strings.Builder
	var links []domain.BlockLink
	w.inlineTo(&b, n, &links)
	return links
}

// inline returns an element's text on one line, without the elements that the walker skips.
func (w *walker) inline(n *html.Node) string {
	var b strings.Builder
	w.inlineTo(&b, n, nil)
	return format.OneLine(b.String())
}

// inlineTo writes an element's text and, if `links` is not nil, records its links.
func (w *walker) inlineTo(b *strings.Builder, n *html.Node, links *[]domain.BlockLink) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			writeInline(b, c.Data)
		case c.Type != html.ElementNode || isInvisible(c) || w.decoration(c) || w.skip != nil && w.skip(c):
		case c.DataAtom == atom.Ruby:
			b.WriteString(rubyText(c))
		case c.DataAtom == atom.Math:
			b.WriteString(mathText(c))
		case c.DataAtom == atom.Img:
			if alt := w.imageDescription(c); alt != "" {
				b.WriteString(" " + alt + " ")
			}
		case isBlockElement(c.DataAtom):
			b.WriteByte(' ')
			w.inlineTo(b, c, links)
			b.WriteByte(' ')
		default:
			w.part(b, c)
			from := b.Len()
			w.inlineTo(b, c, links)
			if c.DataAtom == atom.Sup {
				raise(b, from)
			}
			if c.DataAtom == atom.A && links != nil && len(*links) < domain.MaxBlockLinks {
				text := b.String()[from:]
				if link := (domain.BlockLink{Text: format.OneLine(text[:min(len(text), 4*format.MaxLinkText)]), URL: w.address(c)}); link.URL != "" && link.Text != "" {
					*links = append(*links, link)
				}
			}
		}
	}
}

// part writes a space before element n if only styling separates it from the previous element, as with a date next to a
// name. If text directly adjoins either element, part writes nothing, because the elements are then parts of a word.
func (w *walker) part(b *strings.Builder, n *html.Node) {
	prev := n.PrevSibling
	if prev == nil || prev.Type != html.ElementNode || isText(prev.PrevSibling) || isText(n.NextSibling) {
		return
	}
	switch n.DataAtom {
	case atom.Span, atom.Time, atom.A, atom.Label, atom.Small:
	default:
		return
	}
	before := b.String()
	last, size := utf8.DecodeLastRuneInString(before)
	second, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
	if charset.WordRune(last) && charset.WordRune(second) && last < 0x2e80 && charset.WordRune(firstRune(n)) {
		b.WriteByte(' ')
	}
}

func isText(n *html.Node) bool {
	return n != nil && n.Type == html.TextNode && strings.TrimSpace(n.Data) != ""
}

// firstRune returns an element's first character, or 0 if the element does not start with text.
func firstRune(n *html.Node) rune {
	for c := n.FirstChild; c != nil; c = c.FirstChild {
		if c.Type == html.TextNode && c.Data != "" {
			r, _ := utf8.DecodeRuneInString(c.Data)
			return r
		}
	}
	return 0
}

// rubyText returns annotated text: the whole base text, then the reading in parentheses, because readings after each
// character would split words.
func rubyText(n *html.Node) string {
	var base, reading strings.Builder
	for c := range n.Descendants() {
		if c.Type != html.TextNode {
			continue
		}
		to := &base
		for a := c.Parent; a != nil && a != n; a = a.Parent {
			switch a.DataAtom {
			case atom.Rt, atom.Rtc:
				to = &reading
			case atom.Rp:
				to = nil
			}
			if to != &base {
				break
			}
		}
		if to != nil {
			to.WriteString(strings.TrimSpace(c.Data))
		}
	}
	if reading.Len() == 0 {
		return base.String()
	}
	return base.String() + "(" + reading.String() + ")"
}

// mathText returns a formula as text. Pages often contain both TeX and MathML; mathText prefers the TeX source to the
// characters in the MathML.
func mathText(n *html.Node) string {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && c.Data == "annotation" && strings.Contains(attr(c, "encoding"), "tex") {
			return " " + simplifyTeX(format.OneLine(nodeText(c))) + " "
		}
	}
	if alt := format.OneLine(attr(n, "alttext")); alt != "" {
		return " " + simplifyTeX(alt) + " "
	}
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode && (c.Parent == nil || c.Parent.Data != "annotation" && c.Parent.Data != "annotation-xml") {
			b.WriteString(strings.TrimSpace(c.Data))
		}
	}
	return " " + b.String() + " "
}

// simplifyTeX removes commands that only set a formula's size.
func simplifyTeX(s string) string {
	if inner, ok := strings.CutPrefix(s, `{\displaystyle `); ok && strings.HasSuffix(inner, "}") {
		return strings.TrimSpace(inner[:len(inner)-1])
	}
	return s
}

// decoration reports whether an element in the content carries no information: a permalink, a button, a note marker or
// a second rendering of a formula.
func (w *walker) decoration(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Button:
		return true
	case atom.A:
		if hasClass(n, "src") || hasClass(n, "viewcode-link") || hasClass(n, "headerlink") || n.FirstChild != nil && hasClass(n.FirstChild, "viewcode-link") {
			return true
		}
		href := attr(n, "href")
		if hash := strings.IndexByte(href, '#'); hash < 0 {
			return false
		}
		return !w.factsOf(n).hasWords
	case atom.Sup:
		return (hasClass(n, "reference") || isNoteReference(n)) && w.factsOf(n).size() < 12
	case atom.Summary:
		return hasClass(n, "hideme")
	case atom.Label, atom.Legend:
		return ancestor(n, atom.Form) != nil
	case atom.Img:
		return hasClass(n, "mwe-math-fallback-image-inline") || hasClass(n, "mwe-math-fallback-image-display")
	case atom.Rp:
		return true
	}
	for _, c := range []string{"MathJax_Preview", "MathJax_SVG", "MathJax_CHTML", "MathJax", "mw-editsection", "mw-cite-backlink", "katex-html",
		"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text"} {
		if hasClass(n, c) {
			return true
		}
	}
	return false
}

// isNoteReference reports whether an element contains only a link to a note on the same page.
func isNoteReference(n *html.Node) bool {
	c := n.FirstChild
	return c != nil && c.NextSibling == nil && c.DataAtom == atom.A && strings.HasPrefix(attr(c, "href"), "#")
}

// hasClass reports whether the element has the class.
func hasClass(n *html.Node, name string) bool {
	class := attr(n, "class")
	if !strings.Contains(class, name) {
		return false
	}
	for c := range strings.FieldsSeq(class) {
		if c == name {
			return true
		}
	}
	return false
}

// tabLabels returns the labels of the tabs in a tab list.
func tabLabels(n *html.Node) []string {
	const limit = 20
	var labels []string
	for c := range n.Descendants() {
		if len(labels) < limit && (attr(c, "role") == "tab" || c.DataAtom == atom.Label) {
			if text := nodeText(c); text != "" {
				labels = append(labels, text)
			}
		}
	}
	return labels
}
