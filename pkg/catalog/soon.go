package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// soonAfter is how long uses that are counted soon are kept in memory: what a process loses of them that is killed.
const soonAfter = 100 * time.Millisecond

// soon keeps uses in memory until they are stored, all at once.
type soon struct {
	turn sync.Mutex // held by who stores

	mu     sync.Mutex
	next   *tallied // what is stored next; nil: nothing waits
	closed bool     // nothing waits any more
	timer  *time.Timer
}

// CountSoon is Count for what no limit is held against, and what is used more often than it could be stored: it is kept in
// memory, stored with all others within a tenth of a second, and at the latest by Close. Usage and KeyUsage of this process
// know it at once. A process that is killed forgets the last tenth of a second. That it cannot be stored is logged.
func (c *Catalog) CountSoon(a domain.Account, uses map[domain.Metric]int64) {
	c.soon.mu.Lock()
	defer c.soon.mu.Unlock()
	if c.soon.closed {
		return
	}
	if c.soon.next == nil {
		c.soon.next = newTallied()
		c.soon.timer = time.AfterFunc(soonAfter, c.storeSoon)
	}
	c.soon.next.add(a, uses)
}

// storeSoon stores what waits. Once it has returned, everything is stored that was counted before.
func (c *Catalog) storeSoon() {
	c.soon.turn.Lock()
	defer c.soon.turn.Unlock()
	c.soon.mu.Lock()
	next := c.soon.next
	if c.soon.next = nil; next != nil {
		c.soon.timer.Stop()
	}
	c.soon.mu.Unlock()
	if next == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tallyTimeout) // of its own: whoever has counted is gone
	defer cancel()
	next.store(ctx, c.storeUses)
	for a, err := range next.errs {
		if err != nil {
			c.log.ErrorContext(ctx, "counting use", "workspace", a.WorkspaceID, "key", a.KeyID, "error", err)
		}
	}
}

// endSoon stores what waits; nothing is counted after it.
func (c *Catalog) endSoon() {
	c.soon.mu.Lock()
	c.soon.closed = true
	c.soon.mu.Unlock()
	c.storeSoon()
}
