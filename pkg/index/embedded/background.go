package embedded

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// queue holds the spaces waiting for background work, without duplicates. If the queue is full, new entries are
// dropped; the next write to the space queues it again.
type queue struct {
	spaces  chan index.Space
	waiting sync.Map // index.Space → struct{}
}

func (q *queue) add(id index.Space) {
	if _, waiting := q.waiting.LoadOrStore(id, struct{}{}); waiting {
		return
	}
	select {
	case q.spaces <- id:
	default:
		q.waiting.Delete(id)
	}
}

// queueMerge queues the background work that a space needs: merges, IVF builds, and work to do once the space is idle.
// Call it after opening a space and after each write.
func (x *Index) queueMerge(s *store.Space, id index.Space) {
	x.queueIVF(s, id)
	if s.NeedsSettling() {
		x.idleSpaces.note(id)
	}
	if s.NeedsMerge() {
		x.merges.add(id)
	}
}

// queueIVF queues a space if its IVF has to be built or extended.
func (x *Index) queueIVF(s *store.Space, id index.Space) {
	if s.NeedsIVF() {
		x.ivfs.add(id)
	}
}

// runMerges merges one space at a time until the index is closed.
func (x *Index) runMerges(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-x.merges.spaces:
			x.merges.waiting.Delete(id)
			x.mergeAndLog(ctx, id, x.mergeAll)
		case <-x.idleSpaces.ready:
			for _, id := range x.idleSpaces.take() {
				x.mergeAndLog(ctx, id, x.settle)
			}
		}
	}
}

// mergeAndLog merges a space and logs any error, because there is no caller to return it to.
func (x *Index) mergeAndLog(ctx context.Context, id index.Space, merge func(context.Context, index.Space) error) {
	if err := merge(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, index.ErrClosed) {
		x.log.Error("cannot merge postings", "datastore", id.DatastoreID, "error", err)
	}
}

func (x *Index) mergeAll(ctx context.Context, id index.Space) error {
	return x.mergeWhile(ctx, id, lexical.SegmentsToMerge)
}

// settle merges an idle space's small segments (see lexical.SegmentsToSettle), marks the space as idle and queues an
// IVF build if one is due.
func (x *Index) settle(ctx context.Context, id index.Space) error {
	if err := x.mergeWhile(ctx, id, lexical.SegmentsToSettle); err != nil {
		return err
	}
	return x.use(ctx, id, false, func(s *store.Space) error {
		s.MarkIdle()
		x.queueIVF(s, id)
		return nil
	})
}

func (x *Index) mergeWhile(ctx context.Context, id index.Space, choose func([]lexical.Segment) []lexical.Segment) error {
	for more := true; more; {
		err := x.use(ctx, id, false, func(s *store.Space) (err error) {
			more, err = s.Merge(ctx, choose)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// repairIVF queues an IVF rebuild if a search found the IVF damaged.
func (x *Index) repairIVF(s *store.Space, id index.Space) {
	if s.IVFBroken() {
		x.queueIVF(s, id)
	}
}

// runIVF builds one IVF at a time until the index is closed, possibly while merges are running.
func (x *Index) runIVF(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-x.ivfs.spaces:
			x.ivfs.waiting.Delete(id)
			err := x.building.run(ctx, x, id, (*store.Space).MaintainIVF)
			// Do not log damage to vectors or codes: Index.use has already recorded it.
			known := errors.Is(err, store.ErrNotFound) || errors.Is(err, index.ErrClosed) || errors.Is(err, index.ErrCorrupt)
			if err != nil && ctx.Err() == nil && !known {
				x.log.Error("cannot build the IVF lists", "datastore", id.DatastoreID, "error", err)
			}
		}
	}
}

type ivfBuilds struct {
	mu      sync.Mutex
	cancels map[*index.Space]context.CancelFunc
}

// run opens a space for an IVF build and calls `do` with it. If the datastore is dropped in the meantime, run cancels
// the build and returns nil.
func (c *ivfBuilds) run(ctx context.Context, x *Index, id index.Space, do func(s *store.Space, ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	if c.cancels == nil {
		c.cancels = make(map[*index.Space]context.CancelFunc)
	}
	c.cancels[&id] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.cancels, &id)
	}()
	err := x.use(ctx, id, false, func(s *store.Space) error { return do(s, ctx) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// cancel cancels the builds for a datastore.
func (c *ivfBuilds) cancel(datastore string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, stop := range c.cancels {
		if id.DatastoreID == datastore {
			stop()
		}
	}
}

// How long a space must go without writes before its small segments are merged.
const idleTime = 2 * time.Second

// idleSpaces finds spaces that haven't been written to for a while.
type idleSpaces struct {
	ready chan struct{} // signalled when take has spaces to return

	mu        sync.Mutex
	idleAfter time.Duration
	timer     *time.Timer
	written   map[index.Space]time.Time // last write
	running   bool                      // timer is running
	ended     bool
}

func (q *idleSpaces) begin(after time.Duration) {
	q.ready, q.idleAfter, q.written = make(chan struct{}, 1), after, make(map[index.Space]time.Time)
	q.timer = time.AfterFunc(after, func() {
		select {
		case q.ready <- struct{}{}:
		default:
		}
	})
	q.timer.Stop()
}

// note records a write and restarts the space's idle period.
func (q *idleSpaces) note(id index.Space) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.written[id] = time.Now()
	q.run(q.idleAfter)
}

// run starts the timer that signals `ready`, unless it's already running. The caller must hold mu.
func (q *idleSpaces) run(after time.Duration) {
	if !q.running && !q.ended {
		q.running = true
		q.timer.Reset(after)
	}
}

// take returns the spaces that have become idle since the last call.
func (q *idleSpaces) take() []index.Space {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = false
	now := time.Now()
	var out []index.Space
	next := q.idleAfter
	for id, at := range q.written {
		if left := at.Add(q.idleAfter).Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		delete(q.written, id)
		out = append(out, id)
	}
	if len(q.written) > 0 {
		q.run(next)
	}
	return out
}

func (q *idleSpaces) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.timer.Stop()
}
