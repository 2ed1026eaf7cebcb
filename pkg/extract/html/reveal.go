package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/wordset"
)

// Limits on the lengths of labels and hidden text, in letters, and on the number of controls.
const (
	maxLabelLetters = 200 // maximum length of a label that opens a panel
	maxControls     = 20_000
	minHiddenSpan   = 40 // minimum length of the hidden remainder of a paragraph; shorter spans are icons and states
	minHiddenText   = 40 // minimum length of a panel opened by a single-word button
)

// reveal shows content that stays hidden until a reader opens it: answers below questions, tab panels, dialogs in the
// content, noscript elements and declarative shadow trees. Menus, forms, consent banners and modal windows stay hidden.
func reveal(doc *html.Node) {
	attachShadows(doc)
	expandNoscript(doc)
	r := &revealer{measured: map[*html.Node]panelWeight{}, controls: map[string]*html.Node{}, rows: map[string]int{}}
	r.measure(doc)
	r.showPage(doc)
	r.survey(doc)
	r.walk(doc)
}

// showPage unhides elements that hold nearly all of the page's text. In a browser, a script shows such elements after
// the page has loaded.
func (r *revealer) showPage(doc *html.Node) {
	all := r.measured[doc]
	for n := doc; n != nil; {
		var next *html.Node
		for c := n.FirstChild; c != nil && next == nil; c = c.NextSibling {
			if w := r.measured[c]; w.prose() >= shellLetters && w.prose()*10 >= all.prose()*8 {
				next = c
			}
		}
		if next != nil && isInvisible(next) && !isModal(next) {
			unhide(next)
		}
		n = next
	}
}

// revealer finds hidden elements that a reader can open.
type revealer struct {
	measured map[*html.Node]panelWeight
	controls map[string]*html.Node // controls by the id of the element they open
	begun    bool                  // the survey is past the first heading; earlier controls may belong to a menu
	rows     map[string]int        // hidden elements per rowKey
}

// panelWeight measures an element's content, hidden or not.
type panelWeight struct {
	letters, linked int
	buttons, fields int
	headings        int
}

// prose returns the number of letters outside links.
func (w panelWeight) prose() int { return w.letters - w.linked }

func (r *revealer) measure(doc *html.Node) {
	var walk func(n *html.Node, inLink bool) panelWeight
	walk = func(n *html.Node, inLink bool) panelWeight {
		var sum panelWeight
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				l := format.CountLetters(c.Data)
				sum.letters += l
				if inLink {
					sum.linked += l
				}
			case c.Type == html.ElementNode && !isNeverText(c):
				w := walk(c, inLink || c.DataAtom == atom.A && attr(c, "href") != "")
				if field(c) {
					w.fields++
				} else if isButton(c) {
					w.buttons++
				} else if isHeading(c.DataAtom) {
					w.headings++
				}
				r.measured[c] = w
				sum.letters += w.letters
				sum.linked += w.linked
				sum.buttons += w.buttons
				sum.fields += w.fields
				sum.headings += w.headings
			case c.Type == html.ElementNode && field(c):
				sum.fields++
			}
		}
		return sum
	}
	r.measured[doc] = walk(doc, false)
}

var quotedName = lazyregexp.New(`['"#]([A-Za-z][\w:.-]{0,99})['"]`)

// survey records which control opens which element and counts hidden elements by rowKey. It skips menus and banners.
func (r *revealer) survey(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || isSurrounding(c) && !isButton(c) {
			continue
		}
		if len(r.controls) < maxControls {
			r.noteControl(c)
		}
		if isHidden(c) {
			if key := rowKey(c); key != "" {
				r.rows[key]++
			}
		} else if isHeading(c.DataAtom) && r.measured[c].letters > 0 {
			r.begun = true
		}
		r.survey(c)
	}
}

func (r *revealer) noteControl(n *html.Node) {
	for _, a := range n.Attr {
		switch a.Key {
		case "aria-controls", "data-target", "data-bs-target", "data-tab", "data-toggle-target", "commandfor", "popovertarget", "data-controls":
			for id := range strings.FieldsSeq(a.Val) {
				r.control(strings.TrimPrefix(id, "#"), n)
			}
		case "href":
			if id, ok := strings.CutPrefix(a.Val, "#"); ok {
				r.control(id, n)
			}
		case "for":
			if n.DataAtom == atom.Label {
				r.control(a.Val, n)
			}
		case "onclick":
			for _, m := range quotedName().FindAllStringSubmatch(a.Val[:min(len(a.Val), 500)], 8) {
				r.control(m[1], n)
			}
		}
	}
}

func (r *revealer) control(id string, n *html.Node) {
	if id != "" && r.controls[id] == nil && (r.begun || inMain(n)) {
		r.controls[id] = n
	}
}

// rowKey returns the same key for elements of the same kind, such as all answers in an FAQ. The key consists of the
// tags and first classes of the element, its previous sibling and its parent.
func rowKey(n *html.Node) string {
	prev := previousElement(n)
	if prev == nil || n.Parent == nil || isInvisible(prev) || kindOfElement(prev) == kindOfElement(n) {
		return ""
	}
	return kindOfElement(n.Parent) + ">" + kindOfElement(prev) + "+" + kindOfElement(n)
}

