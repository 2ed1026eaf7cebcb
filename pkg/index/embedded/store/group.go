package store

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sluice/sluice/pkg/lists"
)

// Maximum number of rows per group commit. A larger batch is committed alone.
const maxGroupRows = 1000

// group implements a space's group commit: many small batches share one transaction, one segment and one sync. The
// first caller becomes the leader, which waits for writeMu and then commits the queued batches. The next queued caller
// then becomes the leader. A caller whose batch was committed returns without taking the lock.
type group struct {
	mu        sync.Mutex
	hasLeader bool
	waiting   []*waitingBatch
}

// waitingBatch is a queued batch with its result. The leader owns its fields until it signals `wake`.
type waitingBatch struct {
	*Batch
	wake chan struct{} // signalled once the batch is done or its caller must lead
	done bool
	err  error
}

func (b *waitingBatch) finish(err error) {
	b.err, b.done = err, true
	b.wake <- struct{}{}
}

// add queues a batch and reports whether its caller is the leader.
func (g *group) add(b *waitingBatch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, b)
	first := !g.hasLeader
	g.hasLeader = true
	return first
}

func (g *group) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hasLeader = len(g.waiting) > 0; g.hasLeader {
		g.waiting[0].wake <- struct{}{}
	}
}

// leave removes the first batch from the queue.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.Delete(g.waiting, 0, 1)
}

// take dequeues the batches for the next group. A batch that shares a key with an earlier one waits for a later group,
// so that the last write to a key wins.
func (g *group) take() []*waitingBatch {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, rows := 0, 0
	keys := make(map[string]bool)
	for n < len(g.waiting) && (n == 0 || rows+len(g.waiting[n].Rows) <= maxGroupRows && !g.waiting[n].containsAny(keys)) {
		for _, p := range g.waiting[n].Rows {
			keys[p.row.Key] = true
		}
		rows += len(g.waiting[n].Rows)
		n++
	}
	out := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return out
}

func (b *Batch) containsAny(keys map[string]bool) bool {
	return slices.ContainsFunc(b.Rows, func(p *Prepared) bool { return keys[p.row.Key] })
}

// Write commits a batch together with other waiting batches. When it returns nil, the rows are durable and visible.
// Once a leader has taken the batch from the queue, it is written even if ctx is done.
func (s *Space) Write(ctx context.Context, b *Batch) error {
	computeCodes(b.Rows, &s.Snapshot().Set) // outside the write lock
	own := &waitingBatch{Batch: b, wake: make(chan struct{}, 1)}
	if !s.group.add(own) {
		if <-own.wake; own.done {
			return own.err
		}
	}
	defer s.group.next()
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if ctx.Err() != nil {
		s.group.leave()
		return ctx.Err()
	}
	s.writeGroup(ctx, own, s.group.take())
	return own.err
}

// writeGroup commits batches together. If that fails, it commits them one by one, so that a bad batch doesn't fail the
// others.
func (s *Space) writeGroup(ctx context.Context, own *waitingBatch, waiting []*waitingBatch) {
	defer func() {
		for _, b := range waiting {
			if !b.done {
				b.finish(errors.New("group commit failed: the leader stopped before committing this batch"))
			}
		}
	}()
	others := context.WithoutCancel(ctx) // this caller's context must not cancel the others
	if len(waiting) > 1 {
		batches := lists.Map(waiting, func(b *waitingBatch) *Batch { return b.Batch })
		if s.writeBatches(others, batches) == nil {
			for _, b := range waiting {
				b.finish(nil)
			}
			return
		}
	}
	for _, b := range waiting {
		with := others
		if b == own {
			with = ctx
		}
		b.finish(s.writeBatches(with, []*Batch{b.Batch}))
	}
}
