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

// Limits on the requests for one rendered page. A Renderer may have lower ones.
const (
	maxRenderRequests = 400
	maxRenderBytes    = 128 << 20 // as transferred, before decompression
)

// browsing sends a Renderer's requests for one page. All requests must pass the address guard and stay within the
// limits. Requests to the page's own host must also be allowed by its robots.txt. The request for the page itself waits
// for a slot at the host. Requests for its resources don't wait, as in any browser, but none are sent to a paused host.
//
// A page on the public internet may access only the public internet. Otherwise its scripts could reach internal servers
// that the configuration opens to the crawler but that readers of the page cannot reach.
type browsing struct {
	client    *client
	guard     guard.Guard
	transport http.RoundTripper
	page      *url.URL
	access    *Access       // headers for the page's origin; may be nil
	delay     time.Duration // minimum interval between two requests to the page's host, from robots.txt

	mu       sync.Mutex
	requests int
	shown    bool  // the page itself has been requested
	bytes    int64 // bytes that may still be read
}

func (c *client) browse(ctx context.Context, a response) *browsing {
	b := &browsing{
		client: c, transport: accessing{c.outer}, page: a.url, delay: a.crawlDelay, bytes: maxRenderBytes,
		access: accessTo(ctx, a.url), // depends on the page's address: a page from another origin must not make the browser send the headers
	}
	if a.private {
		b.guard, b.transport = c.guard, accessing{c.transport}
	}
	return b
}

// RoundTrip implements http.RoundTripper. The transport applies the address guard again to each connection.
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
	ask := b.fetchResource
	if first {
		ask = b.fetchDocument
	}
	res, err := ask(req)
	if err != nil {
		return nil, classify(req.Context(), req.URL.String(), err)
	}
	return res, nil
}

// fetchDocument sends the request for the page itself, which occupies a slot at the host until the body is closed.
func (b *browsing) fetchDocument(req *http.Request) (*http.Response, error) {
	polite := b.client.polite
	release, err := polite.acquire(withInProgress(req.Context()), req.URL.Host, req.URL.String(), b.delay)
	if err != nil {
		return nil, err
	}
	res, err := polite.send(req.Context(), b.transport, req)
	if err != nil {
		release()
		return nil, err
	}
	res.Body = &browsedBody{ReadCloser: res.Body, browsing: b, end: sync.OnceFunc(release)}
	return res, nil
}

// fetchResource sends the request for one of the page's resources. A failure does not count against the host, because
// it says little about the host's pages. The host is paused only if it asks the crawler to come back later.
func (b *browsing) fetchResource(req *http.Request) (*http.Response, error) {
	ctx, host, u := req.Context(), req.URL.Host, req.URL.String()
	polite := b.client.polite
	if d := polite.breaker.pauseLeft(host, polite.now()); d > 0 {
		return nil, polite.deferred(u, host, b.delay, d)
	}
	res, err := b.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 400 {
		if e := statusError(u, res.StatusCode, res.Header, polite.now()); e.RetryAfter > 0 {
			polite.retryLater(ctx, host, e.describe(host), e.RetryAfter)
		}
	}
	res.Body = &browsedBody{ReadCloser: res.Body, browsing: b, end: func() {}}
	return res, nil
}

// count counts a request and reports whether it is the first one, i.e. for the page itself. It fails after
// maxRenderRequests requests.
func (b *browsing) count(req *http.Request) (first bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests++; b.requests > maxRenderRequests {
		return false, permanent(req.URL.String(), "%s makes more than %d requests while it is being rendered", b.page, maxRenderRequests)
	}
	first = !b.shown && req.Method == http.MethodGet && req.URL.String() == b.page.String()
	b.shown = b.shown || first
	return first, nil
}

// allowed checks the robots.txt of the page's own host. Other hosts' robots.txt does not matter, because loading a
// page's resource is not crawling.
func (b *browsing) allowed(ctx context.Context, u *url.URL) error {
	if u.Host != b.page.Host || u.Scheme != b.page.Scheme {
		return nil
	}
	_, err := b.client.robots.check(ctx, u)
	return err
}

// browsedBody is a response body that counts the bytes read. Close ends the request.
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
		return 0, fmt.Errorf("%s loads more than %d bytes while it is being rendered: %w", b.browsing.page, maxRenderBytes, bounded.ErrTooLarge)
	}
	return n, err
}

func (b *browsedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
