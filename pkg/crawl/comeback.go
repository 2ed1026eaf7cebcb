package crawl

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// maxComeBack is the latest that a fetch is told to come back for its turn.
	maxComeBack = 10 * time.Minute
	// leastStep lies between two that come back to a host without a delay between requests.
	leastStep = 50 * time.Millisecond
)

// comebacks spread those who must come back for their turn at a host, so that they do not all come when it is the turn of
// one. They are a guess: who comes back may find the host free or busy all the same, and what was deleted never comes.
type comebacks struct {
	mu    sync.Mutex
	hosts map[string]time.Time // when the last one was told to come
}

// after says when the next one is to come: no sooner than the wait, and a step after the one before, or, where that is too
// far off, at any time until the latest.
func (c *comebacks) after(host string, wait, step time.Duration, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil || len(c.hosts) > maxHosts {
		c.forget(now)
	}
	at := now.Add(wait)
	if next := c.hosts[host].Add(max(step, leastStep)); next.After(at) {
		at = next
	}
	if latest := now.Add(maxComeBack); at.After(latest) && wait < maxComeBack {
		return maxComeBack - rand.N(maxComeBack/2)
	}
	c.hosts[host] = at
	return at.Sub(now)
}

// forget drops hosts to which nobody is to come back any more. Called with mu held.
func (c *comebacks) forget(now time.Time) {
	kept := make(map[string]time.Time)
	for host, at := range c.hosts {
		if at.After(now) && len(kept) < maxHosts {
			kept[host] = at
		}
	}
	c.hosts = kept
}
