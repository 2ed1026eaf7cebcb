package crawl

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	maxTitleRunes    = 300
	maxHrefs         = 10_000  // maximum number of references to examine per page
	maxHrefBytes     = 1 << 20 // maximum total size of these references, because parsing addresses can be expensive
	maxLinksFromPage = 2_000   // maximum number of links to use per page
)

// pageReader collects the metadata and links from a page's HTML.
type pageReader struct {
	product string
	req     PageRequest
	scope   *scope.Scope

	root       *html.Node // root of the parsed page; nil if it is not HTML
	title      string
	heading    string // the first level-1 heading
	password   bool   // the page has a password field
	account    bool   // the page has an account name field
	canonical  string // as written
	robots     robots.Directives
	hrefs      []string
	hrefBytes  int
	noFollow   int        // links missing from `hrefs` because of rel=nofollow
	noFollowed []string   // these links' addresses, if the request asks for them
	downloads  int        // links that declare a file without text
	downloaded []string   // these links' addresses, if the request asks for them
	routes     int        // links to client-side routes
	base       string     // href of the first base element, or ""
	signs      shellSigns // amount of text, and signs that scripts build the page
	redirects  softRedirects
}

func newPageReader(product string, req PageRequest, sc *scope.Scope) *pageReader {
	return &pageReader{product: product, req: req, scope: sc}
}

// reset clears the last page's results.
func (p *pageReader) reset() { *p = pageReader{product: p.product, req: p.req, scope: p.scope} }

// scripted reports whether the page has no content until its scripts have run.
func (p *pageReader) scripted() bool { return p.signs.needsScript() }

// wantLinks reports whether the page's links are needed.
func (p *pageReader) wantLinks() bool { return p.req.WantLinks && p.scope != nil && p.req.Scope.Follow }

// read collects the results in one pass over the elements. It first clears the results for the previous page, which may
// have redirected to this one.
func (p *pageReader) read(root *html.Node) {
	p.reset()
	p.root = root
	p.signs.read(root)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Namespace == "" {
			p.element(n)
		}
	}
}

func (p *pageReader) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Title:
		if p.title == "" {
			p.title = title(n)
		}
	case atom.Base:
		if p.base == "" {
			p.base = strings.TrimSpace(attr(n, "href"))
		}
	case atom.H1:
		if p.heading == "" {
			p.heading = headingText(n)
		}
	case atom.Input:
		p.password = p.password || strings.EqualFold(attr(n, "type"), "password")
		p.account = p.account || isAccountField(n)
	case atom.Meta:
		p.meta(n)
	case atom.Link:
		p.link(attr(n, "rel"), attr(n, "href"), attr(n, "hreflang"))
	case atom.A, atom.Area:
		href := attr(n, "href")
		if rel := attr(n, "rel"); href != "" && (hasToken(rel, "nofollow") || hasToken(rel, "ugc") || hasToken(rel, "sponsored")) {
			p.noFollow++
			if p.req.refused != nil && len(p.noFollowed) < maxHrefs {
				p.noFollowed = append(p.noFollowed, href)
			}
			return
		}
		_, download := attributeOf(n, "download")
		if content.IsDownloadOf(href, attr(n, "type"), download) {
			p.downloads++
			if p.req.refused != nil && len(p.downloaded) < maxHrefs {
				p.downloaded = append(p.downloaded, href)
			}
			return
		}
		p.addHref(href)
	case atom.Frame, atom.Iframe:
		p.addHref(attr(n, "src"))
	case atom.Script:
		if n.FirstChild != nil && isCode(n) && attr(n, "src") == "" {
			p.redirects.addScript(n.FirstChild.Data)
		}
	case atom.Body:
		p.redirects.addScript(attr(n, "onload"))
	case atom.Noscript:
		if n.FirstChild != nil {
			p.redirects.readNoScript(n.FirstChild.Data)
		}
	}
}

func (p *pageReader) meta(n *html.Node) {
	content := attr(n, "content")
	switch name := strings.TrimSpace(attr(n, "name")); {
	case content == "":
	case strings.EqualFold(name, "robots") || strings.EqualFold(name, p.product):
		p.robots.Add(content)
	case strings.EqualFold(strings.TrimSpace(attr(n, "http-equiv")), "refresh"):
		if r, ok := parseRefresh(content); ok && r.target != "" && p.redirects.refresh.target == "" {
			p.redirects.refresh = r
			p.addHref(r.target)
		}
	}
}

// link processes a link element or Link header. It records the canonical address. The canonical page, the previous and
// next pages, and translations count as links.
func (p *pageReader) link(rel, href, hreflang string) {
	canonical := hasToken(rel, "canonical")
	if canonical && p.canonical == "" {
		p.canonical = href
	}
	if canonical || hasToken(rel, "next") || hasToken(rel, "prev") || hasToken(rel, "alternate") && hreflang != "" {
		p.addHref(href)
	}
}

