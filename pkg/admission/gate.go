// Package admission bounds what is worked on at once, so that a process that is asked for more than it can do goes on
// doing what it can, and says no to the rest at once.
//
// Beyond its limit a Gate lets a few wait, for a short time, and the one that came last goes first: under a load that
// lasts, who waits longest is who has the least hope of being answered in time.
package admission

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Options say how much a Gate lets through. The zero value lets everything through.
type Options struct {
	Limit    int           // that are within at once; 0: no limit
	Waiting  int           // that may wait beyond it; one more pushes out the one that has waited longest
	Patience time.Duration // how long one waits at most
}

// Gate lets callers in, up to a number of them at once. A nil one lets everybody in; its zero value is not usable.
type Gate struct {
	opts Options

	mu      sync.Mutex
	within  int
	waiting []*waiter // in the order in which they came
	refused time.Time // when one was, last
}

// waiter is one who waits. It is decided once, by whoever takes it out of the gate's list.
type waiter struct{ decided chan bool }

// New makes a gate.
func New(o Options) *Gate { return &Gate{opts: o} }

// Enter returns true when the caller is let in, who then must Leave once, and false when it is refused: too many are
// within, and it was not its turn in time or before ctx ended.
func (g *Gate) Enter(ctx context.Context) bool {
	if g == nil || g.opts.Limit <= 0 {
		return true
	}
	w := g.begin()
	if w == nil {
		return true
	}
	timer := time.NewTimer(g.opts.Patience)
	defer timer.Stop()
	select {
	case in := <-w.decided:
		return in
	case <-timer.C:
	case <-ctx.Done():
	}
	g.giveUp(w)
	return <-w.decided
}

// begin lets the caller in, nil, or has it wait.
func (g *Gate) begin() *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.within < g.opts.Limit {
		g.within++
		return nil
	}
	w := &waiter{decided: make(chan bool, 1)}
	g.waiting = append(g.waiting, w)
	if len(g.waiting) > g.opts.Waiting {
		g.refuse(0)
	}
	return w
}

// giveUp refuses a waiter, unless it has been decided already.
func (g *Gate) giveUp(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.waiting, w); at >= 0 {
		g.refuse(at)
	}
}

// refuse takes one out of those that wait. The caller holds the lock.
func (g *Gate) refuse(at int) {
	w := g.waiting[at]
	g.waiting = slices.Delete(g.waiting, at, at+1)
	g.refused = time.Now()
	w.decided <- false
}

// Leave gives up the place of one that was let in, to the one that has come last.
func (g *Gate) Leave() {
	if g == nil || g.opts.Limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	last := len(g.waiting) - 1
	if last < 0 {
		g.within--
		return
	}
	w := g.waiting[last]
	g.waiting[last] = nil
	g.waiting = g.waiting[:last]
	w.decided <- true
}

// Refused is when somebody was refused last; the zero time: never.
func (g *Gate) Refused() time.Time {
	if g == nil {
		return time.Time{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}
