package accounts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// How long uses stay in memory before they are stored. A process that is killed loses them.
const deferDelay = 100 * time.Millisecond

// deferredUsage buffers uses in memory and stores them together.
type deferredUsage struct {
	lock chan struct{} // holds an element while uses are being stored; a mutex would not allow waiting with a context

	mu     sync.Mutex
	next   *usageBatch // uses to store next; nil: none
	closed bool        // no more uses are buffered
	timer  *time.Timer
}

// CountDeferred is like Count, but for frequent uses that no limit applies to. It buffers uses in memory and stores
// them together within a tenth of a second, or in Close if that is earlier. In this process, Usage and KeyUsage include
// buffered uses at once. A process that is killed loses the uses of the last tenth of a second. Errors are logged.
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

// flushDeferred stores the buffered uses. If it returns nil, all earlier uses have been stored, or the errors have been
// logged. ctx limits only the wait. It does not cancel the storing, because other callers may be waiting for it, too.
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

// closeDeferred stores the buffered uses. Later uses are not counted.
func (c *Accounts) closeDeferred() {
	c.deferred.mu.Lock()
	c.deferred.closed = true
	c.deferred.mu.Unlock()
	_ = c.flushDeferred(context.Background()) // fails only if the context ends
}
