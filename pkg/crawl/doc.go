// Package crawl fetches web pages and finds the pages of web sites. It is the crawl job's work as plain functions:
// it knows neither the job stream nor the catalog.
//
// Everything on the other side is taken to be hostile. Every dial, of pages, redirects, robots.txt and sitemaps
// alike, passes the address guard after DNS and at the moment of connecting; bodies are bounded after unpacking;
// headers, redirects, time, nesting and numbers of links are bounded too.
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
