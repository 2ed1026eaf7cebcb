package pipeline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/sites"
	"github.com/sluice/sluice/pkg/domain"
)

// ReplayFilter selects datasources to process again. Empty fields match everything.
type ReplayFilter struct {
	WorkspaceID  string
	DatastoreID  string
	GroupID      string    // pages of this site
	DatasourceID string    // a single datasource
	Failed       bool      // only datasources in status error
	Since        time.Time // only datasources changed at or after this time

	Fetch    bool // fetch web content again instead of processing the stored content
	Force    bool // write rows even if nothing has changed
	ReplayID string
	Priority record.Priority
}

// Number of datasources queued per transaction by a replay.
const replayBatch = 200

// kind returns the kind of job that replays a datasource, or "" if the datasource gets no job:
//
//   - site: a crawl job, which creates jobs for the site's pages, if content is fetched again
//   - page: a crawl job if content is fetched again, if the page was never fetched, or if failures are replayed and its
//     last fetch failed; otherwise an ingest job
//   - archive: an ingest job, which unpacks it again, if content is fetched again or failures are replayed
//   - any other datasource: an ingest job if it has an original
//
// When content is fetched again, a page of a site or a file from an archive gets no job here, because the job of its
// site or archive creates one. It does get a job if the filter selects only failures or only this datasource. When
// stored content is processed, a skipped datasource gets no job, because it has no content.
func (f ReplayFilter) kind(d record.Record) domain.JobKind {
	web := d.Type == domain.TypeWebPage || d.Type == domain.TypeWebSite
	switch {
	case f.Failed && d.Type == domain.TypeWebPage && (f.Fetch || d.JobKind == domain.JobCrawl):
		return domain.JobCrawl
	case f.Fetch && d.GroupID != "" && d.ID != f.DatasourceID && (web || !f.Failed):
		return ""
	case f.Fetch && web:
		return domain.JobCrawl
	case d.Type == domain.TypeArchive && (f.Fetch || f.Failed):
		return domain.JobIngest
	case d.Type == domain.TypeArchive:
		return ""
	case d.Type == domain.TypeWebSite:
		return ""
	case d.Status == domain.StatusSkipped:
		return "" // there is no content to process
	case d.Original != nil:
		return domain.JobIngest
	case d.Type == domain.TypeWebPage:
		return domain.JobCrawl
	default:
		return ""
	}
}

// Replay queues jobs for the next batch of datasources that match the filter, oldest first. They replace any jobs
// waiting in the outbox for the same datasources. Replay returns the number of jobs and the cursor for the next call,
// or "" after the last datasource. Each batch is a separate transaction, so that others can write in between. Active
// content stays searchable.
func (c *Pipeline) Replay(ctx context.Context, f ReplayFilter, from string) (queued int64, next string, err error) {
	var after cursor.Position
	if from != "" {
		if after, err = cursor.Read(cursor.Replay, from); err != nil {
			return 0, "", err
		}
	}
	batch, err := c.replayed(ctx, f, after)
	if err != nil {
		return 0, "", err
	}
	err = c.db.Update(ctx, "queueing a replay", func(t *db.Tx) error {
		queued, err = c.replay(ctx, t, f, batch)
		return err
	})
	if err != nil {
		return 0, "", err
	}
	if len(batch) == replayBatch {
		next = cursor.Write(cursor.Replay, batch[len(batch)-1].Position)
	}
	return queued, next, nil
}

// candidate is a datasource that matches a replay's filter.
type candidate struct {
	cursor.Position
	datastoreID string
}

var scanCandidate = db.Scan(func(v *candidate) []any { return []any{&v.At, &v.ID, &v.datastoreID} })

