package extract

import (
	"net/url"
	"strings"

	"github.com/go-shiori/go-readability"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/domain"
)

// unknownShare is how many tenths of the main part of a page an extractor must keep where nothing tells that the page is
// an article: what keeps less has taken one of several parts for the whole.
const unknownShare = 8

// mainContent reads the main content of a page that is not too large for it. It reports false when nothing was emitted.
//
// Extractors of articles choose what is content on pages that are articles or do not say what they are; the page itself
// is read for what they chose. On pages of other kinds they lose code, tables and posts, and everything in the main part
// that is not named as surroundings is content.
func (p *parser) mainContent(doc *html.Node, page string, f *pageFacts, visible int) (bool, error) {
	t := weigh(doc)
	drop := t.surroundings(doc)
	blocks, err := p.pageBlocks(doc, doc, drop)
	if err != nil {
		return false, err
	}
	if shown := lettersIn(blocks); shown < shellLetters {
		hidden, err := p.scriptBlocks(doc, f, shown)
		if err != nil || hidden != nil {
			return p.emitAll("script", hidden, err)
		}
	}
	if len(blocks) == 0 || visible == 0 {
		return false, nil
	}
	main := inRegion(blocks, t.region(doc))
	if kind := kindOf(f, doc); visible >= minArticleText && kind != kindWhole {
		if keep, route := p.chosen(doc, page, blocks, main, t, kind); keep != nil {
			if kind == kindArticle {
				p.untitle(blocks, keep)
			}
			return p.emitChosen(route, blocks, keep)
		}
	}
	return p.emitChosen("main", blocks, main)
}

// pageBlocks reads the blocks of a part of a page.
func (p *parser) pageBlocks(doc, root *html.Node, drop map[*html.Node]bool) ([]htmlBlock, error) {
	var blocks []htmlBlock
	w := &htmlWalker{
		p: p, base: p.pageBase(doc), alts: true,
		skip: func(n *html.Node) bool { return drop[n] },
		take: func(b htmlBlock) error {
			blocks = append(blocks, b)
			return nil
		},
	}
	err := w.run(root)
	return blocks, err
}

// untitle drops the title of an article, which the document tells apart from its text, and all its repetitions.
func (p *parser) untitle(blocks []htmlBlock, keep []bool) {
	title, left := lettersOf(p.doc.Title), 0
	for i, b := range blocks {
		if !keep[i] {
			continue
		}
		if title != "" && len(b.Text) < 2*len(p.doc.Title) && lettersOf(b.Text) == title {
			keep[i] = false
			continue
		}
		left++
	}
	for i, b := range blocks {
		if left == 0 && lettersOf(b.Text) == title {
			keep[i] = true // a page of nothing else
		}
	}
}

// inRegion returns which blocks stand in the main part of a page, or are its heading.
func inRegion(blocks []htmlBlock, region *html.Node) []bool {
	keep := make([]bool, len(blocks))
	titled := false
	for i, b := range blocks {
		keep[i] = within(b.node, region)
		titled = titled || keep[i] && b.Kind == domain.BlockHeading && b.Level == 1
	}
	for i, b := range blocks {
		if !titled && b.Kind == domain.BlockHeading && b.Level == 1 {
			keep[i], titled = true, true
		}
	}
	return keep
}

// emitAll emits what was read, unless reading failed.
func (p *parser) emitAll(route string, blocks []htmlBlock, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	keep := make([]bool, len(blocks))
	for i := range keep {
		keep[i] = true
	}
	return p.emitChosen(route, blocks, keep)
}

func (p *parser) emitChosen(route string, blocks []htmlBlock, keep []bool) (bool, error) {
	p.doc.Route = route
	for i, b := range blocks {
		if !keep[i] {
			continue
		}
		if err := p.out.add(b.shown(p.src.PlainRows)); err != nil {
			return true, err
		}
	}
	return true, nil
}

// chosen asks go-trafilatura, then go-readability, which blocks are content, and distrusts either when it kept little of
// what the page shows. It returns nil when all of the main part is the better reading.
func (p *parser) chosen(doc *html.Node, page string, blocks []htmlBlock, main []bool, t *pageTree, kind pageKind) ([]bool, string) {
	kept := func(keep []bool) int {
		sum := 0
		for i, b := range blocks {
			if keep[i] {
				sum += countLetters(b.Text)
			}
		}
		return sum
	}
	total := kept(main)
	try := func(n *html.Node) []bool {
		if n == nil {
			return nil
		}
		setAtoms(n)
		keep := indexExtract(n).choose(blocks, t, kind == kindUnknown)
		k := kept(keep)
		if k < 200 && k*3 < total || kind != kindArticle && k*8 < total && k < 1500 {
			return nil
		}
		if kind == kindUnknown && (structured(blocks, keep) || k*10 < total*unknownShare) {
			return nil
		}
		return keep
	}
	base, err := url.Parse(p.src.URL)
	if err != nil || p.src.URL == "" {
		base = nil
	}
	result, err := trafilatura.ExtractDocument(doc, trafilatura.Options{
		OriginalURL: base, EnableFallback: true, ExcludeComments: true, HtmlDateMode: trafilatura.Disabled,
	})
	if err == nil && result != nil {
		if keep := try(result.ContentNode); keep != nil {
			return keep, "trafilatura"
		}
	}
	if kind != kindArticle {
		return nil, ""
	}
	if base == nil {
		base = &url.URL{Scheme: "http", Host: "localhost"}
	}
	article, err := readability.FromReader(strings.NewReader(page), base)
	if err == nil {
		if keep := try(article.Node); keep != nil {
			return keep, "readability"
		}
	}
	return nil, ""
}
