package pipeline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// StuckDatasource is a datasource whose job is overdue. Job does the same work but has a new id, because the stream
// drops jobs with known ids.
type StuckDatasource struct {
	domain.Datasource
	Job domain.Job
}

// Stuck returns up to limit datasources whose job is not in the outbox and has been inactive since the time `before`,
// longest inactive first. Each comes with a replacement for the lost job; see Reissue. A site or archive that is merely
// waiting for its pages or files is not stuck.
func (c *Pipeline) Stuck(ctx context.Context, before time.Time, limit int) ([]StuckDatasource, error) {
	records, err := db.Collect(ctx, c.db.Read, record.Scan, `SELECT `+record.Columns+` FROM datasources
		WHERE place <> 1 AND `+record.Live+` AND `+record.NotDeleted+` AND touched_at < ? AND NOT (type IN ('web_site', 'archive') AND discovery_done = 1)
		ORDER BY touched_at LIMIT ?`, db.Micros(before), limit)
	if err != nil {
		return nil, fmt.Errorf("looking for stuck datasources: %w", err)
	}
	out := make([]StuckDatasource, 0, len(records))
	for _, r := range records {
		kind := r.JobKind
		if kind.Ingests() && r.Original == nil {
			kind = domain.JobCrawl // there is no stored content, so fetch it again
		}
		store, err := record.DatastoreByID(ctx, c.db.Read, r.DatastoreID)
		if errors.Is(err, sql.ErrNoRows) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, fmt.Errorf("reading the datastore of stuck datasource %s: %w", r.ID, err)
		}
		job, err := record.JobFor(ctx, c.db.Read, r.Datasource, kind, store)
		if err != nil {
			return nil, err
		}
		if kind.Ingests() && r.Resume != nil && store.Move != nil && r.MoveID == store.Move.ID {
			job = domain.NewMoveJob(r.Datasource, store)
		}
		out = append(out, StuckDatasource{Datasource: r.Datasource, Job: job})
	}
	return out, nil
}

// Reissue adds the job to the outbox in place of a lost one. It returns false and does nothing if the datasource is
// gone, is not waiting for a job, or has a newer job than expectJobID.
func (c *Pipeline) Reissue(ctx context.Context, datasourceID, expectJobID string, job domain.Job) (bool, error) {
	reissued := false
	err := c.db.Update(ctx, "issuing a job again", func(t *db.Tx) error {
		reissued = false
		r, store, err := record.LockDatasource(ctx, t, datasourceID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.JobID != expectJobID || r.Status.Terminal() || r.Location == record.InOutbox {
			return nil
		}
		run, crawl := r.RunID, r.Crawl
		r.UpdatedAt = db.FromMicros(c.db.Stamp())
		job := r.Accept(job, store)
		// Continue the same crawl, so that it doesn't request pages twice.
		r.RunID, r.Crawl = run, crawl
		if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil {
			return err
		}
		reissued = true
		return record.Enqueue(ctx, t, job, record.PriorityFresh)
	})
	return reissued && err == nil, err
}

// NewJob returns a new job that ingests the datasource's original or crawls its address, depending on kind. A crawl job
// for a site's page contains the site's scope. NewJob fails with domain.NotFound if the datastore is gone.
func (c *Pipeline) NewJob(ctx context.Context, d domain.Datasource, kind domain.JobKind) (domain.Job, error) {
	store, err := record.DatastoreByID(ctx, c.db.Read, d.DatastoreID)
	if err != nil {
		return domain.Job{}, db.MapNotFound(err, "datastore", d.DatastoreID)
	}
	return record.JobFor(ctx, c.db.Read, d, kind, store)
}
