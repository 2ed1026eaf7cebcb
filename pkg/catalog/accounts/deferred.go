package accounts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// How long usage may be buffered. A killed process loses its buffer.
const deferDelay = 100 * time.Millisecond

// deferredUsage buffers usage so that many uses share one transaction.
type deferredUsage struct {
	lock chan struct{} // full while uses are being stored; waiting for a mutex could not be cancelled

	mu     sync.Mutex
	next   *usageBatch // uses to store next; nil if there are none
	closed bool        // whether buffering has ended
	timer  *time.Timer
}

// CountDeferred is like Count but doesn't wait for the database. Uses are buffered and stored within 100 milliseconds,
// or when Close is called. A killed process loses its buffer, so use CountDeferred only for metrics without a limit.
// Usage and KeyUsage in this process include buffered uses immediately. Errors are logged.
func (c *Accounts) CountDeferred(a domain.Account, uses map[domain.Metric]int64) {
	c.deferred.mu.Lock()
	defer c.deferred.mu.Unlock()
	if c.deferred.closed {
		return
	}
	if c.deferred.next == nil {
		c.deferred.next = newUsageBatch()
		c.deferred.timer = time.AfterFunc(deferDelay, func() { _ = c.flushDeferred(context.Background()) }) // fails only if the context is done
	}
	c.deferred.next.add(a, uses)
}

// flushDeferred stores the buffered usage and waits for the commit. Database errors are only logged. If ctx is done
// before the commit, flushDeferred returns an error, but the usage is still stored, because other callers may be
// waiting for it.
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
				c.db.Log.ErrorContext(ctx, "cannot store usage counts", "workspace", a.WorkspaceID, "key", a.KeyID, "error", err)
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

// takeDeferred removes and returns the buffered usage, or returns nil if there is none.
func (c *Accounts) takeDeferred() *usageBatch {
	c.deferred.mu.Lock()
	defer c.deferred.mu.Unlock()
	next := c.deferred.next
	if c.deferred.next = nil; next != nil {
		c.deferred.timer.Stop()
	}
	return next
}

// closeDeferred stops buffering and stores what is buffered.
func (c *Accounts) closeDeferred() {
	c.deferred.mu.Lock()
	c.deferred.closed = true
	c.deferred.mu.Unlock()
	_ = c.flushDeferred(context.Background()) // fails only if the context is done
}
