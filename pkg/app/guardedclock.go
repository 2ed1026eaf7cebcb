package app

import (
	"sync"
	"time"
)

const (
	// How long a forward jump is ignored. After that time, all work begun before the jump has ended, and an operator
	// who set the clock by mistake has probably noticed.
	maxIgnoredJump = 24 * time.Hour
	// The clock has jumped if the wall clock is ahead of the guarded time by more than this.
	maxDrift = 10 * time.Second
)

// guardedClock is the clock for deciding which objects are old enough to delete. Recent objects look old if the wall
// clock jumps forward or the machine sleeps, and a deletion can't be undone. So guardedClock ignores forward jumps for
// maxIgnoredJump. It follows backward jumps at once.
type guardedClock struct {
	wall    func() time.Time
	elapsed func() time.Duration // monotonic; stands still while the machine sleeps

	mu          sync.Mutex
	lastTime    time.Time     // guarded time at the last read
	lastElapsed time.Duration // value of elapsed at the last read
	jumped      bool          // whether a forward jump is being ignored
	jumpedAt    time.Duration // value of elapsed at the jump
}

// newGuardedClock returns a guarded clock that starts at the wall clock's current time.
func newGuardedClock(wall func() time.Time) *guardedClock {
	began := time.Now()
	return newGuardedClockFrom(wall, func() time.Duration { return time.Since(began) })
}

func newGuardedClockFrom(wall func() time.Time, elapsed func() time.Duration) *guardedClock {
	// Strip the monotonic reading, which would hide wall clock jumps.
	only := func() time.Time { return wall().Round(0) }
	return &guardedClock{wall: only, elapsed: elapsed, lastTime: only(), lastElapsed: elapsed()}
}

func (p *guardedClock) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	wall, elapsed := p.wall(), p.elapsed()
	steady := p.lastTime.Add(elapsed - p.lastElapsed)
	if wall.After(steady.Add(maxDrift)) {
		if !p.jumped {
			p.jumped, p.jumpedAt = true, elapsed
		}
		if elapsed-p.jumpedAt < maxIgnoredJump {
			return steady
		}
	}
	p.lastTime, p.lastElapsed, p.jumped = wall, elapsed, false
	return wall
}
