package transformer

import (
	"context"
	"sync"
	"time"
)

// patience is how long passages let queries go first at a time: however many queries there are, passages go on by a layer
// every now and then.
const patience = 50 * time.Millisecond

// priority lets queries, for which somebody waits, go before passages, which take all cores. Passages ask between two layers
// of the network, which take a few milliseconds each.
type priority struct {
	patience time.Duration
	waiting  func() // told that passages give way, if it is not nil; for tests

	mu      sync.Mutex
	queries int
	idle    chan struct{} // closed when there are no queries any more
}

// begin says that a query is under way, until end.
func (p *priority) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queries++; p.queries == 1 {
		p.idle = make(chan struct{})
	}
}

func (p *priority) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queries--; p.queries == 0 {
		close(p.idle)
	}
}

// giveWay returns when no query is under way, when patience is over, or when ctx has ended.
func (p *priority) giveWay(ctx context.Context) {
	p.mu.Lock()
	queries, idle := p.queries, p.idle
	p.mu.Unlock()
	if queries == 0 {
		return
	}
	if p.waiting != nil {
		p.waiting()
	}
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}
