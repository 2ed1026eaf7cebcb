package control

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// Sweeps is the queue of what is to be removed.
type Sweeps interface {
	Sweeps(ctx context.Context, limit int) ([]catalog.SweepTask, error)
	FinishSweep(ctx context.Context, ids ...string) error
	DeferSweep(ctx context.Context, id string, until time.Time, cause string) error
	SweepWake() <-chan struct{}
	// RemoveDeleted removes the next batch of what was deleted with its datastore.
	RemoveDeleted(ctx context.Context) (more bool, err error)
	// ForgetConversations deletes the next batch of conversations in which nothing was said since the time.
	ForgetConversations(ctx context.Context, since time.Time) (more bool, err error)
}

// Originals is the part of the store of originals that removes. Deleting what is gone is no error.
type Originals interface {
	Delete(ctx context.Context, key string) error
}

// JobLog is the part of the job stream that forgets.
type JobLog interface {
	PurgeDatasource(ctx context.Context, datastoreID, datasourceID string, below uint64) error
	PurgeDatastore(ctx context.Context, datastoreID string) error
	PurgeCrawls(ctx context.Context, datastoreID, datasourceID string, below uint64) error
}

// Sweeper carries out sweeps. A sweep that fails is tried again with growing delay, for ever: until it has succeeded
// what it removes stays invisible, so late is harmless.
type Sweeper struct {
	Sweeps    Sweeps
	Stores    Stores
	Engines   Engines
	Originals Originals
	JobLog    JobLog
	Log       *slog.Logger
	Now       func() time.Time

	Retention time.Duration // of conversations since their last message; 0: for ever
	// Aged is Now for what is deleted because it is old, by a clock that may be slower to believe that time has passed; nil: Now.
	Aged func() time.Time
	// Holding reports whether originals must stay, as a backup reads them; nil: never. What would remove some is put off.
	Holding func() bool
}

const (
	sweepPoll  = 5 * time.Second
	sweepBatch = 64
)

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	every(ctx, s.Log, s.Sweeps.SweepWake(), sweepPoll, roundBound, s.round)
}

// Drain carries out every sweep that is due, once, and returns when none is left.
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
	for _, group := range together(tasks) {
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
		return false, fmt.Errorf("removing what was deleted with its datastore: %w", err)
	}
	forgotten, err := s.forget(ctx)
	return deleted || forgotten || len(tasks) == sweepBatch, err
}

// forget deletes conversations whose time is over.
func (s *Sweeper) forget(ctx context.Context) (more bool, err error) {
	if s.Retention <= 0 {
		return false, nil
	}
	if more, err = s.Sweeps.ForgetConversations(ctx, aged(s.Aged, s.Now)().Add(-s.Retention)); err != nil {
		return false, fmt.Errorf("deleting conversations older than %s: %w", s.Retention, err)
	}
	return more, nil
}

// aged is the clock for what is deleted because it is old.
func aged(slower, now func() time.Time) func() time.Time {
	if slower == nil {
		return now
	}
	return slower
}
