package embedded

import (
	"context"
	"errors"
	"sync"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// queueIVF queues a space for the one that cuts cells, when it needs it.
func (x *Index) queueIVF(s *store.Space, id index.Space) {
	if !s.NeedsIVF() {
		return
	}
	if _, waiting := x.ivfQueued.LoadOrStore(id, struct{}{}); waiting {
		return
	}
	select {
	case x.ivfQueue <- id:
	default:
		x.ivfQueued.Delete(id)
	}
}

// repairIVF has cells made anew that a search has found damaged.
func (x *Index) repairIVF(s *store.Space, id index.Space) {
	if s.IVFBroken() {
		x.queueIVF(s, id)
	}
}

// runIVF makes the cells of one space at a time until the index is closed. Merges of other spaces do not wait for it.
func (x *Index) runIVF(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-x.ivfQueue:
			x.ivfQueued.Delete(id)
			err := x.building.with(ctx, x, id, (*store.Space).MaintainIVF)
			// Damage of vectors or codes is noted where it is met, and looked into.
			known := errors.Is(err, store.ErrNoSpace) || errors.Is(err, index.ErrClosed) || errors.Is(err, index.ErrCorrupt)
			if err != nil && ctx.Err() == nil && !known {
				x.log.Error("making cells of vectors", "datastore", id.DatastoreID, "error", err)
			}
		}
	}
}

// ivfBuilds knows of the datastores whose cells are being made.
type ivfBuilds struct {
	mu    sync.Mutex
	stops map[*index.Space]context.CancelFunc
}

// with makes cells of a space, unless its datastore is dropped before or meanwhile: then it gives up, and fails with nothing.
func (c *ivfBuilds) with(ctx context.Context, x *Index, id index.Space, do func(s *store.Space, ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	if c.stops == nil {
		c.stops = make(map[*index.Space]context.CancelFunc)
	}
	c.stops[&id] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.stops, &id)
	}()
	err := x.use(ctx, id, false, func(s *store.Space) error { return do(s, ctx) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// cancel has whoever makes cells of a datastore give up.
func (c *ivfBuilds) cancel(datastore string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, stop := range c.stops {
		if id.DatastoreID == datastore {
			stop()
		}
	}
}
