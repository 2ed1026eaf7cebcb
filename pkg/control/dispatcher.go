package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
)

// Outbox is where accepted jobs wait. Wake fires when a job has come in or a place in the window has become free.
type Outbox interface {
	Outbox(ctx context.Context, limit int) ([]domain.Job, error) // fair by workspace, fresh before replays
	PublishedAll(ctx context.Context, jobs []domain.Job) error   // Generation is set
	DeferJob(ctx context.Context, job domain.Job, until time.Time) error
	Apply(ctx context.Context, ev domain.Event) (catalog.Applied, error)
	InFlight(ctx context.Context) (int64, error)
	OutboxWake() <-chan struct{}
}

// Publisher puts a job into the stream and returns its generation. Publishing a job again soon returns the same. It is safe for
// concurrent use.
type Publisher interface {
	Publish(ctx context.Context, job domain.Job) (generation uint64, err error)
}

// Dispatcher admits jobs to the stream. Only Window jobs are unfinished there at any time: all others wait in the
// catalog, where a bulk import can be passed by another workspace's single upload.
type Dispatcher struct {
	Outbox Outbox
	Jobs   Publisher
	Window int
	Hub    Watchers // nil: nobody watches
	Log    *slog.Logger
	Now    func() time.Time
}

const (
	// outboxPoll bounds how long a job waits that has become due, or that another api process has accepted: nothing wakes
	// us for those. Pages of a site come back for their turn at its host by the thousand, and the host is not to stand idle.
	outboxPoll = 500 * time.Millisecond
	// outboxBatch bounds what one transaction marks as published.
	outboxBatch = 64
	// publishAtOnce is how many jobs are published at the same moment.
	publishAtOnce = 16
	// refusedDelay is how long a job waits that the stream refused, while others pass it.
	refusedDelay = 30 * time.Second
)

// Run dispatches until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	every(ctx, d.Log, d.Outbox.OutboxWake(), outboxPoll, roundBound, d.round)
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
	due, err := d.Outbox.Outbox(ctx, int(free))
	if err != nil {
		return false, fmt.Errorf("reading the outbox: %w", err)
	}
	// A crash between publishing and marking publishes again under the same id, which the stream recognises.
	published := due[:0:0]
	for wave := range slices.Chunk(due, publishAtOnce) {
		stored, failed := d.publish(ctx, wave)
		published = append(published, stored...)
		if len(failed) == 0 {
			continue
		}
		if err := d.mark(ctx, published); err != nil {
			d.Log.WarnContext(ctx, "marking published jobs", "error", err)
		}
		faults := make([]error, len(failed))
		for i, f := range failed {
			if err := d.refused(ctx, f.job, f.cause); err != nil {
				d.Log.WarnContext(ctx, "putting a refused job aside", "error", err)
			}
			faults[i] = fmt.Errorf("publishing job %s: %w", f.job.ID, f.cause)
		}
		return false, errors.Join(faults...)
	}
	return int64(len(due)) == free, d.mark(ctx, published)
}

// notPublished is a job that the stream did not take.
type notPublished struct {
	job   domain.Job
	cause error
}

// publish publishes jobs at the same moment: each waits for the disk, or for a cluster's servers, which take many in as quickly as
// one. No two are of one datasource, so that it does not matter which of them comes first.
func (d *Dispatcher) publish(ctx context.Context, wave []domain.Job) (stored []domain.Job, failed []notPublished) {
	generations, faults := make([]uint64, len(wave)), make([]error, len(wave))
	var all sync.WaitGroup
	for i, job := range wave {
		all.Go(func() { generations[i], faults[i] = d.Jobs.Publish(ctx, job) })
	}
	all.Wait()
	for i, job := range wave {
		if faults[i] != nil {
			failed = append(failed, notPublished{job, faults[i]})
			continue
		}
		job.Generation = generations[i]
		stored = append(stored, job)
	}
	return stored, failed
}

// refused keeps a job that was not published from standing in the way of others: for a while, or, when the stream will
// never take it, for good.
func (d *Dispatcher) refused(ctx context.Context, job domain.Job, cause error) error {
	if errors.Is(cause, jobs.ErrStreamLost) || errors.Is(cause, jobs.ErrUnavailable) {
		return nil // every other job would be refused as well
	}
	if !errors.Is(cause, jobs.ErrTooLarge) && !errors.Is(cause, jobs.ErrInvalid) {
		return d.Outbox.DeferJob(ctx, job, d.Now().Add(refusedDelay))
	}
	words := "It cannot be queued: its job is not valid."
	if errors.Is(cause, jobs.ErrTooLarge) {
		words = fmt.Sprintf("It cannot be queued: name, metadata and patterns together take more than %d KiB. Shorten them.", jobs.MaxJobBytes>>10)
	}
	ev := job.Event(domain.EventError, d.Now())
	ev.Error = words
	_, err := d.Outbox.Apply(ctx, ev)
	if err == nil && d.Hub != nil {
		d.Hub.Changed(job.DatastoreID, job.DatasourceID)
	}
	return err
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
