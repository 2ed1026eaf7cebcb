package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// clockEvery is how often the servers are asked for the time.
const clockEvery = 30 * time.Second

// serverClock is the time of the NATS servers, to within the time that a request takes. What processes on several
// machines agree on is written in it: their own clocks may differ by any amount. It goes on by this process's monotonic
// clock between two questions.
type serverClock struct {
	js       jetstream.JetStream
	stream   string // whose leader is asked
	patience time.Duration
	local    func() time.Time

	asking sync.Mutex // held while the servers are asked
	mu     sync.Mutex
	server time.Time // what the servers said
	at     time.Time // when that was, here
}

// now asks the servers for the time if that is long ago, and fails if it never was told.
func (c *serverClock) now(ctx context.Context) (time.Time, error) {
	if now, age, known := c.guess(); known && (age < clockEvery || !c.asking.TryLock()) {
		return now, nil // another asks
	} else if !known {
		c.asking.Lock()
	}
	defer c.asking.Unlock()
	now, age, known := c.guess()
	if known && age < clockEvery {
		return now, nil
	}
	patience := c.patience
	if known {
		patience = min(patience, time.Second)
	}
	if err := c.ask(ctx, patience); err != nil && !known {
		return time.Time{}, err
	}
	now, _, _ = c.guess()
	return now, nil
}

// guess is the time by the last answer, and its age.
func (c *serverClock) guess() (now time.Time, age time.Duration, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age = c.local().Sub(c.at)
	return c.server.Add(age), age, !c.server.IsZero()
}

func (c *serverClock) ask(ctx context.Context, patience time.Duration) error {
	return quorum.Do(ctx, patience, func(ctx context.Context) error {
		began := c.local()
		s, err := c.js.Stream(ctx, c.stream)
		ended := c.local()
		if err != nil {
			return fmt.Errorf("asking the NATS servers for the time: %w", quorum.Lost(c.stream, err))
		}
		said := s.CachedInfo().TimeStamp
		if said.IsZero() {
			return fmt.Errorf("asking the NATS servers for the time: stream %s does not say it", c.stream)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.server, c.at = said, began.Add(ended.Sub(began)/2)
		return nil
	})
}
