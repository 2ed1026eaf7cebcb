package render

import (
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/sluice/sluice/pkg/crawl"
)

// asker returns the origin of the page that was asked for if a document of that origin makes the request, else "".
//
// The browser names the frame of a request, but not its document: a frame keeps its old document until the new one has begun, and
// an empty frame has the origin of whoever made it. So a page that has shown a document of another origin gets "" from then
// on, and so do frames once any frame has, unless the browser's Referer tells their origin.
func (n *traffic) asker(e *fetch.EventRequestPaused) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	from, referer := headerValue(e.Request.Headers, "Origin"), headerValue(e.Request.Headers, "Referer")
	inPage := e.FrameID == n.main && e.ResourceType != network.ResourceTypeDocument
	switch {
	case n.strayed, e.FrameID == "":
	case from != "" && !n.ofPage(from), referer != "" && !n.ofPage(referer):
	case inPage, !n.mixed, referer != "":
		return n.origin
	}
	return ""
}

// ofPage reports whether an address has the origin of the page that was asked for. It is called under the lock.
func (n *traffic) ofPage(address string) bool {
	origin, err := crawl.Origin(address)
	return err == nil && origin == n.origin
}

// show notes the origin of a document before the browser gets it.
func (n *traffic) show(e *fetch.EventRequestPaused, status int) {
	if e.ResourceType != network.ResourceTypeDocument || isRedirect(status) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ofPage(e.Request.URL) {
		n.mixed = true
		n.strayed = n.strayed || e.FrameID == n.main
	}
}
