// Package crawl fetches web pages and finds the pages of web sites. It does the work of crawl jobs in plain functions,
// without the job stream or the catalog.
//
// All servers are treated as hostile. The address guard checks every connection (for pages, redirects, robots.txt and
// sitemaps) after DNS and again when connecting. Body size is limited after decompression. Headers, redirects, time,
// nesting and the number of links are limited too.
//
// gocolly/colly drives each fetch: it manages the fetch's cookies and parses HTML. The transport that this package
// passes to colly makes up for colly's gaps:
//
//   - colly treats a 5xx response to the request for robots.txt as permission, and fails if the file is malformed. It
//     fetches the file without a context. It reorders an address's query before it compares the address with the
//     rules. The transport therefore enforces robots.txt itself, with a cache that all fetches share.
//   - colly limits a body before decompressing it, truncates it silently and keeps it in memory. The transport
//     decompresses, limits and stores it, and passes only HTML to colly.
//   - colly follows redirects without checking the target's robots.txt. Here each hop is a separate request.
//   - colly's rate limits apply to one collector only, and colly keeps sleeping after the context is cancelled. The
//     transport waits until HostSlots, which all crawlers of a fleet share, grants a slot at the host. It also pauses
//     hosts that fail or ask for a pause.
package crawl
