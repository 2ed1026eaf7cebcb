// Package crawl fetches web pages and finds the pages of web sites. It contains the work of crawl jobs as plain
// functions, without knowledge of the job stream and the catalog.
//
// All servers are treated as hostile. Every connection, for pages, redirects, robots.txt and sitemaps, is checked by
// the address guard after DNS and again when connecting. Bodies are limited in size after decompression. Headers,
// redirects, time, nesting and numbers of links are limited too.
//
// gocolly/colly drives each fetch: it keeps the cookies of one fetch and parses HTML. The transport that this package
// gives to colly closes its gaps:
//
//   - colly treats a robots.txt that answers 5xx as permission, fetches it without a context, fails on a malformed one, and
//     matches rules against an address whose query it has reordered. The transport therefore enforces robots.txt itself,
//     with a cache that all fetches share.
//   - colly caps a body before unpacking it, truncates it silently and keeps it in memory: the transport unpacks,
//     bounds and stores it, and hands colly only HTML.
//   - colly follows redirects without asking the target's robots.txt: here each hop is a request of its own.
//   - colly's limits hold within one collector and sleep through a cancelled context: the transport takes the host's
//     turn from Turns, which all crawlers of a fleet share, and leaves hosts alone that fail or ask for it.
package crawl
