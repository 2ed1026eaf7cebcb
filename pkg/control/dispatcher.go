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
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
)

// Outbox stores accepted jobs until they are published. OutboxWake fires when there may be a new job or free space in
// the window.
type Outbox interface {
	// Next returns the jobs to publish next. It is fair to all workspaces and returns new content before replays.
	Next(ctx context.Context, w *pipeline.Window, limit int) ([]domain.Job, error)
	PublishedAll(ctx context.Context, jobs []domain.Job) error // each job's Generation must be set
	DeferJob(ctx context.Context, job domain.Job, until time.Time) error
	Apply(ctx context.Context, ev domain.Event) (catalog.Applied, error)
	InFlightByWorkspace(ctx context.Context) (pipeline.InFlight, error)
	OutboxWake() <-chan struct{}
}

// Publisher publishes a job and returns its generation. Within the stream's duplicate window, publishing a job again
// stores nothing and returns the same generation. Publisher is safe for concurrent use.
type Publisher interface {
	Publish(ctx context.Context, job domain.Job) (generation uint64, err error)
}

// Dispatcher publishes jobs from the outbox to the stream, which holds at most Window unfinished jobs and always has
// space for workspaces that have few jobs in it. All other jobs wait in the outbox and are published fairly, so an
// upload doesn't have to wait for another workspace's bulk import.
type Dispatcher struct {
	Outbox Outbox
	Jobs   Publisher
	Window int
	Hub    Watchers // nil if there are no watchers
	Log    *slog.Logger
	Now    func() time.Time
}

const (
	// Polling interval for the outbox. OutboxWake does not fire when a postponed job becomes due, and may miss jobs
	// from other api processes. With a longer interval, a crawl with thousands of postponed pages would often stall.
	outboxPoll = 500 * time.Millisecond
	// Maximum number of jobs recorded as published in a single transaction.
	outboxBatch = 64
	// Number of jobs published concurrently.
	parallelPublishes = 16
	// Delay before republishing a job that the stream refused. Other jobs overtake it.
	refusedDelay = 30 * time.Second
	// windowShare keeps part of the window free for other workspaces. A workspace with n jobs in the window gets
	// another slot only while more than windowShare*n are free. So a single workspace can fill four fifths of the
	// window, a second one four fifths of what is left, and so on. See admission.Options.Share.
	windowShare = 0.25
	// In addition to the window, the stream may hold Window/scanShare jobs for scanned documents, but at least
	// minScans. More aren't needed, because each of these jobs takes several seconds.
	scanShare = 4
	minScans  = 4
)

// Run dispatches until ctx is done.
func (d *Dispatcher) Run(ctx context.Context) {
	runLoop(ctx, d.Log, d.Outbox.OutboxWake(), outboxPoll, roundBound, d.round)
}

func (d *Dispatcher) round(ctx context.Context) (more bool, err error) {
	inFlight, err := d.Outbox.InFlightByWorkspace(ctx)
	if err != nil {
		return false, fmt.Errorf("counting jobs in flight: %w", err)
	}
	window := pipeline.NewWindow(d.Window, windowShare, inFlight.Other).WithScans(max(d.Window/scanShare, minScans), inFlight.Scans)
	free := min(max(window.Free(), 0), outboxBatch)
	if free == 0 && window.FreeScans() == 0 {
		return false, nil
	}
	due, err := d.Outbox.Next(ctx, window, free)
	if err != nil {
		return false, fmt.Errorf("reading the outbox: %w", err)
	}
	// If the process crashes after publishing jobs but before recording that, it publishes them again, and the stream
	// drops the duplicates by their ids.
	published := due[:0:0]
	for wave := range slices.Chunk(due, parallelPublishes) {
		stored, failed := d.publish(ctx, wave)
		published = append(published, stored...)
		if len(failed) == 0 {
			continue
		}
		if err := d.mark(ctx, published); err != nil {
			d.Log.WarnContext(ctx, "could not mark jobs as published", "error", err)
		}
		faults := make([]error, len(failed))
		for i, f := range failed {
			if err := d.deferRefused(ctx, f.job, f.cause); err != nil {
				d.Log.WarnContext(ctx, "could not defer a refused job", "error", err)
			}
			faults[i] = fmt.Errorf("publishing job %s: %w", f.job.ID, f.cause)
		}
		return false, errors.Join(faults...)
	}
	return len(due) > 0 && len(due) >= free, d.mark(ctx, published)
}

type notPublished struct {
	job   domain.Job
	cause error
}

// publish publishes jobs concurrently. Each call waits for a disk or a cluster, so many at once take about as long as
// one. The order doesn't matter, because each job belongs to a different datasource.
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

// deferRefused keeps a refused job from blocking others. It defers the job or, if the stream could never accept it,
// marks it as failed.
func (d *Dispatcher) deferRefused(ctx context.Context, job domain.Job, cause error) error {
	if errors.Is(cause, jobs.ErrStreamLost) || errors.Is(cause, jobs.ErrUnavailable) {
		return nil // the stream would refuse all other jobs, too
	}
	if !errors.Is(cause, jobs.ErrTooLarge) && !errors.Is(cause, jobs.ErrInvalid) {
		return d.Outbox.DeferJob(ctx, job, d.Now().Add(refusedDelay))
	}
	words := "The content cannot be queued: its job is invalid."
	if errors.Is(cause, jobs.ErrTooLarge) {
		words = fmt.Sprintf("The content cannot be queued: its name, metadata and patterns together exceed %d KiB. Shorten them.", jobs.MaxJobBytes>>10)
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
