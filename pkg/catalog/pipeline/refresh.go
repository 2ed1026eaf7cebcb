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

// Refresh is the schedule for a datasource that is fetched repeatedly.
type Refresh struct {
	WorkspaceID  string
	DatastoreID  string
	DatasourceID string
	Schedule     string // see domain.DatasourceConfig.Refresh
}

// Refreshes returns up to limit refresh schedules in all workspaces, ordered by datasource id. The first cursor is "".
// next is the cursor for the next call, or "" after the last schedule.
func (c *Pipeline) Refreshes(ctx context.Context, cursor string, limit int) (out []Refresh, next string, err error) {
	out, err = db.Collect(ctx, c.db.Read, db.Scan(func(r *Refresh) []any { return []any{&r.WorkspaceID, &r.DatastoreID, &r.DatasourceID, &r.Schedule} }), `SELECT workspace_id, datastore_id, id, refresh FROM datasources WHERE refresh <> '' AND id > ? AND `+record.NotDeleted+` ORDER BY id LIMIT ?`, cursor, limit)
	if err != nil {
		return nil, "", fmt.Errorf("listing refresh schedules: %w", err)
	}
	if len(out) == limit && limit > 0 {
		next = out[limit-1].DatasourceID
	}
	return out, next, nil
}

// RefreshDue queues a fetch of a datasource whose schedule was due at the given time. The fetch has the priority of a
// replay. RefreshDue returns false if the datasource is gone, has no schedule, is waiting for a job, or was queued
// after that time, so repeated calls are harmless.
func (c *Pipeline) RefreshDue(ctx context.Context, id string, at time.Time) (queued bool, err error) {
	err = c.db.Update(ctx, "queueing a refresh", func(t *db.Tx) error {
		queued = false
		r, store, err := record.LockDatasource(ctx, t, id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.Config.Refresh == "" || r.GroupID != "" || !r.Status.Terminal() || r.QueuedAt >= db.Micros(at) {
			return nil
		}
		job := domain.NewCrawlJob(r.Datasource, store)
		r.UpdatedAt = db.FromMicros(c.db.Stamp())
		queued = true
		return c.sites.Restart(ctx, t, &r, store, job, record.PriorityReplay)
	})
	return queued && err == nil, err
}
