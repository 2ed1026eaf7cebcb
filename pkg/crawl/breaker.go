package crawl

import (
	"sync"
	"time"
)

const (
	// breakerFailures is how many requests in a row must fail before the host counts as failing, and not its pages.
	breakerFailures = 3
	breakerFirst    = 5 * time.Second
	breakerLongest  = 10 * time.Minute
)

// breaker counts the failures of hosts in a row, over all fetches of the process. From breakerFailures on the host is
// left alone, each time for twice as long; one answer puts it right again. It also remembers why a host is held, for
// the messages of the fetches that wait.
type breaker struct {
	mu    sync.Mutex
	hosts map[string]*hostHealth
}

type hostHealth struct {
	failures int
	pause    time.Duration // the newest one, 0 before the first
	until    time.Time     // its end, or when the host asked to come back
	why      string        // for people
}

// fail counts a failure. After at least `least` in a row it returns how long the host is left alone, and whether that
// is new: requests that were under way when the host was first held do not add to it.
func (b *breaker) fail(host, why string, least int, now time.Time) (pause time.Duration, tripped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	h.failures++
	if h.failures < least {
		return 0, false
	}
	if left := h.until.Sub(now); left > 0 {
		return left, false
	}
	h.pause = min(max(2*h.pause, breakerFirst), breakerLongest)
	h.until, h.why = now.Add(h.pause), why
	return h.pause, true
}

// told notes that the host itself has said until when it wants to be left alone.
func (b *breaker) told(host, why string, until, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	h.until, h.why = later(h.until, until), why
}

// answered forgets the failures of the host. A hold that is under way stays: the answer is one to an earlier request.
func (b *breaker) answered(host string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[host]
	switch {
	case h == nil:
	case h.until.After(now):
		h.failures, h.pause = 0, 0
	default:
		delete(b.hosts, host)
	}
}

// held is how long the host is still to be left alone, as far as this process knows.
func (b *breaker) held(host string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		return max(h.until.Sub(now), 0)
	}
	return 0
}

// cause says why the host is held, "" when nothing is known of it here.
func (b *breaker) cause(host string, now time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil && h.until.After(now) {
		return h.why
	}
	return ""
}

// host returns what is known, and makes room first. Called with mu held.
func (b *breaker) host(name string, now time.Time) *hostHealth {
	if h := b.hosts[name]; h != nil {
		return h
	}
	if len(b.hosts) >= maxHosts {
		for other, h := range b.hosts {
			if !h.until.After(now) {
				delete(b.hosts, other)
			}
		}
		if len(b.hosts) >= maxHosts {
			clear(b.hosts) // they are counted anew; what is held stays so, in Turns
		}
	}
	if b.hosts == nil {
		b.hosts = make(map[string]*hostHealth)
	}
	h := &hostHealth{}
	b.hosts[name] = h
	return h
}
