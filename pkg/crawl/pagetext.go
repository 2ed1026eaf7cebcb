package crawl

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/textid"
)

const (
	// Maximum number of bytes of a page's text to use for comparison.
	maxPageText = 8 << 20
	// Minimum number of words in the main text. If a page's main text has fewer words, the page is compared by its
	// whole text.
	minWords = 10
)

// identify computes the page's TextHash and Sketch from the main text. It includes navigation only if there is too
// little other text, because a page's navigation may vary with the address used, and may be the same on all pages with
// the same template.
func (p *pageReader) identify(page *Page) {
	if p.root == nil || p.scope == nil { // a single page is not compared with others
		return
	}
	t := textWalk{region: mainRegion(p.root)}
	t.walk(t.region, false)
	all, own := t.all.String(), t.own.String()
	if enough := len(strings.Fields(all)) >= minWords; !enough && !t.whole {
		t = textWalk{region: t.region, whole: true}
		t.walk(bodyOf(p.root), false)
		all, own = t.all.String(), t.own.String()
	}
	if len(strings.Fields(own)) < minWords {
		own = all
	}
	page.TextHash, page.Sketch = textid.Identify(p.title, all, own)
}

// textWalk collects the text in part of a page, one line per block.
type textWalk struct {
	region *html.Node
	whole  bool // include text around the main text
	all    strings.Builder
	own    strings.Builder // text outside links, because navigation consists of links, no matter which elements it uses
}

// nonText lists elements whose content is not part of the page's text, such as scripts, embedded media and input
// fields.
var nonText = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Head: true, atom.Title: true, atom.Svg: true, atom.Object: true,
	atom.Iframe: true, atom.Input: true, atom.Textarea: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
	atom.Noscript: true, // parsed as raw text, because scripting is on
}

// Elements and roles that surround a page's main text.
var (
	surroundingElements = map[atom.Atom]bool{atom.Nav: true, atom.Header: true, atom.Footer: true, atom.Aside: true}
	surroundingRoles    = map[string]bool{"navigation": true, "banner": true, "contentinfo": true, "complementary": true, "search": true}
)

// inlineElements don't start a new line of text. All others do, except that the cells in a table row share one line.
var inlineElements = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true, atom.Data: true,
	atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Q: true,
	atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true,
	atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true, atom.Ins: true, atom.Del: true, atom.Img: true, atom.Output: true,
}

// walk adds the text in n and its descendants. Recursion is safe because the parser limits the nesting.
func (t *textWalk) walk(n *html.Node, linked bool) {
	if n == nil || t.all.Len() > maxPageText {
		return
	}
	switch n.Type {
	case html.TextNode:
		t.write(n.Data, linked)
	case html.ElementNode, html.DocumentNode:
		cell := n.DataAtom == atom.Td || n.DataAtom == atom.Th
		switch {
		case n.Namespace == "" && nonText[n.DataAtom]:
			return
		case !t.whole && n != t.region && t.region.DataAtom == atom.Body && (surroundingElements[n.DataAtom] && !withinArticle(n) || surroundingRoles[role(n)]):
			return
		case !t.whole && n != t.region && (n.DataAtom == atom.Nav || role(n) == "navigation"):
			return
		case n.DataAtom == atom.Img:
			t.write(" "+attr(n, "alt")+" ", linked)
		case cell:
			t.write("\t", false)
		case !inlineElements[n.DataAtom]:
			t.write("\n", false)
		}
		for c := range n.ChildNodes() {
			t.walk(c, linked || n.DataAtom == atom.A)
		}
		if !cell && !inlineElements[n.DataAtom] {
			t.write("\n", false)
		}
	}
}

var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

func (t *textWalk) write(s string, linked bool) {
	s = s[:min(len(s), maxPageText)]
	if s != "\n" && s != "\t" {
		s = oneLine.Replace(s)
	}
	t.all.WriteString(s)
	if !linked {
		t.own.WriteString(s)
	}
}

func role(n *html.Node) string { return strings.ToLower(strings.TrimSpace(attr(n, "role"))) }

// withinArticle reports whether an element is inside an article. An article's header and footer belong to its text.
func withinArticle(n *html.Node) bool {
	for a := n.Parent; a != nil; a = a.Parent {
		if a.DataAtom == atom.Article || a.DataAtom == atom.Main {
			return true
		}
	}
	return false
}

// mainRegion returns the page's main element if there is exactly one and it contains at least half of the page's text.
// Otherwise, it returns the body.
func mainRegion(root *html.Node) *html.Node {
	body := bodyOf(root)
	var found *html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.DataAtom == atom.Main || role(n) == "main") {
			if found != nil {
				return body
			}
			found = n
		}
	}
	if found == nil {
		return body
	}
	in, all := textWalk{region: found}, textWalk{region: body}
	in.walk(found, false)
	all.walk(body, false)
	if in.all.Len()*2 < all.all.Len() {
		return body
	}
	return found
}

func bodyOf(root *html.Node) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.DataAtom == atom.Body || n.DataAtom == atom.Frameset) {
			return n
		}
	}
	return root
}
