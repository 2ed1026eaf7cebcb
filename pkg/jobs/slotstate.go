package jobs

import (
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Limits on a host's state.
const (
	// MaxHold is the maximum duration of a hold.
	MaxHold = 24 * time.Hour
	// maxSlots is the maximum number of concurrent requests to a host, whatever its pace.
	maxSlots = 512
	// Maximum delay between two requests to a host, and maximum time to hold a slot.
	maxSlotDelay, maxSlotLease = time.Hour, time.Hour
	defaultSlotLease           = 2 * time.Minute
	// slotWait is how long a crawler waits before it asks again when all of a host's slots are taken. Most requests
	// finish within this time, so a longer wait would leave slots unused.
	slotWait = 50 * time.Millisecond
)

// hostState is a host's state, shared by all crawlers. All times come from the NATS servers' clock.
type hostState struct {
	Host   string      `json:"host"`
	Next   time.Time   `json:"next,omitzero"` // earliest start of the next request
	Held   time.Time   `json:"held,omitzero"` // end of a hold: no request starts before it
	Leases []slotLease `json:"leases,omitempty"`
}

// slotLease is a slot that has not been released.
type slotLease struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"` // end of the lease; after that, its crawler counts as dead
}

func (s hostState) clone() hostState {
	s.Leases = slices.Clone(s.Leases)
	return s
}

// expire removes slots held by dead crawlers.
func (s *hostState) expire(now time.Time) {
	s.Leases = slices.DeleteFunc(s.Leases, func(l slotLease) bool { return !l.Until.After(now) })
}

// timeToLive returns how much longer the state will have any effect on requests to the host.
func (s hostState) timeToLive(now time.Time) time.Duration {
	last := s.Next
	if s.Held.After(last) {
		last = s.Held
	}
	for _, l := range s.Leases {
		if l.Until.After(last) {
			last = l.Until
		}
	}
	return max(last.Sub(now), 0)
}

type reservation struct {
	granted bool
	start   time.Time     // start of a granted slot
	until   time.Time     // end of its lease; zero if it has none
	wait    time.Duration // after a refusal: delay before asking again
	full    bool          // refused because all slots are taken, which may change at any time
}

// reserve reserves the next slot under the given lease id if it starts within maxWait.
func (s *hostState) reserve(id string, pace domain.Pace, maxWait time.Duration, now time.Time) reservation {
	start := now
	for _, bound := range []time.Time{s.Next, s.Held} {
		if bound.After(start) {
			start = bound
		}
	}
	if start.Sub(now) > maxWait {
		return reservation{wait: start.Sub(now)}
	}
	v := reservation{granted: true, start: start}
	if pace.Concurrency > 0 {
		taken, ends := 0, time.Time{} // number of slots taken, and the time when the first of their leases expires
		for _, l := range s.Leases {
			if l.Until.After(start) {
				taken++
				if ends.IsZero() || l.Until.Before(ends) {
					ends = l.Until
				}
			}
		}
		if taken >= min(pace.Concurrency, maxSlots) {
			return reservation{wait: max(start.Sub(now), min(slotWait, ends.Sub(now))), full: true}
		}
		v.until = start.Add(lease(pace))
		s.Leases = append(s.Leases, slotLease{ID: id, Until: v.until})
	}
	if pace.Delay > 0 {
		s.Next = start.Add(min(pace.Delay, maxSlotDelay))
	}
	return v
}

func lease(pace domain.Pace) time.Duration {
	if pace.Lease <= 0 {
		return defaultSlotLease
	}
	return min(pace.Lease, maxSlotLease)
}

// release removes the slot with the given id and reports whether it existed.
func (s *hostState) release(id string) bool {
	before := len(s.Leases)
	s.Leases = slices.DeleteFunc(s.Leases, func(l slotLease) bool { return l.ID == id })
	return len(s.Leases) < before
}

// hold puts the host on hold until the given time and reports whether this extends the current hold.
func (s *hostState) hold(until time.Time) bool {
	if !until.After(s.Held) {
		return false
	}
	s.Held = until
	return true
}
