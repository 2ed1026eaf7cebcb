package crawl

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// maxComeBack is the maximum delay until a fetch retries to get its turn.
	maxComeBack = 10 * time.Minute
	// leastStep is the minimum interval between two retries at a host without a delay between requests.
	leastStep = 50 * time.Millisecond
)

// comebacks schedules the retries of fetches that did not get a turn at a host, so that they do not all come at once.
// It is only an estimate: a fetch may find the host free or busy when it returns, and deleted ones never return.
type comebacks struct {
	mu    sync.Mutex
	hosts map[string]time.Time // time of the last scheduled retry
}

// after returns the delay until the next retry: at least wait, and a step after the previous retry. If that exceeds
// maxComeBack, it returns a random delay between half of maxComeBack and maxComeBack.
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

// forget removes hosts without a future retry. The caller must hold mu.
func (c *comebacks) forget(now time.Time) {
	kept := make(map[string]time.Time)
	for host, at := range c.hosts {
		if at.After(now) && len(kept) < maxHosts {
			kept[host] = at
		}
	}
	c.hosts = kept
}
