package transformer

import (
	"context"
	"sync"
	"time"
)

// Maximum time that passages wait for queries before the next layer. This limit ensures that passages make progress
// even if queries keep arriving.
const maxYieldTime = 50 * time.Millisecond

// Priority lets queries run before passages, because users wait for queries while passages use all cores. Passages
// check for queries between the network's layers, each of which takes a few milliseconds. Create one with NewPriority.
type Priority struct {
	maxYield time.Duration
	waiting  func() // test hook called when passages give way; may be nil

	mu      sync.Mutex
	queries int
	idle    chan struct{} // closed when no query is running
}

// processPriority is the default Priority of all models in this process, because they share the processors.
var processPriority = NewPriority()

// NewPriority returns a Priority.
func NewPriority() *Priority { return &Priority{maxYield: maxYieldTime} }

// begin registers a running query. Call `end` when the query is done.
func (p *Priority) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queries++; p.queries == 1 {
		p.idle = make(chan struct{})
	}
}

func (p *Priority) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queries--; p.queries == 0 {
		close(p.idle)
	}
}

// yield waits until no query is running, maxYield has passed, or ctx is done.
func (p *Priority) yield(ctx context.Context) {
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