func (p *pageReader) addHref(href string) {
	href = strings.TrimSpace(href)
	if isRoute(href) {
		p.routes++
	}
	if !p.wantLinks() || href == "" || href[0] == '#' || len(p.hrefs) >= maxHrefs || p.hrefBytes+len(href) > maxHrefBytes {
		return
	}
	p.hrefs = append(p.hrefs, href)
	p.hrefBytes += len(href)
}

// finish fills in `page` from the HTML and the header. `final` is the page's address after redirects.
func (p *pageReader) finish(page *Page, header http.Header, final *url.URL) {
	for _, v := range header.Values("X-Robots-Tag") {
		p.robots.AddHeader(v, p.product)
	}
	page.Title = p.title
	page.NoIndex, page.NoFollow = p.robots.NoIndex, p.robots.NoFollow
	if p.scope != nil && p.req.Depth == 0 {
		p.scope.Add(final) // the root may have redirected, and the target belongs to the site
	}
	own := weburl.NewBase(page.URL)
	base := p.documentBase(own)
	self, _ := weburl.Normalise(page.URL)
	for _, l := range linkHeaders(header.Values("Link")) {
		// Addresses in a header are relative to the page's own address (RFC 8288, section 3.2).
		if u, err := own.Parse(l.target); err == nil {
			p.link(l.rel, u.String(), l.hreflang)
		}
	}
	page.Canonical = p.canonicalOn(base, self)
	p.identify(page)
	if page.NoFollow {
		return
	}
	if p.scope != nil {
		p.scope.SetPage(final)
	}
	p.filterLinks(page, base, self)
}

// documentBase returns the base address for the page's relative links. As in browsers, this is the address in the
// page's base element. If the page has no such element, or the element contains no web address, the base is the page's
// own address.
func (p *pageReader) documentBase(own *weburl.Base) *weburl.Base {
	if u, err := own.Parse(p.base); err == nil && p.base != "" {
		return weburl.NewBase(u.String())
	}
	return own
}

// canonicalOn returns the page's canonical address. It returns "" if the page declares none, or if the canonical
// address is the page's own or outside the site.
func (p *pageReader) canonicalOn(base *weburl.Base, self string) string {
	if p.canonical == "" {
		return ""
	}
	var u string
	if p.scope == nil {
		_, u, _ = base.Normalise(p.canonical) // "" if invalid
	} else {
		u, _ = p.scope.Resolve(base, p.canonical, 0) // "" if rejected
	}
	if u == self {
		return ""
	}
	return u
}

func (p *pageReader) filterLinks(page *Page, base *weburl.Base, self string) {
	if len(p.hrefs) == 0 && p.noFollow == 0 && p.downloads == 0 && p.routes == 0 || !p.wantLinks() {
		return
	}
	page.Refused = make(map[scope.Refusal]int)
	if p.noFollow > 0 {
		page.Refused[scope.RefusedNoFollow] = p.noFollow
	}
	for _, href := range p.noFollowed {
		p.req.refused(scope.Resolved(base, href), scope.RefusedNoFollow)
	}
	if p.routes > 0 {
		page.Refused[scope.RefusedRoute] = p.routes
	}
	if p.downloads > 0 {
		page.Refused[scope.RefusedMedia] = p.downloads
	}
	for _, href := range p.downloaded {
		p.req.refused(scope.Resolved(base, href), scope.RefusedMedia)
	}
	seen := map[string]bool{self: true}
	for _, href := range p.hrefs {
		take := p.scope.Resolve
		if p.req.PastPatterns {
			take = p.scope.ResolveLink
		}
		u, why := take(base, href, p.req.Depth+1)
		switch {
		case why != "":
			page.Refused[why]++
			if p.req.refused != nil {
				p.req.refused(scope.Resolved(base, href), why)
			}
		case seen[u]:
		case len(page.Links) == maxLinksFromPage:
			page.Refused[scope.RefusedPageLimit]++
		default:
			seen[u] = true
			page.Links = append(page.Links, domain.Link{URL: u, Depth: p.req.Depth + 1})
		}
	}
}

// addSelf adds the address of the page itself to the page's links. After a redirect, this address differs from the
// requested one, and the site has a page there that needs its own job.
func (p *pageReader) addSelf(page *Page) {
	if !p.wantLinks() || page.NoFollow || len(page.Links) == maxLinksFromPage {
		return
	}
	if u, why := p.scope.Resolve(weburl.NewBase(page.URL), page.URL, p.req.Depth+1); why == "" {
		page.Links = append(page.Links, domain.Link{URL: u, Depth: p.req.Depth + 1})
	}
}

// title returns a title element's text.
func title(n *html.Node) string {
	var b strings.Builder
	for c := range n.ChildNodes() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return shorten(strings.Join(strings.Fields(strings.ToValidUTF8(b.String(), "")), " "), maxTitleRunes)
}

func hasToken(list, token string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(s string) bool { return strings.EqualFold(s, token) })
}

func shorten(s string, runes int) string {
	n := 0
	for i := range s {
		if n == runes {
			return s[:i]
		}
		n++
	}
	return s
}
