package html

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lists"
)

// shingleWords is the number of words in a shingle, i.e. a word sequence looked up as a unit. Shorter shingles match by
// chance too often.
const shingleWords = 4

// extractIndex looks up a page's text in an article extractor's output (the extract). Extractors find the main content
// but lose headings, tables, code and lists. So the extract only decides which of the page's blocks are content; their
// text comes from the page itself.
type extractIndex struct {
	grams map[[shingleWords]string]int
	lines map[string]bool // whole blocks with fewer than 2*shingleWords words
}

func indexExtract(n *html.Node) *extractIndex {
	x := &extractIndex{grams: map[[shingleWords]string]int{}, lines: map[string]bool{}}
	words := wordsOf(nodeText(n))
	for i := range len(words) - shingleWords + 1 {
		x.grams[[shingleWords]string(words[i:i+shingleWords])]++
	}
	var line strings.Builder
	end := func() {
		if words := wordsOf(line.String()); len(words) > 0 && len(words) < 2*shingleWords {
			x.lines[strings.Join(words, " ")] = true
		}
		line.Reset()
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				writeInline(&line, c.Data)
			case c.Type == html.ElementNode && isBlockElement(c.DataAtom):
				end()
				walk(c)
				end()
			default:
				walk(c)
			}
		}
	}
	walk(n)
	end()
	return x
}

// contains reports whether the extract contains most of `text`.
func (x *extractIndex) contains(text string) bool {
	words := wordsOf(text)
	if len(words) == 0 {
		return false
	}
	if len(words) < shingleWords {
		return x.lines[strings.Join(words, " ")]
	}
	found, n := 0, len(words)-shingleWords+1
	for i := range n {
		if x.grams[[shingleWords]string(words[i:i+shingleWords])] > 0 {
			found++
		}
	}
	return found*2 >= n
}

// wordsOf splits a string into words. In scripts without spaces, each character counts as a word.
func wordsOf(s string) []string {
	var words []string
	start := -1
	for i, r := range s {
		wordy := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		single := wordy && r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
		if start >= 0 && (!wordy || single) {
			words = append(words, s[start:i])
			start = -1
		}
		switch {
		case single:
			words = append(words, string(r))
		case wordy && start < 0:
			start = i
		}
	}
	if start >= 0 {
		words = append(words, s[start:])
	}
	return words
}

// choose reports, for each block of a page, whether it is content. Blocks that are in the extract are content. For a
// block that is not in the extract but lies between two blocks that are, isPartOfContent decides.
func (x *extractIndex) choose(blocks []block, t *pageTree) []bool {
	keep := lists.Map(blocks, func(b block) bool { return x.contains(b.Text) })
	x.dropRepeats(blocks, keep)
	parents := map[*html.Node]int{} // number of kept blocks in each element
	first, last := len(blocks), -1
	for i, k := range keep {
		if k {
			parents[blocks[i].node.Parent]++
			first, last = min(first, i), i
		}
	}
	for i := first + 1; i < last; i++ {
		if !keep[i] {
			keep[i] = isPartOfContent(blocks[i], parents, t)
		}
	}
	// Keep a heading if the block after it is kept.
	for i := len(blocks) - 2; i >= 0; i-- {
		if blocks[i].Kind == domain.BlockHeading && !keep[i] && keep[i+1] && inSameSection(blocks[i].node, blocks[i+1].node) {
			keep[i] = true
		}
	}
	return keep
}

// dropRepeats drops blocks that repeat the main element's text elsewhere, such as this page's teaser in a list of
// recent pages.
func (x *extractIndex) dropRepeats(blocks []block, keep []bool) {
	center := centerOf(blocks, keep)
	told := map[[shingleWords]string]int{}
	var outside []int
	for i, b := range blocks {
		if !keep[i] {
			continue
		}
		words := wordsOf(b.Text)
		for j := range len(words) - shingleWords + 1 {
			told[[shingleWords]string(words[j:j+shingleWords])]++
		}
		if !isWithin(b.node, center) {
			outside = append(outside, i)
		}
	}
	for _, i := range outside {
		words := wordsOf(blocks[i].Text)
		over, n := 0, len(words)-shingleWords+1
		for j := range n {
			if g := [shingleWords]string(words[j : j+shingleWords]); told[g] > x.grams[g] {
				over++
			}
		}
		if n < 1 || over*2 < n {
			continue
		}
		keep[i] = false
		for j := range n {
			told[[shingleWords]string(words[j:j+shingleWords])]--
		}
	}
}

// centerOf returns the deepest element that contains at least three quarters of the kept text.
func centerOf(blocks []block, keep []bool) *html.Node {
	letters := map[*html.Node]int{}
	total := 0
	for i, b := range blocks {
		if !keep[i] {
			continue
		}
		l := format.CountLetters(b.Text)
		total += l
		for n := b.node; n != nil; n = n.Parent {
			letters[n] += l
		}
	}
	for i, b := range blocks {
		if !keep[i] {
			continue
		}
		for n := b.node; n != nil; n = n.Parent {
			if letters[n]*4 >= total*3 {
				return deepestWithMost(n, letters, total)
			}
		}
	}
	return nil
}

// deepestWithMost returns the deepest element in n's subtree with at least three quarters of `total`. n itself must
// qualify.
func deepestWithMost(n *html.Node, letters map[*html.Node]int, total int) *html.Node {
	for c := n.FirstChild; c != nil; {
		if letters[c]*4 >= total*3 {
			n, c = c, c.FirstChild
			continue
		}
		c = c.NextSibling
	}
	return n
}

func isWithin(n, outer *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == outer {
			return true
		}
	}
	return false
}

// isPartOfContent reports whether to keep a block that the extractor missed. Code, table rows, quotations and list
// items are kept if other blocks in the same part of the page were kept.
func isPartOfContent(b block, parents map[*html.Node]int, t *pageTree) bool {
	n := b.node
	switch b.Kind {
	case domain.BlockCode:
	case domain.BlockTableRow:
		if n = ancestor(n, atom.Table); n == nil {
			return false
		}
	case domain.BlockListItem:
		if t.weights[n].linkDensity() > 50 {
			return false
		}
		return n.Parent != nil && parents[n.Parent]*2 > t.weights[n.Parent].children
	case domain.BlockParagraph:
		if n = ancestor(n, atom.Blockquote); n == nil {
			return false
		}
	default:
		return false
	}
	if t.weights[n].linkDensity() > 50 {
		return false
	}
	for range 4 {
		if n = n.Parent; n == nil {
			return false
		}
		if parents[n] > 1 {
			return true
		}
	}
	return false
}

// inSameSection reports whether a heading and the block after it are in the same part of the page.
func inSameSection(heading, next *html.Node) bool {
	up := heading.Parent
	for range 2 {
		if up == nil {
			return false
		}
		if isWithin(next, up) {
			return true
		}
		up = up.Parent
	}
	return false
}
