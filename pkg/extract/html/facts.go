package html

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/extract/charset"
)

// nodeFacts describes an element's visible text, so that the text itself doesn't have to be built. Each element's facts
// are computed once, so that deep nesting does not multiply the cost.
type nodeFacts struct {
	bytes, words int  // total size of the words in bytes, and the number of words
	open, closed bool // no space before the first word; no space after the last one
	hasWords     bool // the text contains a letter or digit
}

// size returns the length in bytes of the text that nodeText would return.
func (f nodeFacts) size() int { return f.bytes + max(f.words-1, 0) }

// add updates f after text has been appended to the text that f describes. `next` holds the facts of the appended text.
func (f *nodeFacts) add(next nodeFacts) {
	if next.bytes == 0 && next.open { // empty
		return
	}
	if f.bytes == 0 && f.open {
		*f = next
		return
	}
	if f.closed && next.open && f.words > 0 && next.words > 0 {
		f.words--
	}
	f.bytes, f.words, f.hasWords = f.bytes+next.bytes, f.words+next.words, f.hasWords || next.hasWords
	f.closed = next.closed
}

// noText holds the facts for the empty string, and aSpace holds those for white space.
var (
	noText = nodeFacts{open: true, closed: true}
	aSpace = nodeFacts{}
)

// factsOfText returns the facts of the text s.
func factsOfText(s string) nodeFacts {
	if s == "" {
		return noText
	}
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	f := nodeFacts{open: !unicode.IsSpace(first), closed: !unicode.IsSpace(last), hasWords: strings.ContainsFunc(s, charset.WordRune)}
	for word := range strings.FieldsSeq(s) {
		f.bytes += len(word)
		f.words++
	}
	return f
}

// factsOf returns an element's facts.
func (w *walker) factsOf(n *html.Node) nodeFacts {
	if f, known := w.facts[n]; known {
		return f
	}
	f := noText
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			f.add(factsOfText(c.Data))
		case c.Type == html.ElementNode && !isInvisible(c):
			block := isBlockElement(c.DataAtom)
			if block {
				f.add(aSpace)
			}
			f.add(w.factsOf(c))
			if block {
				f.add(aSpace)
			}
		}
	}
	if w.facts == nil {
		w.facts = map[*html.Node]nodeFacts{}
	}
	w.facts[n] = f
	return f
}
