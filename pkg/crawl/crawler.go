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
	// UserAgent is sent with every request. Its part before the first "/" is the product name that robots.txt and
	// meta robots may address. Operators should put a contact into it. Default: DefaultUserAgent.
	UserAgent string
	// AllowPrivate lets the crawler reach this machine and private networks. Link-local, metadata, multicast and
	// reserved addresses stay refused.
	AllowPrivate bool
	// Allow names addresses and hosts that may be reached although they are not on the public internet.
	Allow guard.Allow
	// MaxBody is the largest page in bytes after unpacking. Default: 100 MiB.
	MaxBody int64
	// MaxSitemapBytes is the largest single sitemap after unpacking. Default: 50 MiB, as sitemaps.org has it.
	MaxSitemapBytes int64
	// Sitemaps bounds what is read of all sitemaps of one site together.
	Sitemaps sitemap.Limits
	// Timeout bounds one fetch with all its redirects, without the time it waits for the host's turn. Default: 60 s.
	Timeout time.Duration
	// ConnectTimeout bounds each connection attempt, DNS included. Default: 10 s.
	ConnectTimeout time.Duration
	// HeaderTimeout bounds the wait for the header of an answer. Default: 30 s.
	HeaderTimeout time.Duration
	// Turns says whose turn it is at a host. Default: LocalTurns, those of this Crawler alone.
	Turns Turns
	// PerHostConcurrency is how many requests one host gets at once. Default: 2; negative: any number.
	PerHostConcurrency int
	// PerHostDelay is the time between the starts of two requests to one host. A longer Crawl-delay in robots.txt
	// takes its place. Default: 200 ms; negative: none.
	PerHostDelay time.Duration
	// MaxWait is how long a fetch waits for its host's turn before it is handed back as deferred. Default: 3 s.
	MaxWait time.Duration
	// MaxPages is how many pages discovery takes from the sitemaps of one site. Default: 10,000.
	MaxPages int
	// Renderer shows pages that need their scripts. Default: none; such pages are errors that say so.
	Renderer Renderer
	// TempDir takes bodies larger than 1 MiB. Default: the system's.
	TempDir string
	// Proxy is the address of the proxy for all requests: http, https or socks5, optionally with user and password. The address
	// guard also applies to the servers behind the proxy. nil: no proxy.
	Proxy *url.URL
	// Resolver resolves names; nil is the system's.
	Resolver *net.Resolver
	// Now is the clock of caches and limits. Default: time.Now.
	Now func() time.Time
	// Log gets debug messages. Default: none.
	Log *slog.Logger
}

// DefaultUserAgent names the crawler and a place to read about it.
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// ErrClosed is the cause of what was cut short by Close.
var ErrClosed = errors.New("the crawler is closed")

// Crawler fetches pages and discovers sites. It may be used by any number of goroutines; what it knows about hosts
// (robots.txt, whose turn it is) is shared by all of them.
type Crawler struct {
	*client
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	mu     sync.Mutex // orders begin and Close
	work   sync.WaitGroup
}

// New returns a Crawler. Close must be called in the end.
func New(opts Options) *Crawler {
	opts = opts.withDefaults()
	c := &Crawler{client: newClient(opts)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// Close ends running fetches with ErrClosed, waits for them and closes all connections. It may be called more than
// once. Bodies of pages that were returned stay readable.
func (c *Crawler) Close() {
	c.mu.Lock()
	c.cancel(ErrClosed)
	c.mu.Unlock()
	c.work.Wait()
	c.close()
}

// begin binds a piece of work to both its caller and the crawler's life.
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
