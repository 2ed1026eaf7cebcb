package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// DeleteDatasource deletes the datasource, and the pages of a site with it, and returns it. From the commit on nothing of
// it is active; its rows, originals and messages are swept.
func (c *Catalog) DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error) {
	var r record
	err := c.update(ctx, "deleting a datasource", func(t *tx) (err error) {
		if r, _, err = t.take(ctx, id); err != nil {
			return found(err, "datasource", id)
		}
		if r.WorkspaceID != ws {
			return domain.NotFound("datasource", id)
		}
		return c.remove(ctx, t, r)
	})
	return r.Datasource, err
}

// DeleteIf is DeleteDatasource for a datasource that was read before and found to be of no use: it is deleted if it still
// waits for nothing, after the job that it had then. It reports whether it was.
func (c *Catalog) DeleteIf(ctx context.Context, d domain.Datasource) (bool, error) {
	deleted := false
	err := c.update(ctx, "deleting a datasource", func(t *tx) error {
		deleted = false
		r, _, err := t.take(ctx, d.ID)
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

func (c *Catalog) remove(ctx context.Context, t *tx, r record) error {
	doomed := []record{r}
	if r.Type == domain.TypeWebSite {
		pages, err := collect(ctx, t, scanRecord,
			`SELECT `+recordColumns+` FROM datasources WHERE group_id = ? AND group_id <> ''`, r.ID)
		if err != nil {
			return fmt.Errorf("listing pages: %w", err)
		}
		doomed = append(doomed, pages...)
		if _, err := t.exec(ctx, `DELETE FROM datasources WHERE group_id = ? AND group_id <> ''`, r.ID); err != nil {
			return err
		}
	}
	if _, err := t.exec(ctx, `DELETE FROM datasources WHERE id = ?`, r.ID); err != nil {
		return err
	}
	// What is deleted may come back under its id: a page with the next crawl of its site, what a keyed request made when
	// the request is repeated. The sweep must not take what is written then. Every generation of what is deleted is at
	// most the highest one known, or ends in an event that has its rows swept.
	mark, err := readMark(ctx, t)
	if err != nil {
		return err
	}
	for _, d := range doomed {
		s := domain.Sweep{WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Below: mark + 1, Jobs: true}
		if d.Original != nil {
			s.Originals = []string{d.Original.Key}
		}
		if err := queueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	_, err = c.settleSite(ctx, t, r.GroupID, fromMicros(c.stamp()))
	return err
}
