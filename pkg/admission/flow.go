package admission

import (
	"slices"
	"time"
)

// flow is a group of callers that share one part of a gate, for example those of one workspace.
type flow struct {
	held    int       // total weight of its admitted callers
	waiting []*waiter // in order of arrival

	used     time.Duration // earliest virtual time at which its next caller can start
	estimate time.Duration // mean cost of its callers

	queuedSince time.Time // when its queue last became non-empty
	refused     time.Time // when one of its callers was last refused
}

const (
	// Below this number of flows, a gate does not remove idle ones.
	minSweep = 256
	// Minimum charge per caller. Without it, flows whose callers cost nothing would not alternate.
	minCost = time.Microsecond
	// Weight of the old estimate when a gate updates the estimated cost of a flow's next caller. The cost of the
	// latest caller has weight 1.
	estimateWeight = 7
)

// start returns the start time of the flow's next caller in the virtual time of start-time fair queueing: the time
// that the flow has used, or the gate's clock if that is later. An idle flow therefore earns no credit.
func (f *flow) start(clock time.Duration) time.Duration { return max(f.used, clock) }

// before returns the flow whose caller is admitted first: the one that has used less time. Ties go to the flow that
// holds fewer slots, then to the one that has waited longer. Both flows must have waiting callers.
func (f *flow) before(other *flow, clock time.Duration) *flow {
	mine, others := f.start(clock), other.start(clock)
	switch {
	case mine != others:
		if mine < others {
			return f
		}
	case f.held != other.held:
		if f.held < other.held {
			return f
		}
	case f.waiting[0].arrival < other.waiting[0].arrival:
		return f
	}
	return other
}

// flow returns the flow with the given name. If there is none, it creates one, and may remove idle flows first.
func (g *Gate) flow(name string) *flow {
	if f := g.flows[name]; f != nil {
		return f
	}
	if len(g.flows) >= g.sweepAt {
		g.sweep()
	}
	f := &flow{estimate: g.mean}
	g.flows[name] = f
	return f
}

// sweep removes idle flows that owe nothing for earlier callers. If too many flows remain, it removes all idle ones,
// so that the number of flows in memory is bounded by the number of callers.
func (g *Gate) sweep() {
	now := time.Now()
	for name, f := range g.flows {
		if f.held == 0 && len(f.waiting) == 0 && f.used <= g.clock && !g.isCooling(f, now) {
			delete(g.flows, name)
		}
	}
	if len(g.flows) >= g.sweepAt { // forget what flows owe rather than use more memory
		for name, f := range g.flows {
			if f.held == 0 && len(f.waiting) == 0 {
				delete(g.flows, name)
			}
		}
	}
	g.sweepAt = max(minSweep, 2*len(g.flows))
}

// fits reports whether the flow may take `weight` slots now.
func (g *Gate) fits(f *flow, weight int) bool {
	return g.opts.Limit-g.used >= weight && g.mayTake(f, weight)
}

// mayTake reports whether enough slots would stay free for other flows if the flow took `weight` slots.
func (g *Gate) mayTake(f *flow, weight int) bool {
	free := g.opts.Limit - g.used
	if g.opts.Alone > 0 && f == g.last && time.Since(g.switched) >= g.opts.Alone {
		return free > 0
	}
	return Allows(f.held, free, g.opts.Share) && (f.held == 0 || free-weight >= g.opts.Spare)
}

// Allows reports whether a flow that holds `held` slots may take another one while `free` slots are free. See
// Options.Share.
func Allows(held, free int, share float64) bool {
	const rounding = 1e-9 // larger than the rounding errors of a share such as 25/7
	return free > 0 && float64(free) > share*float64(held)+rounding
}

func (g *Gate) dispatch() {
	for g.queued > 0 && g.used < g.opts.Limit {
		f, at := g.next()
		if f == nil {
			return
		}
		w := g.dequeue(f, at)
		w.admitted <- g.admit(f, w.weight)
	}
}

// next chooses the caller to admit next. It returns the caller's flow and its index in the flow's queue, or nil if no
// waiting caller may be admitted now.
func (g *Gate) next() (*flow, int) {
	var candidates []*flow
	for _, f := range g.flows {
		if len(f.waiting) > 0 {
			candidates = append(candidates, f)
		}
	}
	if len(candidates) > 1 {
		slices.SortFunc(candidates, func(a, b *flow) int {
			if a.before(b, g.clock) == a {
				return -1
			}
			return 1
		})
	}
	blocked := false // whether a flow earlier in the order is waiting for more slots than are free
	now := time.Now()
	for _, f := range candidates {
		at := 0
		if g.opts.OverloadTimeout > 0 && !g.isBurst(f, now) {
			at = len(f.waiting) - 1
		}
		weight := f.waiting[at].weight
		switch {
		case !g.mayTake(f, weight) && f.held > 0:
		case g.opts.Limit-g.used < weight:
			blocked = true
		case blocked && (f.held > 0 || weight > g.opts.Spare):
			// Do not admit this caller, because it could use slots that the blocked caller is waiting for. A steady
			// stream of light callers could delay the blocked one forever.
		default:
			return f, at
		}
	}
	return nil, 0
}

// admit gives the flow `weight` slots and charges it the estimated cost of a caller in advance.
func (g *Gate) admit(f *flow, weight int) *Slot {
	g.clock = f.start(g.clock)
	g.used += weight
	f.held += weight
	s := &Slot{gate: g, flow: f, weight: weight, began: time.Now(), estimate: max(f.estimate, minCost)}
	g.charge(f, s.estimate*time.Duration(weight))
	return s
}

func (g *Gate) charge(f *flow, cost time.Duration) {
	f.used = max(f.start(g.clock)+cost, 0)
	g.latest = max(g.latest, f.used)
}

// settle corrects a flow's charge by replacing the estimated cost with the true cost.
func (g *Gate) settle(f *flow, estimate, cost time.Duration, weight int) {
	cost = max(cost, minCost)
	f.used += (cost - estimate) * time.Duration(weight)
	g.latest = max(g.latest, f.used)
	f.estimate = (estimateWeight*f.estimate + cost) / (estimateWeight + 1)
	g.mean = (estimateWeight*g.mean + cost) / (estimateWeight + 1)
}
