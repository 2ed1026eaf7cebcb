// Package admission shares limited resources fairly: requests, open streams, document readers and memory.
//
// A Gate has a limited number of slots. When all slots are taken, further callers wait in a queue. Each caller belongs
// to a flow, such as its workspace. A free slot goes to the waiting flow that has used the least slot time, so a flow
// with many or expensive callers delays only itself. This is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM
// 1996), except that costs become known only afterwards, as in the Kubernetes API server.
//
// Within a flow, a burst is served first in, first out, with a long time-out. Once the flow's queue has been non-empty
// for an interval, waiting only adds latency. From then on the time-out is short and the newest caller is served first,
// because the oldest is least likely to be answered in time. This is adaptive LIFO with CoDel time-outs: see RFC 8289,
// section 3.1, and Maurer, "Fail at Scale", ACM Queue 13 (2015), 8.
package admission

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Options configures a Gate. The zero value admits every caller.
type Options struct {
	Limit   int // number of slots; 0 means no limit
	Waiting int // maximum queue length; beyond it, a caller from the longest flow queue is refused; -1 means no maximum

	// Time-outs for waiting callers: Burst for those that arrive in a burst, OverloadTimeout for those that arrive
	// during sustained load. If OverloadTimeout is 0, callers wait until their context is done, and each flow is served
	// first in, first out.
	OverloadTimeout, Burst time.Duration
	// Interval is how long a flow's queue may be non-empty before its load no longer counts as a burst. 0 means all
	// load counts as sustained.
	Interval time.Duration

	// Spare is the number of slots reserved for flows that don't hold one yet.
	Spare int
	// Share makes a flow leave more slots free the more it holds: a flow holding n slots gets another only while more
	// than Share*n are free. A single flow can therefore hold at most 1/(1+Share) of all slots, and some always remain
	// for other flows. 0 means no such limit.
	Share float64
	// Alone is how long a flow must have had the gate to itself before Spare and Share stop limiting it. Another flow's
	// next caller may then have to wait for a slot. 0 means that Spare and Share always apply.
	Alone time.Duration
}

// Length of the cool-down after a refusal, in multiples of Options.Interval. During the cool-down, none of the flow's
// load counts as a burst, so short gaps don't end overload mode.
const cooldownIntervals = 10

// Gate limits how many callers are admitted at once. A nil Gate admits every caller.
type Gate struct {
	opts Options

	mu       sync.Mutex
	used     int // total weight of all admitted callers
	queued   int // number of waiting callers
	arrivals uint64
	flows    map[string]*flow
	sweepAt  int           // sweep idle flows once there are this many flows
	clock    time.Duration // virtual time: the start of the last admission, in slot time per flow
	latest   time.Duration // the highest virtual time of any flow
	mean     time.Duration // mean cost over all flows, used as a new flow's first estimate
	refused  time.Time     // time of the last refusal

	last     *flow     // flow that the last caller belonged to
	switched time.Time // when `last` last changed
}

// waiter is a queued caller. Whichever goroutine removes it from the queue must admit or refuse it, exactly once.
type waiter struct {
	flow     *flow
	weight   int
	arrival  uint64
	admitted chan *Slot // receives nil if the caller is refused
	timeout  time.Duration
}

// Slot is an admitted caller's permission to run. A gate without a limit returns nil Slots.
type Slot struct {
	gate     *Gate
	flow     *flow
	weight   int
	began    time.Time
	estimate time.Duration // slot time already charged to the flow
}

// New returns a gate with the given limits.
func New(o Options) *Gate {
	o.Spare = min(o.Spare, o.Limit-1) // a gate with one slot cannot reserve it
	return &Gate{opts: o, flows: map[string]*flow{}, sweepAt: minSweep}
}

// Enter waits until the gate admits a caller from the flow. It returns true and the caller's slot, on which the caller
// must call Leave exactly once. Enter returns false if the gate refuses the caller, its time-out expires or ctx is
// done.
func (g *Gate) Enter(ctx context.Context, flow string) (*Slot, bool) {
	return g.EnterWeighted(ctx, flow, 1)
}

