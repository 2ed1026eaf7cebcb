package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
)

// retrieval specifies how to fetch an address, including its redirects.
type retrieval struct {
	url     string
	header  http.Header // validators for a conditional request
	limit   int64       // maximum size of the body in bytes
	anyType bool
	html    func(root *html.Node) // receives each parsed page; may be nil
	// redirectOf returns the address that an HTML page redirects to, or nil if the page has its own content. If
	// redirectOf is nil, no HTML page counts as a redirect.
	redirectOf func(header http.Header, at *url.URL) *url.URL
}

// response is a retrieval's last response: 2xx with a body, or 304 without one.
type response struct {
	url          *url.URL
	status       int
	header       http.Header
	kind         content.Type
	body         *Body
	redirects    []domain.Redirect
	softRedirect bool // at least one redirect came from a page rather than a status code
	private      bool // the server is outside the public internet
	// crawlDelay is the minimum interval between two requests according to the host's robots.txt.
	crawlDelay time.Duration
}

// retrieve sends the requests with colly and checks robots.txt for every hop.
func (c *client) retrieve(ctx context.Context, r retrieval) (response, error) {
	u, err := weburl.Parse(r.url)
	if err != nil {
		return response{}, c.badAddress(r.url, err)
	}
	col := c.collector(ctx)
	if r.html != nil {
		// Register only one selector and read the whole tree in its callback, because each selector costs another traversal
		// of the document, and colly collects the text of each selected element. Every parsed page has a head element.
		col.OnHTML("head", func(e *colly.HTMLElement) { r.html(e.DOM.Nodes[0].Parent) })
	}
	budget, header := c.opts.Timeout, r.header
	trail := redirectChain{first: u}
	sentOn := false
	for {
		if err := checkURL(c.guard, u); err != nil {
			return response{}, err
		}
		h := &hop{client: c, ctx: ctx, limit: r.limit, anyType: r.anyType, budget: &budget}
		next, err := c.step(ctx, col, h, u, header)
		if err != nil {
			return response{}, errors.Join(err, h.release())
		}
		ctx = withInProgress(ctx)
		if next == nil && r.redirectOf != nil && h.body != nil && (h.kind.IsHTML() || h.body.Size() == 0) {
			// A page that redirects to an address already visited counts as content.
			if to := r.redirectOf(h.header, u); to != nil && !trail.visited(to) {
				next, sentOn, header = to, true, nil
			}
		}
		if next == nil {
			return response{
				url: u, status: h.status, header: h.header, kind: h.kind, body: h.body, redirects: trail.hops, softRedirect: sentOn,
				private: h.private, crawlDelay: h.crawlDelay,
			}, nil
		}
		if err := h.release(); err != nil {
			return response{}, fmt.Errorf("releasing the body of %s: %w", u, err)
		}
		if err := trail.add(u, next, h); err != nil {
			return response{}, err
		}
		u = next
	}
}

// step sends one of the fetch's requests. If the response is a redirect, step returns the redirect's target. Otherwise
// it returns nil.
func (c *client) step(ctx context.Context, col *colly.Collector, h *hop, u *url.URL, header http.Header) (*url.URL, error) {
	col.WithTransport(h)
	hdr := make(http.Header)
	maps.Copy(hdr, header)
	hdr.Set("User-Agent", c.opts.UserAgent)
	hdr.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	hdr.Set("Accept-Encoding", acceptEncoding)
	err := col.Request(http.MethodGet, u.String(), nil, nil, hdr)
	if err != nil && !h.done {
		return nil, classify(ctx, u.String(), err)
	}
	if err != nil { // only parsing failed, and extraction handles such pages in its own way
		c.opts.Log.DebugContext(ctx, "reading the links of a page failed", "url", u.String(), "error", err)
	}
	if h.body != nil {
		if err := h.body.rewind(); err != nil {
			return nil, fmt.Errorf("reading the stored body of %s: %w", u, err)
		}
	}
	switch {
	case h.status == http.StatusNotModified && (header.Get("If-None-Match") != "" || header.Get("If-Modified-Since") != ""):
		return nil, nil
	case h.location() != "":
		next, err := weburl.Resolve(u.String(), h.location())
		if err != nil {
			return nil, permanent(u.String(), "%s redirects to %.200q, which is not a web address", u, h.location()).withCause(err)
		}
		return next, nil
	case h.status < 200 || h.status >= 300 || isStatusWithoutPage(h.status):
		e := statusError(u.String(), h.status, h.header, c.opts.Now())
		if !e.Permanent {
			e.RetryAfter = max(e.RetryAfter, c.polite.breaker.pauseLeft(u.Host, c.opts.Now()))
		}
		return nil, e
	}
	return nil, nil
}

// badAddress returns the error for an unparsable address.
func (c *client) badAddress(raw string, err error) error {
	if errors.Is(err, weburl.ErrTooLong) {
		begin := strings.ToValidUTF8(raw[:100], "")
		return permanent(begin, "%s… cannot be fetched: %v", begin, err).withCause(err)
	}
	if u, perr := url.Parse(raw); perr == nil && u.Scheme != "" {
		if err := checkURL(c.guard, u); err != nil {
			return err
		}
	}
	return permanent(raw, "%q is not a web address; it must begin with http:// or https://, followed by a host", raw).withCause(err)
}

// collector returns a colly collector for one fetch. It doesn't use NewCollector, which would let environment variables
// override the settings.
func (c *client) collector(ctx context.Context) *colly.Collector {
	col := &colly.Collector{}
	col.Init()
	col.UserAgent = c.opts.UserAgent
	col.IgnoreRobotsTxt = true        // hop checks it
	col.AllowURLRevisit = true        // a fetch may return to an address after a cookie was set
	col.ParseHTTPErrorResponse = true // statuses are checked here
	col.MaxBodySize = 0               // the transport limits it and never truncates
	col.Context = ctx
	col.SetRequestTimeout(0) // the transport enforces the fetch's deadline, which excludes waiting for slots
	col.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	return col
}
