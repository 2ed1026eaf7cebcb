package crawl

import (
	"sync"
	"time"
)

const (
	// Number of consecutive failures after which the crawler probes the host. The probe shows whether the host itself
	// fails or only some of its pages.
	breakerFailures = 3
	minPause        = 5 * time.Second
	maxPause        = 10 * time.Minute

	// A "come back later" response doesn't use up one of a page's attempts. But once a host has sent at least
	// maxRefusals of these responses in a row, over at least maxRefusalTime, it counts as failing. From then on, each
	// of them uses up an attempt. Otherwise the host's pages would never fail.
	maxRefusals    = 3
	maxRefusalTime = time.Hour
)

// breaker is a circuit breaker for hosts. It counts consecutive failures over all of the process's fetches and pauses a
// failing host until it responds again, doubling the pause each time. It also records why the host was paused, for the
// error messages of fetches that wait for the host.
type breaker struct {
	mu    sync.Mutex
	hosts map[string]*hostHealth
}

type hostHealth struct {
	failures   int
	isProbed   bool          // a fetch is probing the host
	pause      time.Duration // length of the last pause; 0 before the first
	until      time.Time     // when the pause ends, or the time the host asked for
	reason     string        // reason for the pause
	isFailing  bool          // the pause is due to failures, not at the host's request
	lastServed string        // the last page it served
	refusals   int           // consecutive responses that asked the crawler to come back later
	refused    time.Time     // time of the first of these responses
}

// fail counts a failure. If the host is already paused, `held` is the remaining pause. If `suspect` is true, the caller
// must probe the host and then call trip, succeeded or inconclusive.
func (b *breaker) fail(host string, now time.Time) (held time.Duration, suspect bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	h.failures++
	if left := h.until.Sub(now); left > 0 {
		return left, false // the request started before the pause
	}
	if h.failures < breakerFailures || h.isProbed {
		return 0, false
	}
	h.isProbed = true
	return 0, true
}

// trip pauses a failing host and returns the length of the pause.
func (b *breaker) trip(host, reason string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	h.isProbed = false
	if left := h.until.Sub(now); left > 0 {
		return left
	}
	h.pause = min(max(2*h.pause, minPause), maxPause)
	h.until, h.reason, h.isFailing = now.Add(h.pause), reason, true
	return h.pause
}

// pauseUntil records that the host itself asked for a pause. A host that keeps asking without ever serving content
// counts as failing.
func (b *breaker) pauseUntil(host, reason string, until, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host, now)
	if h.refusals++; h.refusals == 1 {
		h.refused = now
	}
	h.until, h.reason = latest(h.until, until), reason
	h.isFailing = h.refusals >= maxRefusals && now.Sub(h.refused) >= maxRefusalTime
}

// served records that the host serves content. robots.txt does not count, because hosts serve it even while refusing
// pages.
func (b *breaker) served(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		h.refusals = 0
	}
}

// succeeded resets the host's failure count. It does not end a pause, because the successful request was sent before
// the pause began. `page` is the served page's address, or "".
func (b *breaker) succeeded(host, page string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[host]
	if h == nil && page == "" {
		return
	}
	h = b.host(host, now)
	h.failures, h.pause, h.isProbed = 0, 0, false
	if page != "" {
		h.lastServed = page
	}
}

// inconclusive ends a probe that gave no clear result.
func (b *breaker) inconclusive(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		h.isProbed = false
	}
}

// lastServed returns the last page that the host served, or "".
func (b *breaker) lastServed(host string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		return h.lastServed
	}
	return ""
}

// pauseLeft returns how much longer the host's pause lasts, as far as this process knows.
func (b *breaker) pauseLeft(host string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil {
		return max(h.until.Sub(now), 0)
	}
	return 0
}

// pauseReason returns why the host is paused and whether it is failing. The reason is "" if this process knows of no
// pause.
func (b *breaker) pauseReason(host string, now time.Time) (reason string, isFailing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hosts[host]; h != nil && h.until.After(now) {
		return h.reason, h.isFailing
	}
	return "", false
}

// host returns a host's state, evicting other hosts if there are too many. The caller must hold mu.
func (b *breaker) host(name string, now time.Time) *hostHealth {
	if h := b.hosts[name]; h != nil {
		return h
	}
	if len(b.hosts) >= maxHosts {
		for other, h := range b.hosts {
			if h.failures == 0 && h.refusals == 0 && !h.until.After(now) {
				delete(b.hosts, other)
			}
		}
		if len(b.hosts) >= maxHosts {
			clear(b.hosts) // failure counts restart at zero, but HostSlots keeps the pauses
		}
	}
	if b.hosts == nil {
		b.hosts = make(map[string]*hostHealth)
	}
	h := &hostHealth{}
	b.hosts[name] = h
	return h
}
