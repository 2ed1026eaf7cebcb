package embedded

import (
	"context"
	"errors"
	"sync"

	"github.com/sluice/sluice/pkg/index"
)

// cutLater queues a space for the one that cuts cells, when it needs it.
func (x *Index) cutLater(s *space, id index.Space) {
	if !s.needsIVF() {
		return
	}
	if _, waiting := x.cutQueued.LoadOrStore(id, struct{}{}); waiting {
		return
	}
	select {
	case x.cuts <- id:
	default:
		x.cutQueued.Delete(id)
	}
}

// mendCells has cells made anew that a search has found damaged.
func (x *Index) mendCells(s *space, id index.Space) {
	if s.cellsBroken() {
		x.cutLater(s, id)
	}
}

// runCuts makes the cells of one space at a time until the index is closed. Merges of other spaces do not wait for it.
func (x *Index) runCuts(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-x.cuts:
			x.cutQueued.Delete(id)
			err := x.cutting.with(ctx, x, id, (*space).makeCells)
			// Damage of vectors or codes is noted where it is met, and looked into.
			known := errors.Is(err, errNoSpace) || errors.Is(err, index.ErrClosed) || errors.Is(err, index.ErrCorrupt)
			if err != nil && ctx.Err() == nil && !known {
				x.log.Error("making cells of vectors", "datastore", id.DatastoreID, "error", err)
			}
		}
	}
}

// cutting knows of the datastores whose cells are being made.
type cutting struct {
	mu    sync.Mutex
	stops map[*index.Space]context.CancelFunc
}

// with makes cells of a space, unless its datastore is dropped before or meanwhile: then it gives up, and fails with nothing.
func (c *cutting) with(ctx context.Context, x *Index, id index.Space, do func(s *space, ctx context.Context) error) error {
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
	err := x.use(ctx, id, false, func(s *space) error { return do(s, ctx) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// leave has whoever makes cells of a datastore give up.
func (c *cutting) leave(datastore string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, stop := range c.stops {
		if id.DatastoreID == datastore {
			stop()
		}
	}
}
