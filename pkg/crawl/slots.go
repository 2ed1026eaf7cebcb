package crawl

import (
	"context"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// HostSlots schedules requests to hosts. All crawlers that share a HostSlots together keep to each host's pace. Package
// slotstest has tests for all implementations.
type HostSlots interface {
	// Reserve reserves the host's next slot if it starts within maxWait. It doesn't wait for the start; the caller must
	// wait for HostSlot.Wait before sending the request. If no slot is free, nothing is reserved, and HostSlot.Wait is
	// positive and says when to ask again.
	Reserve(ctx context.Context, host string, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error)
	// Hold blocks all slots at the host until the given time. It never shortens an existing hold.
	Hold(ctx context.Context, host string, until time.Time) error
}

const (
	maxHosts = 10_000
	// Delay before another attempt if all slots are in use. It is only a guess, because there is no way to know when a
	// request will finish.
	busyWait = 50 * time.Millisecond
)

// LocalSlots implements HostSlots within one process.
type LocalSlots struct {
	now func() time.Time

	mu      sync.Mutex
	hosts   map[string]*localHost
	sweepAt int // unused hosts are removed once there are this many hosts
	lastID  uint64
}

type localHost struct {
	next   time.Time            // earliest start of the next request
	held   time.Time            // when the hold ends
	leases map[uint64]time.Time // expiry of each slot not yet released
}

// NewLocalSlots returns a LocalSlots that uses `now` as its clock.
func NewLocalSlots(now func() time.Time) *LocalSlots {
	return &LocalSlots{now: now, hosts: make(map[string]*localHost), sweepAt: maxHosts}
}

// Reserve implements HostSlots. It does not block and fails only if ctx is done.
func (l *LocalSlots) Reserve(ctx context.Context, host string, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error) {
	if err := ctx.Err(); err != nil {
		return domain.HostSlot{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	h := l.host(host, now)
	start := latest(now, latest(h.next, h.held))
	wait := start.Sub(now)
	if wait > maxWait {
		return domain.HostSlot{Wait: wait}, nil
	}
	if pace.Concurrency <= 0 {
		h.next = start.Add(pace.Delay)
		return domain.HostSlot{Granted: true, Wait: wait, Release: func() {}}, nil
	}
	if ends := h.expire(now); len(h.leases) >= pace.Concurrency {
		return domain.HostSlot{Wait: max(wait, min(ends.Sub(now), max(pace.Delay, busyWait)))}, nil
	}
	h.next = start.Add(pace.Delay)
	l.lastID++
	id := l.lastID
	if h.leases == nil {
		h.leases = make(map[uint64]time.Time)
	}
	h.leases[id] = start.Add(pace.Lease)
	return domain.HostSlot{Granted: true, Wait: wait, Release: func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(h.leases, id)
	}}, nil
}

// Hold implements HostSlots. It always returns nil.
func (l *LocalSlots) Hold(_ context.Context, host string, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.host(host, l.now())
	h.held = latest(h.held, until)
	return nil
}

// host returns the host's state, after removing unused hosts if there are too many. The caller must hold mu.
func (l *LocalSlots) host(name string, now time.Time) *localHost {
	if h := l.hosts[name]; h != nil {
		return h
	}
	if len(l.hosts) >= l.sweepAt {
		for other, h := range l.hosts {
			if h.expire(now); len(h.leases) == 0 && !h.next.After(now) && !h.held.After(now) {
				delete(l.hosts, other)
			}
		}
		l.sweepAt = max(maxHosts, 2*len(l.hosts)) // keeps the cost of sweeps per new host small
	}
	h := &localHost{}
	l.hosts[name] = h
	return h
}

// expire removes expired slots and returns the earliest expiry of the remaining ones.
func (h *localHost) expire(now time.Time) (first time.Time) {
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

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
