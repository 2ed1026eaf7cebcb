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

// retrieval is one address to get, through all its redirects.
type retrieval struct {
	url     string
	header  http.Header // of ours: validators
	limit   int64       // bytes of body
	anyType bool
	html    func(root *html.Node) // is given each parsed page; may be nil
	// onward returns the address that an HTML page redirects to, nil if the page has content of its own. The function may be
	// nil.
	onward func(header http.Header, at *url.URL) *url.URL
}

// answer is the last answer of a retrieval: 2xx with a body, or 304 without.
type answer struct {
	url       *url.URL
	status    int
	header    http.Header
	kind      content.Type
	body      *Body
	redirects []domain.Redirect
	sentOn    bool // at least one redirect came from a page, not from a status code
	inner     bool // its server is not on the public internet
	// crawlDelay is what the robots.txt of the host asks for between two requests.
	crawlDelay time.Duration
}

// retrieve makes the requests with colly. robots.txt is checked for every hop.
func (c *client) retrieve(ctx context.Context, r retrieval) (answer, error) {
	u, err := weburl.Parse(r.url)
	if err != nil {
		return answer{}, c.badAddress(r.url, err)
	}
	col := c.collector(ctx)
	if r.html != nil {
		// The whole tree at once, because every selector is another walk through it, and by its head, which every parsed page
		// has, because colly gathers the text of what it hands over.
		col.OnHTML("head", func(e *colly.HTMLElement) { r.html(e.DOM.Nodes[0].Parent) })
	}
	budget, header := c.opts.Timeout, r.header
	trail := trail{first: u}
	sentOn := false
	for {
		if err := checkURL(c.guard, u); err != nil {
			return answer{}, err
		}
		h := &hop{client: c, ctx: ctx, limit: r.limit, anyType: r.anyType, budget: &budget}
		next, err := c.step(ctx, col, h, u, header)
		if err != nil {
			return answer{}, errors.Join(err, h.release())
		}
		ctx = withBegun(ctx)
		if next == nil && r.onward != nil && h.body != nil && (h.kind.IsHTML() || h.body.Size() == 0) {
			// A page that redirects to an address already visited is kept as content.
			if to := r.onward(h.header, u); to != nil && !trail.visited(to) {
				next, sentOn, header = to, true, nil
			}
		}
		if next == nil {
			return answer{
				url: u, status: h.status, header: h.header, kind: h.kind, body: h.body, redirects: trail.hops, sentOn: sentOn,
				inner: h.inner, crawlDelay: h.crawlDelay,
			}, nil
		}
		if err := h.release(); err != nil {
			return answer{}, fmt.Errorf("releasing the body of %s: %w", u, err)
		}
		if err := trail.add(u, next, h); err != nil {
			return answer{}, err
		}
		u = next
	}
}

// step makes one request. It returns the next address where the answer is a redirect, nil where it is the end.
func (c *client) step(ctx context.Context, col *colly.Collector, h *hop, u *url.URL, header http.Header) (*url.URL, error) {
	col.WithTransport(h)
	hdr := make(http.Header)
	maps.Copy(hdr, header)
	hdr.Set("User-Agent", c.opts.UserAgent)
	hdr.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	hdr.Set("Accept-Encoding", acceptEncoding)
	err := col.Request(http.MethodGet, u.String(), nil, nil, hdr)
	if err != nil && !h.answered {
		return nil, classify(ctx, u.String(), err)
	}
	if err != nil { // the page has come, only its HTML could not be parsed: extraction will have its own opinion
		c.opts.Log.DebugContext(ctx, "links not read", "url", u.String(), "error", err)
	}
	if h.body != nil {
		if err := h.body.rewind(); err != nil {
			return nil, fmt.Errorf("reading the kept body of %s: %w", u, err)
		}
	}
	switch {
	case h.status == http.StatusNotModified && (header.Get("If-None-Match") != "" || header.Get("If-Modified-Since") != ""):
		return nil, nil
	case h.location() != "":
		next, err := weburl.Resolve(u.String(), h.location())
		if err != nil {
			return nil, permanent(u.String(), "%s redirects to %.200q, which is not a web address", u, h.location()).because(err)
		}
		return next, nil
	case h.status < 200 || h.status >= 300 || isWithoutPage(h.status):
		e := statusError(u.String(), h.status, h.header, c.opts.Now())
		if !e.Permanent {
			e.RetryAfter = max(e.RetryAfter, c.polite.breaker.held(u.Host, c.opts.Now()))
		}
		return nil, e
	}
	return nil, nil
}

// badAddress says what is wrong with an address that cannot even be read.
func (c *client) badAddress(raw string, err error) error {
	if errors.Is(err, weburl.ErrTooLong) {
		begin := strings.ToValidUTF8(raw[:100], "")
		return permanent(begin, "%s… cannot be fetched: %v", begin, err).because(err)
	}
	if u, perr := url.Parse(raw); perr == nil && u.Scheme != "" {
		if err := checkURL(c.guard, u); err != nil {
			return err
		}
	}
	return permanent(raw, "%q is not a web address, which begins with http:// or https:// and a host", raw).because(err)
}

// collector returns colly set up for one fetch. It is not made by NewCollector, which lets environment variables
// overrule what is set here.
func (c *client) collector(ctx context.Context) *colly.Collector {
	col := &colly.Collector{}
	col.Init()
	col.UserAgent = c.opts.UserAgent
	col.IgnoreRobotsTxt = true        // hop checks it
	col.AllowURLRevisit = true        // one fetch may come back to an address that has set a cookie
	col.ParseHTTPErrorResponse = true // statuses are judged here
	col.MaxBodySize = 0               // bounded by the transport, which cuts nothing off
	col.Context = ctx
	col.SetRequestTimeout(0) // the transport has the fetch's deadline, which does not run while waiting for the turn
	col.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	return col
}
