package extract

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// pageTree weighs the elements of a page: how much text each holds and how much of that is links.
type pageTree struct {
	weights map[*html.Node]weight
	total   int // letters of the page without what surrounds its content
}

type weight struct {
	letters, linked, links int
	children               int  // elements directly in it
	title                  bool // holds an h1
	main                   bool // holds main
	quote                  bool // holds a quotation
}

// weigh measures the visible text of all elements.
func weigh(doc *html.Node) *pageTree {
	t := &pageTree{weights: map[*html.Node]weight{}}
	var walk func(n *html.Node, inLink bool) weight
	walk = func(n *html.Node, inLink bool) weight {
		var sum weight
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode {
				sum.children++
			}
			switch {
			case c.Type == html.TextNode:
				l := countLetters(c.Data)
				sum.letters += l
				if inLink {
					sum.linked += l
				}
			case c.Type == html.ElementNode && !invisible(c):
				link := c.DataAtom == atom.A && attr(c, "href") != ""
				w := walk(c, inLink || link)
				sum.letters += w.letters
				sum.linked += w.linked
				sum.links += w.links
				if link {
					sum.links++
				}
				sum.title = sum.title || w.title || c.DataAtom == atom.H1
				sum.main = sum.main || w.main || c.DataAtom == atom.Main || attr(c, "role") == "main"
				sum.quote = sum.quote || w.quote || c.DataAtom == atom.Blockquote
			}
		}
		t.weights[n] = sum
		return sum
	}
	walk(doc, false)
	t.total = t.without(doc)
	return t
}

// without counts the letters of a subtree outside what surrounds the content.
func (t *pageTree) without(n *html.Node) int {
	letters := t.weights[n].letters
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode {
				continue
			}
			if chrome(c) {
				letters -= t.weights[c].letters
				continue
			}
			walk(c)
		}
	}
	walk(n)
	return letters
}

// linkDensity is the share of links in the text of an element, in percent.
func (w weight) linkDensity() int {
	if w.letters == 0 {
		return 0
	}
	return 100 * w.linked / w.letters
}

// region is the element that the page marks as its main content, or its body.
func (t *pageTree) region(doc *html.Node) *html.Node {
	var mains, articles []*html.Node
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch {
		case n.DataAtom == atom.Main || attr(n, "role") == "main":
			mains = append(mains, n)
		case n.DataAtom == atom.Article && enclosing(n, atom.Article) == nil:
			articles = append(articles, n)
		}
	}
	for _, candidates := range [][]*html.Node{mains, articles} {
		if len(candidates) == 1 && t.without(candidates[0])*3 >= t.total {
			return candidates[0]
		}
	}
	return doc
}

// Words in classes and ids of elements that surround the content, as the themes of most sites name them.
var (
	// always: these are never content.
	boilerplateWords = wordSet(`breadcrumb breadcrumbs cookie cookies gdpr ccpa onetrust newsletter sharing sharebar sharethis sharedaddy addthis
		addtoany sponsored advert adverts advertisement advertising adsbygoogle outbrain taboola pagination paginator skiplink noprint
		editsection navbox catlinks printfooter backtotop back2top toctitle tableofcontents disqus signup masthead megamenu navbar
		offcanvas hatnote postprofile jumpbox socials`)
	boilerplateNames = []string{
		"share-buttons", "social-share", "social-links", "social-media", "share-links", "share-bar", "share-tools", "post-share", "entry-share",
		"related-posts", "related-articles", "related-stories", "related-content", "related-items", "related-products", "related-links", "related-topics",
		"suggested-topics", "similar-products", "recommended-products", "you-may-also-like", "you-might-also", "also-bought", "recently-viewed", "upsell",
		"cross-sell", "table-of-contents", "table-of-content", "skip-to", "skip-link", "cookie-banner", "edit-this-page", "edit-page", "page-nav",
		"post-navigation", "prev-next", "most-read", "most-popular", "read-next", "more-from", "author-bio", "page-metadata", "post-menu", "post-buttons",
		"topic-map", "subscribe-box", "email-signup", "back-to-top", "scroll-to-top", "last-updated-by", "feedback-widget", "page-feedback",
		"was-this-helpful", "print-only", "source-file", "votecell", "vote-count", "voting-container", "post-likes", "post-tag", "aside-cta",
		"action-bar", "online-list", "message-signature", "vector-dropdown", "announcement-bar", "latest-news", "breaking-news", "search-form",
		"search-box", "searchbox", "searchform", "login-form", "site-header", "site-footer", "page-footer", "global-header",
		"global-footer", "mw-navigation", "mw-jump-link", "sphinxsidebar", "md-sidebar", "md-header", "md-footer", "wy-nav-side", "navigation-menu",
	}
	// linky: these are boilerplate where they are mostly links, or little text.
	linkyWords = wordSet(`related recommended recommendations recommendation trending popular promo promoted share social subscribe follow
		nav navigation menu menubar sidebar toc tags pager toolbar topbar footer widget widgets ads ad breadcrumbbar similar upsell
		subnav tocbox actions`)
)

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// boilerplate reports whether an element's class, id or role tells that it surrounds the content. What holds the main
// heading or much of the page's text never does, whatever it is called.
func (t *pageTree) boilerplate(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Html, atom.Body, atom.Main, atom.Article, atom.Pre, atom.Code, atom.Td, atom.Tr, atom.Tbody, atom.Th,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P:
		return false
	}
	w := t.weights[n]
	if w.title || w.main || w.quote || w.letters*5 > t.total*2 {
		return false
	}
	switch attr(n, "role") {
	case "complementary", "dialog", "alertdialog", "toolbar":
		if !inMain(n) || w.linkDensity() > 30 {
			return true
		}
	}
	if n.DataAtom == atom.Form && w.letters < 200 || hasClass(n, "signature") && strings.HasPrefix(attr(n, "id"), "sig") {
		return true
	}
	name := strings.ToLower(attr(n, "class") + " " + attr(n, "id"))
	if name == " " { // it has neither
		return t.menu(n, w)
	}
	for _, b := range boilerplateNames {
		if strings.Contains(name, b) {
			return true
		}
	}
	little := w.letters < 120
	for word := range strings.FieldsFuncSeq(splitCamel(attr(n, "class")+" "+attr(n, "id")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		word = strings.ToLower(word)
		if boilerplateWords[word] || linkyWords[word] && (w.linkDensity() > 60 || !inMain(n) && (w.linkDensity() > 40 || little && w.links > 0)) {
			return true
		}
	}
	return t.menu(n, w)
}

// menu reports lists of short links outside the content.
func (t *pageTree) menu(n *html.Node, w weight) bool {
	if n.DataAtom != atom.Ul && n.DataAtom != atom.Ol && n.DataAtom != atom.Div && n.DataAtom != atom.Td {
		return false
	}
	return w.links >= 4 && w.linkDensity() >= 90 && w.linked/w.links < 18 && !inMain(n) && w.letters*4 < t.total
}

// splitCamel puts spaces where a capital follows a small letter.
func splitCamel(s string) string {
	var b strings.Builder
	low := false
	for _, r := range s {
		if low && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		low = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return b.String()
}

// surroundings returns the elements that surround the content of a page.
func (t *pageTree) surroundings(doc *html.Node) map[*html.Node]bool {
	drop := map[*html.Node]bool{}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode || invisible(c) {
				continue
			}
			if chrome(c) || t.boilerplate(c) {
				drop[c] = true
				continue
			}
			walk(c)
		}
	}
	walk(doc)
	return drop
}
