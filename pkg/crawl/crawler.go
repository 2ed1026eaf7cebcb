package crawl

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/crawl/guard"
	"github.com/sluice/sluice/pkg/crawl/sitemap"
)

// Options configure a Crawler. The zero value is ready for the public web.
type Options struct {
	// UserAgent is sent with every request. The part before the first "/" is the product name that robots.txt and meta
	// robots can use for this crawler. Operators should include contact information. Default: DefaultUserAgent.
	UserAgent string
	// AllowPrivate allows access to this machine and private networks. Link-local, metadata, multicast and reserved
	// addresses stay blocked.
	AllowPrivate bool
	// Allow lists addresses and hosts outside the public internet that may be accessed.
	Allow guard.Allow
	// MaxBody is the maximum size of a page in bytes, decompressed. Default: 100 MiB.
	MaxBody int64
	// MaxSitemapBytes is the maximum decompressed size of a sitemap. Default: 50 MiB, as specified by sitemaps.org.
	MaxSitemapBytes int64
	// Sitemaps limits all of a site's sitemaps together.
	Sitemaps sitemap.Limits
	// Timeout is the time limit for a fetch with all its redirects. It excludes the wait for a slot at the host.
	// Default: 60 s.
	Timeout time.Duration
	// ConnectTimeout is the time limit for each connection attempt, including DNS. Default: 10 s.
	ConnectTimeout time.Duration
	// HeaderTimeout is how long to wait for a response's header. Default: 30 s.
	HeaderTimeout time.Duration
	// Slots schedules the requests to each host. Default: a LocalSlots, which covers only this Crawler.
	Slots HostSlots
	// PerHostConcurrency is the maximum number of concurrent requests per host. Default: 2; negative means unlimited.
	PerHostConcurrency int
	// PerHostDelay is the minimum time between the starts of two requests to one host. A longer Crawl-delay in robots.txt
	// takes precedence. Default: 200 ms; negative means none.
	PerHostDelay time.Duration
	// MaxWait is how long a fetch waits for a slot at its host before it is deferred. Default: 3 s.
	MaxWait time.Duration
	// MaxPages is the maximum number of pages to take from a site's sitemaps during discovery. Default: 10,000.
	MaxPages int
	// Renderer renders pages that are empty until their scripts have run. Default: none. Such pages then fail with an
	// error saying that a browser is needed.
	Renderer Renderer
	// TempDir is the directory for bodies larger than 1 MiB. Default: the system's temporary directory.
	TempDir string
	// Proxy is the address of a proxy for all requests: http, https or socks5, optionally with user and password. The
	// address guard also applies to the servers reached through it. Default: no proxy.
	Proxy *url.URL
	// Resolver resolves host names. Default: the system's resolver.
	Resolver *net.Resolver
	// Now returns the time for caches and limits. Default: time.Now.
	Now func() time.Time
	// Log receives debug messages. Default: none.
	Log *slog.Logger
}

// DefaultUserAgent is the crawler's name and the address of its documentation.
const DefaultUserAgent = "SluiceBot/1.0 (+https://github.com/sluice/sluice)"

func (o Options) withDefaults() Options {
	o.UserAgent = cmp.Or(o.UserAgent, DefaultUserAgent)
	o.MaxBody = cmp.Or(o.MaxBody, 100<<20)
	o.MaxSitemapBytes = cmp.Or(o.MaxSitemapBytes, 50<<20)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 10*time.Second)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 30*time.Second)
	o.PerHostConcurrency = cmp.Or(o.PerHostConcurrency, 2)
	o.PerHostDelay = cmp.Or(o.PerHostDelay, 200*time.Millisecond)
	o.MaxWait = cmp.Or(o.MaxWait, 3*time.Second)
	o.MaxPages = cmp.Or(o.MaxPages, 10_000)
	o.PerHostDelay = max(o.PerHostDelay, 0)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// ErrClosed is returned by operations interrupted by Close.
var ErrClosed = errors.New("the crawler is closed")

// Crawler fetches pages and discovers sites. It is safe for concurrent use. All operations share the cached robots.txt
// files, the recorded host failures and the hosts' slots.
type Crawler struct {
	*client
	ctx    context.Context // cancelled by Close
	cancel context.CancelCauseFunc
	mu     sync.Mutex // serialises begin and Close
	work   sync.WaitGroup
}

// New returns a Crawler. The caller must call Close.
func New(opts Options) *Crawler {
	opts = opts.withDefaults()
	c := &Crawler{client: newClient(opts)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Close aborts running fetches with ErrClosed, waits for them to return and closes all connections. It may be called
// more than once. The bodies of returned pages stay readable.
func (c *Crawler) Close() {
	c.mu.Lock()
	c.cancel(ErrClosed)
	c.mu.Unlock()
	c.work.Wait()
	c.close()
}

// begin starts an operation. The returned context is cancelled when the caller's context is cancelled or Close is
// called. The caller must call the returned function when the operation ends, because Close waits for it.
func (c *Crawler) begin(ctx context.Context) (context.Context, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, nil, ErrClosed
	}
	c.work.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.work.Done()
	}, nil
}
