package accounts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Time for which uses stay in memory before they are stored; a killed process loses them.
const soonAfter = 100 * time.Millisecond

// soon buffers uses in memory and stores them together.
type soon struct {
	turn chan struct{} // holds an element while uses are being stored

	mu     sync.Mutex
	next   *tallied // uses to store next; nil: none
	closed bool     // no more uses are buffered
	timer  *time.Timer
}

// CountSoon is Count for frequent uses without a limit. It buffers them in memory and stores them together within a
// tenth of a second, and at the latest in Close. Usage and KeyUsage of this process include them at once. A killed
// process loses the last tenth of a second. Errors are logged.
func (c *Accounts) CountSoon(a domain.Account, uses map[domain.Metric]int64) {
	c.soon.mu.Lock()
	defer c.soon.mu.Unlock()
	if c.soon.closed {
		return
	}
	if c.soon.next == nil {
		c.soon.next = newTallied()
		c.soon.timer = time.AfterFunc(soonAfter, func() { _ = c.storeSoon(context.Background()) }) // fails only if the context ends
	}
	c.soon.next.add(a, uses)
}

// storeSoon stores the buffered uses. If it returns nil, all earlier uses are stored, or their errors logged. ctx only
// limits the wait; it does not cancel the storing, which other callers share.
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
	go func() { // the slot allows only one of these at a time
		defer close(stored)
		defer func() { <-c.soon.turn }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tallyTimeout) // the callers do not wait
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

// takeSoon takes the buffered uses; nil: none.
func (c *Accounts) takeSoon() *tallied {
	c.soon.mu.Lock()
	defer c.soon.mu.Unlock()
	next := c.soon.next
	if c.soon.next = nil; next != nil {
		c.soon.timer.Stop()
	}
	return next
}

// endSoon stores the buffered uses; later ones are not counted.
func (c *Accounts) endSoon() {
	c.soon.mu.Lock()
	c.soon.closed = true
	c.soon.mu.Unlock()
	_ = c.storeSoon(context.Background()) // fails only if the context ends
}
