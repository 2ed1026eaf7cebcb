package crawl

import (
	"context"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Turns schedules requests to hosts. All crawlers that share one keep to a host's pace together. Package turnstest
// contains tests for all implementations.
type Turns interface {
	// Reserve reserves the next turn at the host if it starts within patience. It does not wait for the start: the
	// caller must wait for Turn.Wait. A turn that is not granted uses no capacity, and its Wait is positive.
	Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error)
	// Hold blocks all turns at the host until the given time. It never shortens an existing hold.
	Hold(ctx context.Context, host string, until time.Time) error
}

const (
	maxHosts = 10_000
	// busyWait is the delay before another attempt when all slots are in use, because the end of a request is unknown.
	busyWait = 50 * time.Millisecond
)

// LocalTurns implements Turns for one process.
type LocalTurns struct {
	now func() time.Time

	mu      sync.Mutex
	hosts   map[string]*hostTurns
	sweepAt int // number of hosts at which unused ones are removed
	lastID  uint64
}

type hostTurns struct {
	next   time.Time            // earliest start of the next request
	held   time.Time            // end of the hold
	leases map[uint64]time.Time // expiry of each turn that has not been released
}

// NewLocalTurns returns a LocalTurns with the clock now.
func NewLocalTurns(now func() time.Time) *LocalTurns {
	return &LocalTurns{now: now, hosts: make(map[string]*hostTurns), sweepAt: maxHosts}
}

// Reserve implements Turns. It does not block; it returns only errors of ctx.
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

// Hold implements Turns. It always returns nil.
func (l *LocalTurns) Hold(_ context.Context, host string, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host, l.now())
	h.held = later(h.held, until)
	return nil
}

// host returns the host's state, and removes unused hosts first if there are too many. The caller must hold mu.
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
		l.sweepAt = max(maxHosts, 2*len(l.hosts)) // so that the cost of sweeps per new host stays small
	}
	h := &hostTurns{}
	l.hosts[name] = h
	return h
}

// expire removes expired turns, and returns the earliest expiry of the others.
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
