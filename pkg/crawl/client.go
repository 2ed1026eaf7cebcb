package crawl

import (
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/crawl/guard"
)

const (
	maxHeaderBytes = 1 << 20
	acceptEncoding = "gzip, deflate" // encodings that content.Decode supports
	idleTimeout    = 30 * time.Second
	maxIdlePerHost = 32
)

// client sends requests, enforcing the address guard, robots.txt and each host's pace. All fetches share it.
type client struct {
	opts      Options
	product   string // product name in the user agent, by which robots.txt rules may refer to the crawler
	guard     guard.Guard
	transport *transport
	outer     *transport // connects only to the public internet, even if the configuration allows more
	robots    *robotsCache
	polite    *politeness
}

func newClient(opts Options) *client {
	g := guard.Guard{AllowPrivate: opts.AllowPrivate, Allow: opts.Allow}
	product, _, _ := strings.Cut(opts.UserAgent, "/")
	c := &client{
		opts: opts, product: strings.TrimSpace(product), guard: g, transport: newTransport(opts, g), outer: newTransport(opts, guard.Guard{}),
		polite: newPoliteness(opts),
	}
	c.robots = &robotsCache{
		product: c.product, userAgent: opts.UserAgent, transport: accessing{c.transport}, guard: g, polite: c.polite, log: opts.Log,
		timeout: min(opts.Timeout, 30*time.Second), now: opts.Now, hosts: make(map[string]*robotsEntry),
	}
	return c
}

func (c *client) close() {
	c.transport.CloseIdleConnections()
	c.outer.CloseIdleConnections()
}

// idlePerHost returns the number of idle connections to keep per host.
func idlePerHost(concurrency int) int {
	if concurrency < 0 {
		return maxIdlePerHost
	}
	return min(concurrency, maxIdlePerHost)
}

func newTransport(o Options, g guard.Guard) *transport {
	t := &http.Transport{
		Proxy:                  nil, // a proxy from the environment would bypass the guard
		DialContext:            g.Dial(o.ConnectTimeout, o.Resolver),
		TLSHandshakeTimeout:    o.ConnectTimeout,
		ResponseHeaderTimeout:  o.HeaderTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // content.Decode decompresses, so that the size limit applies to the result
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    idlePerHost(o.PerHostConcurrency),
		IdleConnTimeout:        idleTimeout,
	}
	if o.Proxy != nil {
		useProxy(t, o, g)
	}
	return newTolerant(t, o.checkProxy)
}
