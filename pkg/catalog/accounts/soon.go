package accounts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// soonAfter is how long uses that are counted soon are kept in memory: what a process loses of them that is killed.
const soonAfter = 100 * time.Millisecond

// soon keeps uses in memory until they are stored, all at once.
type soon struct {
	turn chan struct{} // holds one while somebody stores

	mu     sync.Mutex
	next   *tallied // what is stored next; nil: nothing waits
	closed bool     // nothing waits any more
	timer  *time.Timer
}

// CountSoon is Count for what no limit is held against, and what is used more often than it could be stored: it is kept in
// memory, stored with all others within a tenth of a second, and at the latest by Close. Usage and KeyUsage of this process
// know it at once. A process that is killed forgets the last tenth of a second. That it cannot be stored is logged.
func (c *Accounts) CountSoon(a domain.Account, uses map[domain.Metric]int64) {
	c.soon.mu.Lock()
	defer c.soon.mu.Unlock()
	if c.soon.closed {
		return
	}
	if c.soon.next == nil {
		c.soon.next = newTallied()
		c.soon.timer = time.AfterFunc(soonAfter, func() { _ = c.storeSoon(context.Background()) }) // only the context ends it
	}
	c.soon.next.add(a, uses)
}

// storeSoon stores what waits. Once it has returned without error, everything is stored, or logged, that was counted before.
// Its context bounds how long it waits for that, and nothing is lost for it: what is being stored is not the caller's alone.
func (c *Accounts) storeSoon(ctx context.Context) error {
	select {
	case c.soon.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for what is counted to be stored: %w", ctx.Err())
	}
	next := c.takeSoon()
	if next == nil {
		<-c.soon.turn
		return nil
	}
	stored := make(chan struct{})
	go func() { // one at a time: it has the turn
		defer close(stored)
		defer func() { <-c.soon.turn }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tallyTimeout) // whoever has counted is gone
		defer cancel()
		next.store(ctx, c.storeUses)
		for a, err := range next.errs {
			if err != nil {
				c.db.Log.ErrorContext(ctx, "counting use", "workspace", a.WorkspaceID, "key", a.KeyID, "error", err)
			}
		}
	}()
	select {
	case <-stored:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("storing what is counted: %w", ctx.Err())
	}
}

// takeSoon takes what waits; nil: nothing does.
func (c *Accounts) takeSoon() *tallied {
	c.soon.mu.Lock()
	defer c.soon.mu.Unlock()
	next := c.soon.next
	if c.soon.next = nil; next != nil {
		c.soon.timer.Stop()
	}
	return next
}

// endSoon stores what waits; nothing is counted after it.
func (c *Accounts) endSoon() {
	c.soon.mu.Lock()
	c.soon.closed = true
	c.soon.mu.Unlock()
	_ = c.storeSoon(context.Background()) // only the context ends it
}
