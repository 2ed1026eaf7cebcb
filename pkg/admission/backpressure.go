package admission

import (
	"context"
	"time"
)

// Backpressure delays low-priority work while other requests are being refused. It is not a lock: work resumes after at
// most MaxWait, so it always finishes.
type Backpressure struct {
	Gates     []*Gate               // gates for the higher-priority requests
	QuietTime time.Duration         // work resumes after this long without a refusal
	MaxWait   time.Duration         // maximum delay
	Observe   func(d time.Duration) // called with the length of each delay; may be nil
}

// Wait returns at once if no gate has refused a caller within QuietTime. Otherwise it returns once QuietTime passes
// without a refusal, MaxWait is up, or ctx is done.
func (c *Backpressure) Wait(ctx context.Context) {
	if c == nil || c.remaining() <= 0 {
		return
	}
	began := time.Now()
	timeout := time.NewTimer(c.MaxWait)
	defer timeout.Stop()
	for left := c.remaining(); left > 0; left = c.remaining() {
		quiet := time.NewTimer(left)
		select {
		case <-quiet.C:
			continue
		case <-timeout.C:
		case <-ctx.Done():
		}
		quiet.Stop()
		break
	}
	if c.Observe != nil {
		c.Observe(time.Since(began))
	}
}

// remaining returns how much of QuietTime is left.
func (c *Backpressure) remaining() time.Duration {
	var last time.Time
	for _, g := range c.Gates {
		if at := g.Refused(); at.After(last) {
			last = at
		}
	}
	if last.IsZero() {
		return 0
	}
	return c.QuietTime - time.Since(last)
}