// maxKindBytes is the length in bytes to which a rowKey's tags and classes are truncated.
const maxKindBytes = 100

func kindOfElement(n *html.Node) string {
	class, _, _ := strings.Cut(format.Cut(strings.TrimSpace(attr(n, "class")), maxKindBytes), " ")
	return format.Cut(n.Data, maxKindBytes) + "." + class
}

func previousElement(n *html.Node) *html.Node {
	for n = n.PrevSibling; n != nil && n.Type != html.ElementNode; n = n.PrevSibling {
	}
	return n
}

func (r *revealer) walk(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if isHeading(c.DataAtom) {
			readButtons(c)
		}
		if isSurrounding(c) && !isButton(c) || isNeverText(c) {
			continue
		}
		if c.DataAtom == atom.Button && r.isDescription(c) {
			rename(c, atom.Div)
		}
		if isHidden(c) || c.DataAtom == atom.Span && r.measured[c].letters >= minHiddenSpan && isInvisible(c) {
			if !r.panel(c) || !r.canOpen(c) {
				continue
			}
			unhide(c)
			r.label(c)
		} else if id := attr(c, "id"); id != "" && r.controls[id] != nil && r.panel(c) {
			r.label(c)
		}
		r.walk(c)
	}
}

// readButtons turns buttons in a heading into text, unless the heading has other text.
func readButtons(heading *html.Node) {
	if textNextToButtons(heading) {
		return
	}
	for c := range heading.Descendants() {
		if c.DataAtom == atom.Button {
			rename(c, atom.Span)
		}
	}
}

// textNextToButtons reports whether an element has visible text outside its buttons.
func textNextToButtons(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.ContainsFunc(c.Data, charset.WordRune) ||
			c.Type == html.ElementNode && c.DataAtom != atom.Button && !isInvisible(c) && textNextToButtons(c) {
			return true
		}
	}
	return false
}

// isNeverText reports whether an element never contains text for readers.
func isNeverText(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Title, atom.Svg, atom.Iframe, atom.Object, atom.Canvas,
		atom.Select, atom.Datalist, atom.Textarea:
		return true
	}
	return false
}

// isHidden reports whether an element is hidden but may later be shown by the page.
func isHidden(n *html.Node) bool {
	if isNeverText(n) {
		return false
	}
	return n.DataAtom == atom.Dialog || isBlockElement(n.DataAtom) && isInvisible(n) || isModal(n)
}

// isModal reports whether an element is a dialog that opens on top of the page.
func isModal(n *html.Node) bool {
	role := attr(n, "role")
	return n.DataAtom == atom.Dialog || role == "dialog" || role == "alertdialog" || attr(n, "aria-modal") == "true"
}

// panel reports whether an element contains content, as opposed to a menu, form or notice.
func (r *revealer) panel(n *html.Node) bool {
	w := r.measured[n]
	if w.letters == 0 || w.fields > 0 || w.linked*2 > w.letters && (r.controls[attr(n, "id")] == nil || w.linked*10 > w.letters*9) {
		return false
	}
	switch attr(n, "role") {
	case "menu", "menubar", "listbox", "navigation", "search", "tooltip", "alert", "status", "banner", "progressbar":
		return false
	}
	if w.buttons >= 2 && w.letters < 2000 && (strings.Contains(strings.ToLower(startText(n)), "cookie") || isModal(n)) {
		return false
	}
	return true
}

// canOpen reports whether a reader can open a hidden element.
func (r *revealer) canOpen(n *html.Node) bool {
	if id := attr(n, "id"); id != "" && r.controls[id] != nil && !isWithin(r.controls[id], n) {
		return true
	}
	if n.DataAtom == atom.Dialog {
		prev := previousElement(n)
		return inMain(n) || prev != nil && isButton(prev)
	}
	if isModal(n) {
		return false
	}
	if ancestor(n, atom.Form) == nil && r.isMoreControl(n) {
		return true
	}
	if n.DataAtom == atom.Span {
		return false
	}
	prev := previousElement(n)
	if label := labelBefore(n); label != nil && r.isPanelLabel(label, n) {
		return true
	}
	if key := rowKey(n); key != "" && r.rows[key] >= 2 && prev != nil && r.measured[prev].letters > 0 && r.measured[prev].letters <= maxLabelLetters {
		return true
	}
	return prev != nil && r.measured[prev].letters > 0 && r.measured[prev].letters <= maxLabelLetters && hasNameWith(n, panelWords) || hasVisibleSibling(n)
}

// panelWords are words in the classes and ids of elements that open when the text before them is clicked.
var panelWords = wordset.Of(`accordion answer faq expand expandable expander collapse collapsible collapsed toggle spoiler panel tab reveal details disclosure`)

