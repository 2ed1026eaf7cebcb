package embedded

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// maxGroupRows bounds the rows that are written together. A batch of more is written alone.
const maxGroupRows = 1000

// group gathers the batches that wait to be written, so that one transaction, one segment and one wait for the disk serve them
// all: documents are small, and disks are slow to promise.
type group struct {
	mu      sync.Mutex
	waiting []*waitingBatch
}

// waitingBatch is a batch and what became of it. The holder of the space's writeMu has its fields.
type waitingBatch struct {
	*batch
	done bool
	err  error
}

func (g *group) add(b *waitingBatch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, b)
}

// leave takes a batch back.
func (g *group) leave(b *waitingBatch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(w *waitingBatch) bool { return w == b })
}

// take takes the batches that have waited longest, as many as may be written together. One that brings a key again is left for the
// next time, so that of rows with the same key the last one stays.
func (g *group) take() []*waitingBatch {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, rows := 0, 0
	keys := make(map[string]bool)
	for n < len(g.waiting) && (n == 0 || rows+len(g.waiting[n].rows) <= maxGroupRows && !g.waiting[n].hasOneOf(keys)) {
		for _, p := range g.waiting[n].rows {
			keys[p.row.Key] = true
		}
		rows += len(g.waiting[n].rows)
		n++
	}
	out := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return out
}

// hasOneOf reports whether there is a row with one of the keys.
func (b *batch) hasOneOf(keys map[string]bool) bool {
	return slices.ContainsFunc(b.rows, func(p *prepared) bool { return keys[p.row.Key] })
}

// write stores a batch, together with others that wait for the same moment. A caller that goes while its batch is being
// written with others' leaves it to be written.
func (s *space) write(ctx context.Context, b *batch) error {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	makeCodesOf(b.rows, current) // which others do at the same moment, and the writer does not wait for
	own := &waitingBatch{batch: b}
	s.group.add(own)
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if !own.done && ctx.Err() != nil {
		s.group.leave(own)
		return ctx.Err()
	}
	for !own.done {
		batches := s.group.take()
		if len(batches) == 0 {
			return errors.New("who wrote this batch with others gave up in the middle")
		}
		s.writeGroup(ctx, own, batches)
	}
	return own.err
}

// writeGroup writes batches for the writer of one, which may be among them. If they cannot be written together, each has a
// try of its own, so that none fails for another's fault.
func (s *space) writeGroup(ctx context.Context, own *waitingBatch, waiting []*waitingBatch) {
	others := context.WithoutCancel(ctx) // they do not end with this caller
	if len(waiting) > 1 {
		batches := make([]*batch, len(waiting))
		for i, b := range waiting {
			batches[i] = b.batch
		}
		if s.writeBatches(others, batches) == nil {
			for _, b := range waiting {
				b.done = true
			}
			return
		}
	}
	for _, b := range waiting {
		with := others
		if b == own {
			with = ctx
		}
		b.err, b.done = s.writeBatches(with, []*batch{b.batch}), true
	}
}
