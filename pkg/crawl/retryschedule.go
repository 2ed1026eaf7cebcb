package crawl

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// Maximum delay before a fetch tries again to get a slot.
	maxRetryDelay = 10 * time.Minute
	// Minimum interval between the retries of different fetches at a host that has no minimum delay between requests.
	minRetryStep = 50 * time.Millisecond
)

// retrySchedule spreads out the retries of fetches that got no slot at a host. The schedule is only an estimate. When a
// retry is due, the host may still be busy, or it may have been free for a while, because fetches that were deleted
// never retry.
type retrySchedule struct {
	mu    sync.Mutex
	hosts map[string]time.Time // when the last scheduled retry is due
}

// next returns the delay until the next retry, at least `wait`. Retries at the same host are at least `step` apart. If
// the schedule is full up to maxRetryDelay, next returns a random delay between half of maxRetryDelay and
// maxRetryDelay.
func (c *retrySchedule) next(host string, wait, step time.Duration, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil || len(c.hosts) > maxHosts {
		c.forget(now)
	}
	at := now.Add(wait)
	if next := c.hosts[host].Add(max(step, minRetryStep)); next.After(at) {
		at = next
	}
	if latest := now.Add(maxRetryDelay); at.After(latest) && wait < maxRetryDelay {
		return maxRetryDelay - rand.N(maxRetryDelay/2)
	}
	c.hosts[host] = at
	return at.Sub(now)
}

// forget removes hosts that have no scheduled retries. The caller must hold mu.
func (c *retrySchedule) forget(now time.Time) {
	kept := make(map[string]time.Time)
	for host, at := range c.hosts {
		if at.After(now) && len(kept) < maxHosts {
			kept[host] = at
		}
	}
	c.hosts = kept
}
