package html

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/format"
)

const (
	// maxAnchorBytes is the maximum length of an anchor. It is limited because every chunk stores an anchor.
	maxAnchorBytes = 256
	// maxWrappers is the maximum number of elements around a heading that are searched for ids. DocBook puts three
	// between a section and its title.
	maxWrappers = 8
	// maxMarks is the maximum number of links without text before a heading whose ids are considered.
	maxMarks = 8
	// maxHeadingNodes is the maximum number of nodes in a heading whose ids are considered.
	maxHeadingNodes = 64
)

// headingAnchors returns the URL fragments that lead to a page's headings and to the terms in its definition lists.
//
// The best fragment for a heading is the target of its own permalink. Next come the ids of the heading, of an element
// in it, of an adjacent link without text, and of a section that begins with the heading, in this order. A term can
// only have its own id or that of an element in it. A duplicate id belongs to the first element that has it, as in
// browsers.
func headingAnchors(doc *html.Node) map[*html.Node]string {
	a := anchorScan{owner: map[string]*html.Node{}, found: map[*html.Node][]anchorChoice{}}
	for n := range doc.Descendants() {
		if id := anchorID(n); id != "" && a.owner[id] == nil {
			a.owner[id] = n
		}
	}
	a.walk(doc)
	anchors := make(map[*html.Node]string, len(a.found))
	for heading, choices := range a.found {
		if id := chooseAnchor(heading, choices); id != "" {
			anchors[heading] = id
		}
	}
	return anchors
}

// anchorScan is the state of one pass over a page, in document order.
type anchorScan struct {
	owner             map[string]*html.Node // element by id
	text              int                   // visible letters and digits so far
	element           int                   // elements so far
	open              []openElement         // open elements, innermost last
	marks             []anchorChoice        // up to maxMarks consecutive links and spans with an id but no text; no text separates them
	trailingPermalink *html.Node            // permalink after the last heading, which does not belong to the next heading
	found             map[*html.Node][]anchorChoice
}

// anchorChoice is a candidate for a heading's anchor.
type anchorChoice struct {
	id      string
	at      int      // position of the element with the id, in document order
	text    int      // for marks: letters and digits before the end of the mark
	section *section // the section with the id; nil for other elements
	linked  bool     // usable only if the heading links to it
}

// openElement is an element around the scan's current position.
type openElement struct {
	node     *html.Node
	at, text int // number of elements, and of letters and digits, before it
	section  *section
}

// section is an element that begins with a heading.
type section struct {
	level           int  // the heading's level
	hasOtherHeading bool // the section contains another heading of the same or a higher level
}

// anchorID returns the fragment that addresses an element, or "" if there is none.
func anchorID(n *html.Node) string {
	if n.Type != html.ElementNode {
		return ""
	}
	id := attr(n, "id")
	if id == "" && n.DataAtom == atom.A {
		id = attr(n, "name")
	}
	if len(id) > maxAnchorBytes || !utf8.ValidString(id) ||
		strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError }) {
		return ""
	}
	return id
}

// headingLevel returns a heading's level, or 0 for other elements.
func headingLevel(n *html.Node) int {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return int(n.Data[1] - '0')
	}
	if attr(n, "role") != "heading" {
		return 0
	}
	if l := attr(n, "aria-level"); len(l) == 1 && l[0] >= '1' && l[0] <= '6' {
		return int(l[0] - '0')
	}
	return 2
}

// id returns the fragment that addresses an element, or "" if an earlier element has the same id.
func (a *anchorScan) id(n *html.Node) string {
	if id := anchorID(n); id != "" && a.owner[id] == n {
		return id
	}
	return ""
}

func (a *anchorScan) walk(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			a.text += format.CountLetters(c.Data)
			continue
		}
		if c.Type != html.ElementNode || isInvisible(c) {
			continue
		}
		a.element++
		if level := headingLevel(c); level > 0 {
			a.heading(c, level)
		} else if c.DataAtom == atom.Dt {
			if choices := a.collectIDs(c); len(choices) > 0 {
				a.found[c] = choices
			}
		}
		at, text := a.element, a.text
		a.open = append(a.open, openElement{node: c, at: at, text: text})
		a.walk(c)
		a.open = a.open[:len(a.open)-1]
		if (c.DataAtom == atom.A || c.DataAtom == atom.Span) && a.text == text && c != a.trailingPermalink {
			if id := a.id(c); id != "" {
				a.addMark(anchorChoice{id: id, at: at, text: text})
			}
		}
	}
}

