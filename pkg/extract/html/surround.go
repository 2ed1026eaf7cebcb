package html

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/wordset"
)

// surroundings returns the elements around a page's content. It recognises them by tag, role or structure, never by
// name alone, because "cookies" may be the id of a section as well as of a banner.
func (t *pageTree) surroundings(doc, region *html.Node) map[*html.Node]bool {
	drop := map[*html.Node]bool{}
	root, beside := t.content(region)
	s := boilerplateFinder{t: t, theme: themeOf(doc), siblings: beside, root: root, drop: drop}
	s.walk(doc, false, noSide)
	s.dropLeadingLists(root)
	return drop
}

// content finds a page's content. It descends from the region as long as one child has the headings and most of the
// prose. It also returns the siblings passed on the way, and whether each is before or after the content.
func (t *pageTree) content(region *html.Node) (*html.Node, map[*html.Node]side) {
	beside := map[*html.Node]side{}
	n := region
	for {
		var heavy *html.Node
		limit, all := 0, 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode || isInvisible(c) || isSurrounding(c) {
				continue
			}
			p := t.weights[c].clear.prose()
			all += p
			if heavy == nil || p > limit {
				heavy, limit = c, p
			}
		}
		if heavy == nil || limit*10 < all*6 || !t.containsHeadings(heavy, n) {
			return n, beside
		}
		at := beforeContent
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c == heavy {
				at = afterContent
			} else if c.Type == html.ElementNode {
				beside[c] = at
			}
		}
		n = heavy
	}
}

// containsHeadings reports whether `child` has all of the main headings in `parent` or, if there are none, all headings
// and nearly all of the prose.
func (t *pageTree) containsHeadings(child, parent *html.Node) bool {
	switch child.DataAtom {
	case atom.P, atom.Pre, atom.Ul, atom.Ol, atom.Dl, atom.Li, atom.Blockquote, atom.Figure, atom.Details,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return false
	}
	c, p := t.weights[child], t.weights[parent]
	if p.titles > 0 {
		return c.titles == p.titles
	}
	return c.clear.headings == p.clear.headings && c.clear.prose()*10 >= p.clear.prose()*9
}

// side is an element's position relative to the content.
type side int

const (
	noSide side = iota
	beforeContent
	afterContent
)

type boilerplateFinder struct {
	t        *pageTree
	theme    pageTheme
	root     *html.Node          // element with the content
	siblings map[*html.Node]side // siblings of `root` and its ancestors within the region
	drop     map[*html.Node]bool

	sections int // headings in the content so far, not counting h1
}

func (s *boilerplateFinder) walk(n *html.Node, inRoot bool, at side) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || isInvisible(c) {
			continue
		}
		in, by := inRoot || c == s.root, max(at, s.siblings[c])
		if in && isHeading(c.DataAtom) && c.DataAtom != atom.H1 && s.t.weights[c].letters > 0 {
			s.sections++
		}
		if isSurrounding(c) || s.isBoilerplate(c, in, by) {
			s.drop[c] = true
			continue
		}
		// A long list of links after the content may be the purpose of the page, so keep it whole.
		if s.siblings[c] == afterContent && s.t.weights[c].linkDensity() >= 50 && container(c) {
			by = noSide
		}
		s.walk(c, in, by)
	}
}

// isBoilerplate reports whether an element's structure suggests that it is boilerplate. `at` says where the element is
// relative to the content.
func (s *boilerplateFinder) isBoilerplate(n *html.Node, inRoot bool, at side) bool {
	if !container(n) && (n.DataAtom != atom.Td || at == noSide) {
		return false
	}
	w := s.t.weights[n]
	if w.letters == 0 || w.main || w.quote || w.code || s.t.isLargePart(w) {
		return false
	}
	if s.theme.part(n, w) {
		return true
	}
	if w.titles > 0 {
		return false
	}
	if (!inRoot || s.sections < 2) && s.t.contents(n, w) || n.DataAtom == atom.Form && w.letters < 200 && w.headings == 0 || isConsentRequest(n, w) {
		return true
	}
	switch attr(n, "role") {
	case "dialog", "alertdialog", "toolbar":
		return true
	case "complementary":
		if !inRoot || w.linkDensity() > 30 {
			return true
		}
	}
	if at != noSide && s.isBoilerplateOutside(n, w, at) {
		return true
	}
	if inRoot {
		return s.isBoilerplateInside(n, w) || s.isPager(n, w)
	}
	return n.DataAtom != atom.Span && matchesHint(n, w, hintWords) && isMostlyControls(w)
}

