package admission

import (
	"context"
	"time"
)

// Courtesy has work that can wait stand back while others are refused. It is no lock: who stands back goes on after a
// while, whatever the others do, so that all work comes to its end.
type Courtesy struct {
	Gates    []*Gate               // of those that go first
	Quiet    time.Duration         // for how long none of them must have been refused
	Patience time.Duration         // how long one stands back at most
	Observe  func(d time.Duration) // is told for how long one stood back; nil: nobody asks
}

// Wait returns at once unless one of the others was refused a moment ago, else when none has been for a while, its
// patience is at an end, or ctx is.
func (c *Courtesy) Wait(ctx context.Context) {
	if c == nil || c.left() <= 0 {
		return
	}
	began := time.Now()
	patience := time.NewTimer(c.Patience)
	defer patience.Stop()
	for left := c.left(); left > 0; left = c.left() {
		quiet := time.NewTimer(left)
		select {
		case <-quiet.C:
			continue
		case <-patience.C:
		case <-ctx.Done():
		}
		quiet.Stop()
		break
	}
	if c.Observe != nil {
		c.Observe(time.Since(began))
	}
}

// left is how much is missing until it has been quiet for long enough.
func (c *Courtesy) left() time.Duration {
	var last time.Time
	for _, g := range c.Gates {
		if at := g.Refused(); at.After(last) {
			last = at
		}
	}
	if last.IsZero() {
		return 0
	}
	return c.Quiet - time.Since(last)
}
