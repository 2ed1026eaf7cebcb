package crawl

import (
	"context"
	"sync"
	"time"
)

// gates keeps one queue per host for this process's requests. If a host has n slots, only the first n requests in its
// queue may ask for one, because some might never get a slot if all of them kept asking. A request doesn't join a queue
// that moves too slowly.
type gates struct {
	mu    sync.Mutex
	hosts map[string]*gate
}

type gate struct {
	slots chan struct{}
	// Guarded by gates.mu.
	users int           // requests that hold or wait for a slot
	moved time.Time     // when a slot was last released or first taken
	pace  time.Duration // recent average interval between releases while others were waiting
}

// enter waits up to p.slot for a permit to ask for a slot at the host. The caller must return the permit with `leave`.
// If no permit becomes free in time, or the expected wait exceeds p.queue, enter returns nil for both `leave` and the
// error. `width` is the number of permits; 0 means that none is needed. `minimum` is the minimum interval between two
// requests to the host.
func (g *gates) enter(ctx context.Context, host string, width int, minimum time.Duration, p maxWaits) (leave func(), err error) {
	if width == 0 {
		return func() {}, nil
	}
	at := g.join(host, width, minimum, p.queue)
	if at == nil {
		return nil, nil
	}
	select {
	case at.slots <- struct{}{}:
	default:
		t := time.NewTimer(p.slot)
		defer t.Stop()
		select {
		case at.slots <- struct{}{}:
		case <-t.C:
			g.leave(host, at)
			return nil, nil
		case <-ctx.Done():
			g.leave(host, at)
			return nil, context.Cause(ctx)
		}
	}
	return func() {
		<-at.slots
		g.move(at)
		g.leave(host, at)
	}, nil
}

// join adds a request to the host's queue, or returns nil if the expected wait exceeds `limit`. It estimates the wait
// from the queue's recent pace and the time since the queue last moved.
func (g *gates) join(host string, width int, minimum, limit time.Duration) *gate {
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
		if max(minimum, at.pace, time.Since(at.moved))*time.Duration(ahead) > limit {
			return nil
		}
	}
	at.users++
	return at
}

// move records the release of a slot.
func (g *gates) move(at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if at.users > cap(at.slots) {
		at.pace = (3*at.pace + now.Sub(at.moved)) / 4
	}
	at.moved = now
}

func (g *gates) leave(host string, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.hosts, host)
	}
}
