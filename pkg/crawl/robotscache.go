package crawl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/guard"
	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/crawl/weburl"
)

const (
	maxRobotsBytes     = 512 << 10   // RFC 9309, section 2.5: at least 500 KiB
	maxRobotsRedirects = 5           // RFC 9309, section 2.3.1.2
	robotsMaxAge       = time.Hour   // RFC 9309, section 2.4: at most 24 hours
	robotsFailure      = time.Minute // how long to pause a host whose robots.txt cannot be fetched
	maxRobotsHosts     = 2_000
	maxRobotsCache     = 64 << 20 // maximum total size of the cached rules in bytes
)

// errForbidden means that robots.txt disallows the address.
var errForbidden = errors.New("forbidden by robots.txt")

// check returns the rules for u's host. If they disallow u, it fails with a permanent *Error that wraps errForbidden.
func (c *robotsCache) check(ctx context.Context, u *url.URL) (robots.File, error) {
	r, err := c.get(ctx, u)
	if err != nil {
		return robots.File{}, err
	}
	if !r.Allows(u) {
		return robots.File{}, permanent(u.String(), "%s was not fetched: the site's robots.txt disallows it", u).withCause(errForbidden)
	}
	return r, nil
}

// robotsCache caches robots.txt by scheme, host and port for all of the process's fetches.
type robotsCache struct {
	product   string
	userAgent string
	transport http.RoundTripper
	guard     guard.Guard
	polite    *politeness
	log       *slog.Logger
	timeout   time.Duration // time limit per request
	now       func() time.Time

	mu    sync.Mutex
	hosts map[string]*robotsEntry
	bytes int // bytes of rules in `hosts`
}

type robotsEntry struct {
	ready   chan struct{} // closed when the fields below are set
	robots  robots.File
	err     error
	expires time.Time
	size    int // size counted in robotsCache.bytes; guarded by robotsCache.mu
}

// get returns the robots.txt for u's host. A host without one (4xx) allows everything. If the host responds with 5xx or
// can't be reached, get fails, and nothing may be fetched for now (RFC 9309, sections 2.3.1.3 and 2.3.1.4).
//
// If another fetch is already requesting the file, get waits for the result, but no longer than a fetch waits for a
// slot. After that, it defers the fetch. Otherwise a host that hangs would block one worker per page.
func (c *robotsCache) get(ctx context.Context, u *url.URL) (robots.File, error) {
	site := u.Scheme + "://" + u.Host
	key := site
	if a := accessTo(ctx, u); a != nil {
		key += " " + a.digest // rules read with credentials must not be used without them
	}
	maxWait := time.NewTimer(c.polite.maxWaitsOf(ctx).slot)
	defer maxWait.Stop()
	for {
		c.mu.Lock()
		e := c.hosts[key]
		mine := e == nil || e.isDone() && !c.now().Before(e.expires)
		if mine {
			if e != nil {
				c.remove(key, e)
			}
			c.evict()
			e = &robotsEntry{ready: make(chan struct{})}
			c.hosts[key] = e
		}
		c.mu.Unlock()
		if mine {
			return c.fill(ctx, key, site, e)
		}
		select {
		case <-e.ready:
		case <-maxWait.C:
			p := c.polite
			return robots.File{}, p.deferred(u.String(), u.Host, 0, p.retries.next(u.Host, minDeferral, p.pace.Delay, c.now()))
		case <-ctx.Done():
			return robots.File{}, context.Cause(ctx)
		}
		if !errors.Is(e.err, errCancelled) {
			return e.robots, c.cachedError(e)
		}
	}
}

// errCancelled marks an entry whose fetch was cancelled by its caller. Anyone else waiting for the entry requests the
// file again.
var errCancelled = errors.New("cancelled by the caller")

func (e *robotsEntry) isDone() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

func (c *robotsCache) fill(ctx context.Context, key, site string, e *robotsEntry) (robots.File, error) {
	defer close(e.ready)
	r, err := c.fetch(ctx, site+robots.Path)
	now := c.now()
	switch {
	case err == nil:
		e.robots, e.expires = r, now.Add(robotsMaxAge)
		c.count(key, e)
	case ctx.Err() != nil:
		e.err = errCancelled
		return robots.File{}, context.Cause(ctx)
	default:
		e.expires = now.Add(robotsFailure)
		var own *Error
		switch {
		case !errors.As(classify(ctx, site+robots.Path, err), &own) || own.Permanent:
			e.err = err
		case own.Deferred: // no request was sent, so the rules are unknown
			e.err = errCancelled
			return robots.File{}, own
		default:
			own.RetryAfter = max(own.RetryAfter, robotsFailure)
			own.Message = "robots.txt could not be fetched, so the crawler has to wait: " + own.Message
			e.err, e.expires = own, now.Add(own.RetryAfter)
		}
	}
	return e.robots, e.err
}

