package control

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// Sweeps is the queue of removals.
type Sweeps interface {
	Sweeps(ctx context.Context, limit int) ([]catalog.SweepTask, error)
	FinishSweep(ctx context.Context, ids ...string) error
	DeferSweep(ctx context.Context, id string, until time.Time, cause string) error
	SweepWake() <-chan struct{}
	// RemoveDeleted removes the next batch of deleted datastores' records.
	RemoveDeleted(ctx context.Context) (more bool, err error)
	// ForgetConversations deletes the next batch of conversations that have had no messages since the given time.
	ForgetConversations(ctx context.Context, since time.Time) (more bool, err error)
	// ForgetItemConversations is like ForgetConversations, but for the OpenAI-compatible API's conversations.
	ForgetItemConversations(ctx context.Context, since time.Time) (more bool, err error)
	// ForgetResponses deletes the next batch of responses created before the given time.
	ForgetResponses(ctx context.Context, before time.Time) (more bool, err error)
	// FailAbandoned ends responses whose process has died.
	FailAbandoned(ctx context.Context) error
}

// Originals deletes originals. Deleting a missing original is not an error.
type Originals interface {
	Delete(ctx context.Context, key string) error
}

// JobLog removes messages from the job stream.
type JobLog interface {
	PurgeDatasource(ctx context.Context, datastoreID, datasourceID string, below uint64) error
	PurgeDatastore(ctx context.Context, datastoreID string) error
	PurgeCrawls(ctx context.Context, datastoreID, datasourceID string, below uint64) error
}

// Sweeper performs sweeps. It retries a failed sweep with backoff until it succeeds. Delays are harmless, because the
// data is already invisible.
type Sweeper struct {
	Sweeps    Sweeps
	Stores    Stores
	Engines   Engines
	Originals Originals
	JobLog    JobLog
	Log       *slog.Logger
	Now       func() time.Time

	Retention time.Duration // how long conversations are kept after their last message; 0 means forever
	// GuardedNow is the clock for deciding whether data is old enough to delete. It may lag behind Now after the system
	// clock has jumped. If nil, Now is used instead.
	GuardedNow func() time.Time
	// Holding reports whether a backup is reading originals. Sweeps of originals are then deferred. If Holding is nil,
	// sweeps are never deferred for a backup.
	Holding func() bool
}

const (
	sweepPoll  = 5 * time.Second
	sweepBatch = 64
)

// Run performs sweeps until ctx is done.
func (s *Sweeper) Run(ctx context.Context) {
	runLoop(ctx, s.Log, s.Sweeps.SweepWake(), sweepPoll, roundBound, s.round)
}

// Drain performs all due sweeps and returns when none are left.
func (s *Sweeper) Drain(ctx context.Context) error {
	for {
		more, err := s.round(ctx)
		if err != nil || !more {
			return err
		}
	}
}

func (s *Sweeper) round(ctx context.Context) (more bool, err error) {
	tasks, err := s.Sweeps.Sweeps(ctx, sweepBatch)
	if err != nil {
		return false, fmt.Errorf("reading sweeps: %w", err)
	}
	var done []string
	for _, group := range grouped(tasks) {
		if ctx.Err() != nil {
			break
		}
		swept, err := s.settle(ctx, group)
		if err != nil {
			return false, err
		}
		done = append(done, swept...)
	}
	if len(done) > 0 {
		if err := s.Sweeps.FinishSweep(ctx, done...); err != nil {
			return false, fmt.Errorf("finishing %d sweeps: %w", len(done), err)
		}
	}
	deleted, err := s.Sweeps.RemoveDeleted(ctx)
	if err != nil {
		return false, fmt.Errorf("removing the records of deleted datastores: %w", err)
	}
	forgotten, err := s.forget(ctx)
	return deleted || forgotten || len(tasks) == sweepBatch, err
}

// forget deletes old responses, and conversations whose last message is older than the retention time. It also ends
// abandoned responses.
func (s *Sweeper) forget(ctx context.Context) (more bool, err error) {
	now := sweepClock(s.GuardedNow, s.Now)()
	if err := s.Sweeps.FailAbandoned(ctx); err != nil {
		return false, fmt.Errorf("ending abandoned responses: %w", err)
	}
	forget := []func(context.Context, time.Time) (bool, error){s.Sweeps.ForgetConversations, s.Sweeps.ForgetItemConversations}
	if s.Retention <= 0 {
		forget = nil
	}
	if more, err = s.Sweeps.ForgetResponses(ctx, now.Add(-domain.ResponseRetention)); err != nil {
		return false, fmt.Errorf("deleting responses older than %s: %w", domain.ResponseRetention, err)
	}
	for _, f := range forget {
		some, err := f(ctx, now.Add(-s.Retention))
		if err != nil {
			return false, fmt.Errorf("deleting conversations older than %s: %w", s.Retention, err)
		}
		more = more || some
	}
	return more, nil
}

// sweepClock returns the clock for deciding whether data is old enough to delete: `slower` or, if that is nil, `now`.
func sweepClock(slower, now func() time.Time) func() time.Time {
	if slower == nil {
		return now
	}
	return slower
}
