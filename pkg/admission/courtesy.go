package admission

import (
	"context"
	"time"
)

// Courtesy delays low-priority work while other requests are being refused. It is not a lock: the work continues after
// at most Patience, so it always finishes.
type Courtesy struct {
	Gates    []*Gate               // gates of the work that has priority
	Quiet    time.Duration         // time since their last refusal after which the work continues
	Patience time.Duration         // maximum delay
	Observe  func(d time.Duration) // called with each delay; nil: not called
}

// Wait returns at once if no gate has refused a caller within Quiet. Otherwise it returns when Quiet has passed without
// a refusal, after Patience, or when ctx ends, whichever is first.
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

// left returns the time that remains until Quiet has passed without a refusal.
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
