package ingest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Background limits the re-embedding of content that no reader waits for, so that it uses processors that are otherwise
// idle. Jobs for new content and queries take precedence. With a nil Background, no work is in the background.
type Background struct {
	applies func(from, to domain.Place) bool
	busy    func() bool
	slots   chan struct{}
	running atomic.Int64 // jobs that readers wait for
}

const (
	// backgroundPoll is the interval at which background work checks whether the process is idle.
	backgroundPoll = 20 * time.Millisecond
	// backgroundMaxWait is how long background work gives way before each step. Because of this limit, it makes
	// progress in a process that is never idle.
	backgroundMaxWait = 250 * time.Millisecond
)

// NewBackground returns a Background for the moves for which `applies` returns true. Up to `slots` goroutines work at the
// same time. While busy returns true, they pause. busy may be nil.
func NewBackground(slots int, applies func(from, to domain.Place) bool, busy func() bool) *Background {
	return &Background{applies: applies, busy: busy, slots: make(chan struct{}, max(slots, 1))}
}

// isFor reports whether a move is in the background.
func (b *Background) isFor(from, to domain.Place) bool { return b != nil && b.applies(from, to) }

// foreground registers a job that takes precedence. The caller must call `end` when the job is done.
func (b *Background) foreground() (end func()) {
	if b == nil {
		return func() {}
	}
	b.running.Add(1)
	return func() { b.running.Add(-1) }
}

// enter waits until the process is idle, but not longer than backgroundMaxWait, and until a slot is free. The caller
// must call `leave` after a short step.
func (b *Background) enter(ctx context.Context) (leave func(), err error) {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-b.slots }
	if !b.isBusy() {
		return leave, nil
	}
	timeout, poll := time.NewTimer(backgroundMaxWait), time.NewTicker(backgroundPoll)
	defer timeout.Stop()
	defer poll.Stop()
	for b.isBusy() {
		select {
		case <-poll.C:
			continue
		case <-timeout.C:
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
		break
	}
	return leave, nil
}

func (b *Background) isBusy() bool { return b.running.Load() > 0 || b.busy != nil && b.busy() }
