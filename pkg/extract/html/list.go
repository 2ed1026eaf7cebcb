package html

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract/format"
)

// list holds the state of an open list.
type list struct {
	next  int    // number of the next item
	step  int    // -1 for reversed lists
	style string // the type attribute: 1, a, A, i, I
}

func (w *walker) list(n *html.Node) {
	w.flush()
	l := list{next: 1, step: 1, style: attr(n, "type")}
	if hasAttr(n, "reversed") {
		l.step, l.next = -1, 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Li {
				l.next++
			}
		}
	}
	if v, err := strconv.Atoi(attr(n, "start")); err == nil {
		l.next = v
	}
	was, wasAt := w.item, w.at
	w.lists = append(w.lists, l)
	w.at = n
	w.children(n)
	w.flush()
	w.lists = w.lists[:len(w.lists)-1]
	w.item, w.at = was, wasAt
}

func (w *walker) listItem(n *html.Node) {
	w.flush()
	was, wasAt := w.item, w.at
	w.item, w.at = true, n
	w.marker = w.number(n)
	w.children(n)
	w.flush()
	w.marker = ""
	w.item, w.at = was, wasAt
}

// number returns the number that browsers show before an item in an ordered list. Browsers compute this number; it
// isn't in the page's source.
func (w *walker) number(li *html.Node) string {
	if len(w.lists) == 0 || li.Parent == nil || li.Parent.DataAtom != atom.Ol {
		return ""
	}
	l := &w.lists[len(w.lists)-1]
	if v, err := strconv.Atoi(attr(li, "value")); err == nil {
		l.next = v
	}
	n := l.next
	l.next += l.step
	const letters = 26
	switch {
	case l.style == "a" && n >= 1 && n <= letters:
		return string(rune('a'+n-1)) + ". "
	case l.style == "A" && n >= 1 && n <= letters:
		return string(rune('A'+n-1)) + ". "
	case l.style == "i" && n >= 1:
		return strings.ToLower(format.Roman(n)) + ". "
	case l.style == "I" && n >= 1:
		return format.Roman(n) + ". "
	}
	return strconv.Itoa(n) + ". "
}

func hasAttr(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}
