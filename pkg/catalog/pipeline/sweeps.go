package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// SweepTask is a queued sweep. Attempts is the number of times the sweep was deferred.
type SweepTask struct {
	domain.Sweep
	Attempts int
	DueAt    time.Time
}

// QueueSweep queues a sweep on behalf of an audit. If the sweep has no ID, it gets one.
func (c *Pipeline) QueueSweep(ctx context.Context, s domain.Sweep) error {
	return c.db.Update(ctx, "queueing a sweep", func(t *db.Tx) error { return record.QueueSweep(ctx, t, s) })
}

// Sweeps returns up to limit due sweeps: first the sweeps for withdrawn jobs, then those that were never deferred, then
// all others. Sweeps stay queued until FinishSweep is called. A returned sweep never includes originals still in use.
func (c *Pipeline) Sweeps(ctx context.Context, limit int) ([]SweepTask, error) {
	tasks, err := db.Collect(ctx, c.db.Read, scanSweep, `SELECT id, workspace_id, datastore_id, datasource_id, engine, model,
		from_generation, below, originals, jobs, attempts, due_at FROM sweeps WHERE due_at <= ? ORDER BY due_at, id LIMIT ?`, db.Micros(c.db.Now()), limit)
	if err != nil {
		return nil, fmt.Errorf("reading sweeps: %w", err)
	}
	return tasks, c.keepUsed(ctx, tasks)
}

// keepUsed removes originals still in use from the sweeps. A file's original is in use until the file and all its
// datasources are deleted. Each of these deletions queues a sweep, but only the sweep for the last deletion finds the
// original unused. After that, the original can't come back into use, because only an existing file can be added to a
// datastore.
func (c *Pipeline) keepUsed(ctx context.Context, tasks []SweepTask) error {
	var owners []string
	for _, task := range tasks {
		for _, key := range task.Originals {
			if owner := (&domain.Original{Key: key}).Owner(); owner != "" {
				owners = append(owners, owner)
			}
		}
	}
	used := map[string]bool{}
	for _, from := range []string{`files WHERE id `, `datasources WHERE file_id <> '' AND file_id `, `datasources WHERE id `} {
		err := db.InLists(c.db.Read, owners, func(in string, args []any) error {
			keys, err := db.Collect(ctx, c.db.Read, db.ScanString, `SELECT original_key FROM `+from+in, args...)
			for _, key := range keys {
				used[key] = true
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("looking for uses of originals: %w", err)
		}
	}
	for i := range tasks {
		tasks[i].Originals = slices.DeleteFunc(tasks[i].Originals, func(key string) bool { return used[key] })
	}
	return nil
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

// DeferSweep delays a failed sweep until the given time and stores the cause for diagnosis.
func (c *Pipeline) DeferSweep(ctx context.Context, id string, until time.Time, cause string) error {
	return c.db.Update(ctx, "deferring a sweep", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE sweeps SET due_at = ?, cause = ?, attempts = attempts + 1 WHERE id = ?`, db.Micros(until), cause, id)
		return err
	})
}
