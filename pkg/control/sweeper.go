package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
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
	sweepBound = time.Minute
	// holdDelay is how long a sweep of originals is put off when they must stay.
	holdDelay = 15 * time.Second
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
	for _, task := range tasks {
		// Asked before the sweep: a backup whose copy of the catalog still refers to the originals holds before it copies.
		if len(task.Originals) > 0 && s.Holding != nil && s.Holding() {
			if err := s.Sweeps.DeferSweep(ctx, task.ID, s.Now().Add(holdDelay), "a backup is being made"); err != nil {
				return false, fmt.Errorf("putting off sweep %s: %w", task.ID, err)
			}
			continue
		}
		if err := s.sweep(ctx, task.Sweep); err != nil {
			if ctx.Err() != nil {
				break
			}
			delay := min(time.Second<<min(task.Attempts, 10), 10*time.Minute)
			s.Log.WarnContext(ctx, "sweep failed, trying again later", "sweep", task.ID, "datasource", task.DatasourceID, "delay", delay, "error", err)
			if err := s.Sweeps.DeferSweep(ctx, task.ID, s.Now().Add(delay), err.Error()); err != nil {
				return false, fmt.Errorf("deferring sweep %s: %w", task.ID, err)
			}
			continue
		}
		done = append(done, task.ID)
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

func (s *Sweeper) sweep(ctx context.Context, sweep domain.Sweep) error {
	// Well below a round's bound: a sweep that hangs is deferred, and those behind it have their turn.
	ctx, cancel := context.WithTimeout(ctx, sweepBound)
	defer cancel()
	var faults []error
	if sweep.Crawls > 0 {
		faults = append(faults, s.JobLog.PurgeCrawls(ctx, sweep.DatastoreID, sweep.DatasourceID, sweep.Crawls))
	}
	if sweep.Jobs { // first: a job that is not yet taken need not run
		faults = append(faults, s.purge(ctx, sweep))
	}
	if sweep.Below > 0 {
		faults = append(faults, s.rows(ctx, sweep))
	}
	for _, key := range sweep.Originals {
		if err := s.Originals.Delete(ctx, key); err != nil {
			faults = append(faults, fmt.Errorf("deleting original %s: %w", key, err))
		}
	}
	return errors.Join(faults...)
}

func (s *Sweeper) purge(ctx context.Context, sweep domain.Sweep) error {
	if sweep.DatasourceID == "" {
		return s.JobLog.PurgeDatastore(ctx, sweep.DatastoreID)
	}
	return s.JobLog.PurgeDatasource(ctx, sweep.DatastoreID, sweep.DatasourceID, sweep.Below)
}

func (s *Sweeper) rows(ctx context.Context, sweep domain.Sweep) error {
	if !sweep.Place.IsZero() {
		return s.delete(ctx, sweep, sweep.Place)
	}
	if sweep.DatasourceID == "" {
		return s.drop(ctx, sweep.DatastoreID)
	}
	store, err := s.Stores.DatastoreByID(ctx, sweep.DatastoreID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		// The datastore is gone, and a worker that did not know has written into it once more.
		return s.drop(ctx, sweep.DatastoreID)
	}
	if err != nil {
		return fmt.Errorf("reading datastore %s: %w", sweep.DatastoreID, err)
	}
	for _, p := range store.Places() {
		if err := s.delete(ctx, sweep, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sweeper) delete(ctx context.Context, sweep domain.Sweep, p domain.Place) error {
	idx, spaces, err := spacesIn(ctx, s.Engines, sweep.DatastoreID, p)
	if err != nil {
		return err
	}
	for _, space := range spaces {
		if err := idx.DeleteGenerations(ctx, space, sweep.DatasourceID, sweep.From, sweep.Below); err != nil {
			return fmt.Errorf("deleting rows from %s: %w", p, err)
		}
	}
	return nil
}

// drop removes all rows of a datastore from every engine there is.
func (s *Sweeper) drop(ctx context.Context, datastoreID string) error {
	for _, e := range s.Engines.Engines() {
		idx, err := s.Engines.Index(e)
		if err != nil {
			return err
		}
		if err := idx.DropDatastore(ctx, datastoreID); err != nil {
			return fmt.Errorf("dropping the datastore from %s: %w", e, err)
		}
	}
	return nil
}

// aged is the clock for what is deleted because it is old.
func aged(slower, now func() time.Time) func() time.Time {
	if slower == nil {
		return now
	}
	return slower
}
