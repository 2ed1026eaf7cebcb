package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// DeleteDatasource deletes the datasource, and the pages of a site with it, and returns it. From the commit on nobody sees
// anything of it; its rows, originals and messages are swept. The pages of a large site are removed afterwards, by
// RemoveDeleted. A page of a site comes back with the site's next crawl, if that
// comes upon it, but not with the one that is under way.
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
	if err := queueWithdrawals(ctx, t, []record{r}); err != nil {
		return err
	}
	if err := erase(ctx, t, []record{r}, 0); err != nil {
		return err
	}
	if r.Type == domain.TypeWebSite {
		_, err := removePages(ctx, t, r.ID)
		return err
	}
	if r.GroupID == "" {
		return nil
	}
	if err := countPage(ctx, t, r.GroupID, -1); err != nil {
		return err
	}
	if err := noteLeft(ctx, t, r); err != nil {
		return err
	}
	if err := queueRelease(ctx, t, r.Datasource, workRelease); err != nil {
		return err
	}
	_, err := c.settleSite(ctx, t, r.GroupID, fromMicros(c.stamp()))
	return err
}

// erase deletes datasources and queues the sweeps of all that belongs to them, of generations that are known and up to
// the given one.
//
// What is deleted may come back under its id: a page with the next crawl of its site, what a keyed request made when the
// request is repeated. The sweep must not take what is written then. Every generation of what is deleted is at most the
// highest one known, or ends in an event that has its rows swept.
func erase(ctx context.Context, t *tx, doomed []record, generation uint64) error {
	if len(doomed) == 0 {
		return nil
	}
	mark, err := readMark(ctx, t)
	if err != nil {
		return err
	}
	var ids []string
	for _, d := range doomed {
		ids = append(ids, d.ID)
	}
	err = inLists(t.db.dialect, ids, func(in string, args []any) error {
		_, err := t.exec(ctx, `DELETE FROM datasources WHERE id `+in, args...)
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range doomed {
		s := domain.Sweep{
			WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Below: max(mark, generation) + 1, Jobs: true,
		}
		if d.Original != nil && d.Original.Key != "" {
			s.Originals = []string{d.Original.Key}
		}
		if err := queueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// gone removes a page that an event has found gone. The crawl does not ask for it again.
func (c *Catalog) gone(ctx context.Context, t *tx, r record, ev domain.Event) error {
	site, err := readRecord(ctx, t, r.GroupID)
	if errors.Is(err, sql.ErrNoRows) {
		return erase(ctx, t, []record{r}, ev.Generation)
	}
	if err != nil {
		return fmt.Errorf("reading site %s: %w", r.GroupID, err)
	}
	if err := noteLeft(ctx, t, r); err != nil {
		return err
	}
	if err := c.leave(ctx, t, site, []record{r}, ev.Generation); err != nil {
		return err
	}
	return queueRelease(ctx, t, r.Datasource, workRelease)
}

// noteLeft keeps a page that has left from coming back in the same crawl of its site, however many pages link to it.
func noteLeft(ctx context.Context, t *tx, page record) error {
	return t.later(ctx, write{
		doing: "noting that page " + page.ID + " is gone",
		text: `INSERT INTO left_pages (site_id, page_id) SELECT id, CAST(? AS TEXT) FROM datasources WHERE id = ?
			ON CONFLICT DO NOTHING`,
		args: []any{page.ID, page.GroupID},
	})
}

// leave has pages leave the datastore that the crawl of their site has found to be no part of it any more.
func (c *Catalog) leave(ctx context.Context, t *tx, site record, pages []record, generation uint64) error {
	if len(pages) == 0 {
		return nil
	}
	if err := erase(ctx, t, pages, generation); err != nil {
		return err
	}
	if err := countPage(ctx, t, site.ID, -len(pages)); err != nil {
		return err
	}
	site.Removed(int64(len(pages)))
	return site.store(ctx, t, c.stamp())
}
