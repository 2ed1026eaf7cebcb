// Package render reads pages that scripts build, by a headless Chromium that is driven through chromedp.
//
// The page is hostile, and so may be what it makes the browser do. The browser therefore has no network of its own:
// its proxy is a closed port, its resolver knows no name, WebRTC and QUIC are off. Every request of a page is
// intercepted and made here, by the http.RoundTripper that the caller gives, which is the crawler's with its address
// guard; what is not intercepted (WebSockets, service workers) ends at the closed port. Requests are bounded in size,
// number and time. Images, fonts, media, style sheets and frames of other sites are not fetched: they hold no text of
// the page's.
//
// Of a browser that runs elsewhere the flags are not ours. It gets the closed proxy with each page, and scripts are
// denied WebRTC; what remains open is told in the log (see Options.URL).
//
// Each page gets a browser context of its own, so no cookie and no storage outlives it. Downloads, dialogs, popups and
// permissions are refused. A browser that ended is started anew for the next page; one that has rendered many pages
// is replaced.
package render
