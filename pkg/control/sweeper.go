package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Sweeps is the queue of what is to be removed.
type Sweeps interface {
	Sweeps(ctx context.Context, limit int) ([]catalog.SweepTask, error)
	FinishSweep(ctx context.Context, ids ...string) error
	DeferSweep(ctx context.Context, id string, until time.Time, cause string) error
	SweepWake() <-chan struct{}
}

// Spaces finds the index's spaces of a datastore; domain.CodeNotFound when it has been deleted.
type Spaces interface {
	Spaces(ctx context.Context, datastoreID string) ([]index.Space, error)
}

// Rows is the part of an index that removes.
type Rows interface {
	DeleteGenerations(ctx context.Context, space index.Space, datasourceID string, below uint64) error
	DropDatastore(ctx context.Context, datastoreID string) error
}

// Originals is the part of the store of originals that removes. Deleting what is gone is no error.
type Originals interface {
	Delete(ctx context.Context, key string) error
}

// JobLog is the part of the job stream that forgets.
type JobLog interface {
	PurgeDatasource(ctx context.Context, datastoreID, datasourceID string, below uint64) error
	PurgeDatastore(ctx context.Context, datastoreID string) error
}

// Sweeper carries out sweeps. A sweep that fails is tried again with growing delay, for ever: until it has succeeded
// what it removes stays invisible, so late is harmless.
type Sweeper struct {
	Sweeps    Sweeps
	Spaces    Spaces
	Index     Rows
	Originals Originals
	JobLog    JobLog
	Log       *slog.Logger
	Now       func() time.Time
}

const (
	sweepPoll  = 5 * time.Second
	sweepBatch = 64
	sweepBound = time.Minute
)

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	every(ctx, s.Log, s.Sweeps.SweepWake(), sweepPoll, roundBound, s.round)
}

func (s *Sweeper) round(ctx context.Context) (more bool, err error) {
	tasks, err := s.Sweeps.Sweeps(ctx, sweepBatch)
	if err != nil {
		return false, fmt.Errorf("reading sweeps: %w", err)
	}
	var done []string
	for _, task := range tasks {
		if err := s.sweep(ctx, task.Sweep); err != nil {
			if ctx.Err() != nil {
				break
			}
			delay := min(time.Second<<min(task.Attempts, 10), 10*time.Minute)
			s.Log.Warn("sweep failed, trying again later", "sweep", task.ID, "datasource", task.DatasourceID, "delay", delay, "error", err)
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
	return len(tasks) == sweepBatch, nil
}

func (s *Sweeper) sweep(ctx context.Context, sweep domain.Sweep) error {
	// Well below a round's bound: a sweep that hangs is deferred, and those behind it have their turn.
	ctx, cancel := context.WithTimeout(ctx, sweepBound)
	defer cancel()
	var faults []error
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
	if sweep.DatasourceID == "" {
		return s.Index.DropDatastore(ctx, sweep.DatastoreID)
	}
	spaces, err := s.Spaces.Spaces(ctx, sweep.DatastoreID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		// The datastore is gone, and a worker that did not know has written into it once more.
		return s.Index.DropDatastore(ctx, sweep.DatastoreID)
	}
	if err != nil {
		return fmt.Errorf("finding the spaces of datastore %s: %w", sweep.DatastoreID, err)
	}
	for _, space := range spaces {
		if err := s.Index.DeleteGenerations(ctx, space, sweep.DatasourceID, sweep.Below); err != nil {
			return fmt.Errorf("deleting rows: %w", err)
		}
	}
	return nil
}
