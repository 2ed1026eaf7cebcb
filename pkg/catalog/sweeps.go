package catalog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// SweepTask is a queued sweep. Attempts counts the times it was deferred.
type SweepTask struct {
	domain.Sweep
	Attempts int
	DueAt    time.Time
}

// allGenerations is domain.AllGenerations in the signed column.
const allGenerations = -1

// Values of the column jobs. With sweepCrawls the column from_generation has the bound of the jobs.
const (
	sweepNoJobs  = 0
	sweepAllJobs = 1
	sweepCrawls  = 2
)

// dueFirst is before every time: withdrawn jobs are taken from the stream before workers come to them, if that is possible.
const dueFirst = -1

// QueueSweep queues a sweep that follows from no change of the catalog: what an audit has found. An empty ID is filled.
func (c *Catalog) QueueSweep(ctx context.Context, s domain.Sweep) error {
	return c.update(ctx, "queueing a sweep", func(t *tx) error { return queueSweep(ctx, t, s) })
}

// queueSweep stores a sweep under an id of its own, also when one like it waits: that one may be under way and have
// passed what this one is for.
func queueSweep(ctx context.Context, t *tx, s domain.Sweep) error {
	if s.ID == "" {
		s.ID = domain.NewID()
	}
	below := stored(s.Below)
	if s.Below == domain.AllGenerations {
		below = allGenerations
	}
	from, jobs, due := stored(s.From), sweepNoJobs, 0
	switch {
	case s.Crawls > 0:
		from, jobs, due = stored(s.Crawls), sweepCrawls, dueFirst
	case s.Jobs:
		jobs = sweepAllJobs
	}
	t.queuedSweep = true
	return t.later(ctx, write{doing: "queueing a sweep", text: `INSERT INTO sweeps (id, workspace_id, datastore_id, datasource_id, engine, model, from_generation, below,
		originals, jobs, attempts, cause, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', ?) ON CONFLICT (id) DO NOTHING`,
		args: []any{s.ID, s.WorkspaceID, s.DatastoreID, s.DatasourceID, s.Place.Engine, s.Place.Model, from, below,
			strings.Join(s.Originals, "\n"), jobs, due},
	})
}

func queueSweeps(ctx context.Context, t *tx, sweeps []domain.Sweep) error {
	for _, s := range sweeps {
		if err := queueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// queueWithdrawals has the crawl jobs of datasources that were in the stream leave it.
func queueWithdrawals(ctx context.Context, t *tx, withdrawn []record) error {
	for _, r := range withdrawn {
		if r.place != placeStream || r.jobKind != domain.JobCrawl {
			continue
		}
		s := domain.Sweep{WorkspaceID: r.WorkspaceID, DatastoreID: r.DatastoreID, DatasourceID: r.ID, Crawls: r.seen + 1}
		if err := queueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// Sweeps returns up to limit sweeps that are due, those of withdrawn jobs first, then those never deferred. They stay until
// FinishSweep.
func (c *Catalog) Sweeps(ctx context.Context, limit int) ([]SweepTask, error) {
	tasks, err := collect(ctx, c.db.read, scanSweep, `SELECT id, workspace_id, datastore_id, datasource_id, engine, model,
		from_generation, below, originals, jobs, attempts, due_at FROM sweeps WHERE due_at <= ? ORDER BY due_at, id LIMIT ?`, micros(c.now()), limit)
	if err != nil {
		return nil, fmt.Errorf("reading sweeps: %w", err)
	}
	return tasks, nil
}

func scanSweep(s scanner) (SweepTask, error) {
	var v SweepTask
	var from, below, dueAt int64
	var originals string
	var jobs int
	err := s.Scan(&v.ID, &v.WorkspaceID, &v.DatastoreID, &v.DatasourceID, &v.Place.Engine, &v.Place.Model, &from, &below, &originals, &jobs, &v.Attempts, &dueAt)
	if err != nil {
		return v, err
	}
	v.From, v.Below, v.Jobs, v.DueAt = uint64(from), uint64(below), jobs == sweepAllJobs, fromMicros(dueAt)
	if below == allGenerations {
		v.Below = domain.AllGenerations
	}
	if jobs == sweepCrawls {
		v.From, v.Crawls = 0, v.From
	}
	if originals != "" {
		v.Originals = strings.Split(originals, "\n")
	}
	return v, nil
}

// FinishSweep forgets sweeps that are done. Unknown ids are no error.
func (c *Catalog) FinishSweep(ctx context.Context, ids ...string) error {
	return c.update(ctx, "finishing sweeps", func(t *tx) error {
		return inLists(c.db.dialect, ids, func(in string, args []any) error {
			_, err := t.exec(ctx, `DELETE FROM sweeps WHERE id `+in+``, args...)
			return err
		})
	})
}

// DeferSweep keeps a sweep that failed from being offered again until then. The cause is kept for people to read.
func (c *Catalog) DeferSweep(ctx context.Context, id string, until time.Time, cause string) error {
	return c.update(ctx, "deferring a sweep", func(t *tx) error {
		_, err := t.exec(ctx, `UPDATE sweeps SET due_at = ?, cause = ?, attempts = attempts + 1 WHERE id = ?`, micros(until), cause, id)
		return err
	})
}
