package control

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Outbox is where accepted jobs wait. Wake fires when a job has come in or a place in the window has become free.
type Outbox interface {
	Outbox(ctx context.Context, limit int) ([]domain.Job, error) // fair by workspace, fresh before replays
	PublishedAll(ctx context.Context, jobs []domain.Job) error   // Generation is set
	DeferJob(ctx context.Context, job domain.Job, until time.Time) error
	InFlight(ctx context.Context) (int64, error)
	OutboxWake() <-chan struct{}
}

// Publisher puts a job into the stream and returns its generation. Publishing a job again soon returns the same.
type Publisher interface {
	Publish(ctx context.Context, job domain.Job) (generation uint64, err error)
}

// Dispatcher admits jobs to the stream. Only Window jobs are unfinished there at any time: all others wait in the
// catalog, where a bulk import can be passed by another workspace's single upload.
type Dispatcher struct {
	Outbox Outbox
	Jobs   Publisher
	Window int
	Hub    *Hub // nil: nobody watches
	Log    *slog.Logger
	Now    func() time.Time
}

const (
	// outboxPoll bounds how long a job waits that another api process has accepted: its wake-up does not reach us.
	outboxPoll = 2 * time.Second
	// outboxBatch bounds what one transaction marks as published.
	outboxBatch = 64
	// refusedDelay is how long a job waits that the stream refused, while others pass it.
	refusedDelay = 30 * time.Second
)

// Run dispatches until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	every(ctx, d.Log, d.Outbox.OutboxWake(), outboxPoll, d.round)
}

func (d *Dispatcher) round(ctx context.Context) (more bool, err error) {
	inFlight, err := d.Outbox.InFlight(ctx)
	if err != nil {
		return false, fmt.Errorf("counting jobs in flight: %w", err)
	}
	free := min(int64(d.Window)-inFlight, outboxBatch)
	if free <= 0 {
		return false, nil
	}
	jobs, err := d.Outbox.Outbox(ctx, int(free))
	if err != nil {
		return false, fmt.Errorf("reading the outbox: %w", err)
	}
	// A crash between publishing and marking publishes again under the same id, which the stream recognises.
	published := jobs[:0:0]
	for _, job := range jobs {
		generation, err := d.Jobs.Publish(ctx, job)
		if err != nil {
			if markErr := d.mark(ctx, published); markErr != nil {
				d.Log.Warn("marking published jobs", "error", markErr)
			}
			if deferErr := d.Outbox.DeferJob(ctx, job, d.Now().Add(refusedDelay)); deferErr != nil {
				d.Log.Warn("deferring a refused job", "error", deferErr)
			}
			return false, fmt.Errorf("publishing job %s: %w", job.ID, err)
		}
		job.Generation = generation
		published = append(published, job)
	}
	return int64(len(jobs)) == free, d.mark(ctx, published)
}

func (d *Dispatcher) mark(ctx context.Context, published []domain.Job) error {
	if len(published) == 0 {
		return nil
	}
	if err := d.Outbox.PublishedAll(ctx, published); err != nil {
		return fmt.Errorf("marking %d jobs as published: %w", len(published), err)
	}
	if d.Hub != nil {
		for _, job := range published {
			d.Hub.Changed(job.DatastoreID, job.DatasourceID)
		}
	}
	return nil
}
