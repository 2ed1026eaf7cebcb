package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
)

// reporter sends the events for one run of a job.
type reporter struct {
	events Events
	job    domain.Job
	now    func() time.Time
}

func (r reporter) event(t domain.EventType) domain.Event { return r.job.Event(t, r.now()) }

func (r reporter) emit(ctx context.Context, ev domain.Event) error {
	err := r.events.Emit(ctx, ev)
	switch {
	case errors.Is(err, jobs.ErrTooLarge), errors.Is(err, jobs.ErrInvalid): // a retry cannot help
		return jobs.Permanent(fmt.Errorf("reporting %s: %w", ev.Type, err))
	case err != nil:
		return fmt.Errorf("reporting %s: %w", ev.Type, err)
	}
	return nil
}

func (r reporter) progress(ctx context.Context, t domain.EventType, stage string, done, total int64) error {
	ev := r.event(t)
	ev.Progress = &domain.Progress{Stage: stage, Done: done, Total: total}
	return r.emit(ctx, ev)
}

// skip reports that the page was fetched but not indexed, and why.
func (r reporter) skip(ctx context.Context, reason string) error {
	ev := r.event(domain.EventSkipped)
	ev.Error = reason
	return r.emit(ctx, ev)
}
