package crawl

import (
	"context"
	"sync"
	"time"
)

// gates let no more requests of this process ask for a turn at a host than may have one, first come, first served: of
// many that ask again and again, one could wait for ever.
type gates struct {
	mu    sync.Mutex
	hosts map[string]*gate
}

type gate struct {
	slots chan struct{}
	users int // requests that hold or wait for a slot
}

// enter waits for a slot for at most patience; leave is nil if none came free. width 0 is a gate without bound.
func (g *gates) enter(ctx context.Context, host string, width int, patience time.Duration) (leave func(), err error) {
	if width == 0 {
		return func() {}, nil
	}
	at := g.join(host, width)
	select {
	case at.slots <- struct{}{}:
	default:
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case at.slots <- struct{}{}:
		case <-t.C:
			g.part(host, at)
			return nil, nil
		case <-ctx.Done():
			g.part(host, at)
			return nil, context.Cause(ctx)
		}
	}
	return func() { <-at.slots; g.part(host, at) }, nil
}

func (g *gates) join(host string, width int) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.hosts[host]
	if at == nil {
		if g.hosts == nil {
			g.hosts = make(map[string]*gate)
		}
		at = &gate{slots: make(chan struct{}, width)}
		g.hosts[host] = at
	}
	at.users++
	return at
}

func (g *gates) part(host string, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.hosts, host)
	}
}