// addMark adds a mark, i.e. a link or span with an id but no text. If there is text between the new mark and earlier
// marks, the earlier marks are dropped.
func (a *anchorScan) addMark(mark anchorChoice) {
	a.marks = slices.DeleteFunc(a.marks, func(m anchorChoice) bool { return m.text != mark.text })
	if len(a.marks) == maxMarks {
		a.marks = slices.Delete(a.marks, 0, 1)
	}
	a.marks = append(a.marks, mark)
}

// collectIDs collects the ids of an element and its descendants.
func (a *anchorScan) collectIDs(n *html.Node) (choices []anchorChoice) {
	add := func(n *html.Node) {
		if id := a.id(n); id != "" {
			choices = append(choices, anchorChoice{id: id})
		}
	}
	add(n)
	nodes := 0
	for c := range n.Descendants() {
		if nodes++; nodes > maxHeadingNodes {
			break
		}
		if ancestor(c, atom.Svg) == nil {
			add(c)
		}
	}
	return choices
}

// heading collects the candidates for a heading's anchor, best first.
func (a *anchorScan) heading(n *html.Node, level int) {
	choices := a.collectIDs(n)
	if link := permalinkBehind(n); link != nil {
		a.trailingPermalink = link
		if id := a.id(link); id != "" {
			choices = append(choices, anchorChoice{id: id})
		}
	}
	around := a.sections(level)
	for _, mark := range a.marks {
		if mark.text == a.text {
			around = append(around, mark)
		}
	}
	slices.SortStableFunc(around, func(x, y anchorChoice) int { return cmp.Compare(y.at, x.at) }) // the nearest first
	if choices = append(choices, around...); len(choices) > 0 {
		a.found[n] = choices
	}
}

// sections collects the ids of open elements that begin with the current heading, whose level is `level`.
func (a *anchorScan) sections(level int) (choices []anchorChoice) {
	for _, e := range a.open {
		if e.section != nil && e.section.level >= level {
			e.section.hasOtherHeading = true
		}
	}
	for i := len(a.open) - 1; i >= max(0, len(a.open)-maxWrappers); i-- {
		e := &a.open[i]
		if e.text != a.text || e.node.DataAtom == atom.Body || e.node.DataAtom == atom.Html {
			break
		}
		if e.section != nil { // an earlier heading, without text, already begins the element
			continue
		}
		e.section = &section{level: level}
		if id := a.id(e.node); id != "" {
			// The element around the page title is often layout: <div id="content">.
			layout := e.node.DataAtom == atom.Main || level == 1 && !namedSection(e.node)
			choices = append(choices, anchorChoice{id: id, at: e.at, section: e.section, linked: layout})
		}
	}
	return choices
}

// namedSection reports whether an element's tag or class marks it as a section.
func namedSection(n *html.Node) bool {
	if n.DataAtom == atom.Section || n.DataAtom == atom.A {
		return true
	}
	for class := range strings.FieldsSeq(strings.ToLower(attr(n, "class"))) {
		switch class {
		case "section", "chapter", "appendix", "preface", "part", "refentry", "sect1", "sect2", "sect3":
			return true
		}
	}
	return false
}

// permalinkBehind returns the text-less permalink directly after a heading, or nil if there is none.
func permalinkBehind(heading *html.Node) *html.Node {
	n := heading.NextSibling
	for n != nil && n.Type != html.ElementNode {
		if n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" {
			return nil
		}
		n = n.NextSibling
	}
	if n == nil || n.DataAtom != atom.A || fragmentOf(n) == "" || format.CountLetters(nodeText(n)) > 0 {
		return nil
	}
	return n
}

// fragmentOf returns the unescaped fragment of a link's URL.
func fragmentOf(link *html.Node) string {
	_, fragment, _ := strings.Cut(attr(link, "href"), "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		return plain
	}
	return fragment
}

// chooseAnchor returns the candidate that the heading's own link points to. If there is none, it returns the first
// candidate that does not belong to another heading.
func chooseAnchor(heading *html.Node, choices []anchorChoice) string {
	links := permalinks(heading)
	for _, c := range choices {
		for _, to := range links {
			if c.id == to || c.id == "user-content-"+to { // GitHub puts this prefix before ids
				return c.id
			}
		}
	}
	for _, c := range choices {
		if !c.linked && (c.section == nil || !c.section.hasOtherHeading) {
			return c.id
		}
	}
	return ""
}

// permalinks returns the fragments of the links in and right after a heading.
func permalinks(heading *html.Node) (fragments []string) {
	add := func(n *html.Node) {
		if n != nil && n.DataAtom == atom.A {
			if f := fragmentOf(n); f != "" {
				fragments = append(fragments, f)
			}
		}
	}
	nodes := 0
	for c := range heading.Descendants() {
		if nodes++; nodes > maxHeadingNodes {
			break
		}
		add(c)
	}
	add(permalinkBehind(heading))
	return fragments
}
