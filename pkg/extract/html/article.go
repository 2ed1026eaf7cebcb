package html

import (
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/go-shiori/go-readability"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/wordset"
)

// Thresholds for recognising an article's parts, in letters.
const (
	maxAsideLetters  = 600 // maximum size of an aside recognised only by name
	labelLetters     = 80  // shorter lines without sentence punctuation are labels
	maxBylineLetters = 120 // maximum size of a line with the author or date
)

// article chooses the content blocks of a page that declares itself an article. It starts with the element marked as
// the article body or, failing that, with go-readability's selection, and removes asides, bylines and links to other
// articles. It returns nil if too little would be left.
func (p *reader) article(page string, blocks []block, main []bool, t *pageTree, region *html.Node, self string) []bool {
	keep := make([]bool, len(blocks))
	if body := t.articleBody(region); body != nil {
		for i, b := range blocks {
			keep[i] = isWithin(b.node, body)
		}
	} else if keep = p.readable(page, blocks, t); keep == nil {
		return nil
	}
	body := centerOf(blocks, keep)
	if body == nil || isReaderComment(body) {
		return nil
	}
	limit := t.weights[body].prose() / 3
	aside := map[*html.Node]bool{}
	told := map[string]bool{}
	all, kept := 0, 0
	for i, b := range blocks {
		letters := format.CountLetters(b.Text)
		if main[i] {
			all += letters
		}
		if !keep[i] {
			continue
		}
		if t.inAside(b.node, body, limit, aside) || t.isMetadataLine(b, self) {
			keep[i] = false
			continue
		}
		if letters >= 25 && b.Kind == domain.BlockParagraph {
			key := lettersOf(b.Text)
			if told[key] {
				keep[i] = false
				continue
			}
			told[key] = true
		}
		kept += letters
	}
	dropLabels(blocks, keep)
	dropBareHeadings(blocks, keep)
	if kept < 2*shellLetters && kept*3 < all {
		return nil
	}
	return keep
}

// readable returns the blocks that go-readability considers content.
func (p *reader) readable(page string, blocks []block, t *pageTree) []bool {
	base, err := url.Parse(p.Src.URL)
	if err != nil || p.Src.URL == "" {
		base = &url.URL{Scheme: "http", Host: "localhost"}
	}
	article, err := readability.FromReader(strings.NewReader(page), base)
	if err != nil || article.Node == nil {
		return nil
	}
	setAtoms(article.Node)
	return indexExtract(article.Node).choose(blocks, t)
}

// articleBody returns the element with itemprop="articleBody". It returns nil if there is no such element, if there are
// several, or if the element has less than a third of the region's prose.
func (t *pageTree) articleBody(region *html.Node) *html.Node {
	var found *html.Node
	const limit = 50
	marks := 0
	for n := range region.Descendants() {
		if n.Type != html.ElementNode || attr(n, "itemprop") != "articleBody" {
			continue
		}
		if marks++; marks > limit {
			return nil
		}
		if found != nil && isWithin(n, found) || isReaderComment(n) {
			continue
		}
		if found != nil {
			return nil
		}
		found = n
	}
	if found == nil || t.weights[found].prose()*3 < t.weights[region].clear.prose() {
		return nil
	}
	return found
}

// textElement reports whether an element holds text, like a paragraph or a heading.
func textElement(n *html.Node) bool {
	return n != nil && (n.DataAtom == atom.P || n.DataAtom == atom.Li || n.DataAtom == atom.Blockquote || n.DataAtom == atom.Pre || isHeading(n.DataAtom))
}

// isReaderComment reports whether an element is, or is in, a reader's comment.
func isReaderComment(n *html.Node) bool {
	for ; n != nil && n.DataAtom != atom.Body; n = n.Parent {
		if strings.HasSuffix(attr(n, "itemtype"), "/Comment") || attr(n, "itemprop") == "comment" {
			return true
		}
		if n.DataAtom != atom.Main && hasNameWith(n, remarkWords) {
			return true
		}
	}
	return false
}

