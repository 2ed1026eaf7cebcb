package sites

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// RemovePages removes one batch of a deleted site's pages and reports whether there are more. If there are, it marks
// the site for removal, which hides the remaining pages after the commit until RemoveDeleted removes them. Removing a
// large site's pages in one transaction would block other writers for too long.
func RemovePages(ctx context.Context, t *db.Tx, siteID string) (more bool, err error) {
	pages, err := db.Collect(ctx, t, func(s db.Scanner) (p record.Record, err error) {
		var seen int64
		p.Original = &domain.Original{}
		err = s.Scan(&p.ID, &p.WorkspaceID, &p.DatastoreID, &p.Original.Key, &p.Location, &p.JobKind, &seen)
		p.Seen = uint64(seen)
		return p, err
	}, `SELECT id, workspace_id, datastore_id, original_key, place, job_kind, seen_generation FROM datasources
		WHERE group_id = ? AND group_id <> '' ORDER BY created_at, id LIMIT ?`, siteID, record.RemovalBatch)
	if err != nil {
		return false, fmt.Errorf("listing pages: %w", err)
	}
	if err := record.QueueWithdrawals(ctx, t, pages); err != nil {
		return false, err
	}
	if err := record.DeleteDatasources(ctx, t, pages, 0); err != nil {
		return false, err
	}
	if len(pages) < record.RemovalBatch {
		return false, t.Queue(ctx, db.Write{
			Action: "finishing the removal of site " + siteID,
			Text:   `DELETE FROM doomed_sites WHERE site_id = ?`,
			Args:   []any{siteID},
		})
	}
	return true, t.Queue(ctx, db.Write{
		Action: "queueing the pages of site " + siteID + " for removal",
		Text:   `INSERT INTO doomed_sites (site_id) VALUES (?) ON CONFLICT DO NOTHING`,
		Args:   []any{siteID},
	})
}

// nextDoomed returns a deleted site that still has pages, or sql.ErrNoRows.
func nextDoomed(ctx context.Context, q db.Querier) (siteID string, err error) {
	return db.ScanString(q.QueryRow(ctx, `SELECT site_id FROM doomed_sites ORDER BY site_id LIMIT 1`))
}

// RemoveDoomed removes the next batch of deleted sites' pages and reports whether there are more.
func (c *Sites) RemoveDoomed(ctx context.Context) (more bool, err error) {
	return record.RemoveNext(ctx, c.db, "removing pages of deleted sites", nextDoomed, func(t *db.Tx, siteID string) error {
		_, err := RemovePages(ctx, t, siteID)
		return err
	})
}
