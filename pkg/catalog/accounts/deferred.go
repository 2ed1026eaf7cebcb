package accounts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// How long usage stays in memory before it is stored. If the process is killed before then, this usage is lost.
const deferDelay = 100 * time.Millisecond

// deferredUsage buffers the usage of many calls in memory and stores it in one transaction.
type deferredUsage struct {
	lock chan struct{} // holds an element while uses are being stored; a mutex would not allow waiting with a context

	mu     sync.Mutex
	next   *usageBatch // uses to store next; nil: none
	closed bool        // no more uses are buffered
	timer  *time.Timer
}

// CountDeferred is like Count, but does not wait for the database. It keeps the uses in memory and stores them within a
// tenth of a second, or in Close if that comes first. Use it only for metrics without a limit: if the process is
// killed, the uses from the last tenth of a second are lost. Usage and KeyUsage of this process include the uses
// immediately. Errors are logged.
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

// flushDeferred stores the buffered usage and waits until this is done. Database errors are logged, not returned. If
// ctx is done first, flushDeferred returns an error, but the usage is still stored, because other callers may be
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

// takeDeferred removes the buffered usage and returns it, or nil if there is none.
func (c *Accounts) takeDeferred() *usageBatch {
	c.deferred.mu.Lock()
	defer c.deferred.mu.Unlock()
	next := c.deferred.next
	if c.deferred.next = nil; next != nil {
		c.deferred.timer.Stop()
	}
	return next
}

// closeDeferred stores the buffered usage. Later calls of CountDeferred have no effect.
func (c *Accounts) closeDeferred() {
	c.deferred.mu.Lock()
	c.deferred.closed = true
	c.deferred.mu.Unlock()
	_ = c.flushDeferred(context.Background()) // fails only if the context is done
}