var remarkWords = wordset.Of(`comment comments commentlist disqus respond replies`)

// hasNameWith reports whether an element's id or one of its classes contains one of the words.
func hasNameWith(n *html.Node, words map[string]bool) bool { return matchesHint(n, weight{}, words) }

// asideWords are class and id words for boxes among an article's paragraphs that aren't part of its text.
var asideWords = wordset.Of(`related recommended recommendations recommendation trending popular promo promoted similar upsell suggested sponsored outbrain
	taboola newsletter subscribe subscription signup share sharing social follow comment comments disqus respond author bio tags tag ad ads advert
	advertisement advertising widget sidebar breadcrumb breadcrumbs footer nav navigation pagination pager teaser teasers more most byline meta
	metadata timestamp dateline cookie consent gdpr paywall modal popup player caption credit copyright toolbar rating vote helpful feedback gallery slideshow`)

// inAside reports whether a block is in an aside: an element whose tag, class or id says so, or that is mostly links.
// An element with at least a third of the article's prose is never an aside.
func (t *pageTree) inAside(n, body *html.Node, limit int, known map[*html.Node]bool) bool {
	if n == body || n == nil {
		return false
	}
	if aside, ok := known[n]; ok {
		return aside
	}
	w := t.weights[n]
	aside := false
	if n.DataAtom == atom.Blockquote {
		known[n] = false
		return false
	}
	if isBlockElement(n.DataAtom) && !isHeading(n.DataAtom) || n.DataAtom == 0 {
		little := w.prose() < maxAsideLetters && w.prose() < limit
		aside = little && (n.DataAtom == atom.Aside || hasNameWith(n, asideWords)) || w.links >= 3 && w.linkDensity() >= 60 && w.prose() < limit
	}
	aside = aside || t.inAside(n.Parent, body, limit, known)
	known[n] = aside
	return aside
}

// isMetadataLine reports whether a block is a date, an author, the page's own URL or a link to another article.
func (t *pageTree) isMetadataLine(b block, self string) bool {
	if b.Kind != domain.BlockParagraph || format.CountLetters(b.Text) >= maxBylineLetters {
		return false
	}
	if self != "" && b.Text == self {
		return true
	}
	w := t.weights[b.node]
	if w.letters >= 2*maxBylineLetters {
		return false // the element contains more than this line
	}
	if w.links > 0 && w.linkDensity() >= 80 {
		return true // a link to another article
	}
	for c := range b.node.Descendants() {
		if c.DataAtom == atom.Time {
			return true
		}
	}
	return false
}

// dropBareHeadings drops headings without a kept block below them.
func dropBareHeadings(blocks []block, keep []bool) {
	const textLevel = 7 // level of text, below the six heading levels
	next := 0           // level of the next kept heading, or textLevel
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Kind != domain.BlockHeading {
			if keep[i] {
				next = textLevel
			}
			continue
		}
		if keep[i] && blocks[i].Level >= next {
			keep[i] = false
			continue
		}
		if keep[i] {
			next = blocks[i].Level
		} else {
			next = min(next, blocks[i].Level)
		}
	}
}

// dropLabels drops short lines such as the author, date and link labels before an article's first sentence and after
// its last one.
func dropLabels(blocks []block, keep []bool) {
	label := func(b block) bool {
		return b.Kind == domain.BlockParagraph && format.CountLetters(b.Text) < labelLetters && !strings.ContainsAny(b.Text, ".!?…。！？؟।:")
	}
	for _, order := range []iter.Seq2[int, block]{slices.All(blocks), slices.Backward(blocks)} {
		for i, b := range order {
			if keep[i] && b.Kind != domain.BlockHeading {
				if !label(b) {
					break
				}
				keep[i] = false
			}
		}
	}
}
