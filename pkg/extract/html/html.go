// Package html reads web pages: a page's main content or the whole page, with metadata, tables, lists and links.
package html

import (
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

const (
	maxArticleBytes = 4 << 20 // maximum size for the article extractor, whose running time grows faster than the size
	maxArticleNodes = 60_000
	maxWeighedNodes = 500_000 // larger pages are read whole, except for elements such as nav and footer
	maxPageNodes    = 2_000_000

	// minArticleText is the minimum size, in bytes of visible text, of a page from which an article is extracted.
	// Shorter pages are read whole: there is little to leave out, and an article extractor would only guess and lose
	// their structure.
	minArticleText = 1000
)

// read reads a page's main content, or all of its text if it can't tell the main content from navigation and
// boilerplate.
func read(in *format.Parser) error {
	p := &reader{Parser: in}
	if err := p.page(); err != nil {
		return err
	}
	if p.Doc.MIMEType == format.TypeHTML {
		p.Doc.LinkList = p.Out.IsLinkList()
	}
	return nil
}

// reader reads one page.
type reader struct {
	*format.Parser
	anchors map[*html.Node]string // anchors of headings and defined terms, for pages with an address

	pictured map[*html.Node][]domain.Block // text of pictures
}

func (p *reader) page() error {
	data, err := p.Src.Bytes()
	if err != nil {
		return err
	}
	page, enc := charset.Decode(data, p.pageCharset(data))
	if IsXHTML([]byte(page[:min(len(page), 4096)]), p.Src.Declared) {
		page = ExpandXHTML(page)
	}
	doc, err := parseHTML(page)
	if err != nil {
		// The elements are nested too deeply for the parser, so read just the tokens.
		p.Doc.Route = "html/tokens/" + enc
		p.Out.Warn("the page is nested too deeply; only its text was read, without headings, lists and tables")
		return p.htmlFragment(page)
	}
	if p.Src.URL != "" {
		p.anchors = headingAnchors(doc)
	}
	facts := p.pageFacts(doc)
	p.pageMetadata(facts)
	nodes, visible := measurePage(doc)
	if nodes > maxPageNodes {
		return format.Errorf(format.TooLarge, "the page has more than %d elements", maxPageNodes)
	}
	if nodes <= maxWeighedNodes {
		if nodes > maxArticleNodes || len(page) > maxArticleBytes {
			page = "" // don't use the article extractor
		}
		done, err := p.mainContent(doc, page, facts, visible)
		if done || err != nil {
			p.Doc.Route = "html/" + p.Doc.Route + "/" + enc
			return err
		}
	}
	p.Doc.Route = "html/all/" + enc
	w := &walker{p: p, base: p.pageBase(doc)}
	if visible > 0 {
		w.skip, w.readAlts = isSurrounding, true
	}
	if err := w.run(doc); err != nil {
		return err
	}
	if p.Out.Letters == 0 && hasScripts(doc) {
		return format.Errorf(format.NoText, "the page has no text, because scripts build it in the browser; open it in a browser, save it there and upload the result, or upload the text itself")
	}
	return nil
}

// hasScripts reports whether a page has scripts that run.
func hasScripts(doc *html.Node) bool {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Script && !strings.Contains(attr(n, "type"), "json") {
			return true
		}
	}
	return false
}

var metaCharset = lazyregexp.New(`(?i)<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:-]+)`)

// pageCharset returns the page's declared encoding. A declaration outside the page, such as an HTTP header, overrides a
// meta element.
func (p *reader) pageCharset(data []byte) string {
	if cs := p.DeclaredCharset(); cs != "" {
		return cs
	}
	if m := metaCharset().FindSubmatch(data[:min(len(data), 4096)]); m != nil {
		return string(m[1])
	}
	return ""
}

// pageBase returns the base URL for relative links, or nil if it is unknown.
func (p *reader) pageBase(doc *html.Node) *url.URL {
	base, err := url.Parse(p.Src.URL)
	if err != nil || !base.IsAbs() {
		base = nil
	}
	for n := range doc.Descendants() {
		if n.DataAtom != atom.Base || attr(n, "href") == "" {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(attr(n, "href")))
		if err == nil && base != nil {
			u = base.ResolveReference(u)
		}
		if err == nil && u.IsAbs() {
			return u
		}
		break
	}
	return base
}

// setAtoms sets the DataAtom of every node, because article extractors leave it unset.
func setAtoms(n *html.Node) {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && c.DataAtom == 0 {
			c.DataAtom = atom.Lookup([]byte(c.Data))
		}
	}
}

// measurePage counts nodes and bytes of visible text.
func measurePage(doc *html.Node) (nodes, visible int) {
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			nodes++
			switch {
			case c.Type == html.TextNode:
				visible += len(strings.TrimSpace(c.Data))
			case c.Type == html.ElementNode && !isInvisible(c) && !isSurrounding(c):
				walk(c)
			}
		}
	}
	walk(doc)
	return nodes, visible
}

// readPiece emits all content of HTML embedded in another format. It reads the HTML as XHTML if the source is declared
// as XHTML.
func readPiece(in *format.Parser, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	p, page := &reader{Parser: in}, string(data)
	if IsXHTML(nil, in.Src.Declared) {
		page = ExpandXHTML(page)
	}
	doc, err := parseHTML(page)
	if err != nil {
		return p.htmlFragment(page)
	}
	return (&walker{p: p}).run(doc)
}

// htmlFragment emits an HTML fragment from its tokens, without building a tree.
func (p *reader) htmlFragment(s string) error {
	z := html.NewTokenizer(strings.NewReader(s))
	var b strings.Builder
	hidden := 0
	for {
		if b.Len() > format.MaxBlockBytes {
			if err := p.Out.Paragraph(b.String(), 0); err != nil {
				return err
			}
			b.Reset()
		}
		switch z.Next() {
		case html.ErrorToken: // the end: a string reader returns no other error
			return p.Out.Paragraph(b.String(), 0)
		case html.TextToken:
			if hidden == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == atom.Script || a == atom.Style {
				hidden++
			} else if isBlockElement(a) {
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); (a == atom.Script || a == atom.Style) && hidden > 0 {
				hidden--
			} else if isBlockElement(a) {
				b.WriteByte('\n')
			}
		}
	}
}
