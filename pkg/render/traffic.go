package render

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"golang.org/x/net/publicsuffix"

	"github.com/sluice/sluice/pkg/crawl"
)

const (
	// A request that has been pending for this long no longer keeps the page from counting as idle, because a page with
	// long polling always has a pending request.
	slowRequest = 10 * time.Second
	// Number of refused requests after which a page is stopped, because it would just keep repeating them.
	maxRefused = 1000
	// Number of dialogs after which a page is stopped.
	maxDialogs = 50
)

type traffic struct {
	opts      Options
	transport http.RoundTripper
	session   *chromedp.Target
	main      cdp.FrameID // the page's own frame

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	slots  chan struct{} // one token per request being sent

	mu               sync.Mutex
	ended            bool
	pending          map[fetch.RequestID]time.Time // start times of pending requests
	last             time.Time                     // time when the latest request started or ended
	requests         int                           // requests sent
	refused          int
	dialogs          int
	documents        int    // requests for the page itself
	address          string // address of the latest request for the page itself
	left             int64  // remaining bytes of maxPageBytes
	status           int    // status of the latest response for the page itself
	failure          error  // error from the latest request for the page itself
	origin           string // origin of the requested page
	crossOriginFrame bool   // whether any frame has shown a document from another origin
	leftOrigin       bool   // whether the page itself has shown such a document
}

func newTraffic(o Options, via http.RoundTripper) *traffic {
	n := &traffic{
		opts: o, transport: via, slots: make(chan struct{}, requestsAtOnce),
		pending: make(map[fetch.RequestID]time.Time), left: maxPageBytes, last: time.Now(),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// open records the requested page's address.
func (n *traffic) open(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.origin, _ = crawl.Origin(address)
}

// begin records the page's frame and the browser session that the responses are sent to. It must be called before the
// first request.
func (n *traffic) begin(session *chromedp.Target, main cdp.FrameID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.session, n.main = session, main
}

// end cancels the requests in progress and waits for them. Requests that arrive later get no response.
func (n *traffic) end() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	n.cancel()
	n.work.Wait()
}

// runInBackground runs f in a goroutine, unless the tab is being closed.
func (n *traffic) runInBackground(f func(context.Context)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended {
		n.work.Go(func() { f(n.ctx) })
	}
}

// handle chooses the action for a request and performs it in the background.
func (n *traffic) handle(e *fetch.EventRequestPaused) {
	n.mu.Lock()
	a := n.decide(e)
	n.pending[e.RequestID] = time.Now()
	n.last = time.Now()
	n.mu.Unlock()
	n.runInBackground(func(ctx context.Context) {
		defer n.finished(e.RequestID)
		if err := a.answer(ctx, n, e); err != nil && ctx.Err() == nil {
			// This is expected if the page has navigated in the meantime. Otherwise the browser gets no response, but
			// the page can still become idle, because the request no longer counts as pending.
			n.opts.Log.DebugContext(ctx, "answering a browser request failed", "url", e.Request.URL, "error", err)
		}
	})
}

func (n *traffic) finished(id fetch.RequestID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pending, id)
	n.last = time.Now()
}

// decide returns the action for a request. The caller must hold the lock.
func (n *traffic) decide(e *fetch.EventRequestPaused) action {
	document := e.ResourceType == network.ResourceTypeDocument
	page := document && e.FrameID == n.main
	a := actionFor(e.ResourceType, e.Request)
	if document && !page && a == get && !sameSite(n.address, e.Request.URL) {
		a = nothing // frames from other sites are not part of the page
	}
	if page {
		n.address = e.Request.URL
		n.failure = nil
		if n.documents++; n.documents > maxDocuments {
			a = refuse
			n.failure = permanent(e.Request.URL, "the page redirects to more than %d addresses, last to %s", maxDocuments, e.Request.URL)
		}
	}
	switch {
	case a == get && n.requests >= maxRequests:
		a = refuse
	case a == get:
		n.requests++
	}
	if a == refuse {
		n.refused++
		if page && n.failure == nil {
			n.failure = permanent(e.Request.URL, "the page leads to %.200q, which may not be fetched", e.Request.URL)
		}
	}
	return a
}

// sameSite reports whether two web addresses belong to the same registrable domain, according to the public suffix
// list.
func sameSite(a, b string) bool {
	u, err := url.Parse(a)
	if err != nil {
		return false
	}
	v, err := url.Parse(b)
	if err != nil || u.Scheme != v.Scheme {
		return false
	}
	if u.Hostname() == v.Hostname() {
		return true
	}
	one, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname())
	if err != nil {
		return false // an IP address or a public suffix
	}
	other, err := publicsuffix.EffectiveTLDPlusOne(v.Hostname())
	return err == nil && one == other
}

// idleFor returns the time since the last request started or ended, or 0 if a request is pending.
func (n *traffic) idleFor() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, began := range n.pending {
		if now.Sub(began) < slowRequest {
			return 0
		}
	}
	return now.Sub(n.last)
}

func (n *traffic) dialog() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialogs++
}

// exceedsLimits reports whether the page has exceeded the limit for refused requests or dialogs.
func (n *traffic) exceedsLimits() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused > maxRefused || n.dialogs > maxDialogs
}

// reachedServer reports whether the page's server may have received a request.
func (n *traffic) reachedServer() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.requests > 0
}

// outcome returns the page's own status and the error from the latest request for it.
func (n *traffic) outcome() (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status, n.failure
}

func (n *traffic) isPage(e *fetch.EventRequestPaused) bool {
	return e.ResourceType == network.ResourceTypeDocument && e.FrameID == n.main
}

// isDownload reports whether a navigation whose response isn't HTML counts as a download. It does if the browser
// already shows a page, and that page is then rendered. Otherwise the rendering fails.
func (n *traffic) isDownload(e *fetch.EventRequestPaused) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isPage(e) && n.status != 0 && !crawl.IsRedirect(n.status)
}

// recordOutcome records the result of a request for the page itself.
func (n *traffic) recordOutcome(e *fetch.EventRequestPaused, status int, err error) {
	if !n.isPage(e) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.status, n.failure = status, err
}

// subtract reduces the number of bytes the page may still load. It fails if the page has loaded more than maxPageBytes.
func (n *traffic) subtract(bytes int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left -= int64(bytes); n.left < 0 {
		return fmt.Errorf("the page loads more than %d bytes", maxPageBytes)
	}
	return nil
}

func tooLarge(address string, limit int64) *crawl.Error {
	return permanent(address, "%s is too large to be rendered: the limit is %d bytes", address, limit)
}
