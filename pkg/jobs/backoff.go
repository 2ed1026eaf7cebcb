package jobs

import (
	"math/rand/v2"
	"time"
)

// backoff is a delay that doubles from min to max. It adds a random amount of up to a quarter, so that jobs that failed
// together do not retry together.
type backoff struct {
	min, max time.Duration
	rand     func() float64 // returns a random number from 0 to 1; nil: math/rand
}

// delay returns the delay after the given number of failures, which must be at least 1.
func (b backoff) delay(failures int) time.Duration {
	d := b.min
	for i := 1; i < failures && d < b.max; i++ {
		d *= 2 // cannot overflow: max is far below half of the largest duration
	}
	return b.jitter(min(d, b.max))
}

func (b backoff) jitter(d time.Duration) time.Duration {
	random := b.rand
	if random == nil {
		random = rand.Float64
	}
	return d + time.Duration(random()*float64(d)/4)
}
