package jobs

import (
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Bounds of a host's state.
const (
	// MaxHold is the maximum duration of a hold.
	MaxHold = 24 * time.Hour
	// maxTurns is the maximum number of concurrent requests to a host, whatever its pace allows.
	maxTurns = 512
	// Maximum delay between two requests, and maximum duration of a turn.
	maxTurnDelay, maxTurnLease = time.Hour, time.Hour
	defaultTurnLease           = 2 * time.Minute
	// slotWait is the delay before asking again when all turns at a host are taken. Most requests take no longer, and a
	// longer delay would leave the host idle.
	slotWait = 50 * time.Millisecond
)

// turnState is the state of a host that all crawlers share. Times are those of the NATS servers.
type turnState struct {
	Host   string      `json:"host"`
	Next   time.Time   `json:"next,omitzero"` // earliest start of the next request
	Held   time.Time   `json:"held,omitzero"` // end of a hold: no request starts before it
	Leases []turnLease `json:"leases,omitempty"`
}

// turnLease is a turn that has not been released.
type turnLease struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"` // end of the lease: its crawler counts as dead
}

func (s turnState) clone() turnState {
	s.Leases = slices.Clone(s.Leases)
	return s
}

// expire removes the turns of dead crawlers.
func (s *turnState) expire(now time.Time) {
	s.Leases = slices.DeleteFunc(s.Leases, func(l turnLease) bool { return !l.Until.After(now) })
}

// lasts returns the time until the state has no effect any more.
func (s turnState) lasts(now time.Time) time.Duration {
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

// verdict is the result of reserving a turn.
type verdict struct {
	granted bool
	start   time.Time     // of a granted turn
	until   time.Time     // end of its lease; zero if it has none
	wait    time.Duration // of a refusal: delay before asking again
	crowded bool          // refused because all turns are taken, which may change at any time
}

// reserve reserves the next turn if it starts within patience. The id becomes that of its lease.
func (s *turnState) reserve(id string, pace domain.Pace, patience time.Duration, now time.Time) verdict {
	start := now
	for _, bound := range []time.Time{s.Next, s.Held} {
		if bound.After(start) {
			start = bound
		}
	}
	if start.Sub(now) > patience {
		return verdict{wait: start.Sub(now)}
	}
	v := verdict{granted: true, start: start}
	if pace.Concurrency > 0 {
		taken, ends := 0, time.Time{} // number of turns taken, and the latest time at which the first of them ends
		for _, l := range s.Leases {
			if l.Until.After(start) {
				taken++
				if ends.IsZero() || l.Until.Before(ends) {
					ends = l.Until
				}
			}
		}
		if taken >= min(pace.Concurrency, maxTurns) {
			return verdict{wait: max(start.Sub(now), min(slotWait, ends.Sub(now))), crowded: true}
		}
		v.until = start.Add(lease(pace))
		s.Leases = append(s.Leases, turnLease{ID: id, Until: v.until})
	}
	if pace.Delay > 0 {
		s.Next = start.Add(min(pace.Delay, maxTurnDelay))
	}
	return v
}

func lease(pace domain.Pace) time.Duration {
	if pace.Lease <= 0 {
		return defaultTurnLease
	}
	return min(pace.Lease, maxTurnLease)
}

// release removes a turn and reports whether it existed.
func (s *turnState) release(id string) bool {
	before := len(s.Leases)
	s.Leases = slices.DeleteFunc(s.Leases, func(l turnLease) bool { return l.ID == id })
	return len(s.Leases) < before
}

// hold extends the hold to the given time, and reports whether that is later than before.
func (s *turnState) hold(until time.Time) bool {
	if !until.After(s.Held) {
		return false
	}
	s.Held = until
	return true
}
