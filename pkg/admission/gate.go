// Package admission bounds what is worked on at once, so that a process that is asked for more than it can do goes on
// doing what it can, and says no to the rest at once.
//
// Beyond its limit a Gate lets some wait. A burst, which is over in a moment, is worked off in the order in which it came,
// and has time for that. Where there has been a queue all the time, waiting is of no use: it makes every answer later and
// none more. Then one waits for a short time only, and the one that came last goes first, since who has waited longest has
// the least hope of being answered in time. So does CoDel tell a good queue from a bad one, see RFC 8289, section 3.1, and
// Maurer, "Fail at Scale", ACM Queue 13 (2015), 8.
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
	Waiting  int           // that may wait beyond it; of one more, the one that has the least hope is refused
	Patience time.Duration // how long one waits at most that comes while the load is a lasting one
	Burst    time.Duration // and one that comes in a burst
	Interval time.Duration // for how long there has been a queue when it is no burst any more; 0: nothing is a burst
}

// afterwards is how many intervals after a refusal there is no burst: a load that lasts has gaps, and is none for that.
const afterwards = 10

// Gate lets callers in, up to a number of them at once. A nil one lets everybody in; its zero value is not usable.
type Gate struct {
	opts Options

	mu      sync.Mutex
	within  int
	waiting []*waiter // in the order in which they came
	formed  time.Time // when the first came of those that have been waiting without a pause
	refused time.Time // when one was, last
}

// waiter is one who waits. It is decided once, by whoever takes it out of the gate's list.
type waiter struct {
	decided  chan bool
	patience time.Duration
}

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
	timer := time.NewTimer(w.patience)
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
	now := time.Now()
	if len(g.waiting) == 0 {
		g.formed = now
	}
	w := &waiter{decided: make(chan bool, 1), patience: g.opts.Patience}
	burst := g.burst(now)
	if burst {
		w.patience = g.opts.Burst
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

// burst says whether those that wait are but a burst. The caller holds the lock.
func (g *Gate) burst(now time.Time) bool {
	return now.Sub(g.formed) < g.opts.Interval && (g.refused.IsZero() || now.Sub(g.refused) >= afterwards*g.opts.Interval)
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

// Leave gives up the place of one that was let in: in a burst to the one that came first, else to the one that came last.
func (g *Gate) Leave() {
	if g == nil || g.opts.Limit <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	next := len(g.waiting) - 1
	if next < 0 {
		g.within--
		return
	}
	if g.burst(time.Now()) {
		next = 0
	}
	w := g.waiting[next]
	g.waiting = slices.Delete(g.waiting, next, next+1)
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
