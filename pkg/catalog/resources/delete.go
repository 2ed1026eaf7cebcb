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

// DeleteDatasource deletes the datasource, with its pages if it is a site, and returns it. After the commit, the
// datasource is invisible, and its rows, originals and messages are swept. RemoveDeleted later removes the pages of a
// large site. A page of a site may be added again by the site's next crawl, but not by the current one.
func (c *Resources) DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	var r record.Record
	err := c.db.Update(ctx, "deleting a datasource", func(t *db.Tx) (err error) {
		if r, _, err = record.LockDatasource(ctx, t, id); err != nil {
			return db.MapNotFound(err, "datasource", id)
		}
		if r.WorkspaceID != ws {
			return domain.NotFound("datasource", id)
		}
		return c.remove(ctx, t, r)
	})
	return r.Datasource, err
}

// DeleteIf deletes the datasource d and reports whether it did. It does nothing if the datasource was given another job
// after d was read, or is waiting for a job.
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
	if r.Type == domain.TypeWebSite {
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
