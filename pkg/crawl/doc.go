// Package crawl fetches web pages and finds the pages of web sites. It is the crawl job's work as plain functions:
// it knows neither the job stream nor the catalog.
//
// Everything on the other side is taken to be hostile. Every dial, of pages, redirects, robots.txt and sitemaps
// alike, passes the address guard after DNS and at the moment of connecting; bodies are bounded after unpacking;
// headers, redirects, time, nesting and numbers of links are bounded too.
//
// gocolly/colly drives each fetch: it asks robots.txt, keeps the cookies of one fetch and parses HTML. What colly
// leaves open, this package closes by the transport that it gives to colly:
//
//   - colly ignores robots.txt unless told otherwise, takes a robots.txt that answers 5xx for permission, fetches it
//     without a context and fails on a malformed one: the transport answers colly's question itself, from a cache
//     shared by all fetches, with a cleaned text or with the reason why it cannot be known.
//   - colly caps a body before unpacking it, truncates it silently and keeps it in memory: the transport unpacks,
//     bounds and stores it, and hands colly only HTML.
//   - colly follows redirects without asking the target's robots.txt: here each hop is a request of its own.
//   - colly's limits hold within one collector and sleep through a cancelled context: the transport takes the host's
//     turn from Turns, which all crawlers of a fleet share, and leaves hosts alone that fail or ask for it.
package crawl
