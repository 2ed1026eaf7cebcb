package pipeline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// OutboxBacklog returns the number of due jobs in the outbox and the time at which the first of them became due, or the
// zero time if there are none. It reads all due jobs.
func (c *Pipeline) OutboxBacklog(ctx context.Context) (due int64, oldest time.Time, err error) {
	var first sql.NullInt64
	err = c.db.Read.QueryRow(ctx, `SELECT COUNT(*), MIN(CASE WHEN not_before > seq THEN not_before ELSE seq END)
		FROM outbox WHERE not_before <= ?`, db.Micros(c.db.Now())).Scan(&due, &first)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("counting the jobs in the outbox: %w", err)
	}
	if first.Valid {
		oldest = db.FromMicros(first.Int64)
	}
	return due, oldest, nil
}

// Outbox is Next without a window: it returns due jobs no matter how many jobs are in the stream.
func (c *Pipeline) Outbox(ctx context.Context, limit int) ([]domain.Job, error) {
	return c.Next(ctx, nil, limit)
}

// Next returns up to limit due jobs in publishing order: by priority, then round robin by workspace, then oldest first.
// It skips workspaces that have used up their share of the window w and counts the returned jobs towards that share.
// Scan jobs have a window of their own within w and are returned in addition to the limit. If w is nil, they count
// towards the limit. The round robin continues where the last call ended, so a small limit is as fair as a large one.
// Jobs stay in the outbox until Published is called.
func (c *Pipeline) Next(ctx context.Context, w *Window, limit int) ([]domain.Job, error) {
	var jobs []domain.Job
	for _, p := range []record.Priority{record.PriorityFresh, record.PriorityPages, record.PriorityReplay} {
		if len(jobs) >= limit {
			break
		}
		more, err := c.roundRobin(ctx, p, w, limit-len(jobs))
		if err != nil {
			return nil, fmt.Errorf("reading the outbox: %w", err)
		}
		jobs = append(jobs, more...)
	}
	var forScans *Window
	left := limit - len(jobs)
	if w != nil {
		forScans, left = w.scans, w.FreeScans()
	}
	if left <= 0 {
		return jobs, nil
	}
	scans, err := c.roundRobin(ctx, record.PriorityScans, forScans, left)
	if err != nil {
		return nil, fmt.Errorf("reading the scans in the outbox: %w", err)
	}
	return append(jobs, scans...), nil
}

// roundRobin reads up to limit jobs of one priority. With the outbox_turn index, it reads only the jobs it returns, so
// its cost does not grow with the outbox.
func (c *Pipeline) roundRobin(ctx context.Context, p record.Priority, w *Window, limit int) ([]domain.Job, error) {
	c.lastMu.Lock()
	defer c.lastMu.Unlock()
	now := db.Micros(c.db.Now())
	queues, err := c.queues(ctx, p, w, now, limit)
	if err != nil || len(queues) == 0 {
		return nil, err
	}
	var rounds int // length of the longest queue
	for waiting := queues; ; {
		total := 0
		for _, q := range queues {
			total += len(q.jobs)
		}
		if total >= limit || len(waiting) == 0 {
			break
		}
		share := (limit - total + len(waiting) - 1) / len(waiting)
		var more []*queue // queues that may have more jobs
		for _, q := range waiting {
			n := min(share, q.capacity-len(q.jobs))
			if n <= 0 {
				continue
			}
			full, err := c.extend(ctx, p, q, now, n)
			if err != nil {
				return nil, err
			}
			rounds = max(rounds, len(q.jobs))
			if full {
				more = append(more, q)
			}
		}
		waiting = more
	}
	var jobs []domain.Job
	for i := 0; i < rounds; i++ {
		for _, q := range queues {
			if i < len(q.jobs) && len(jobs) < limit && w.take(q.workspace) {
				jobs = append(jobs, q.jobs[i])
				c.last[p] = q.workspace
			}
		}
	}
	return jobs, nil
}

// queue holds the jobs of one workspace and one priority that have been read so far.
type queue struct {
	workspace string
	capacity  int // how many of its jobs fit into the window
	jobs      []domain.Job
	notBefore int64 // due time of the last job read
	seq       int64
}

