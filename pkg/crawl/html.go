package crawl

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	maxTitleRunes    = 300
	maxHrefs         = 10_000  // looked at in one page
	maxHrefBytes     = 1 << 20 // of them together: reading an address can be made costly
	maxLinksFromPage = 2_000   // taken from one page
)

// pageReader collects what a page's HTML says, by colly's callbacks.
type pageReader struct {
	product string
	req     PageRequest
	scope   *scope

	title     string
	canonical string
	robots    robotsDirectives
	hrefs     []string
	hrefBytes int
	base      string
	final     *url.URL
}

func newPageReader(product string, req PageRequest, sc *scope) *pageReader {
	return &pageReader{product: product, req: req, scope: sc}
}

// register sets the callbacks. They run for every HTML answer, so also for a redirect's, which has no body here.
func (p *pageReader) register(col *colly.Collector) {
	col.OnHTML("html", func(e *colly.HTMLElement) {
		p.final = e.Request.URL
		// As in browsers, a base that is no web address is none.
		if p.base = e.Request.AbsoluteURL(""); !isWebAddress(p.base) {
			p.base = p.final.String()
		}
	})
	col.OnHTML("title", func(e *colly.HTMLElement) {
		if p.title == "" && e.DOM.ParentsFiltered("svg").Length() == 0 {
			p.title = shorten(strings.Join(strings.Fields(strings.ToValidUTF8(e.Text, "")), " "), maxTitleRunes)
		}
	})
	col.OnHTML("meta[name][content]", func(e *colly.HTMLElement) {
		name := strings.TrimSpace(e.Attr("name"))
		if strings.EqualFold(name, "robots") || strings.EqualFold(name, p.product) {
			p.robots.add(e.Attr("content"))
		}
	})
	col.OnHTML("link[rel][href]", p.onLinkElement)
	if !p.req.WantLinks || p.scope == nil || !p.req.Scope.Follow {
		return
	}
	col.OnHTML("a[href], area[href]", func(e *colly.HTMLElement) {
		if !hasToken(e.Attr("rel"), "nofollow") {
			p.addHref(e.Attr("href"))
		}
	})
	col.OnHTML("frame[src], iframe[src]", func(e *colly.HTMLElement) { p.addHref(e.Attr("src")) })
	col.OnHTML("meta[http-equiv][content]", func(e *colly.HTMLElement) {
		if strings.EqualFold(e.Attr("http-equiv"), "refresh") {
			p.addHref(refreshTarget(e.Attr("content")))
		}
	})
}

// onLinkElement takes the canonical address, and as links the next page and translations.
func (p *pageReader) onLinkElement(e *colly.HTMLElement) {
	rel, href := e.Attr("rel"), e.Attr("href")
	if hasToken(rel, "canonical") && p.canonical == "" {
		if _, u, err := normaliseOn(readBase(p.base), href); err == nil {
			p.canonical = u
		}
	}
	if !p.req.WantLinks || p.scope == nil || !p.req.Scope.Follow {
		return
	}
	if hasToken(rel, "next") || hasToken(rel, "prev") || hasToken(rel, "canonical") ||
		(hasToken(rel, "alternate") && e.Attr("hreflang") != "") {
		p.addHref(href)
	}
}

func (p *pageReader) addHref(href string) {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(p.hrefs) >= maxHrefs || p.hrefBytes+len(href) > maxHrefBytes {
		return
	}
	p.hrefs = append(p.hrefs, href)
	p.hrefBytes += len(href)
}

// finish puts into page what HTML and header say together.
func (p *pageReader) finish(page *Page, header http.Header) {
	for _, v := range header.Values("X-Robots-Tag") {
		p.robots.addHeader(v, p.product)
	}
	page.Title, page.Canonical = p.title, p.canonical
	page.NoIndex, page.NoFollow = p.robots.noIndex, p.robots.noFollow
	if page.NoFollow || len(p.hrefs) == 0 {
		return
	}
	if p.final != nil && p.req.Depth == 0 {
		p.scope.admit(p.final) // the root redirects: where it leads is the site
	}
	page.Refused = make(map[Refusal]int)
	self, _ := Normalise(page.URL)
	seen := map[string]bool{self: true}
	base := readBase(p.base)
	for _, href := range p.hrefs {
		u, why := p.scope.take(base, href, p.req.Depth+1)
		switch {
		case why != "":
			page.Refused[why]++
		case seen[u]:
		case len(page.Links) == maxLinksFromPage:
			page.Refused[RefusedPageLimit]++
		default:
			seen[u] = true
			page.Links = append(page.Links, domain.Link{URL: u, Depth: p.req.Depth + 1})
		}
	}
}

// robotsDirectives are what meta robots and X-Robots-Tag ask for.
type robotsDirectives struct{ noIndex, noFollow bool }

func (r *robotsDirectives) add(content string) {
	for token := range strings.SplitSeq(strings.ToLower(content), ",") {
		switch strings.TrimSpace(token) {
		case "noindex":
			r.noIndex = true
		case "nofollow":
			r.noFollow = true
		case "none":
			r.noIndex, r.noFollow = true, true
		}
	}
}

// valuedDirectives are directives that have a colon themselves, where else a colon follows a crawler's name.
var valuedDirectives = map[string]bool{
	"unavailable_after": true, "max-snippet": true, "max-image-preview": true, "max-video-preview": true,
}

// addHeader reads an X-Robots-Tag, which may begin with the name of the crawler that it is for.
func (r *robotsDirectives) addHeader(value, product string) {
	name, rest, named := strings.Cut(value, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	if named && !strings.Contains(name, ",") && !valuedDirectives[name] {
		if !strings.EqualFold(name, product) {
			return
		}
		value = rest
	}
	r.add(value)
}

// refreshTarget is the address in `5; url=/next`.
func refreshTarget(content string) string {
	_, rest, ok := strings.Cut(content, ";")
	if !ok {
		return ""
	}
	key, target, ok := strings.Cut(rest, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(key), "url") {
		return ""
	}
	return strings.Trim(strings.TrimSpace(target), `'"`)
}

func isWebAddress(s string) bool {
	_, err := parseRef("", s)
	return err == nil
}

func hasToken(list, token string) bool {
	for _, f := range strings.Fields(list) {
		if strings.EqualFold(f, token) {
			return true
		}
	}
	return false
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
