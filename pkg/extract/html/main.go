package html

import (
	"slices"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/domain"
)

// mainContent emits a page's main content. It returns false if there is none. `page` is the page's source, or "" if it
// is too large for the article extractor.
//
// Content is everything in the page's main region except the surroundings. If the page declares itself an article, the
// article extractor then selects blocks from it.
func (p *reader) mainContent(doc *html.Node, page string, f *pageFacts, visible int) (bool, error) {
	t := weigh(doc)
	region := t.region(doc)
	drop := t.surroundings(doc, region)
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
	main := inRegion(blocks, region)
	if page != "" && visible >= minArticleText && declaresArticle(f, doc) {
		if keep := p.article(page, blocks, main, t, region, f.link); keep != nil {
			keepPictures(blocks, main, keep)
			p.dropTitle(blocks, keep)
			return p.emitKept("article", blocks, keep)
		}
	}
	return p.emitKept("main", blocks, main)
}

// pageBlocks reads the blocks in `root`, a subtree of the page. It skips the elements in `drop`, including their
// content.
func (p *reader) pageBlocks(doc, root *html.Node, drop map[*html.Node]bool) ([]block, error) {
	var blocks []block
	w := &walker{
		p: p, base: p.pageBase(doc), readAlts: true,
		skip: func(n *html.Node) bool { return drop[n] },
		take: func(b block) error {
			blocks = append(blocks, b)
			return nil
		},
	}
	err := w.run(root)
	return blocks, err
}

// dropTitle drops every occurrence of an article's title, because documents store the title separately from the text.
func (p *reader) dropTitle(blocks []block, keep []bool) {
	title, left := lettersOf(p.Doc.Title), 0
	for i, b := range blocks {
		if !keep[i] {
			continue
		}
		if title != "" && len(b.Text) < 2*len(p.Doc.Title) && lettersOf(b.Text) == title {
			keep[i] = false
			continue
		}
		left++
	}
	for i, b := range blocks {
		if left == 0 && lettersOf(b.Text) == title {
			keep[i] = true // keep the title if the page has no other text
		}
	}
}

// inRegion reports, for each block, whether it is the page's heading or in the main region.
func inRegion(blocks []block, region *html.Node) []bool {
	keep := make([]bool, len(blocks))
	titled := false
	for i, b := range blocks {
		keep[i] = isWithin(b.node, region) || isPageTitle(b.node)
		titled = titled || keep[i] && b.Kind == domain.BlockHeading && b.Level == 1
	}
	for i, b := range blocks {
		if !titled && b.Kind == domain.BlockHeading && b.Level == 1 {
			keep[i], titled = true, true
		}
	}
	if !titled {
		keepHeadingBefore(blocks, keep, region)
	}
	return keep
}

// keepHeadingBefore keeps the last heading before the main region if the heading's parent element contains the region.
func keepHeadingBefore(blocks []block, keep []bool, region *html.Node) {
	for i := slices.Index(keep, true) - 1; i >= 0; i-- {
		if b := blocks[i]; b.Kind == domain.BlockHeading {
			keep[i] = b.node.Parent != nil && isWithin(region, b.node.Parent)
			return
		}
	}
}

// emitAll emits the blocks unless err is set.
func (p *reader) emitAll(route string, blocks []block, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	keep := make([]bool, len(blocks))
	for i := range keep {
		keep[i] = true
	}
	return p.emitKept(route, blocks, keep)
}

func (p *reader) emitKept(route string, blocks []block, keep []bool) (bool, error) {
	p.Doc.Route = route
	for i, b := range blocks {
		if !keep[i] {
			continue
		}
		if err := p.Out.Add(b.domainBlock(p.Src.PlainRows)); err != nil {
			return true, err
		}
	}
	return true, nil
}
