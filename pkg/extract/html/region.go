package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/wordset"
)

// pageTree holds the weights of a page's elements: how much text each has, and how much of it is in links.
type pageTree struct {
	weights  map[*html.Node]weight
	total    clearWeight         // weight of the whole page
	headings map[string]bool     // headings' texts, as returned by lettersOf
	lists    map[*html.Node]bool // cached results of contents
}

type weight struct {
	letters, linked int
	links           int
	fragments       int  // links to positions on the same page
	children        int  // child elements
	controls        int  // buttons and form fields
	fields          int  // input fields
	headings        int  // h1 to h6
	titles          int  // h1 elements with the page's title rather than the site's
	main            bool // contains a main element
	quote           bool // contains a quotation
	code            bool // contains a pre element
	clear           clearWeight
}

// maxHeadingLetters is the maximum length, in letters, of headings that are compared with table of contents entries.
const maxHeadingLetters = 500

// clearWeight counts the same things as weight, but leaves out text inside nav, footer and similar elements.
type clearWeight struct{ letters, linked, headings int }

func (w clearWeight) prose() int { return w.letters - w.linked }

// prose returns the number of letters outside links.
func (w weight) prose() int { return w.letters - w.linked }

// linkDensity returns the percentage of an element's letters that are in links.
func (w weight) linkDensity() int {
	if w.letters == 0 {
		return 0
	}
	return 100 * w.linked / w.letters
}

func (w *weight) add(c weight) {
	w.letters += c.letters
	w.linked += c.linked
	w.links += c.links
	w.fragments += c.fragments
	w.controls += c.controls
	w.fields += c.fields
	w.headings += c.headings
	w.titles += c.titles
	w.main = w.main || c.main
	w.quote = w.quote || c.quote
	w.code = w.code || c.code
	w.clear.letters += c.clear.letters
	w.clear.linked += c.clear.linked
	w.clear.headings += c.clear.headings
}

// weigh measures the visible text of all elements.
func weigh(doc *html.Node) *pageTree {
	t := &pageTree{weights: map[*html.Node]weight{}, headings: map[string]bool{}, lists: map[*html.Node]bool{}}
	h1s := 0
	for n := range doc.Descendants() {
		if n.DataAtom == atom.H1 {
			h1s++
		}
	}
	var walk func(n *html.Node, inLink bool) weight
	walk = func(n *html.Node, inLink bool) weight {
		var sum weight
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				l := format.CountLetters(c.Data)
				sum.letters += l
				sum.clear.letters += l
				if inLink {
					sum.linked += l
					sum.clear.linked += l
				}
			case c.Type == html.ElementNode && !isInvisible(c):
				sum.children++
				link := c.DataAtom == atom.A && attr(c, "href") != ""
				w := walk(c, inLink || link)
				if link {
					w.links++
					if strings.HasPrefix(attr(c, "href"), "#") {
						w.fragments++
					}
				}
				w.note(c, h1s == 1)
				if isHeading(c.DataAtom) {
					w.headings++
					w.clear.headings++
				}
				if isSurrounding(c) {
					w.clear = clearWeight{}
				}
				t.weights[c] = w
				sum.add(w)
				if isHeading(c.DataAtom) && w.letters > 0 && w.letters <= maxHeadingLetters {
					t.headings[lettersOf(nodeText(c))] = true
				}
			case c.Type == html.ElementNode:
				sum.children++
				if field(c) {
					sum.controls++
					sum.fields++
				}
			}
		}
		return sum
	}
	t.weights[doc] = walk(doc, false)
	t.total = t.weights[doc].clear
	return t
}