// container reports whether an element groups parts of a page.
func container(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Section, atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Form, atom.Aside, atom.Header, atom.Fieldset, atom.P, atom.Details,
		atom.Center, atom.Span, 0:
		return true
	}
	return false
}

// isLargePart reports whether an element has more than two fifths of the page's text and a fifth of its prose.
func (t *pageTree) isLargePart(w weight) bool {
	return w.letters*5 > t.total.letters*2 && w.prose()*5 > t.total.prose()
}

// isBoilerplateOutside reports whether an element outside the content is a list of links or a notice with buttons.
func (s *boilerplateFinder) isBoilerplateOutside(n *html.Node, w weight, at side) bool {
	if w.controls >= 2 && w.letters < 250*w.controls && w.letters < 1000 {
		return true
	}
	if n.DataAtom == atom.Span || w.links == 0 || w.linkDensity() < 50 {
		return false
	}
	return at == beforeContent || w.letters*2 < s.t.weights[s.root].prose()
}

// isBoilerplateInside reports whether an element between sections of the content is boilerplate, such as a pager or
// share buttons: it's small, its class or id contains a hintWord, and it holds hardly anything but links, buttons and
// fields.
func (s *boilerplateFinder) isBoilerplateInside(n *html.Node, w weight) bool {
	if n.DataAtom == atom.P || n.DataAtom == atom.Table || n.DataAtom == atom.Span && (w.prose() > 0 || textElement(n.Parent)) || !matchesHint(n, weight{headings: 1}, hintWords) {
		return false
	}
	switch {
	case w.fields > 0:
		return w.prose() < 200
	case w.headings > 0:
		return w.linkDensity() >= 50 && matchesHint(n, w, otherPages) && !hasHeadingID(n)
	case w.links > 0:
		return w.linkDensity() >= 60 && w.letters < 300
	}
	return w.controls > 0 && w.prose() < 60
}

// hasHeadingID reports whether a section's id is derived from its heading.
func hasHeadingID(n *html.Node) bool {
	h := firstHeading(n)
	id := lettersOf(attr(n, "id"))
	return h != nil && id != "" && (id == lettersOf(nodeText(h)) || n.DataAtom == atom.Section)
}

// isMostlyControls reports whether an element contains hardly anything but links and buttons.
func isMostlyControls(w weight) bool {
	if w.controls > 0 {
		return w.prose() < 600
	}
	return w.links > 0 && w.linkDensity() >= 40
}

// isConsentRequest reports whether an element asks for consent, i.e. has buttons and text about cookies.
func isConsentRequest(n *html.Node, w weight) bool {
	return w.controls >= 2 && w.letters < 2000 && strings.Contains(strings.ToLower(startText(n)), "cookie")
}

// contents reports whether an element is a list of links to headings on its own page, possibly with a label.
func (t *pageTree) contents(n *html.Node, w weight) bool {
	if is, known := t.lists[n]; known {
		return is
	}
	is := t.isContents(n, w)
	t.lists[n] = is
	return is
}

// maxContents is the maximum number of links in a table of contents. It bounds the running time, because the list is
// read again for each element around it.
const maxContents = 3000