// labelBefore returns the element before n. If n is the first child, it tries n's parent, and so on, for three levels.
func labelBefore(n *html.Node) *html.Node {
	const levels = 3
	for range levels {
		if prev := previousElement(n); prev != nil {
			return prev
		}
		if n = n.Parent; n == nil || n.DataAtom == atom.Body {
			break
		}
	}
	return nil
}

// isPanelLabel reports whether an element looks like a panel's label: a heading, a question, or a button with words.
func (r *revealer) isPanelLabel(n, panel *html.Node) bool {
	w := r.measured[n]
	if w.letters == 0 || w.letters > maxLabelLetters || w.fields > 0 || isSurrounding(n) && !isButton(n) {
		return false
	}
	text := strings.TrimSpace(startText(n))
	switch {
	case isHeading(n.DataAtom), n.DataAtom == atom.Summary, n.DataAtom == atom.Dt, w.headings > 0:
		return true
	case strings.HasSuffix(text, "?"), strings.HasSuffix(text, "？"), strings.HasSuffix(text, "؟"):
		return true
	case isButton(n), w.buttons > 0:
		return hasAttr(n, "aria-expanded") || hasAttr(n, "aria-controls") || len(strings.Fields(text)) > 1 ||
			ancestor(n, atom.Form) == nil && r.measured[panel].prose() >= minHiddenText
	}
	return false
}

// moreWords are words on controls that show the remainder of an article or list.
var moreWords = wordset.Of(`more all show expand full rest continue mehr alle weiterlesen anzeigen ganzen suite tout toute plus más todo todos leer mais tudo
	altro tutto meer alles mer vis pokaż więcej`)

// isMoreControl reports whether a control such as "Read more" follows a hidden element or the list that contains it.
func (r *revealer) isMoreControl(n *html.Node) bool {
	const levels = 3
	for range levels {
		if next := nextElement(n); next != nil && !isInvisible(next) {
			w := r.measured[next]
			pressable := isButton(next) || next.DataAtom == atom.A && (strings.HasPrefix(attr(next, "href"), "#") || !hasAttr(next, "href") || hasAttr(next, "onclick"))
			if !pressable || w.letters > maxLabelLetters {
				return false
			}
			for _, word := range strings.Fields(strings.ToLower(startText(next))) {
				if moreWords[strings.Trim(word, ".…:")] {
					return true
				}
			}
			return false
		} else if next != nil {
			n = next // another hidden element
			continue
		}
		if n = n.Parent; n == nil || n.DataAtom == atom.Body {
			return false
		}
	}
	return false
}

// isDescription reports whether a button contains several words in block elements. Some API references put a response's
// description into a button.
func (r *revealer) isDescription(button *html.Node) bool {
	const words = 3
	for c := range button.Descendants() {
		if (c.DataAtom == atom.P || c.DataAtom == atom.Div) && r.measured[c].letters > 0 {
			return len(strings.Fields(startText(button))) >= words
		}
	}
	return false
}

// hasVisibleSibling reports whether an element has a visible sibling of the same kind. If so, readers can probably open
// the element too. For example, a set of tabs has several panels, of which only one is visible at a time.
func hasVisibleSibling(n *html.Node) bool {
	if attr(n, "class") == "" || n.DataAtom == atom.Li || n.DataAtom == atom.Tr {
		return false
	}
	for _, next := range []func(*html.Node) *html.Node{previousElement, nextElement} {
		seen := 0
		for c := next(n); c != nil && seen < 20; c = next(c) {
			seen++
			if (kindOfElement(c) == kindOfElement(n) || n.DataAtom == atom.Pre && c.DataAtom == atom.Pre) && !isInvisible(c) {
				return true
			}
		}
	}
	return false
}

func nextElement(n *html.Node) *html.Node {
	for n = n.NextSibling; n != nil && n.Type != html.ElementNode; n = n.NextSibling {
	}
	return n
}

// unhide removes the attributes that hide an element.
func unhide(n *html.Node) {
	if n.DataAtom == atom.Dialog {
		rename(n, atom.Div)
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		switch a.Key {
		case "hidden", "aria-hidden", "style", "aria-modal":
			return true
		case "role":
			return a.Val == "dialog" || a.Val == "alertdialog"
		}
		return false
	})
}

// label turns a panel's button into text.
func (r *revealer) label(n *html.Node) {
	for _, b := range []*html.Node{r.controls[attr(n, "id")], previousElement(n)} {
		if b == nil || b.DataAtom != atom.Button || attr(b, "role") == "tab" || ancestor(b, atom.Nav) != nil {
			continue
		}
		l := r.measured[b].letters
		named := hasAttr(b, "aria-controls") || hasAttr(b, "aria-expanded") || len(strings.Fields(startText(b))) > 1
		if l > 0 && l <= maxLabelLetters && named {
			if inHeading(b) {
				rename(b, atom.Span)
			} else {
				rename(b, atom.Div)
			}
		}
		return
	}
}

// inHeading reports whether an element is inside a heading.
func inHeading(n *html.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if isHeading(n.DataAtom) {
			return true
		}
	}
	return false
}
