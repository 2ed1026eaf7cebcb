package store

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// maxGroupRows bounds the rows that are written together. A batch of more is written alone.
const maxGroupRows = 1000

// group gathers the batches that wait to be written, so that one transaction, one segment and one wait for the disk serve them
// all: documents are small, and disks are slow to promise. Who comes while nobody writes does so for all that wait once writeMu is had;
// then the first of those that have come meanwhile is called to do the same. Who was written for goes on at once, and waits for no turn.
type group struct {
	mu      sync.Mutex
	writing bool // somebody writes, or was called to
	waiting []*waitingBatch
}

// waitingBatch is a batch and what became of it. Who writes it has its fields, and its own writer once that is called.
type waitingBatch struct {
	*Batch
	called chan struct{} // gets a value when the batch was written, or when it is its writer's turn
	done   bool
	err    error
}

// finish tells the batch's writer what became of it.
func (b *waitingBatch) finish(err error) {
	b.err, b.done = err, true
	b.called <- struct{}{}
}

// add has a batch wait, and reports whether it is its writer's turn at once.
func (g *group) add(b *waitingBatch) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, b)
	first := !g.writing
	g.writing = true
	return first
}

// next ends a writer's turn, and calls the next.
func (g *group) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writing = len(g.waiting) > 0; g.writing {
		g.waiting[0].called <- struct{}{}
	}
}

// leave takes back the batch that has waited longest.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.Delete(g.waiting, 0, 1)
}

// take takes the batches that have waited longest, as many as may be written together. One that brings a key again is left for the
// next time, so that of rows with the same key the last one stays.
func (g *group) take() []*waitingBatch {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, rows := 0, 0
	keys := make(map[string]bool)
	for n < len(g.waiting) && (n == 0 || rows+len(g.waiting[n].Rows) <= maxGroupRows && !g.waiting[n].hasOneOf(keys)) {
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

// hasOneOf reports whether there is a row with one of the keys.
func (b *Batch) hasOneOf(keys map[string]bool) bool {
	return slices.ContainsFunc(b.Rows, func(p *Prepared) bool { return keys[p.row.Key] })
}

// Write stores a batch, together with others that wait for the same moment. A caller that goes while its batch is being
// written with others' leaves it to be written.
func (s *Space) Write(ctx context.Context, b *Batch) error {
	makeCodesOf(b.Rows, &s.Snapshot().Set) // as the others do for theirs: who holds writeMu need not
	own := &waitingBatch{Batch: b, called: make(chan struct{}, 1)}
	if !s.group.add(own) {
		if <-own.called; own.done {
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

// writeGroup writes batches for the writer of the first. If they cannot be written together, each has a try of its own, so that none
// fails for another's fault.
func (s *Space) writeGroup(ctx context.Context, own *waitingBatch, waiting []*waitingBatch) {
	defer func() {
		for _, b := range waiting {
			if !b.done {
				b.finish(errors.New("who wrote this batch with others gave up in the middle"))
			}
		}
	}()
	others := context.WithoutCancel(ctx) // they do not end with this caller
	if len(waiting) > 1 {
		batches := make([]*Batch, len(waiting))
		for i, b := range waiting {
			batches[i] = b.Batch
		}
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