func (t *pageTree) isContents(n *html.Node, w weight) bool {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Div, atom.Aside, atom.Details, 0:
	default:
		return false
	}
	if !hasOnlyPageLinks(w) || w.links > maxContents || w.headings > 1 || len(t.headings) == 0 {
		return false
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		// If one child holds the list and its label, text in the other children is content.
		part := t.weights[c]
		if part.links == w.links && part.letters == w.letters && container(c) {
			return t.contents(c, part) // n only wraps this child
		}
		if part.links == w.links && part.prose() > 0 && part.prose() < w.prose() && hasOnlyPageLinks(part) {
			return false
		}
	}
	links, told := 0, 0
	for c := range n.Descendants() {
		if c.DataAtom == atom.Dt {
			return false // a definition, not a list of headings
		}
		if c.DataAtom != atom.A || !strings.HasPrefix(attr(c, "href"), "#") {
			continue
		}
		links++
		if t.isHeadingText(lettersOf(nodeText(c))) {
			told++
		}
	}
	return told*10 >= links*8
}

// hasOnlyPageLinks reports whether an element contains hardly anything but a label and links to positions on the same
// page.
func hasOnlyPageLinks(w weight) bool {
	return w.links >= 3 && w.fragments*10 >= w.links*9 && w.linkDensity() >= 75
}

// isHeadingText reports whether a link's text is the same as a heading's, with or without a number in front.
func (t *pageTree) isHeadingText(link string) bool {
	return t.headings[link] || t.headings[strings.TrimLeftFunc(link, unicode.IsDigit)]
}

// dropLeadingLists drops link lists before the first heading or paragraph.
func (s *boilerplateFinder) dropLeadingLists(root *html.Node) {
	limit := s.t.weights[root].letters / 4
	var walk func(n *html.Node) bool // returns false once it has reached content
	walk = func(n *html.Node) bool {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.TextNode && format.CountLetters(c.Data) >= 20 {
				return false
			}
			if c.Type != html.ElementNode || isInvisible(c) || s.drop[c] {
				continue
			}
			w := s.t.weights[c]
			if isHeading(c.DataAtom) && w.letters > 0 {
				return false
			}
			if c.DataAtom == atom.A && strings.HasPrefix(attr(c, "href"), "#") {
				s.drop[c] = true // a "skip to content" link
				continue
			}
			if w.links >= 3 && w.linkDensity() >= 60 && w.prose() < 40 && w.headings == 0 && w.letters < limit && isBlockElement(c.DataAtom) {
				s.drop[c] = true
				continue
			}
			if c.DataAtom == atom.P && w.prose() >= 20 || w.code {
				return false
			}
			if !walk(c) {
				return false
			}
		}
		return true
	}
	walk(root)
}

// pageTheme is the set of boilerplate classes in a page's theme.
type pageTheme map[string]bool

// themes lists the themes of documentation, wikis and forums. `marks` are the classes, ids and generators that identify
// a theme. `parts` are its boilerplate classes, which are ignored on pages without any of the marks.
var themes = []struct {
	marks []string
	parts map[string]bool
}{
	{[]string{"docbook", "navheader", "navfooter"}, wordset.Of(`navheader navfooter`)},
	{[]string{"sphinxsidebar", "documentwrapper", "rst-content", "bd-article", "sphinx"}, wordset.Of(`sphinxsidebar related rst-footer-buttons rst-versions wy-nav-side
		wy-nav-top wy-breadcrumbs prev-next-area bd-sidebar-primary bd-sidebar-secondary bottom-of-page related-pages toc-drawer sidebar-drawer mobile-header
		admonition-edit-page-link prev-next-footer bd-header-article`)},
	{[]string{"mkdocs", "md-content"}, wordset.Of(`md-header md-sidebar md-footer md-tabs md-source-file md-content__button md-path md-tags md-feedback`)},
	{[]string{"docusaurus", "theme-doc-markdown"}, wordset.Of(`theme-doc-breadcrumbs theme-doc-footer pagination-nav theme-edit-this-page theme-doc-toc-desktop
		theme-doc-toc-mobile`)},
	{[]string{"vitepress", "vp-doc"}, wordset.Of(`VPDocFooter VPDocAside VPLocalNav VPSidebar VPNav`)},
	{[]string{"mediawiki", "mw-parser-output"}, wordset.Of(`mw-jump-link catlinks printfooter navbox mw-editsection noprint hatnote vector-dropdown vector-page-toolbar
		vector-page-titlebar-toc mw-portlet toc mw-footer mw-interlanguage-selector`)},
	{[]string{"discourse", "crawler-post"}, wordset.Of(`crawler-nav post-menu-area topic-map suggested-topics more-topics__list topic-list-container
		crawler-post-meta-likes post-likes`)},
	{[]string{"phpbb", "viewtopic"}, wordset.Of(`postprofile post-buttons jumpbox jumpbox-return action-bar online-list signature stat-block page-footer headerbar navbar`)},
	{[]string{"js-post-body", "answercell"}, wordset.Of(`votecell js-post-menu js-comments-menu s-anchors post-taglist js-bottom-notice`)},
	{[]string{"doxygen"}, wordset.Of(`navpath summary tabs header-nav`)},
	{[]string{"asciidoctor", "asciidoc"}, wordset.Of(`footer-text`)},
}

