package ingest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Background limits the re-embedding of content that no reader is waiting for, so that it uses only idle CPUs. Queries
// and jobs for new content take precedence. If a Background is nil, all work takes precedence and none is treated as
// background work.
type Background struct {
	applies func(from, to domain.Place) bool
	busy    func() bool
	slots   chan struct{}
	running atomic.Int64 // jobs readers are waiting for
}

const (
	// backgroundPoll is how often background work checks whether the process is idle.
	backgroundPoll = 20 * time.Millisecond
	// backgroundMaxWait limits how long background work waits for an idle process before it embeds its next few texts.
	// That way it makes progress even if the process is never idle.
	backgroundMaxWait = 250 * time.Millisecond
)

// NewBackground returns a Background for moves that `applies` accepts. Up to `slots` goroutines work in the background
// at the same time, pausing while `busy` returns true. `busy` may be nil.
func NewBackground(slots int, applies func(from, to domain.Place) bool, busy func() bool) *Background {
	return &Background{applies: applies, busy: busy, slots: make(chan struct{}, max(slots, 1))}
}

// isFor reports whether a move between two places is background work.
func (b *Background) isFor(from, to domain.Place) bool { return b != nil && b.applies(from, to) }

// foreground registers a job that takes precedence over background work. The caller must call `end` after the job.
func (b *Background) foreground() (end func()) {
	if b == nil {
		return func() {}
	}
	b.running.Add(1)
	return func() { b.running.Add(-1) }
}

// enter waits for a free slot and then, for up to backgroundMaxWait, for the process to become idle. After enter
// returns, the caller embeds a few texts and then must call `leave`.
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
