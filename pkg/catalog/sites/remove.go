package sites

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// RemovePages removes the next pages of a site that is deleted in the same transaction, or was before. Those of a large
// site are more than one transaction should keep writers waiting for: what is left is doomed, which nobody sees from the
// commit on, and removed by RemoveDeleted. It reports whether there is more.
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
	if err := record.Erase(ctx, t, pages, 0); err != nil {
		return false, err
	}
	if len(pages) < record.RemovalBatch {
		return false, t.Later(ctx, db.Write{
			Doing: "forgetting the deleted site " + siteID,
			Text:  `DELETE FROM doomed_sites WHERE site_id = ?`,
			Args:  []any{siteID},
		})
	}
	return true, t.Later(ctx, db.Write{
		Doing: "dooming the pages of site " + siteID,
		Text:  `INSERT INTO doomed_sites (site_id) VALUES (?) ON CONFLICT DO NOTHING`,
		Args:  []any{siteID},
	})
}

// nextDoomed finds a site of which pages are still to be removed; sql.ErrNoRows when there is none.
func nextDoomed(ctx context.Context, q db.Querier) (siteID string, err error) {
	return db.ScanString(q.QueryRow(ctx, `SELECT site_id FROM doomed_sites ORDER BY site_id LIMIT 1`))
}

// RemoveDoomed removes the next pages of deleted sites, and reports whether there are more.
func (c *Sites) RemoveDoomed(ctx context.Context) (more bool, err error) {
	if _, err := nextDoomed(ctx, c.db.Read); errors.Is(err, sql.ErrNoRows) {
		return false, nil // mostly so, and asked all the time: without a transaction
	}
	err = c.db.Update(ctx, "removing pages of deleted sites", func(t *db.Tx) error {
		more = false
		if err := t.QueueFor(ctx, "removals", ""); err != nil {
			return err
		}
		siteID, err := nextDoomed(ctx, t)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking for deleted sites: %w", err)
		}
		if _, err := RemovePages(ctx, t, siteID); err != nil {
			return err
		}
		_, err = nextDoomed(ctx, t)
		more = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return more && err == nil, err
}