// themeOf recognises a page's themes and returns their boilerplate classes.
func themeOf(doc *html.Node) pageTheme {
	found := map[string]bool{}
	var generator string
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.DataAtom == atom.Meta:
			if strings.EqualFold(attr(n, "name"), "generator") {
				generator += " " + strings.ToLower(attr(n, "content"))
			}
		case isBlockElement(n.DataAtom):
			if id := attr(n, "id"); id != "" {
				found[id] = true
			}
			for c := range strings.FieldsSeq(attr(n, "class")) {
				found[c] = true
			}
		}
	}
	parts := pageTheme{}
	for _, t := range themes {
		for _, mark := range t.marks {
			if found[mark] || strings.Contains(generator, mark) {
				for p := range t.parts {
					parts[p] = true
				}
			}
		}
	}
	return parts
}

// plainWords are theme classes that are also ordinary words. They count only on elements that are mostly links.
var plainWords = wordset.Of(`related summary tabs toc navbar headerbar`)

// part reports whether the theme's classes mark an element as boilerplate.
func (t pageTheme) part(n *html.Node, w weight) bool {
	if len(t) == 0 || n.DataAtom == atom.Section {
		return false
	}
	for c := range strings.FieldsSeq(attr(n, "class")) {
		switch {
		case !t[c]:
		case plainWords[c]:
			if w.links > 0 && w.linkDensity() >= 40 {
				return true
			}
		case c == "signature": // a forum post's author
			if strings.HasPrefix(attr(n, "id"), "sig") {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// hintWords are words in the classes and ids of boilerplate. They are ignored if the element holds much besides links,
// buttons and fields.
var hintWords = wordset.Of(`breadcrumb breadcrumbs cookie cookies consent gdpr ccpa onetrust newsletter sharing share social socials sharebar sharethis
	sharedaddy addthis addtoany sponsored advert adverts advertisement advertising adsbygoogle outbrain taboola pagination paginator pager skiplink
	skip editsection backtotop back2top toctitle disqus signup signin login masthead megamenu navbar offcanvas jumpbox related recommended
	recommendations recommendation trending popular promo promoted subscribe follow nav navigation menu menubar sidebar tags pager toolbar topbar
	footer widget widgets ad ads breadcrumbbar similar upsell subnav vote votes voting feedback helpful rating upvote likes suggested banner announcement
	prev previous next copyright`)

// otherPages are names for lists of suggested pages.
var otherPages = wordset.Of(`related recommended recommendations recommendation trending popular similar upsell suggested sponsored outbrain taboola also`)

// maxNameBytes is the maximum number of bytes to read from a class or id attribute. An element's names are read again
// for every element inside it, so long names would be slow.
const maxNameBytes = 2000

// matchesHint reports whether an element's class or id contains one of the words. If the element has headings, its id
// usually comes from them and is ignored.
func matchesHint(n *html.Node, w weight, words map[string]bool) bool {
	name := format.Cut(attr(n, "class"), maxNameBytes)
	if w.headings == 0 {
		name += " " + format.Cut(attr(n, "id"), maxNameBytes)
	}
	for word := range strings.FieldsFuncSeq(splitCamel(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if words[strings.ToLower(word)] {
			return true
		}
	}
	return false
}

// splitCamel inserts a space between a lower-case letter and the capital after it.
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
