package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// How often to ask the servers for the time.
const clockEvery = 30 * time.Second

// serverClock is the NATS servers' clock, accurate to within the duration of a request. Processes on several machines
// use it for times they must agree on, since their own clocks may differ by any amount. Between requests, it advances
// with this process's monotonic clock.
type serverClock struct {
	js           jetstream.JetStream
	stream       string // the time comes from its leader
	retryTimeout time.Duration
	local        func() time.Time

	asking sync.Mutex // held during a request
	mu     sync.Mutex
	server time.Time // the last answer
	at     time.Time // local time of that answer
}

// now returns the servers' time. If their last response is old, it asks them again. It fails only if they have never
// responded.
func (c *serverClock) now(ctx context.Context) (time.Time, error) {
	if now, age, known := c.estimate(); known && (age < clockEvery || !c.asking.TryLock()) {
		return now, nil // another goroutine is asking
	} else if !known {
		c.asking.Lock()
	}
	defer c.asking.Unlock()
	now, age, known := c.estimate()
	if known && age < clockEvery {
		return now, nil
	}
	maxWait := c.retryTimeout
	if known {
		maxWait = min(maxWait, time.Second)
	}
	if err := c.ask(ctx, maxWait); err != nil && !known {
		return time.Time{}, err
	}
	now, _, _ = c.estimate()
	return now, nil
}

// estimate derives the time from the last response and returns it along with that response's age. `known` is false
// before the first response.
func (c *serverClock) estimate() (now time.Time, age time.Duration, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age = c.local().Sub(c.at)
	return c.server.Add(age), age, !c.server.IsZero()
}

func (c *serverClock) ask(ctx context.Context, maxWait time.Duration) error {
	return quorum.Retry(ctx, maxWait, func(ctx context.Context) error {
		began := c.local()
		s, err := c.js.Stream(ctx, c.stream)
		ended := c.local()
		if err != nil {
			return fmt.Errorf("asking the NATS servers for the time: %w", quorum.StreamError(c.stream, err))
		}
		said := s.CachedInfo().TimeStamp
		if said.IsZero() {
			return fmt.Errorf("asking the NATS servers for the time: their information about stream %s does not include it", c.stream)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.server, c.at = said, began.Add(ended.Sub(began)/2)
		return nil
	})
}
