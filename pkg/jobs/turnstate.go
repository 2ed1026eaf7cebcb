package jobs

import (
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Bounds of what is kept about a host.
const (
	// MaxHold is the longest that a host is held at a time.
	MaxHold = 24 * time.Hour
	// maxTurns is the most requests at once that a pace is taken to allow.
	maxTurns = 512
	// maxTurnDelay bounds the time between two requests, and maxTurnLease how long a turn may last.
	maxTurnDelay, maxTurnLease = time.Hour, time.Hour
	defaultTurnLease           = 2 * time.Minute
	// slotWait is when it is worth asking again where every place at a host is taken. Most requests take no longer, and while
	// all crawlers wait the host stands idle.
	slotWait = 50 * time.Millisecond
)

// turnState is what all crawlers know about a host. Times are those of the NATS servers.
type turnState struct {
	Host   string      `json:"host"`
	Next   time.Time   `json:"next,omitzero"` // before which no request starts
	Held   time.Time   `json:"held,omitzero"` // likewise, by Hold
	Leases []turnLease `json:"leases,omitempty"`
}

// turnLease is a turn that has not been given back.
type turnLease struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"` // when its crawler counts as dead
}

func (s turnState) clone() turnState {
	s.Leases = slices.Clone(s.Leases)
	return s
}

// expire forgets the turns of crawlers that have died.
func (s *turnState) expire(now time.Time) {
	s.Leases = slices.DeleteFunc(s.Leases, func(l turnLease) bool { return !l.Until.After(now) })
}

// lasts is how long the state says anything, from now on.
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

// verdict is what reserving a turn led to.
type verdict struct {
	granted bool
	start   time.Time     // of a granted turn
	until   time.Time     // end of its lease; zero if it has none
	wait    time.Duration // of a refusal: when it is worth asking again
	crowded bool          // it was refused because every place is taken, which ends without notice
}

// reserve takes the next turn if it comes within patience. The id is that of the lease.
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
		taken, ends := 0, time.Time{} // how many places are taken, and when the first of them is free at the latest
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

// release gives a turn back and reports whether it was there.
func (s *turnState) release(id string) bool {
	before := len(s.Leases)
	s.Leases = slices.DeleteFunc(s.Leases, func(l turnLease) bool { return l.ID == id })
	return len(s.Leases) < before
}

// hold lets nobody ask before until, and reports whether that is later than before.
func (s *turnState) hold(until time.Time) bool {
	if !until.After(s.Held) {
		return false
	}
	s.Held = until
	return true
}