// EnterWeighted is like Enter, but for a caller that needs `weight` slots at once. The weight is capped at Limit -
// Spare.
func (g *Gate) EnterWeighted(ctx context.Context, flow string, weight int) (*Slot, bool) {
	if g == nil || g.opts.Limit <= 0 {
		return nil, true
	}
	slot, w := g.begin(flow, min(weight, g.opts.Limit-g.opts.Spare))
	if w == nil {
		return slot, slot != nil
	}
	var expired <-chan time.Time
	if w.timeout > 0 {
		timer := time.NewTimer(w.timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case slot = <-w.admitted:
		return slot, slot != nil
	case <-expired:
	case <-ctx.Done():
	}
	g.timeOut(w)
	slot = <-w.admitted
	return slot, slot != nil
}

// TryEnter admits a caller from the flow if it doesn't have to wait, and otherwise returns false. Returning false does
// not count as a refusal. An admitted caller must call Leave on the slot exactly once.
func (g *Gate) TryEnter(flow string) (*Slot, bool) {
	if g == nil || g.opts.Limit <= 0 {
		return nil, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.flow(flow)
	if g.queued > 0 || !g.fits(f, 1) {
		return nil, false
	}
	return g.admit(f, 1), true
}

// begin admits the caller and returns its slot, or queues it and returns its waiter. If that makes the queue too long,
// begin refuses one waiter, possibly the new one.
func (g *Gate) begin(name string, weight int) (*Slot, *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.flow(name)
	if f != g.last {
		if g.last != nil {
			g.switched = time.Now()
		}
		g.last = f
	}
	if g.queued == 0 && g.fits(f, weight) {
		return g.admit(f, weight), nil
	}
	now := time.Now()
	if len(f.waiting) == 0 {
		f.queuedSince = now
	}
	burst := g.isBurst(f, now)
	w := &waiter{flow: f, weight: weight, arrival: g.arrivals, admitted: make(chan *Slot, 1), timeout: g.opts.OverloadTimeout}
	if burst {
		w.timeout = g.opts.Burst
	}
	g.arrivals++
	g.queued++
	f.waiting = append(f.waiting, w)
	g.dispatch()
	if g.opts.Waiting >= 0 && g.queued > g.opts.Waiting {
		g.refuseOne(now)
	}
	return nil, w
}

// isBurst reports whether the flow's load counts as a burst. The caller must hold the gate's lock.
func (g *Gate) isBurst(f *flow, now time.Time) bool {
	return now.Sub(f.queuedSince) < g.opts.Interval && !g.isCooling(f, now)
}

// isCooling reports whether the flow is in its cool-down after a refusal; see cooldownIntervals.
func (g *Gate) isCooling(f *flow, now time.Time) bool {
	return !f.refused.IsZero() && now.Sub(f.refused) < cooldownIntervals*g.opts.Interval
}

// refuseOne refuses a caller from the flow with the longest queue: its newest caller in a burst, otherwise its oldest.
func (g *Gate) refuseOne(now time.Time) {
	var longest *flow
	for _, f := range g.flows {
		if len(f.waiting) == 0 {
			continue
		}
		if longest == nil || len(f.waiting) > len(longest.waiting) || len(f.waiting) == len(longest.waiting) && f.before(longest, g.clock) == longest {
			longest = f
		}
	}
	at := 0
	if g.isBurst(longest, now) {
		at = len(longest.waiting) - 1
	}
	g.refuse(longest, at)
}

// timeOut refuses the waiter unless it has already been admitted or refused.
func (g *Gate) timeOut(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(w.flow.waiting, w); at >= 0 {
		g.refuse(w.flow, at)
		g.dispatch() // slots may have been kept free for this waiter
	}
}

// refuse removes the waiter at index `at` from the flow's queue and refuses it. The caller must hold the gate's lock.
func (g *Gate) refuse(f *flow, at int) {
	w := g.dequeue(f, at)
	f.refused = time.Now()
	g.refused = f.refused
	w.admitted <- nil
}

func (g *Gate) dequeue(f *flow, at int) *waiter {
	w := f.waiting[at]
	f.waiting = slices.Delete(f.waiting, at, at+1)
	g.queued--
	return w
}

// Leave releases the slot, charges its flow for the time it was held and admits the next callers.
func (s *Slot) Leave() {
	if s == nil {
		return
	}
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used -= s.weight
	s.flow.held -= s.weight
	g.settle(s.flow, s.estimate, time.Since(s.began), s.weight)
	g.dispatch()
	if g.used == 0 && g.queued == 0 {
		g.clock = g.latest // an idle gate forgets how much time each flow has used
	}
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

// IsBusy reports whether any caller is admitted or waiting.
func (g *Gate) IsBusy() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used > 0 || g.queued > 0
}

// Capacity returns the number of callers that can be admitted or waiting at once, or -1 if there is no limit.
func (g *Gate) Capacity() int {
	if g == nil || g.opts.Limit <= 0 || g.opts.Waiting < 0 {
		return -1
	}
	return g.opts.Limit + g.opts.Waiting
}

// Held returns the number of slots that the flow holds.
func (g *Gate) Held(name string) int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.flows[name]; f != nil {
		return f.held
	}
	return 0
}
