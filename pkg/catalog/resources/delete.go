package resources

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/sites"
	"github.com/sluice/sluice/pkg/domain"
)

// DeleteDatasource deletes a datasource, along with a site's pages or an archive's files, and returns the datasource.
// If there are many pages or files, RemoveDeleted removes the remaining ones later. After the commit, the datasource is
// invisible, and sweeps for its rows, originals and messages are queued. If it was a site's page, the site's current
// crawl does not add it again, but the next crawl may.
func (c *Resources) DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	var r record.Record
	err := c.db.Update(ctx, "deleting a datasource", func(t *db.Tx) (err error) {
		if r, _, err = record.LockDatasourceOf(ctx, t, ws, id); err != nil {
			return err
		}
		return c.remove(ctx, t, r)
	})
	return r.Datasource, err
}

// DeleteIf deletes the datasource unless it has a pending job or a job was queued for it after the caller read d. It
// reports whether it deleted the datasource.
func (c *Resources) DeleteIf(ctx context.Context, d domain.Datasource) (bool, error) {
	deleted := false
	err := c.db.Update(ctx, "deleting a datasource", func(t *db.Tx) error {
		deleted = false
		r, _, err := record.LockDatasource(ctx, t, d.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil || r.WorkspaceID != d.WorkspaceID || r.JobID != d.JobID || !r.Status.Terminal() {
			return err
		}
		deleted = true
		return c.remove(ctx, t, r)
	})
	return deleted && err == nil, err
}

func (c *Resources) remove(ctx context.Context, t *db.Tx, r record.Record) error {
	if err := record.QueueWithdrawals(ctx, t, []record.Record{r}); err != nil {
		return err
	}
	if err := record.DeleteDatasources(ctx, t, []record.Record{r}, 0); err != nil {
		return err
	}
	if r.Type.IsGroup() {
		_, err := sites.RemovePages(ctx, t, r.ID)
		return err
	}
	if r.GroupID == "" {
		return nil
	}
	if err := sites.CountPage(ctx, t, r.GroupID, -1); err != nil {
		return err
	}
	if err := sites.BlockReturn(ctx, t, r); err != nil {
		return err
	}
	if err := sites.QueueRelease(ctx, t, r.Datasource, domain.PageLost); err != nil {
		return err
	}
	_, err := c.sites.SettleSite(ctx, t, r.GroupID, db.FromMicros(t.Stamp()))
	return err
}
