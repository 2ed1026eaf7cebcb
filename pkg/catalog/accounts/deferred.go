package accounts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Time for which uses stay in memory before they are stored; a killed process loses them.
const deferDelay = 100 * time.Millisecond

// deferredUsage buffers uses in memory and stores them together.
type deferredUsage struct {
	lock chan struct{} // holds an element while uses are being stored

	mu     sync.Mutex
	next   *usageBatch // uses to store next; nil: none
	closed bool        // no more uses are buffered
	timer  *time.Timer
}

// CountDeferred is Count for frequent uses without a limit. It buffers them in memory and stores them together within a
// tenth of a second, and at the latest in Close. Usage and KeyUsage of this process include them at once. A killed
// process loses the uses of the last tenth of a second. Errors are logged.
func (c *Accounts) CountDeferred(a domain.Account, uses map[domain.Metric]int64) {
	c.deferred.mu.Lock()
	defer c.deferred.mu.Unlock()
	if c.deferred.closed {
		return
	}
	if c.deferred.next == nil {
		c.deferred.next = newUsageBatch()
		c.deferred.timer = time.AfterFunc(deferDelay, func() { _ = c.flushDeferred(context.Background()) }) // fails only if the context ends
	}
	c.deferred.next.add(a, uses)
}

// flushDeferred stores the buffered uses. If it returns nil, all earlier uses are stored, or their errors logged. ctx
// only limits the wait; it does not cancel the storing, which other callers share.
func (c *Accounts) flushDeferred(ctx context.Context) error {
	select {
	case c.deferred.lock <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for usage counts to be stored: %w", ctx.Err())
	}
	next := c.takeDeferred()
	if next == nil {
		<-c.deferred.lock
		return nil
	}
	stored := make(chan struct{})
	go func() { // the lock allows only one such goroutine at a time
		defer close(stored)
		defer func() { <-c.deferred.lock }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout) // ctx only limits the caller's wait
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
		return fmt.Errorf("storing usage counts: %w", ctx.Err())
	}
}

// takeDeferred removes and returns the buffered uses, or nil if there are none.
func (c *Accounts) takeDeferred() *usageBatch {
	c.deferred.mu.Lock()
	defer c.deferred.mu.Unlock()
	next := c.deferred.next
	if c.deferred.next = nil; next != nil {
		c.deferred.timer.Stop()
	}
	return next
}

// closeDeferred stores the buffered uses; later ones are not counted.
func (c *Accounts) closeDeferred() {
	c.deferred.mu.Lock()
	c.deferred.closed = true
	c.deferred.mu.Unlock()
	_ = c.flushDeferred(context.Background()) // fails only if the context ends
}
