package render

import (
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/sluice/sluice/pkg/crawl"
)

// requestOrigin returns the requested page's origin if the request certainly comes from a document with that origin,
// and otherwise "".
//
// The browser reports which frame sends a request, but not which document. During a navigation, the old document can
// still send requests, and an empty frame has its creator's origin. So once the page itself has shown a document from
// another origin, requestOrigin returns "" for every request. Once any frame in the page has shown one, requestOrigin
// returns "" for requests from frames, unless their Referer header has the page's origin.
func (n *traffic) requestOrigin(e *fetch.EventRequestPaused) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	from, referer := headerValue(e.Request.Headers, "Origin"), headerValue(e.Request.Headers, "Referer")
	inPage := e.FrameID == n.main && e.ResourceType != network.ResourceTypeDocument
	switch {
	case n.leftOrigin, e.FrameID == "":
	case from != "" && !n.isPageOrigin(from), referer != "" && !n.isPageOrigin(referer):
	case inPage, !n.crossOriginFrame, referer != "":
		return n.origin
	}
	return ""
}

// isPageOrigin reports whether an address has the requested page's origin. The caller must hold the lock.
func (n *traffic) isPageOrigin(address string) bool {
	origin, err := crawl.Origin(address)
	return err == nil && origin == n.origin
}

// recordDocument records a document's origin before the browser receives the document.
func (n *traffic) recordDocument(e *fetch.EventRequestPaused, status int) {
	if e.ResourceType != network.ResourceTypeDocument || crawl.IsRedirect(status) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.isPageOrigin(e.Request.URL) {
		n.crossOriginFrame = true
		n.leftOrigin = n.leftOrigin || e.FrameID == n.main
	}
}