// queues returns up to limit empty queues, one per workspace that has due jobs of this priority and space in the
// window. It starts after the workspace served last.
func (c *Pipeline) queues(ctx context.Context, p record.Priority, w *Window, now int64, limit int) ([]*queue, error) {
	var out []*queue
	first := c.last[p]
	// The first query ignores due times. Otherwise, it would have to scan all of a workspace's jobs whenever most of
	// them aren't due yet.
	const next = `SELECT workspace_id FROM outbox WHERE priority = ? AND workspace_id > ?`
	const due = `SELECT workspace_id FROM outbox WHERE priority = ? AND workspace_id = ? AND not_before <= ? LIMIT 1`
	after, wrapped := first, false
	for len(out) < limit {
		text, args := next, []any{p, after}
		if wrapped {
			// Compare workspace ids in the database, because its text order may differ from Go's.
			text, args = text+` AND workspace_id <= ?`, append(args, first)
		}
		ws, err := db.ScanString(c.db.Read.QueryRow(ctx, text+` ORDER BY workspace_id LIMIT 1`, args...))
		switch {
		case errors.Is(err, sql.ErrNoRows) && (wrapped || first == ""):
			return out, nil
		case errors.Is(err, sql.ErrNoRows):
			after, wrapped = "", true
		case err != nil:
			return nil, err
		default:
			after = ws
			room := w.capacity(ws)
			if room == 0 {
				continue
			}
			switch _, err := db.ScanString(c.db.Read.QueryRow(ctx, due, p, ws, now)); {
			case err == nil:
				out = append(out, &queue{workspace: ws, capacity: room, notBefore: -1})
			case !errors.Is(err, sql.ErrNoRows):
				return nil, err
			}
		}
	}
	return out, nil
}

// extend reads up to n more jobs into the queue. It reports whether it found n jobs.
func (c *Pipeline) extend(ctx context.Context, p record.Priority, q *queue, now int64, n int) (bool, error) {
	type item struct {
		job            domain.Job
		notBefore, seq int64
	}
	items, err := db.Collect(ctx, c.db.Read, func(s db.Scanner) (it item, err error) {
		var payload string
		if err := s.Scan(&payload, &it.notBefore, &it.seq); err != nil {
			return it, err
		}
		return it, db.FromJSON(payload, &it.job)
	}, `SELECT payload, not_before, seq FROM outbox
		WHERE priority = ? AND workspace_id = ? AND not_before <= ? AND (not_before, seq) > (?, ?)
		AND `+record.InExistingStore+` ORDER BY not_before, seq LIMIT ?`, p, q.workspace, now, q.notBefore, q.seq, n)
	if err != nil {
		return false, err
	}
	var jobs []domain.Job
	for _, it := range items {
		jobs = append(jobs, it.job)
		q.notBefore, q.seq = it.notBefore, it.seq
	}
	jobs, err = c.withoutDeletedSites(ctx, jobs)
	q.jobs = append(q.jobs, jobs...)
	return len(items) == n, err
}

// Published removes a job from the outbox after it was published with this sequence number; see PublishedAll.
func (c *Pipeline) Published(ctx context.Context, job domain.Job, seq uint64) error {
	job.Generation = seq
	return c.PublishedAll(ctx, []domain.Job{job})
}

// PublishedAll removes published jobs from the outbox. Each job's Generation is its sequence number in the stream. From
// then on, the jobs' datasources are in flight, and those whose status is unsynched become pending. If a job was
// replaced in the outbox or has already ended, PublishedAll only records its generation.
func (c *Pipeline) PublishedAll(ctx context.Context, jobs []domain.Job) error {
	var highest uint64
	stores, ids := make([]string, len(jobs)), make([]string, len(jobs))
	for i, j := range jobs {
		highest = max(highest, j.Generation)
		stores[i], ids[i] = j.DatastoreID, j.DatasourceID
	}
	err := c.db.Update(ctx, "marking jobs as published", func(t *db.Tx) error {
		if err := record.ShareDatastores(ctx, t, stores...); err != nil {
			return err
		}
		if err := record.LockRows(ctx, t, ids); err != nil {
			return err
		}
		for _, j := range jobs {
			if err := recordPublished(ctx, t, j); err != nil {
				return err
			}
		}
		return c.RaiseMark(ctx, t, highest)
	})
	if err == nil {
		c.MarkStored(highest)
	}
	return err
}

