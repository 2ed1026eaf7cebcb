// Package render renders script-built pages with headless Chromium, controlled through chromedp.
//
// Pages are hostile and may take control of the browser. The browser therefore has no network access: its proxy is a
// closed port, its resolver knows no names, and WebRTC and QUIC are off. This package intercepts each of a page's
// requests and sends it through the caller's http.RoundTripper. The crawler's RoundTripper applies the address guard.
// Requests that cannot be intercepted (WebSockets, service workers) fail at the closed port. Requests are limited in
// size, number and time. Images, fonts, media, style sheets and frames from other sites are not fetched, because they
// contain no page text.
//
// A remote browser has its own command-line flags. This package sets the closed proxy for each page and hides WebRTC
// from scripts; the remaining gaps are logged (see Options.URL).
//
// Each page gets its own browser context, so cookies and storage do not outlive it. Downloads, dialogs, popups and
// permissions are denied. A browser that has exited is restarted for the next page; one that has rendered many pages is
// replaced.
package render
