package admission

import (
	"slices"
	"time"
)

// flow is a group of callers that share a gate's slots among themselves, for example all callers from one workspace.
type flow struct {
	held    int       // total weight of the flow's admitted callers
	waiting []*waiter // in order of arrival

	used     time.Duration // earliest virtual time at which the next caller can start
	estimate time.Duration // mean cost per caller

	queuedSince time.Time // when the flow's queue last became non-empty
	refused     time.Time // when one of the flow's callers was last refused
}

const (
	// A gate with fewer flows than this doesn't remove idle ones.
	minSweep = 256
	// Minimum charge per caller. If callers cost nothing, flows would not take turns.
	minCost = time.Microsecond
	// Weight of the old estimate when a flow's cost per caller is updated. The latest caller's cost has weight 1.
	estimateWeight = 7
)

// start returns the virtual time at which the flow's next caller starts, as in start-time fair queueing. That is the
// time the flow has used or the gate's clock, whichever is later, so an idle flow earns no credit.
func (f *flow) start(clock time.Duration) time.Duration { return max(f.used, clock) }

// before returns the flow whose caller should be admitted first: the one that has used less time. Ties go to the flow
// holding fewer slots, then to the one that has waited longer. Both flows must have waiting callers.
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

// flow returns the flow with the given name, creating it if necessary. Before creating one, it may remove idle flows.
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

// sweep removes idle flows that owe nothing for earlier callers. If too many remain, it removes every idle flow, so
// that the number of callers bounds the number of flows in memory.
func (g *Gate) sweep() {
	now := time.Now()
	for name, f := range g.flows {
		if f.held == 0 && len(f.waiting) == 0 && f.used <= g.clock && !g.isCooling(f, now) {
			delete(g.flows, name)
		}
	}
	if len(g.flows) >= g.sweepAt { // better to forget what flows owe than to use more memory
		for name, f := range g.flows {
			if f.held == 0 && len(f.waiting) == 0 {
				delete(g.flows, name)
			}
		}
	}
	g.sweepAt = max(minSweep, 2*len(g.flows))
}

// fits reports whether the flow can take `weight` slots now.
func (g *Gate) fits(f *flow, weight int) bool {
	return g.opts.Limit-g.used >= weight && g.mayTake(f, weight)
}

// mayTake reports whether the flow can take `weight` slots and still leave enough free for other flows.
func (g *Gate) mayTake(f *flow, weight int) bool {
	free := g.opts.Limit - g.used
	if g.opts.Alone > 0 && f == g.last && time.Since(g.switched) >= g.opts.Alone {
		return free > 0
	}
	return Allows(f.held, free, g.opts.Share) && (f.held == 0 || free-weight >= g.opts.Spare)
}

// Allows reports whether a flow that holds `held` slots may take another while `free` slots are free. See
// Options.Share.
func Allows(held, free int, share float64) bool {
	const rounding = 1e-9 // exceeds the rounding error for a share such as 25/7
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

// next chooses the caller to admit next. It returns the caller's flow and its index in that flow's queue, or nil if no
// waiting caller can be admitted now.
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
	blocked := false // whether an earlier flow is waiting for more slots than are free
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
			// Skip this caller. It could take slots that the blocked caller is waiting for, and a steady stream of
			// light callers could delay the blocked one forever.
		default:
			return f, at
		}
	}
	return nil, 0
}

// admit gives the flow `weight` slots and charges it a caller's estimated cost in advance.
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

// settle replaces the estimated cost in a flow's charge with the actual cost.
func (g *Gate) settle(f *flow, estimate, cost time.Duration, weight int) {
	cost = max(cost, minCost)
	f.used += (cost - estimate) * time.Duration(weight)
	g.latest = max(g.latest, f.used)
	f.estimate = (estimateWeight*f.estimate + cost) / (estimateWeight + 1)
	g.mean = (estimateWeight*g.mean + cost) / (estimateWeight + 1)
}
