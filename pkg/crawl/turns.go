package crawl

import (
	"context"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Turns says whose turn it is at a host. All crawlers that share one keep a host's pace together. Package turnstest
// has the tests that every implementation passes.
type Turns interface {
	// Reserve takes the next turn at the host if it comes within patience. It does not wait for the turn itself: the
	// caller does, for Turn.Wait. A turn that is not granted takes nothing from anybody, and its Wait is positive.
	Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error)
	// Hold lets nobody ask the host before until. It never shortens a hold that is there.
	Hold(ctx context.Context, host string, until time.Time) error
}

const (
	maxHosts = 10_000
	// busyWait is when asking again is worth it while all places are taken: nobody knows when a request ends.
	busyWait = 50 * time.Millisecond
)

// LocalTurns are the Turns of one process.
type LocalTurns struct {
	now func() time.Time

	mu      sync.Mutex
	hosts   map[string]*hostTurns
	sweepAt int // number of hosts at which those that nobody waits for are forgotten
	lastID  uint64
}

type hostTurns struct {
	next   time.Time            // when the next request may start
	held   time.Time            // none starts before
	leases map[uint64]time.Time // turns that are out, and when each counts as ended
}

// NewLocalTurns returns Turns that go by the clock now.
func NewLocalTurns(now func() time.Time) *LocalTurns {
	return &LocalTurns{now: now, hosts: make(map[string]*hostTurns), sweepAt: maxHosts}
}

// Reserve implements Turns. It does not block; its error is that of ctx.
func (l *LocalTurns) Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error) {
	if err := ctx.Err(); err != nil {
		return domain.Turn{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.host(host, now)
	start := later(now, later(h.next, h.held))
	wait := start.Sub(now)
	if wait > patience {
		return domain.Turn{Wait: wait}, nil
	}
	if pace.Concurrency <= 0 {
		h.next = start.Add(pace.Delay)
		return domain.Turn{Granted: true, Wait: wait, Release: func() {}}, nil
	}
	if ends := h.expire(now); len(h.leases) >= pace.Concurrency {
		return domain.Turn{Wait: max(wait, min(ends.Sub(now), max(pace.Delay, busyWait)))}, nil
	}
	h.next = start.Add(pace.Delay)
	l.lastID++
	id := l.lastID
	if h.leases == nil {
		h.leases = make(map[uint64]time.Time)
	}
	h.leases[id] = start.Add(pace.Lease)
	return domain.Turn{Granted: true, Wait: wait, Release: func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(h.leases, id)
	}}, nil
}

// Hold implements Turns. It does not fail.
func (l *LocalTurns) Hold(_ context.Context, host string, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host, l.now())
	h.held = later(h.held, until)
	return nil
}

// host returns the host's state, and makes room first when there are too many. Called with mu held.
func (l *LocalTurns) host(name string, now time.Time) *hostTurns {
	if h := l.hosts[name]; h != nil {
		return h
	}
	if len(l.hosts) >= l.sweepAt {
		for other, h := range l.hosts {
			if h.expire(now); len(h.leases) == 0 && !h.next.After(now) && !h.held.After(now) {
				delete(l.hosts, other)
			}
		}
		l.sweepAt = max(maxHosts, 2*len(l.hosts)) // so that a sweep costs each new host next to nothing
	}
	h := &hostTurns{}
	l.hosts[name] = h
	return h
}

// expire forgets the turns whose holder has died, and says when the first of the others counts as ended.
func (h *hostTurns) expire(now time.Time) (first time.Time) {
	for id, ends := range h.leases {
		switch {
		case !ends.After(now):
			delete(h.leases, id)
		case first.IsZero() || ends.Before(first):
			first = ends
		}
	}
	return first
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
