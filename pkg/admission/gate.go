// Package admission limits concurrent work, so that an overloaded process keeps its throughput and refuses the excess
// at once.
//
// Beyond its limit a Gate queues callers. A burst is served first in, first out, with a long time-out. Once the queue
// has been non-empty for an interval, waiting only adds latency. The time-out is then short and the newest caller is
// served first, because the oldest has the least chance of being answered in time. This is adaptive LIFO with CoDel
// time-outs, see RFC 8289, section 3.1, and Maurer, "Fail at Scale", ACM Queue 13 (2015), 8.
package admission

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Options are the limits of a Gate. The zero value admits every caller.
type Options struct {
	Limit           int           // maximum number of callers admitted at once; 0: no limit
	Waiting         int           // maximum queue length; beyond it, one caller is refused: in a burst the newest, otherwise the oldest
	OverloadTimeout time.Duration // time-out for a caller that arrives during sustained load
	Burst           time.Duration // time-out for a caller that arrives in a burst
	Interval        time.Duration // how long the queue may be non-empty before a burst counts as sustained load; 0: all load is sustained
}

// Length of the cool-down after a refusal, in multiples of Options.Interval. During the cool-down no load counts as a
// burst, so that short gaps do not end overload mode.
const cooldownIntervals = 10

// Gate admits a limited number of callers at once. A nil Gate admits every caller.
type Gate struct {
	opts Options

	mu          sync.Mutex
	admitted    int
	waiting     []*waiter // in order of arrival
	queuedSince time.Time // when the queue last became non-empty
	refused     time.Time // time of the last refusal
}

// waiter is a queued caller. The goroutine that removes it from the queue admits or refuses it, exactly once.
type waiter struct {
	admitted chan bool
	timeout  time.Duration
}

// New returns a gate with the given limits.
func New(o Options) *Gate { return &Gate{opts: o} }

// Enter reports whether the caller is admitted. An admitted caller must call Leave once. Enter returns false if the
// gate is full and the caller was not admitted before its time-out or the end of ctx.
func (g *Gate) Enter(ctx context.Context) bool {
	if g == nil || g.opts.Limit <= 0 {
		return true
	}
	w := g.begin()
	if w == nil {
		return true
	}
	timer := time.NewTimer(w.timeout)
	defer timer.Stop()
	select {
	case in := <-w.admitted:
		return in
	case <-timer.C:
	case <-ctx.Done():
	}
	g.timeOut(w)
	return <-w.admitted
}

// TryEnter reports whether the caller is admitted at once. It never waits and never counts as a refusal. An admitted
// caller must call Leave once.
func (g *Gate) TryEnter() bool {
	if g == nil || g.opts.Limit <= 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.admitted >= g.opts.Limit {
		return false
	}
	g.admitted++
	return true
}

// begin admits the caller and returns nil, or queues the caller and returns its waiter.
func (g *Gate) begin() *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.admitted < g.opts.Limit {
		g.admitted++
		return nil
	}
	now := time.Now()
	if len(g.waiting) == 0 {
		g.queuedSince = now
	}
	w := &waiter{admitted: make(chan bool, 1), timeout: g.opts.OverloadTimeout}
	burst := g.isBurst(now)
	if burst {
		w.timeout = g.opts.Burst
	}
	g.waiting = append(g.waiting, w)
	switch {
	case len(g.waiting) <= g.opts.Waiting:
	case burst:
		g.refuse(len(g.waiting) - 1)
	default:
		g.refuse(0)
	}
	return w
}

// isBurst reports whether the current load counts as a burst. The caller holds the lock.
func (g *Gate) isBurst(now time.Time) bool {
	return now.Sub(g.queuedSince) < g.opts.Interval && (g.refused.IsZero() || now.Sub(g.refused) >= cooldownIntervals*g.opts.Interval)
}

// timeOut refuses the waiter unless it has already been admitted or refused.
func (g *Gate) timeOut(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.waiting, w); at >= 0 {
		g.refuse(at)
	}
}

// refuse removes the waiter at the given index from the queue and refuses it. The caller holds the lock.
func (g *Gate) refuse(at int) {
	w := g.waiting[at]
	g.waiting = slices.Delete(g.waiting, at, at+1)
	g.refused = time.Now()
	w.admitted <- false
}

// Leave passes the caller's slot to a waiter: during a burst to the oldest one, otherwise to the newest. If no caller
// is waiting, it frees the slot.
func (g *Gate) Leave() {
	if g == nil || g.opts.Limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	next := len(g.waiting) - 1
	if next < 0 {
		g.admitted--
		return
	}
	if g.isBurst(time.Now()) {
		next = 0
	}
	w := g.waiting[next]
	g.waiting = slices.Delete(g.waiting, next, next+1)
	w.admitted <- true
}

// Refused returns the time of the last refusal, or the zero time if there was none.
func (g *Gate) Refused() time.Time {
	if g == nil {
		return time.Time{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}
