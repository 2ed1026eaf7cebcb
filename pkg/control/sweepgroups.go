package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

const (
	// Time limit for a group of sweeps, well below a round's limit so that hanging sweeps can't block later ones.
	sweepBound = time.Minute
	// Delay before retrying a sweep whose originals a backup still needs.
	holdDelay = 15 * time.Second
)

// sweepGroup is the grouping key for sweeps. The engine removes a whole group's rows in one call, which takes about as
// long as it would for a single sweep.
type sweepGroup struct {
	attempts    int
	datastoreID string // "" if no rows are removed
	place       domain.Place
	drops       string // id of the sweep that drops the datastore; it forms a group of its own
}

// grouped splits sweeps into groups, ordered by each group's first sweep in `tasks`.
func grouped(tasks []catalog.SweepTask) (groups [][]catalog.SweepTask) {
	last := make(map[sweepGroup]int)
	for _, task := range tasks {
		with := sweepGroup{attempts: task.Attempts}
		if task.Below > 0 {
			with.datastoreID, with.place = task.DatastoreID, task.Place
			if task.Place.IsZero() && task.DatasourceID == "" {
				with.drops = task.ID
			}
		}
		at, ok := last[with]
		if !ok || len(groups[at]) >= groupSize(task.Attempts) {
			at = len(groups)
			last[with], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], task)
	}
	return groups
}

// groupSize returns the maximum size of a group whose sweeps have failed this many times: 64, 16, 4, then 1. A sweep
// that always fails or hangs soon ends up alone and delays others by only a few seconds. After a short engine outage,
// groups are still large.
func groupSize(attempts int) int { return max(sweepBatch>>(2*min(attempts, 3)), 1) }

// settle performs a group of sweeps and returns the ids of the completed ones. It defers sweeps that fail or have to
// wait.
func (s *Sweeper) settle(ctx context.Context, group []catalog.SweepTask) (done []string, err error) {
	if group, err = s.deferHeld(ctx, group); err != nil {
		return nil, err
	}
	faults := s.sweep(ctx, group)
	for i, task := range group {
		if faults[i] == nil {
			done = append(done, task.ID)
			continue
		}
		if ctx.Err() != nil {
			continue // interrupted; not counted as a failure
		}
		delay := min(time.Second<<min(task.Attempts, 10), 10*time.Minute)
		s.Log.WarnContext(ctx, "removing deleted content failed; will retry", "sweep", task.ID, "datasource", task.DatasourceID, "delay", delay, "error", faults[i])
		if err := s.Sweeps.DeferSweep(ctx, task.ID, s.Now().Add(delay), faults[i].Error()); err != nil {
			return nil, fmt.Errorf("deferring sweep %s: %w", task.ID, err)
		}
	}
	return done, nil
}

// deferHeld defers sweeps whose originals are needed by a backup and returns the others. Checking Holding once, before
// the sweeps, is enough, because a backup sets it before copying the catalog.
func (s *Sweeper) deferHeld(ctx context.Context, group []catalog.SweepTask) (free []catalog.SweepTask, err error) {
	for _, task := range group {
		if len(task.Originals) == 0 || s.Holding == nil || !s.Holding() {
			free = append(free, task)
			continue
		}
		if err := s.Sweeps.DeferSweep(ctx, task.ID, s.Now().Add(holdDelay), "a backup is running"); err != nil {
			return nil, fmt.Errorf("deferring sweep %s: %w", task.ID, err)
		}
	}
	return free, nil
}

// sweep performs a group's removals. It returns one error or nil per sweep.
func (s *Sweeper) sweep(ctx context.Context, group []catalog.SweepTask) (faults []error) {
	ctx, cancel := context.WithTimeout(ctx, sweepBound)
	defer cancel()
	faults = make([]error, len(group))
	for i, task := range group { // withdraw queued jobs first, so they don't write new rows after the removal
		faults[i] = s.withdraw(ctx, task.Sweep)
	}
	if len(group) > 0 && group[0].Below > 0 {
		if err := s.rows(ctx, group); err != nil {
			for i := range group {
				faults[i] = errors.Join(faults[i], err)
			}
		}
	}
	for i, task := range group {
		for _, key := range task.Originals {
			if err := s.Originals.Delete(ctx, key); err != nil {
				faults[i] = errors.Join(faults[i], fmt.Errorf("deleting original %s: %w", key, err))
			}
		}
	}
	return faults
}

// withdraw removes the jobs and other messages covered by a sweep from their streams.
func (s *Sweeper) withdraw(ctx context.Context, sweep domain.Sweep) error {
	var faults []error
	if sweep.Crawls > 0 {
		faults = append(faults, s.JobLog.PurgeCrawls(ctx, sweep.DatastoreID, sweep.DatasourceID, sweep.Crawls))
	}
	switch {
	case !sweep.Jobs:
	case sweep.DatasourceID == "":
		faults = append(faults, s.JobLog.PurgeDatastore(ctx, sweep.DatastoreID))
	default:
		faults = append(faults, s.JobLog.PurgeDatasource(ctx, sweep.DatastoreID, sweep.DatasourceID, sweep.Below))
	}
	return errors.Join(faults...)
}

// rows removes the rows selected by a group of sweeps, which share one datastore and place.
func (s *Sweeper) rows(ctx context.Context, group []catalog.SweepTask) error {
	first := group[0].Sweep
	places := []domain.Place{first.Place}
	if first.Place.IsZero() {
		if first.DatasourceID == "" {
			return s.drop(ctx, first.DatastoreID)
		}
		store, err := s.Stores.DatastoreByID(ctx, first.DatastoreID)
		if domain.CodeOf(err) == domain.CodeNotFound {
			// The datastore was deleted, but a worker that didn't know wrote to it afterwards.
			return s.drop(ctx, first.DatastoreID)
		}
		if err != nil {
			return fmt.Errorf("reading datastore %s: %w", first.DatastoreID, err)
		}
		places = store.Places()
	}
	which := make([]index.Generations, len(group))
	for i, task := range group {
		which[i] = index.Generations{DatasourceID: task.DatasourceID, From: task.From, Below: task.Below}
	}
	for _, p := range places {
		idx, spaces, err := spacesIn(ctx, s.Engines, first.DatastoreID, p)
		if err != nil {
			return err
		}
		for _, space := range spaces {
			if err := idx.DeleteGenerations(ctx, space, which...); err != nil {
				return fmt.Errorf("deleting rows from %s: %w", p, err)
			}
		}
	}
	return nil
}

// drop removes a datastore's rows from all engines.
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
