package app

import (
	"sync"
	"time"
)

const (
	// How long a forward jump of the clock is ignored. By then, work in progress has ended, and an operator who set the
	// clock by mistake may have noticed.
	patience = 24 * time.Hour
	// Maximum drift between two reads of the clock that does not count as a jump.
	slewed = 10 * time.Second
)

// patient is a clock for deleting old objects. If the clock jumps forward, or the machine has slept, recent objects
// look old, and deletions cannot be undone once the clock is right again. It follows the wall clock, but ignores
// forward jumps while the process runs, for the duration of patience. Backward jumps are followed at once.
type patient struct {
	wall    func() time.Time
	elapsed func() time.Duration // monotonic; stands still while the machine sleeps

	mu      sync.Mutex
	at      time.Time     // time at the last read
	then    time.Duration // elapsed at the last read
	ahead   bool          // a forward jump is being ignored
	noticed time.Duration // elapsed at the jump
}

// newPatient returns a patient clock that starts at the wall clock's present time.
func newPatient(wall func() time.Time) *patient {
	began := time.Now()
	return patientBy(wall, func() time.Duration { return time.Since(began) })
}

func patientBy(wall func() time.Time, elapsed func() time.Duration) *patient {
	// Strip the monotonic reading, which would hide jumps of the wall clock in comparisons.
	only := func() time.Time { return wall().Round(0) }
	return &patient{wall: only, elapsed: elapsed, at: only(), then: elapsed()}
}

// now returns the time of the clock.
func (p *patient) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	wall, elapsed := p.wall(), p.elapsed()
	steady := p.at.Add(elapsed - p.then)
	if wall.After(steady.Add(slewed)) {
		if !p.ahead {
			p.ahead, p.noticed = true, elapsed
		}
		if elapsed-p.noticed < patience {
			return steady
		}
	}
	p.at, p.then, p.ahead = wall, elapsed, false
	return wall
}
