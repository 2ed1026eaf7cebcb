package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/crawl/robots"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/sleep"
)

const (
	// Maximum interval between two requests. Caps a longer Crawl-delay.
	maxCrawlDelay = time.Minute
	// How long a request may hold a slot before another request may use it. Few requests take longer than this. If a
	// crawler is killed, its slots stay blocked for at most this long.
	slotLease = 30 * time.Second
	// Minimum interval between requests for a slot.
	minPollInterval = 10 * time.Millisecond
	// Minimum delay before a deferred fetch is retried.
	minDeferral = time.Second
)

// politeness keeps this process's fetches to the pace that all crawlers share.
type politeness struct {
	slots   HostSlots
	pace    domain.Pace   // for hosts that don't ask for a longer delay
	maxWait time.Duration // a fetch that would wait longer is deferred, which frees its worker
	now     func() time.Time
	log     *slog.Logger
	gates   gates
	retries retrySchedule
	breaker breaker
}

func newPoliteness(o Options) *politeness {
	p := &politeness{
		slots: o.Slots, maxWait: o.MaxWait, now: o.Now, log: o.Log,
		pace: domain.Pace{
			Concurrency: max(o.PerHostConcurrency, 0), Delay: o.PerHostDelay, Lease: slotLease,
		},
	}
	if p.slots == nil {
		p.slots = NewLocalSlots(o.Now)
	}
	return p
}

// maxWaits limits how long a fetch waits for a host: first up to `queue` in this process's queue for the host, and then
// up to `slot` for a slot.
type maxWaits struct{ slot, queue time.Duration }

// Maximum time in a queue. A longer wait would block a worker that could fetch from other hosts.
const maxQueueWait = 500 * time.Millisecond

// inProgressKey marks a fetch that has already had a slot or is part of a larger operation. It waits for its next slot
// instead of being deferred, because a deferred fetch starts over and would never finish at a slow host.
type inProgressKey struct{}

func withInProgress(ctx context.Context) context.Context {
	return context.WithValue(ctx, inProgressKey{}, true)
}

func (p *politeness) maxWaitsOf(ctx context.Context) maxWaits {
	if ctx.Value(inProgressKey{}) != nil {
		longest := max(p.maxWait, 3*maxCrawlDelay)
		return maxWaits{slot: longest, queue: longest}
	}
	return maxWaits{slot: p.maxWait, queue: maxQueueWait}
}

// acquire waits for a slot at the host. `delay` is the minimum interval between requests that the host asks for; it
// applies only if it exceeds the configured one. If the wait would be too long, acquire returns a deferred *Error. If
// ctx is done first, it returns the context's error. The caller must call `release` once.
func (p *politeness) acquire(ctx context.Context, host, u string, delay time.Duration) (release func(), err error) {
	pace := p.pace
	pace.Delay = max(pace.Delay, min(delay, maxCrawlDelay))
	maxWait := p.maxWaitsOf(ctx)
	if d := p.breaker.pauseLeft(host, p.now()); d > p.maxWait {
		return nil, p.deferred(u, host, delay, p.retries.next(host, d, pace.Delay, p.now()))
	}
	began := time.Now()
	leave, err := p.gates.enter(ctx, host, pace.Concurrency, pace.Delay, maxWait)
	switch {
	case err != nil:
		return nil, err
	case leave == nil:
		return nil, p.deferred(u, host, delay, p.retries.next(host, max(pace.Delay, minDeferral), pace.Delay, p.now()))
	}
	slot, err := p.reserve(ctx, host, u, pace, delay, maxWait.slot-time.Since(began))
	if err != nil {
		leave()
		return nil, err
	}
	return func() { slot.Release(); leave() }, nil
}

// reserve keeps asking for a slot until one is granted, and then waits for the slot to start.
func (p *politeness) reserve(ctx context.Context, host, u string, pace domain.Pace, delay, maxWait time.Duration) (domain.HostSlot, error) {
	for {
		maxWait = max(maxWait, 0)
		slot, err := p.slots.Reserve(ctx, host, pace, maxWait)
		switch {
		case err != nil && ctx.Err() != nil:
			return domain.HostSlot{}, context.Cause(ctx)
		case err != nil:
			return domain.HostSlot{}, transient(u, "%s was not fetched: crawlers cannot coordinate their requests to %s at the moment", u, host).withCause(err)
		case !slot.Granted && slot.Wait > maxWait:
			return domain.HostSlot{}, p.deferred(u, host, delay, p.retries.next(host, max(slot.Wait, minDeferral), pace.Delay, p.now()))
		}
		wait := slot.Wait
		if !slot.Granted {
			wait = max(wait, minPollInterval)
		}
		if err := waitFor(ctx, wait); err != nil {
			if slot.Granted {
				slot.Release()
			}
			return domain.HostSlot{}, err
		}
		if slot.Granted {
			return slot, nil
		}
		maxWait -= wait
	}
}

