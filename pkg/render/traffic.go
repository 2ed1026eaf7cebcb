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
	// slowRequest is after how long a request is not waited for any more: one that is held open for news never ends.
	slowRequest = 10 * time.Second
	// flood is how many refused requests end a page: it asks again whenever it is refused.
	flood = 1000
	// maxDialogs is how many dialogs end it.
	maxDialogs = 50
)

// traffic is the network of one page.
type traffic struct {
	opts    Options
	via     http.RoundTripper
	session *chromedp.Target
	main    cdp.FrameID // of the page itself

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	slots  chan struct{} // one token for each request being made

	mu        sync.Mutex
	ended     bool
	flying    map[fetch.RequestID]time.Time // requests by when they began
	last      time.Time                     // when the last one began or ended
	requests  int                           // made or being made
	refused   int
	dialogs   int
	documents int    // requests for the page itself
	address   string // of the last one
	left      int64  // of maxPageBytes
	status    int    // of the last answer for the page itself
	failure   error  // of the last request for the page itself
	origin    string // of the page that was asked for
	mixed     bool   // some frame has shown a document of another origin
	strayed   bool   // the page itself has
}

func newTraffic(o Options, via http.RoundTripper) *traffic {
	n := &traffic{
		opts: o, via: via, slots: make(chan struct{}, requestsAtOnce),
		flying: make(map[fetch.RequestID]time.Time), left: maxPageBytes, last: time.Now(),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// open says which page is asked for.
func (n *traffic) open(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.origin, _ = crawl.Origin(address)
}

// begin says where answers go. No request comes before.
func (n *traffic) begin(session *chromedp.Target, main cdp.FrameID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.session, n.main = session, main
}

// end cuts short what is being done and waits for it. Requests that come later are not answered.
func (n *traffic) end() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	n.cancel()
	n.work.Wait()
}

// do runs f beside the events of the tab, unless the tab is being closed.
func (n *traffic) do(f func(context.Context)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended {
		n.work.Go(func() { f(n.ctx) })
	}
}

// take decides about a request.
func (n *traffic) take(e *fetch.EventRequestPaused) {
	n.mu.Lock()
	a := n.decide(e)
	n.flying[e.RequestID] = time.Now()
	n.last = time.Now()
	n.mu.Unlock()
	n.do(func(ctx context.Context) {
		defer n.landed(e.RequestID)
		if err := a.answer(ctx, n, e); err != nil && ctx.Err() == nil {
			// The page may have left meanwhile; else the request stays open, and the page comes to rest without it.
			n.opts.Log.DebugContext(ctx, "request not answered", "url", e.Request.URL, "error", err)
		}
	})
}

func (n *traffic) landed(id fetch.RequestID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.flying, id)
	n.last = time.Now()
}

// decide is called under the lock.
func (n *traffic) decide(e *fetch.EventRequestPaused) action {
	document := e.ResourceType == network.ResourceTypeDocument
	page := document && e.FrameID == n.main
	a := actionFor(e.ResourceType, e.Request)
	if document && !page && a == get && !sameSite(n.address, e.Request.URL) {
		a = nothing // frames of other sites are no part of the page
	}
	if page {
		n.address = e.Request.URL
		n.failure = nil
		if n.documents++; n.documents > maxDocuments {
			a = refuse
			n.failure = permanent(e.Request.URL, "the page leads on to more than %d addresses, lastly to %s", maxDocuments, e.Request.URL)
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
			n.failure = permanent(e.Request.URL, "the page leads to %.200q, which is not fetched", e.Request.URL)
		}
	}
	return a
}

// sameSite reports whether two web addresses belong to one owner, as far as names and public suffixes tell.
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
		return false // an address by number, or a public suffix itself
	}
	other, err := publicsuffix.EffectiveTLDPlusOne(v.Hostname())
	return err == nil && one == other
}

// quiet is for how long nothing has been on its way, 0 while something is.
func (n *traffic) quiet() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, began := range n.flying {
		if now.Sub(began) < slowRequest {
			return 0
		}
	}
	return now.Sub(n.last)
}

// dialog counts a dialog that the page opens.
func (n *traffic) dialog() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialogs++
}

// flooded says that the page asks and asks.
func (n *traffic) flooded() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused > flood || n.dialogs > maxDialogs
}

// asked says whether the page's server may have got a request.
func (n *traffic) asked() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.requests > 0
}

// outcome is the status of the page itself, and why its last address could not be read.
func (n *traffic) outcome() (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status, n.failure
}

func (n *traffic) isPage(e *fetch.EventRequestPaused) bool {
	return e.ResourceType == network.ResourceTypeDocument && e.FrameID == n.main
}

// stays says that there is a page already that the browser can stay on: what it leads to is a file to download.
func (n *traffic) stays(e *fetch.EventRequestPaused) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isPage(e) && n.status != 0 && !isRedirect(n.status)
}

// note keeps the outcome of a request for the page itself.
func (n *traffic) note(e *fetch.EventRequestPaused, status int, err error) {
	if !n.isPage(e) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.status, n.failure = status, err
}

// spend takes bytes from what the page may still read.
func (n *traffic) spend(bytes int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left -= int64(bytes); n.left < 0 {
		return fmt.Errorf("the page reads more than %d bytes", maxPageBytes)
	}
	return nil
}

// tooLarge says that the page itself passes the limit.
func tooLarge(address string, limit int64) *crawl.Error {
	return permanent(address, "%s is too large to be rendered: the limit is %d bytes", address, limit)
}
