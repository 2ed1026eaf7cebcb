package crawl

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/textid"
)

const (
	// maxPageText bounds the text by which pages are compared, in bytes.
	maxPageText = 8 << 20
	// fewWords is the text that is too short to tell a page from others, in words.
	fewWords = 10
)

// identify sets the page's TextHash and Sketch. They are made of the main text: two addresses of one page differ in their
// navigation, and two pages of one template have it in common. A page without any text but navigation is told by that.
func (p *pageReader) identify(page *Page) {
	if p.root == nil || p.scope == nil { // a page of its own is compared with no other
		return
	}
	t := textWalk{region: mainRegion(p.root)}
	t.walk(t.region, false)
	all, own := t.all.String(), t.own.String()
	if enough := len(strings.Fields(all)) >= fewWords; !enough && !t.whole {
		t = textWalk{region: t.region, whole: true}
		t.walk(bodyOf(p.root), false)
		all, own = t.all.String(), t.own.String()
	}
	if len(strings.Fields(own)) < fewWords {
		own = all
	}
	page.TextHash, page.Sketch = textid.Identify(p.title, all, own)
}

// textWalk gathers the text of a part of a page, a line for each block.
type textWalk struct {
	region *html.Node
	whole  bool // what stands around the main text counts too
	all    strings.Builder
	own    strings.Builder // without the text of links, which make up navigation whatever its elements are called
}

// unread are elements whose content is no text for readers, or is the reader's own.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Head: true, atom.Title: true, atom.Svg: true, atom.Object: true,
	atom.Iframe: true, atom.Input: true, atom.Textarea: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
	atom.Noscript: true, // markup, where scripts may run
}

// around are elements and roles that stand around the main text of a page.
var (
	around      = map[atom.Atom]bool{atom.Nav: true, atom.Header: true, atom.Footer: true, atom.Aside: true}
	aroundRoles = map[string]bool{"navigation": true, "banner": true, "contentinfo": true, "complementary": true, "search": true}
)

// inline are elements that do not end a line. Cells of a table share theirs.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true, atom.Data: true,
	atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Q: true,
	atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true,
	atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true, atom.Ins: true, atom.Del: true, atom.Img: true, atom.Output: true,
}

// walk takes the text of n. The parser bounds how deeply elements are nested.
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
		case n.Namespace == "" && unread[n.DataAtom]:
			return
		case !t.whole && n != t.region && t.region.DataAtom == atom.Body && (around[n.DataAtom] && !withinArticle(n) || aroundRoles[role(n)]):
			return
		case !t.whole && n != t.region && (n.DataAtom == atom.Nav || role(n) == "navigation"):
			return
		case n.DataAtom == atom.Img:
			t.write(" "+attr(n, "alt")+" ", linked)
		case cell:
			t.write("\t", false)
		case !inline[n.DataAtom]:
			t.write("\n", false)
		}
		for c := range n.ChildNodes() {
			t.walk(c, linked || n.DataAtom == atom.A)
		}
		if !cell && !inline[n.DataAtom] {
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

// withinArticle reports whether an element stands in an article, whose header and footer are the article's.
func withinArticle(n *html.Node) bool {
	for a := n.Parent; a != nil; a = a.Parent {
		if a.DataAtom == atom.Article || a.DataAtom == atom.Main {
			return true
		}
	}
	return false
}

// mainRegion is the one main element of a page, or else its body. Where there are several, or one that holds little of the
// text, it is the body.
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