// replayed reads the next batch of datasources to replay. It runs outside the transaction, because finding a few
// matches among many datasources may take a while.
func (c *Pipeline) replayed(ctx context.Context, f ReplayFilter, after cursor.Position) ([]candidate, error) {
	l := db.List{Columns: `created_at, id, datastore_id`, Table: `datasources`}
	// Only the first condition may use an index. The conditions after it wrap their columns in expressions to keep the
	// database from using other indexes.
	order := `created_at, id`
	switch {
	case f.DatasourceID != "":
		l.And(`id = ?`, f.DatasourceID)
	case f.GroupID != "":
		l.And(`group_id = ? AND group_id <> ''`, f.GroupID)
	case f.DatastoreID != "":
		l.And(`datastore_id = ?`, f.DatastoreID)
	case f.WorkspaceID != "":
		l.And(`workspace_id = ?`, f.WorkspaceID)
	default:
		order = `id`
	}
	l.And(record.NotDeleted)
	if f.WorkspaceID != "" {
		l.And(`workspace_id || '' = ?`, f.WorkspaceID)
	}
	if f.DatastoreID != "" {
		l.And(`datastore_id || '' = ?`, f.DatastoreID)
	}
	if f.Failed {
		l.And(`status || '' = 'error'`)
	}
	if !f.Since.IsZero() {
		l.And(`updated_at >= ?`, db.Micros(f.Since))
	}
	if order == `id` {
		l.And(`id > ?`, after.ID)
	} else {
		l.And(`(created_at, id) > (?, ?)`, after.At, after.ID)
	}
	text := `SELECT ` + l.Columns + ` FROM ` + l.Table + ` WHERE ` + strings.Join(l.Where, ` AND `) + ` ORDER BY ` + order + ` LIMIT ?`
	batch, err := db.Collect(ctx, c.db.Read, scanCandidate, text, append(l.Args, replayBatch)...)
	if err != nil {
		return nil, fmt.Errorf("looking for datasources to replay: %w", err)
	}
	return batch, nil
}

func (c *Pipeline) replay(ctx context.Context, t *db.Tx, f ReplayFilter, batch []candidate) (queued int64, err error) {
	var ids, stores, sites []string
	for _, v := range batch {
		ids, stores = append(ids, v.ID), append(stores, v.datastoreID)
	}
	if err := record.ShareDatastores(ctx, t, stores...); err != nil {
		return 0, err
	}
	if err := record.LockDatasources(ctx, t, ids...); err != nil {
		return 0, err
	}
	records, err := record.ReadAll(ctx, t, ids)
	if err != nil {
		return 0, fmt.Errorf("reading datasources to replay: %w", err)
	}
	for _, id := range ids {
		r, exists := records[id] // missing if the datasource was deleted in the meantime
		kind := f.kind(r)
		if !exists || kind == "" || f.Failed && r.Status != domain.StatusError {
			continue
		}
		err := replayOne(ctx, t, f, r, kind)
		if errors.Is(err, sql.ErrNoRows) {
			continue // the datastore was deleted in the meantime
		}
		if err != nil {
			return 0, fmt.Errorf("datasource %s: %w", id, err)
		}
		if r.GroupID != "" {
			sites = append(sites, r.GroupID)
		}
		queued++
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(sites))) {
		if _, err := c.sites.SettleSite(ctx, t, id, db.FromMicros(t.Stamp())); err != nil {
			return 0, err
		}
	}
	return queued, nil
}

func replayOne(ctx context.Context, t *db.Tx, f ReplayFilter, r record.Record, kind domain.JobKind) error {
	store, err := record.ShareDatastore(ctx, t, r.DatastoreID)
	if err != nil {
		return err
	}
	job, err := record.JobFor(ctx, t, r.Datasource, kind, store)
	if err != nil {
		return err
	}
	job.Force = f.Force
	r.ReplayID = f.ReplayID
	r.UpdatedAt = db.FromMicros(t.Stamp())
	job = r.Accept(job, store)
	if err := sites.Begin(ctx, t, &r); err != nil {
		return err
	}
	if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil {
		return err
	}
	return record.Enqueue(ctx, t, job, f.Priority)
}

// ReplayProgress counts the replay's datasources, except those that a later replay has queued again. done is the number
// of datasources that succeeded (synched or skipped), and failed the number of those that failed.
func (c *Pipeline) ReplayProgress(ctx context.Context, replayID string) (total, done, failed int64, err error) {
	err = c.db.Read.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN status IN ('synched', 'skipped') THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN status = 'error' THEN 1 ELSE 0 END), 0) FROM datasources WHERE replay_id = ? AND replay_id <> ''`, replayID).
		Scan(&total, &done, &failed)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("counting the results of a replay: %w", err)
	}
	return total, done, failed, nil
}
