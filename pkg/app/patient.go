package app

import (
	"sync"
	"time"
)

const (
	// patience is for how long a clock that was set ahead is not believed: what was under way then has ended, and who has set
	// it by mistake may have noticed.
	patience = 24 * time.Hour
	// slewed is by how much a clock may run ahead between two looks at it without having been set.
	slewed = 10 * time.Second
)

// patient is a clock for deleting what is old: by a clock that is set ahead, and after a machine has slept, what is young
// looks old, and what is deleted does not come back when the clock is right again. It is the wall clock, unless that has been
// set ahead while the process runs: then it goes on as before, for the patience. A clock that is set back is believed at once.
type patient struct {
	wall    func() time.Time
	elapsed func() time.Duration // never set, and stands still while the machine sleeps

	mu      sync.Mutex
	at      time.Time     // what it was
	then    time.Duration // when that was
	ahead   bool          // the wall clock is not believed
	noticed time.Duration // since then
}

// newPatient is a patient clock that believes the wall clock of now.
func newPatient(wall func() time.Time) *patient {
	began := time.Now()
	return patientBy(wall, func() time.Duration { return time.Since(began) })
}

func patientBy(wall func() time.Time, elapsed func() time.Duration) *patient {
	// Without the reading of a monotonic clock, by which times would be compared that tell of a clock which was set.
	only := func() time.Time { return wall().Round(0) }
	return &patient{wall: only, elapsed: elapsed, at: only(), then: elapsed()}
}

// now is the time by it.
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
