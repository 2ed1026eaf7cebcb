package extract

import (
	"net/url"
	"strings"

	"github.com/go-shiori/go-readability"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
)

// mainContent reads the main content of a page that is not too large for it. It reports false when nothing was emitted.
//
// Extractors of articles choose what is content on pages that are articles or do not say what they are; the page itself
// is read for what they chose. On pages of other kinds they lose code, tables and posts, and everything in the main part
// that is not named as surroundings is content.
func (p *parser) mainContent(doc *html.Node, page string, f *pageFacts, visible int) (bool, error) {
	t := weigh(doc)
	drop := t.surroundings(doc)
	blocks, err := p.pageBlocks(doc, doc, drop)
	if err != nil || len(blocks) == 0 {
		return false, err
	}
	if visible < minArticleText {
		return p.emitChosen("all", blocks, nil)
	}
	kind := kindOf(f, doc)
	if kind != kindWhole {
		if keep, route := p.chosen(doc, page, blocks, t, kind); keep != nil {
			return p.emitChosen(route, blocks, keep)
		}
	}
	if region := t.region(doc); region != doc {
		if blocks, err = p.pageBlocks(doc, region, drop); err != nil {
			return false, err
		}
	}
	return p.emitChosen("main", blocks, nil)
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

func (p *parser) emitChosen(route string, blocks []htmlBlock, keep []bool) (bool, error) {
	p.doc.Route = route
	for i, b := range blocks {
		if keep != nil && !keep[i] {
			continue
		}
		if err := p.out.add(b.Block); err != nil {
			return true, err
		}
	}
	return true, nil
}

// chosen asks go-trafilatura, then go-readability, which blocks are content, and distrusts either when it kept little of
// what the page shows. It returns nil when all of the main part is the better reading.
func (p *parser) chosen(doc *html.Node, page string, blocks []htmlBlock, t *pageTree, kind pageKind) ([]bool, string) {
	total := 0
	for _, b := range blocks {
		total += countLetters(b.Text)
	}
	kept := func(keep []bool) int {
		sum := 0
		for i, b := range blocks {
			if keep[i] {
				sum += countLetters(b.Text)
			}
		}
		return sum
	}
	try := func(n *html.Node) []bool {
		if n == nil {
			return nil
		}
		setAtoms(n)
		keep := indexExtract(n).choose(blocks, t)
		k := kept(keep)
		if k < 200 && k*3 < total || kind != kindArticle && k*8 < total && k < 1500 {
			return nil
		}
		if kind == kindUnknown && structured(blocks, keep) {
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