// recordPublished handles one job for PublishedAll. The statements' conditions ensure that a job that was replaced or
// has ended changes nothing but its datasource's highest generation.
func recordPublished(ctx context.Context, t *db.Tx, j domain.Job) error {
	now, generation := t.Stamp(), db.Unsigned(j.Generation)
	for _, w := range []db.Write{
		{Text: `UPDATE datasources SET place = 2, touched_at = ?, updated_at = ?,
			status = CASE WHEN status = 'unsynched' THEN 'pending' ELSE status END,
			seen_generation = CASE WHEN seen_generation < ? THEN ? ELSE seen_generation END WHERE id = ? AND job_id = ?
			AND EXISTS (SELECT 1 FROM outbox WHERE outbox.datasource_id = datasources.id AND outbox.job_id = datasources.job_id)`,
			Args: []any{now, now, generation, generation, j.DatasourceID, j.ID}},
		// This finds a row only if the previous statement did not, so each job takes one write.
		{Text: `UPDATE datasources SET seen_generation = ? WHERE id = ? AND seen_generation < ?`,
			Args: []any{generation, j.DatasourceID, generation}},
		{Text: `DELETE FROM outbox WHERE datasource_id = ? AND job_id = ?`, Args: []any{j.DatasourceID, j.ID}},
	} {
		w.Action = "noting job " + j.ID
		if err := t.Queue(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// DeferJob delays a job that can't be published, so that it doesn't block the workspace's other jobs. It does nothing
// if the job has been replaced.
func (c *Pipeline) DeferJob(ctx context.Context, job domain.Job, until time.Time) error {
	return c.db.Update(ctx, "deferring a job", func(t *db.Tx) error {
		_, err := t.Exec(ctx, `UPDATE outbox SET not_before = ? WHERE datasource_id = ? AND job_id = ?`,
			db.Micros(until), job.DatasourceID, job.ID)
		return err
	})
}

// InFlight counts the datasources whose newest job is in the stream and has not ended.
func (c *Pipeline) InFlight(ctx context.Context) (int64, error) {
	var n int64
	if err := c.db.Read.QueryRow(ctx, `SELECT COUNT(*) FROM datasources WHERE place = 2 AND place <> 1 AND `+record.Live+` AND `+record.NotDeleted).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting jobs in flight: %w", err)
	}
	return n, nil
}

// InFlight maps workspaces to the number of their jobs in the stream. Workspaces without jobs are absent.
type InFlight struct {
	Scans map[string]int // scan jobs
	Other map[string]int
}

// InFlightByWorkspace counts in-flight datasources per workspace, separately for scan jobs and all other jobs.
func (c *Pipeline) InFlightByWorkspace(ctx context.Context) (InFlight, error) {
	type job struct {
		workspace string
		kind      domain.JobKind
	}
	// Count in Go instead of using GROUP BY, which would make the database sort the rows. There are only as many rows
	// as the windows allow.
	jobs, err := db.Collect(ctx, c.db.Read, func(s db.Scanner) (j job, err error) { return j, s.Scan(&j.workspace, &j.kind) },
		`SELECT workspace_id, job_kind FROM datasources WHERE place = 2 AND place <> 1 AND `+record.Live+` AND `+record.NotDeleted)
	if err != nil {
		return InFlight{}, fmt.Errorf("counting jobs in flight: %w", err)
	}
	all := InFlight{Scans: map[string]int{}, Other: map[string]int{}}
	for _, j := range jobs {
		if j.kind == domain.JobScan {
			all.Scans[j.workspace]++
		} else {
			all.Other[j.workspace]++
		}
	}
	return all, nil
}

// MaxGeneration returns the highest generation so far, or 0 if there is none, including those of deleted datasources'
// jobs. A new job stream must start above this generation.
func (c *Pipeline) MaxGeneration(ctx context.Context) (uint64, error) {
	g, err := record.ReadMark(ctx, c.db.Read)
	if err != nil {
		return 0, err
	}
	return g, nil
}

// RaiseMark raises the stored highest generation to at least `generation`. It writes nothing if MarkStored was called
// with this generation or a higher one.
func (c *Pipeline) RaiseMark(ctx context.Context, t *db.Tx, generation uint64) error {
	if generation <= c.generation.Load() {
		return nil
	}
	if _, err := t.Exec(ctx, `UPDATE marks SET value = ? WHERE name = 'generation' AND value < ?`,
		db.Unsigned(generation), db.Unsigned(generation)); err != nil {
		return fmt.Errorf("storing the highest generation: %w", err)
	}
	return nil
}

// MarkStored remembers that a highest generation of at least `generation` is stored, which saves writes in RaiseMark.
// Call it only after the transaction that stored the generation has committed.
func (c *Pipeline) MarkStored(generation uint64) {
	for {
		have := c.generation.Load()
		if generation <= have || c.generation.CompareAndSwap(have, generation) {
			return
		}
	}
}

// withoutDeletedSites drops jobs for deleted sites' pages.
func (c *Pipeline) withoutDeletedSites(ctx context.Context, jobs []domain.Job) ([]domain.Job, error) {
	if !slices.ContainsFunc(jobs, func(j domain.Job) bool { return j.GroupID != "" }) {
		return jobs, nil
	}
	sites, err := db.Collect(ctx, c.db.Read, db.ScanString, `SELECT site_id FROM doomed_sites`)
	if err != nil {
		return nil, fmt.Errorf("looking for deleted sites: %w", err)
	}
	if len(sites) == 0 {
		return jobs, nil
	}
	return slices.DeleteFunc(jobs, func(j domain.Job) bool { return slices.Contains(sites, j.GroupID) }), nil
}
