package crawl

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/crawl/guard"
)

// Bounds of what is fetched for one page that a browser shows. A Renderer may have narrower ones.
const (
	maxRenderRequests = 400
	maxRenderBytes    = 128 << 20 // as sent
)

// browsing is how a Renderer makes the requests for one page: through the guard, within bounds, and only as far as the
// page's own host allows by its robots.txt. The page itself takes the host's turn. What it is made of does not: as in
// any browser, that belongs to the page; but a host that is held is left alone.
//
// A page of the public internet reaches that alone. Its scripts run where they can reach what configuration opens to the
// crawler, and would else give orders there that no reader of the page could give.
type browsing struct {
	client    *client
	guard     guard.Guard
	transport http.RoundTripper
	page      *url.URL
	access    *Access       // of the page's origin; nil: none
	delay     time.Duration // between two requests to its host, as robots.txt asks

	mu       sync.Mutex
	requests int
	shown    bool  // the page itself has been asked for
	bytes    int64 // that may still be read
}

func (c *client) browse(ctx context.Context, a answer) *browsing {
	b := &browsing{
		client: c, transport: accessing{c.outer}, page: a.url, delay: a.crawlDelay, bytes: maxRenderBytes,
		access: accessTo(ctx, a.url), // chosen by the page's address: a page of another origin must not make the browser send the headers
	}
	if a.inner {
		b.guard, b.transport = c.guard, accessing{c.transport}
	}
	return b
}

// RoundTrip implements http.RoundTripper. The address guard is asked again by the transport, for every connection.
func (b *browsing) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkURL(b.guard, req.URL); err != nil {
		return nil, err
	}
	first, err := b.count(req)
	if err == nil {
		err = b.allowed(WithAccess(req.Context(), b.access), req.URL)
	}
	if err != nil {
		return nil, classify(req.Context(), req.URL.String(), err)
	}
	req = b.access.forBrowser(req)
	ask := b.part
	if first {
		ask = b.whole
	}
	res, err := ask(req)
	if err != nil {
		return nil, classify(req.Context(), req.URL.String(), err)
	}
	return res, nil
}

// whole makes the request for the page itself. The host's turn ends with its body.
func (b *browsing) whole(req *http.Request) (*http.Response, error) {
	polite := b.client.polite
	release, err := polite.acquire(withBegun(req.Context()), req.URL.Host, req.URL.String(), b.delay)
	if err != nil {
		return nil, err
	}
	res, err := polite.ask(req.Context(), b.transport, req)
	if err != nil {
		release()
		return nil, err
	}
	res.Body = &browsedBody{ReadCloser: res.Body, browsing: b, end: sync.OnceFunc(release)}
	return res, nil
}

// part makes the request for something that the page is made of. Its faults say little about the host's pages, so they
// do not count; only a host that says itself when to come back is held.
func (b *browsing) part(req *http.Request) (*http.Response, error) {
	ctx, host, u := req.Context(), req.URL.Host, req.URL.String()
	polite := b.client.polite
	if d := polite.breaker.held(host, polite.now()); d > 0 {
		return nil, polite.deferred(u, host, b.delay, d)
	}
	res, err := b.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 400 {
		if e := statusError(u, res.StatusCode, res.Header, polite.now()); e.RetryAfter > 0 {
			polite.comeBack(ctx, host, e.answer(host), e.RetryAfter)
		}
	}
	res.Body = &browsedBody{ReadCloser: res.Body, browsing: b, end: func() {}}
	return res, nil
}

// count takes a request from those that are left, and says whether it is the one for the page itself.
func (b *browsing) count(req *http.Request) (first bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests++; b.requests > maxRenderRequests {
		return false, permanent(req.URL.String(), "%s is made of more than %d parts", b.page, maxRenderRequests)
	}
	first = !b.shown && req.Method == http.MethodGet && req.URL.String() == b.page.String()
	b.shown = b.shown || first
	return first, nil
}

// allowed asks robots.txt of the page's own host. Those of other hosts are for who crawls them.
func (b *browsing) allowed(ctx context.Context, u *url.URL) error {
	if u.Host != b.page.Host || u.Scheme != b.page.Scheme {
		return nil
	}
	_, err := b.client.robots.check(ctx, u)
	return err
}

// browsedBody counts what is read, and ends the request when it is closed.
type browsedBody struct {
	io.ReadCloser
	browsing *browsing
	end      func()
}

func (b *browsedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.browsing.mu.Lock()
	defer b.browsing.mu.Unlock()
	if b.browsing.bytes -= int64(n); b.browsing.bytes < 0 {
		return 0, fmt.Errorf("%s is made of more than %d bytes: %w", b.browsing.page, maxRenderBytes, bounded.ErrTooLarge)
	}
	return n, err
}

func (b *browsedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
