package crawl

import (
	"context"
	"sync"
	"time"
)

const (
	maxHosts      = 10_000
	maxCrawlDelay = time.Minute // what a robots.txt may ask for between two requests
)

// limiter keeps us polite: per host a number of requests at once, a time between the starts of two, and a pause when
// the host has asked for one. It is shared by all fetches of the process.
type limiter struct {
	concurrency int
	delay       time.Duration
	maxWait     time.Duration // longer waits are handed back to the caller, whose worker has better things to do
	now         func() time.Time

	mu    sync.Mutex
	hosts map[string]*hostState
}

type hostState struct {
	slots  chan struct{}
	users  int       // requests that hold or wait for a slot; the state is not dropped while there are any
	next   time.Time // when the next request may start
	delay  time.Duration
	paused time.Time // nothing before
}

func newLimiter(concurrency int, delay, maxWait time.Duration, now func() time.Time) *limiter {
	return &limiter{concurrency: concurrency, delay: delay, maxWait: maxWait, now: now, hosts: make(map[string]*hostState)}
}

// acquire waits for the host's turn. It returns a deferred *Error when that takes longer than maxWait, and the
// context's error when that ends first. release must be called once.
func (l *limiter) acquire(ctx context.Context, host, u string) (release func(), err error) {
	h := l.enter(host)
	defer func() {
		if err != nil {
			l.leave(h)
		}
	}()
	if d := l.pause(h); d > l.maxWait {
		return nil, deferred(u, host, d)
	}
	patience := time.NewTimer(l.maxWait)
	defer patience.Stop()
	select {
	case h.slots <- struct{}{}:
	case <-patience.C:
		return nil, deferred(u, host, max(l.delay, time.Second))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	wait, ok := l.reserve(h)
	if !ok {
		<-h.slots
		return nil, deferred(u, host, wait)
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			<-h.slots
			return nil, ctx.Err()
		}
	}
	return func() { <-h.slots; l.leave(h) }, nil
}

func deferred(u, host string, d time.Duration) *Error {
	e := transient(u, "%s waits for its turn: %s is asked again in %s", u, host, d.Round(time.Second))
	e.Deferred, e.RetryAfter = true, d
	return e
}

func (l *limiter) enter(host string) *hostState {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.state(host)
	h.users++
	return h
}

func (l *limiter) leave(h *hostState) {
	l.mu.Lock()
	h.users--
	l.mu.Unlock()
}

// state returns the host's state, and makes room first when there are too many. Called with mu held.
func (l *limiter) state(host string) *hostState {
	if h := l.hosts[host]; h != nil {
		return h
	}
	if len(l.hosts) >= maxHosts {
		now := l.now()
		for name, h := range l.hosts {
			if h.users == 0 && now.After(h.next) && now.After(h.paused) {
				delete(l.hosts, name)
			}
		}
	}
	h := &hostState{slots: make(chan struct{}, l.concurrency), delay: l.delay}
	l.hosts[host] = h
	return h
}

func (l *limiter) pause(h *hostState) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return h.paused.Sub(l.now())
}

// reserve takes the next start, and says how long it is until then; not ok means that it is too far off and nothing
// was reserved.
func (l *limiter) reserve(h *hostState) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	start := now
	for _, t := range []time.Time{h.next, h.paused} {
		if t.After(start) {
			start = t
		}
	}
	if wait = start.Sub(now); wait > l.maxWait {
		return wait, false
	}
	h.next = start.Add(h.delay)
	return wait, true
}

// setCrawlDelay makes the host's delay what its robots.txt asks for, if that is more than ours.
func (l *limiter) setCrawlDelay(host string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state(host).delay = max(l.delay, min(d, maxCrawlDelay))
}

// hold makes the host wait for d: it said so by 429 or 503.
func (l *limiter) hold(host string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.state(host)
	if until := l.now().Add(d); until.After(h.paused) {
		h.paused = until
	}
}
