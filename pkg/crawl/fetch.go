package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/crawl/sitemap"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
)

// PageRequest specifies a fetch.
type PageRequest struct {
	URL string
	// ETag and LastModified are the validators from the last fetch. The request is conditional if either is set.
	ETag         string
	LastModified string
	// WantLinks requests the page's links within Scope. If Scope is nil, the fetch returns no links.
	WantLinks bool
	Scope     *domain.SiteScope
	// PastPatterns keeps links that Scope's patterns reject, for callers that apply the patterns themselves.
	PastPatterns bool
	// Depth is the number of links from the site's root to the page.
	Depth int

	refused func(address string, why scope.Refusal) // called for each rejected link; may be nil
}

// Page is the result of a fetch. The caller must call Close.
type Page struct {
	NotModified  bool   // unchanged since the last fetch; there is no body
	StatusCode   int    // 2xx or 304
	URL          string // after redirects
	Body         *Body  // nil if NotModified
	MIMEType     string // declared or sniffed type, with a charset if the header has one
	ETag         string
	LastModified string
	FileName     string // from Content-Disposition, without a path; at most 255 bytes
	Title        string // HTML only; at most 300 characters
	// Redirects are the hops from the requested address to URL, at most 10.
	Redirects []domain.Redirect
	// Canonical is the page's normalised canonical address. It is "" if the page declares no canonical address,
	// declares its own address, or declares one that is out of scope.
	Canonical string
	// TextHash is the hash of an HTML page's main text and title. Sketch is for finding similar texts; see package textid.
	// Both are empty if the page has no text.
	TextHash  string
	Sketch    []byte
	Links     []domain.Link // in scope, normalised, without duplicates, in page order
	Refused   map[scope.Refusal]int
	NoIndex   bool // meta robots or X-Robots-Tag forbids indexing
	NoFollow  bool // meta robots or X-Robots-Tag forbids following links, so Links is empty
	Rendered  bool // rendered by a browser, so Body is UTF-8 and there are no validators
	IsSitemap bool // the body is a sitemap or feed, possibly compressed, rather than a page
}

// Close releases the body.
func (p Page) Close() error { return p.Body.Close() }

// Fetch fetches one page. It obeys robots.txt, waits for a slot at the host, follows redirects and limits the body's
// size. Errors are *Error, unless ctx or Close ended the fetch.
func (c *Crawler) Fetch(ctx context.Context, req PageRequest) (_ Page, err error) {
	ctx, done, err := c.begin(ctx)
	if err != nil {
		return Page{}, err
	}
	defer done()
	var sc *scope.Scope
	if req.Scope != nil {
		if sc, err = scope.New(*req.Scope); err != nil {
			return Page{}, permanent(req.Scope.Root, "%s", err).withCause(err)
		}
		sc.Now = c.opts.Now()
	}
	reader := newPageReader(c.product, req, sc)
	a, err := c.retrieve(ctx, retrieval{
		url: req.URL, header: conditional(req), limit: c.opts.MaxBody, html: reader.read, redirectOf: reader.redirectTarget,
	})
	if err != nil {
		return Page{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.body.Close())
		}
	}()
	if a.kind.IsHTML() && a.status != http.StatusNotModified {
		if err := reader.hiddenError(a.redirects, a.url); err != nil {
			return Page{}, err
		}
	}
	if err := checkLanding(req, sc, a.url); err != nil {
		return Page{}, err
	}
	p := Page{
		NotModified: a.status == http.StatusNotModified, StatusCode: a.status, URL: a.url.String(), Body: a.body,
		ETag: validator(a.header, "ETag"), LastModified: validator(a.header, "Last-Modified"),
		Redirects: a.redirects, FileName: content.FileName(a.header.Get("Content-Disposition")),
	}
	if p.NotModified {
		// RFC 9110, section 15.4.5: a validator omitted from the 304 stays valid.
		p.ETag = cmp.Or(p.ETag, req.ETag)
		p.LastModified = cmp.Or(p.LastModified, req.LastModified)
		return p, nil
	}
	if a.softRedirect {
		// The validators belong to the redirecting page. If they were kept, the next fetch would miss a changed target.
		p.ETag, p.LastModified = "", ""
		if !a.kind.IsHTML() {
			reader.reset() // it has read the redirecting page
		}
	}
	p.MIMEType = a.kind.String()
	head, err := a.body.head(sitemap.HeadBytes)
	if err != nil {
		return Page{}, fmt.Errorf("reading %s: %w", p.URL, err)
	}
	p.IsSitemap = sitemap.IsList(head, a.body.Size() > sitemap.HeadBytes, a.kind)
	reader.finish(&p, a.header, a.url)
	if a.softRedirect {
		reader.addSelf(&p)
	}
	if reader.scripted() && !p.NoIndex && !p.IsSitemap {
		return c.render(ctx, req, sc, p, a)
	}
	return p, nil
}

// Maximum length of a validator in bytes. Every job for the page and every event about it carries the validators.
const maxValidatorBytes = 1 << 10

// validator returns a response header for conditional requests, or "" if it is too long.
func validator(h http.Header, name string) string {
	if v := h.Get(name); len(v) <= maxValidatorBytes {
		return v
	}
	return ""
}

// checkLanding rejects pages that redirect to another site. Only the root may do that: it means that the site has
// moved.
func checkLanding(req PageRequest, sc *scope.Scope, final *url.URL) error {
	if sc == nil || domain.SameAddress(req.URL, req.Scope.Root) {
		return nil
	}
	if asked, err := weburl.Parse(req.URL); err == nil {
		sc.Add(asked)
	}
	if !sc.HasHost(final) {
		return permanent(req.URL, "%s no longer belongs to the site: it redirects to %s", req.URL, final)
	}
	return nil
}

// conditional returns the headers that make the request conditional (RFC 9110, sections 13.1.2 and 13.1.3).
func conditional(req PageRequest) http.Header {
	h := http.Header{}
	if req.ETag != "" {
		h.Set("If-None-Match", req.ETag)
	}
	if req.LastModified != "" {
		h.Set("If-Modified-Since", req.LastModified)
	}
	return h
}