// cachedError returns the error for a fetch after an earlier request for the same robots.txt failed. A temporary error
// becomes a deferral, because no request was sent for this fetch.
func (c *robotsCache) cachedError(e *robotsEntry) error {
	var own *Error
	if !errors.As(e.err, &own) || own.Permanent {
		return e.err
	}
	waits := *own
	waits.Deferred, waits.RetryAfter, waits.Err = true, max(e.expires.Sub(c.now()), time.Second), own
	return &waits
}

// evict removes expired entries and, if that is not enough, any others except those being fetched. The caller must hold
// mu.
func (c *robotsCache) evict() {
	if !c.full() {
		return
	}
	now := c.now()
	for k, e := range c.hosts {
		if e.isDone() && !now.Before(e.expires) {
			c.remove(k, e)
		}
	}
	for k, e := range c.hosts {
		if !c.full() {
			return
		}
		if e.isDone() {
			c.remove(k, e)
		}
	}
}

func (c *robotsCache) full() bool { return len(c.hosts) >= maxRobotsHosts || c.bytes > maxRobotsCache }

// count adds the size of a host's rules to the cache size, unless the host has been evicted in the meantime.
func (c *robotsCache) count(key string, e *robotsEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts[key] == e {
		e.size = e.robots.Size()
		c.bytes += e.size
	}
}

// remove evicts a host. The caller must hold mu.
func (c *robotsCache) remove(key string, e *robotsEntry) {
	delete(c.hosts, key)
	c.bytes -= e.size
}

func (c *robotsCache) fetch(ctx context.Context, address string) (robots.File, error) {
	at := address
	for range maxRobotsRedirects + 1 {
		status, header, body, err := c.fetchOnce(ctx, at)
		if err != nil {
			return robots.File{}, err
		}
		switch {
		case status >= 200 && status < 300:
			r := robots.Parse(body, c.product)
			if r.CrawlDelay > maxCrawlDelay {
				c.log.WarnContext(ctx, "the Crawl-delay of robots.txt exceeds the limit; using the limit", "url", at, "asked", r.CrawlDelay, "kept", maxCrawlDelay)
			}
			return r, nil
		case IsRedirect(status):
			next, err := weburl.Resolve(at, header.Get("Location"))
			if err != nil {
				return robots.File{}, nil // an invalid redirect counts as no robots.txt
			}
			at = next.String()
		case status == http.StatusTooManyRequests || status >= 500:
			e := statusError(at, status, header, c.now())
			e.Permanent = false
			return robots.File{}, e
		default:
			return robots.File{}, nil
		}
	}
	return robots.File{}, nil // RFC 9309, section 2.3.1.2: may count as unavailable, like 4xx
}

// fetchOnce sends one request. It reads at most maxRobotsBytes of the body, as the RFC permits.
func (c *robotsCache) fetchOnce(ctx context.Context, at string) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, nil, nil, permanent(at, "%s is not a web address", at).withCause(err)
	}
	if err := checkURL(c.guard, req.URL); err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept-Encoding", acceptEncoding)
	release, err := c.polite.acquire(ctx, req.URL.Host, at, 0)
	if err != nil {
		return 0, nil, nil, err
	}
	defer release()
	timed, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	res, err := c.polite.send(ctx, c.transport, req.WithContext(timed))
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode >= 300 {
		return res.StatusCode, res.Header, nil, nil
	}
	r, err := content.Decode(res.Body, res.Header.Get("Content-Encoding"), "text/plain")
	if err != nil {
		return 0, nil, nil, transient(at, "%s cannot be read: %v", at, err).withCause(err)
	}
	body, err := io.ReadAll(io.LimitReader(r, maxRobotsBytes))
	if err != nil {
		return 0, nil, nil, err
	}
	if len(body) == maxRobotsBytes {
		body = body[:bytes.LastIndexAny(body, "\r\n")+1] // a truncated rule could match too much
	}
	return res.StatusCode, res.Header, body, nil
}
