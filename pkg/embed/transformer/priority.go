package transformer

import (
	"context"
	"sync"
	"time"
)

// Longest time that passages give way to queries at a time, so that passages proceed by a layer now and then however
// many queries arrive.
const maxYieldTime = 50 * time.Millisecond

// queryPriority lets queries, for which a user waits, run before passages, which use all cores. Passages check for
// queries between layers of the network, which take a few milliseconds each.
type queryPriority struct {
	maxYield time.Duration
	waiting  func() // test hook: called when passages give way; may be nil

	mu      sync.Mutex
	queries int
	idle    chan struct{} // closed when no query is running
}

// begin registers a running query until end is called.
func (p *queryPriority) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queries++; p.queries == 1 {
		p.idle = make(chan struct{})
	}
}

func (p *queryPriority) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queries--; p.queries == 0 {
		close(p.idle)
	}
}

// yield returns when no query is running, after maxYield, or when ctx ends.
func (p *queryPriority) yield(ctx context.Context) {
	p.mu.Lock()
	queries, idle := p.queries, p.idle
	p.mu.Unlock()
	if queries == 0 {
		return
	}
	if p.waiting != nil {
		p.waiting()
	}
	timer := time.NewTimer(p.maxYield)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}
