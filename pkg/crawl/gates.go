package crawl

import (
	"context"
	"sync"
	"time"
)

// gates let no more requests of this process ask for a turn at a host than may have one, first come, first served: of
// many that ask again and again, one could wait for ever. A queue that moves slowly is not joined.
type gates struct {
	mu    sync.Mutex
	hosts map[string]*gate
}

type gate struct {
	slots chan struct{}
	// Guarded by gates.mu.
	users int           // requests that hold or wait for a slot
	moved time.Time     // when a slot was last taken by the first of the users, or given back
	pace  time.Duration // between two that give back a slot while others wait, of late
}

// enter waits for a slot for at most patience; leave is nil if none came free, or if the queue is longer than that. width 0
// is a gate without bound; least is what lies between two requests to the host.
func (g *gates) enter(ctx context.Context, host string, width int, least time.Duration, p patience) (leave func(), err error) {
	if width == 0 {
		return func() {}, nil
	}
	at := g.join(host, width, least, p.queue)
	if at == nil {
		return nil, nil
	}
	select {
	case at.slots <- struct{}{}:
	default:
		t := time.NewTimer(p.turn)
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
	return func() {
		<-at.slots
		g.move(at)
		g.part(host, at)
	}, nil
}

// join counts a request in. It returns nil if the queue is longer than the limit: by the pace at which it moved of late, or has not moved
// since.
func (g *gates) join(host string, width int, least, limit time.Duration) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.hosts[host]
	if at == nil {
		if g.hosts == nil {
			g.hosts = make(map[string]*gate)
		}
		at = &gate{slots: make(chan struct{}, width), moved: time.Now()}
		g.hosts[host] = at
	}
	if ahead := at.users - width + 1; ahead > 0 {
		if max(least, at.pace, time.Since(at.moved))*time.Duration(ahead) > limit {
			return nil
		}
	}
	at.users++
	return at
}

// move takes note that a slot was given back.
func (g *gates) move(at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if at.users > cap(at.slots) {
		at.pace = (3*at.pace + now.Sub(at.moved)) / 4
	}
	at.moved = now
}

func (g *gates) part(host string, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.hosts, host)
	}
}