// note adds n's own properties to w. The properties of n's children are added elsewhere. `alone` is true if the page
// has only one h1.
func (w *weight) note(n *html.Node, alone bool) {
	switch {
	case n.DataAtom == atom.H1:
		// An h1 that links to another page is usually the site's name. It's a title only if it is the only h1, is
		// marked as the title, or has most of its text outside the link.
		if alone || isPageTitle(n) || w.prose()*2 > w.letters || strings.HasPrefix(firstHref(n), "#") {
			w.titles++
		}
	case n.DataAtom == atom.Main || attr(n, "role") == "main":
		w.main = true
	case n.DataAtom == atom.Blockquote:
		w.quote = true
	case n.DataAtom == atom.Pre:
		w.code = true
	case field(n):
		w.controls++
		w.fields++
	case isButton(n):
		w.controls++
	}
}

// isPageTitle reports whether an element is a Confluence page's title: a heading that links to the page itself.
func isPageTitle(n *html.Node) bool { return n.DataAtom == atom.H1 && attr(n, "id") == "title-text" }

// firstHref returns the URL of the first link in an element.
func firstHref(n *html.Node) string {
	for c := range n.Descendants() {
		if c.DataAtom == atom.A {
			return attr(c, "href")
		}
	}
	return ""
}

// regionMarks are classes and ids of the content element in themes without a main element.
var regionMarks = wordset.Of(`documentwrapper rst-content mw-body mw-content-text wiki-content bodyContent docMainContainer contentContainer
	theme-doc-markdown vp-doc md-content markdown-section`)

// region returns the element marked as the page's main content, or the whole page if there is none. It ignores elements
// with less than half of the page's text, because some pages mark only part of their content.
func (t *pageTree) region(doc *html.Node) *html.Node {
	var mains, marked, bodies, articles []*html.Node
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode || isInvisible(c) {
				continue
			}
			if c.DataAtom == atom.Main || attr(c, "role") == "main" {
				mains = append(mains, c)
			}
			if regionMarks[attr(c, "id")] || classIn(c, regionMarks) {
				marked = append(marked, c)
			}
			if attr(c, "itemprop") == "articleBody" {
				bodies = append(bodies, c)
			}
			if c.DataAtom == atom.Article && ancestor(c, atom.Article) == nil {
				articles = append(articles, c)
			}
			walk(c)
		}
	}
	walk(doc)
	if n := t.commonParent(mains); n != nil {
		return n
	}
	for i, candidates := range [][]*html.Node{mains, marked, articles, bodies} {
		for _, n := range candidates {
			const fromArticles = 2
			if i >= fromArticles && !t.hasMainHeading(n, doc) {
				continue // comments are often marked as articles and may be longer than the real article
			}
			if t.hasHalf(n) {
				return n
			}
		}
	}
	return doc
}

// commonParent returns the innermost element around all main elements with text, or nil if there are fewer than two.
func (t *pageTree) commonParent(mains []*html.Node) *html.Node {
	var common *html.Node
	count := 0
	for _, n := range mains {
		if t.weights[n].prose() < shellLetters || ancestor(n, atom.Main) != nil {
			continue
		}
		if count++; common == nil {
			common = n
		}
		for common != nil && !isWithin(n, common) {
			common = common.Parent
		}
	}
	if count < 2 {
		return nil
	}
	return common
}

// hasMainHeading reports whether an element contains all of the page's main headings or nearly all of its prose.
func (t *pageTree) hasMainHeading(n, doc *html.Node) bool {
	if isReaderComment(n) {
		return false
	}
	w, all := t.weights[n], t.weights[doc]
	return all.titles > 0 && w.titles == all.titles || w.clear.prose()*5 >= t.total.prose()*4
}

// hasHalf reports whether an element holds at least half of the page's prose or, if it's a page of links, of its text.
func (t *pageTree) hasHalf(n *html.Node) bool {
	w := t.weights[n].clear
	if w.prose()*2 >= t.total.prose() && w.prose() >= shellLetters {
		return true
	}
	return w.letters*2 >= t.total.letters
}

// classIn reports whether an element has one of the classes.
func classIn(n *html.Node, names map[string]bool) bool {
	for c := range strings.FieldsSeq(attr(n, "class")) {
		if names[c] {
			return true
		}
	}
	return false
}
