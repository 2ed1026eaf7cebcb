package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// SweepTask is a queued sweep. Attempts counts how often it was deferred.
type SweepTask struct {
	domain.Sweep
	Attempts int
	DueAt    time.Time
}

// QueueSweep queues a sweep that an audit has found necessary. If the sweep's ID is empty, it gets a new one.
func (c *Pipeline) QueueSweep(ctx context.Context, s domain.Sweep) error {
	return c.db.Update(ctx, "queueing a sweep", func(t *db.Tx) error { return record.QueueSweep(ctx, t, s) })
}

// Sweeps returns up to `limit` due sweeps. Sweeps of withdrawn jobs come first, followed by sweeps that were never
// deferred. All of them stay queued until FinishSweep is called.
func (c *Pipeline) Sweeps(ctx context.Context, limit int) ([]SweepTask, error) {
	tasks, err := db.Collect(ctx, c.db.Read, scanSweep, `SELECT id, workspace_id, datastore_id, datasource_id, engine, model,
		from_generation, below, originals, jobs, attempts, due_at FROM sweeps WHERE due_at <= ? ORDER BY due_at, id LIMIT ?`, db.Micros(c.db.Now()), limit)
	if err != nil {
		return nil, fmt.Errorf("reading sweeps: %w", err)
	}
	return tasks, nil
}

func scanSweep(s db.Scanner) (SweepTask, error) {
	var v SweepTask
	var from, below, dueAt int64
	var originals string
	var jobs int
	err := s.Scan(&v.ID, &v.WorkspaceID, &v.DatastoreID, &v.DatasourceID, &v.Place.Engine, &v.Place.Model, &from, &below, &originals, &jobs, &v.Attempts, &dueAt)
	if err != nil {
		return v, err
	}
	v.From, v.Below, v.Jobs, v.DueAt = uint64(from), uint64(below), jobs == record.SweepAllJobs, db.FromMicros(dueAt)
	if below == record.AllGenerations {
		v.Below = domain.AllGenerations
	}
	if jobs == record.SweepCrawls {
		v.From, v.Crawls = 0, v.From
	}
	if originals != "" {
		v.Originals = strings.Split(originals, "\n")
	}
	return v, nil
}

// FinishSweep deletes completed sweeps. Unknown ids are ignored.
func (c *Pipeline) FinishSweep(ctx context.Context, ids ...string) error {
	return c.db.Update(ctx, "finishing sweeps", func(t *db.Tx) error {
		return db.InLists(c.db.Read, ids, func(in string, args []any) error {
			_, err := t.Exec(ctx, `DELETE FROM sweeps WHERE id `+in+``, args...)
			return err
		})
	})
}

// DeferSweep delays a failed sweep until the given time. The cause is stored for diagnosis.
func (c *Pipeline) DeferSweep(ctx context.Context, id string, until time.Time, cause string) error {
	return c.db.Update(ctx, "deferring a sweep", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE sweeps SET due_at = ?, cause = ?, attempts = attempts + 1 WHERE id = ?`, db.Micros(until), cause, id)
		return err
	})
}
