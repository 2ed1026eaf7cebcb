package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Priority orders the outbox; lower numbers go first.
type Priority int

// Job priorities. A follow-up job gets PriorityFresh, so that work in progress is finished before new work begins.
const (
	PriorityFresh  Priority = 0 // content a user has just added or changed
	PriorityPages  Priority = 1 // pages found by crawling a site
	PriorityReplay Priority = 2 // replays; the old content stays searchable meanwhile
	PriorityScans  Priority = 3 // scan jobs, which have their own window
)

// Topics announced by transactions; see db.Tx.Notify.
const (
	TopicOutbox = "outbox" // the outbox has a job, or the stream has capacity for one
	TopicSweeps = "sweeps" // a sweep is queued
	TopicSites  = "sites"  // work on a site is queued
)

// Enqueue adds the job to the outbox. If the outbox contains an older job for the same datasource, the new job replaces
// it and takes its position. If it went to the end instead, the jobs of a datasource that keeps changing would never be
// published.
func Enqueue(ctx context.Context, t *db.Tx, job domain.Job, p Priority) error {
	return EnqueueAt(ctx, t, job, p, 0)
}

// EnqueueAt is like Enqueue, but the job is not published before the given time, in microseconds since 1970. 0 means
// immediately.
func EnqueueAt(ctx context.Context, t *db.Tx, job domain.Job, p Priority, notBefore int64) error {
	job.Trace = telemetry.Inject(ctx)
	payload, err := db.ToJSON(job)
	if err != nil {
		return err
	}
	t.Notify(TopicOutbox)
	return t.Queue(ctx, db.Write{
		Action: "putting job " + job.ID + " into the outbox",
		Text: `INSERT INTO outbox (datasource_id, workspace_id, datastore_id, job_id, priority, not_before, seq, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (datasource_id) DO UPDATE SET job_id = excluded.job_id, payload = excluded.payload, not_before = excluded.not_before,
			priority = CASE WHEN excluded.priority < outbox.priority THEN excluded.priority ELSE outbox.priority END`,
		Args: []any{job.DatasourceID, job.WorkspaceID, job.DatastoreID, job.ID, p, notBefore, t.Stamp(), payload},
	})
}

// ReadMark reads the highest generation published or reported so far.
func ReadMark(ctx context.Context, q db.Querier) (uint64, error) {
	var v int64
	if err := q.QueryRow(ctx, `SELECT value FROM marks WHERE name = 'generation'`).Scan(&v); err != nil {
		return 0, fmt.Errorf("reading the highest generation: %w", err)
	}
	return uint64(v), nil
}

// JobFor returns a job of this kind for a datasource; see pipeline.Pipeline.NewJob.
func JobFor(ctx context.Context, q db.Querier, d domain.Datasource, kind domain.JobKind, store domain.Datastore) (domain.Job, error) {
	if kind.Ingests() {
		return domain.NewIngestJob(d, store), nil
	}
	if d.GroupID == "" {
		return domain.NewCrawlJob(d, store), nil
	}
	site, err := Scan(q.QueryRow(ctx, `SELECT `+Columns+` FROM datasources WHERE id = ?`, d.GroupID))
	if errors.Is(err, sql.ErrNoRows) {
		return domain.NewCrawlJob(d, store), nil
	}
	if err != nil {
		return domain.Job{}, fmt.Errorf("reading site %s: %w", d.GroupID, err)
	}
	return domain.NewPageJob(site.Datasource, d, domain.NewID(), store), nil
}
