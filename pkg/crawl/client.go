package crawl

import (
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/crawl/guard"
)

const (
	maxHeaderBytes = 1 << 20
	acceptEncoding = "gzip, deflate" // what decoded can undo
	idleTimeout    = 30 * time.Second
	maxIdlePerHost = 32
)

// client makes requests, under the guard, robots.txt and the pace of hosts. What it knows of hosts is shared by all fetches.
type client struct {
	opts      Options
	product   string // of the user agent: what robots.txt addresses
	guard     guard.Guard
	transport *transport
	outer     *transport // reaches only the public internet, whatever the configuration allows
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

// close closes all connections that are not in use.
func (c *client) close() {
	c.transport.CloseIdleConnections()
	c.outer.CloseIdleConnections()
}

// idlePerHost is how many connections are kept for a host that gets so many requests at once.
func idlePerHost(concurrency int) int {
	if concurrency < 0 {
		return maxIdlePerHost
	}
	return min(concurrency, maxIdlePerHost)
}

func newTransport(o Options, g guard.Guard) *transport {
	t := &http.Transport{
		Proxy:                  nil, // not the one of the environment: it would connect past the guard
		DialContext:            g.Dial(o.ConnectTimeout, o.Resolver),
		TLSHandshakeTimeout:    o.ConnectTimeout,
		ResponseHeaderTimeout:  o.HeaderTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // we unpack, so that the limit holds for what comes out
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