// waitFor waits for d. If ctx is done first, it returns the cause.
func waitFor(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if sleep.For(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}

var errHostFailing = errors.New("the host keeps failing")

// deferred returns the error for a fetch that must be retried after d, with the reason for the wait. `delay` is the
// Crawl-delay from the host's robots.txt.
func (p *politeness) deferred(u, host string, delay, d time.Duration) *Error {
	why, fails := p.breaker.pauseReason(host, p.now())
	switch {
	case why != "":
	case delay > maxCrawlDelay:
		why = fmt.Sprintf("%s is waiting (robots.txt asks for %s between requests; the crawler waits at most %s)", u, delay, maxCrawlDelay)
	case delay > p.pace.Delay:
		why = fmt.Sprintf("%s is waiting (robots.txt asks for %s between requests)", u, delay)
	default:
		why = fmt.Sprintf("%s is waiting for other requests to the same host", u)
	}
	e := transient(u, "%s; the next request to %s is in %s", why, host, max(d.Round(time.Second), time.Second))
	e.Deferred, e.RetryAfter = true, d
	if fails {
		e.Err = errHostFailing
	}
	return e
}

// send sends the request and records the host's health. ctx is the caller's. If only the request's own context is done,
// the host was too slow.
func (p *politeness) send(ctx context.Context, rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	host, u := req.URL.Host, req.URL.String()
	res, err := rt.RoundTrip(req)
	if err != nil {
		var e *Error
		if errors.As(classify(ctx, u, err), &e) && !e.Permanent {
			e.RetryAfter = max(e.RetryAfter, p.failed(ctx, rt, req, fmt.Sprintf("%s did not answer (%s)", host, rootCause(err)), 0))
			return nil, e
		}
		return nil, err
	}
	rules := req.URL.Path == robots.Path
	if res.StatusCode < 400 {
		if !rules {
			p.breaker.served(host)
		}
		if res.StatusCode >= 300 {
			u = ""
		}
		p.breaker.succeeded(host, u, p.now())
		return res, nil
	}
	e := statusError(u, res.StatusCode, res.Header, p.now())
	if e.Permanent && !rules {
		p.breaker.served(host)
	}
	switch {
	case e.Permanent:
		p.breaker.succeeded(host, "", p.now())
	case e.RetryAfter > 0:
		p.retryLater(ctx, host, e.describe(host), e.RetryAfter)
	case res.StatusCode == http.StatusTooManyRequests:
		p.pauseHost(ctx, host, e.describe(host))
	case res.StatusCode >= http.StatusInternalServerError:
		p.failed(ctx, rt, req, e.describe(host), res.StatusCode)
	}
	return res, nil
}

// retryLater records that the host itself asked the crawler to come back later.
func (p *politeness) retryLater(ctx context.Context, host, reason string, after time.Duration) {
	now := p.now()
	until := now.Add(after)
	p.breaker.pauseUntil(host, reason+" and asked the crawler to wait", until, now)
	p.announcePause(ctx, host, until)
}

// failed counts a request that got an error status or no response (status 0). It returns how long the host is paused,
// or 0 if only the page seems to be failing.
func (p *politeness) failed(ctx context.Context, rt http.RoundTripper, req *http.Request, reason string, status int) time.Duration {
	host := req.URL.Host
	held, suspect := p.breaker.fail(host, p.now())
	if !suspect {
		return held
	}
	switch alive := p.probe(ctx, rt, req, status); {
	case ctx.Err() != nil:
		p.breaker.inconclusive(host)
		return 0
	case alive:
		p.breaker.succeeded(host, "", p.now())
		return 0
	}
	return p.pauseHost(ctx, host, reason)
}

// Time limit for probing a host that may be failing.
const probeTimeout = 10 * time.Second

// probe reports whether a host still works after consecutive failures, which may just be a few broken pages. It
// requests robots.txt. After a gateway error (502–504), the gateway itself may serve robots.txt, so probe requests the
// last page that the host served instead.
func (p *politeness) probe(ctx context.Context, rt http.RoundTripper, req *http.Request, status int) bool {
	method, at := http.MethodGet, req.URL.Scheme+"://"+req.URL.Host+robots.Path
	if good := p.breaker.lastServed(req.URL.Host); status > http.StatusInternalServerError && good != "" {
		method, at = http.MethodHead, good
	}
	if at == req.URL.String() {
		return false // this address just failed
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	probe, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return false
	}
	probe.Header.Set("User-Agent", req.Header.Get("User-Agent"))
	res, err := rt.RoundTrip(probe)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 16<<10) // makes the connection reusable
	return res.StatusCode < http.StatusInternalServerError && res.StatusCode != http.StatusTooManyRequests
}

// pauseHost pauses a host that fails or rejects the crawler, and returns the length of the pause. Each pause is longer
// than the last.
func (p *politeness) pauseHost(ctx context.Context, host, reason string) time.Duration {
	d := p.breaker.trip(host, reason, p.now())
	p.log.DebugContext(ctx, "host paused", "host", host, "for", d, "reason", reason)
	p.announcePause(ctx, host, p.now().Add(d))
	return d
}

// announcePause tells all crawlers about a pause. If it fails, each of the other crawlers notices the problem on its
// own next request to the host.
func (p *politeness) announcePause(ctx context.Context, host string, until time.Time) {
	if err := p.slots.Hold(ctx, host, until); err != nil {
		p.log.WarnContext(ctx, "could not tell other crawlers to pause requests to a host", "host", host, "error", err)
	}
}
