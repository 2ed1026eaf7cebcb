package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/admission"
)

// fairGate divides a worker's slots fairly among workspaces.
//
// The stream delivers jobs in the order they were published, so one workspace's jobs may take all slots while another
// workspace's job waits behind them. A worker therefore receives a few more jobs than it has slots. A job that doesn't
// get a slot within a moment goes back to the stream and the next one is received, so the worker soon sees jobs from
// all workspaces.
type fairGate struct {
	slots    *admission.Gate
	wait     time.Duration // how long a job waits for a slot before it is returned
	prefetch int           // number of jobs that may wait at the same time

	mu       sync.Mutex
	returned map[uint64]time.Time // when each job still waiting for its turn was returned, by generation
}

const (
	gateWait = 200 * time.Millisecond
	// maxReturn is the maximum delay before a returned job is redelivered.
	maxReturn = 30 * time.Second
)

// prefetch returns how many jobs a worker requests in advance, in addition to those being processed.
func prefetch(concurrency int) int { return 2 + concurrency/4 }

func newFairGate(o WorkerOptions) *fairGate {
	return &fairGate{
		slots: admission.New(admission.Options{Limit: o.Concurrency + 1, Spare: 1, Waiting: -1}),
		wait:  min(gateWait, o.AckWait/4), prefetch: prefetch(o.Concurrency), returned: map[uint64]time.Time{},
	}
}

// acquireSlot waits a moment for a slot for the job. If none becomes free, it returns false and returns the job to the
// stream, which doesn't count as an attempt.
func (d *delivery) acquireSlot() (*admission.Slot, bool) {
	ctx, cancel := context.WithTimeout(d.stopping, d.turns.wait)
	defer cancel()
	slot, ok := d.turns.slots.Enter(ctx, d.job.WorkspaceID)
	var err error
	switch {
	case ok:
		d.turns.forget(d.job.Generation)
	case d.stopping.Err() != nil:
		err = d.msg.Nak()
	default:
		err = d.msg.NakWithDelay(d.turns.delay(d.job.Generation, time.Now()))
	}
	if err != nil {
		d.log.Debug("could not return a job to the queue; it will be delivered again later", "error", err)
	}
	return slot, ok
}

func (t *fairGate) forget(generation uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.returned, generation)
}

// delay returns how long a returned job waits before redelivery. The stream delivers returned jobs before new ones, so
// the worker could be kept busy by returned jobs alone. The delay is therefore long enough for the stream to deliver
// twice as many jobs as have been returned.
func (t *fairGate) delay(generation uint64, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	for g, at := range t.returned {
		if now.Sub(at) > 2*maxReturn { // another worker has run it
			delete(t.returned, g)
		}
	}
	t.returned[generation] = now
	rounds := (len(t.returned) + t.prefetch - 1) / t.prefetch
	return min(2*time.Duration(rounds)*t.wait, maxReturn)
}
