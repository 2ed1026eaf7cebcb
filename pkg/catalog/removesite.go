package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/domain"
)

// ofNoDoomedSite is the condition of datasources that are no pages of a site which has been deleted. Such sites are few at
// any time, and not for long.
const ofNoDoomedSite = `group_id NOT IN (SELECT site_id FROM doomed_sites)`

// removePages removes the next pages of a site that is deleted in the same transaction, or was before. Those of a large
// site are more than one transaction should keep writers waiting for: what is left is doomed, which nobody sees from the
// commit on, and removed by RemoveDeleted. It reports whether there is more.
func removePages(ctx context.Context, t *tx, siteID string) (more bool, err error) {
	pages, err := collect(ctx, t, func(s scanner) (p record, err error) {
		var seen int64
		p.Original = &domain.Original{}
		err = s.Scan(&p.ID, &p.WorkspaceID, &p.DatastoreID, &p.Original.Key, &p.place, &p.jobKind, &seen)
		p.seen = uint64(seen)
		return p, err
	}, `SELECT id, workspace_id, datastore_id, original_key, place, job_kind, seen_generation FROM datasources
		WHERE group_id = ? AND group_id <> '' ORDER BY created_at, id LIMIT ?`, siteID, removalBatch)
	if err != nil {
		return false, fmt.Errorf("listing pages: %w", err)
	}
	if err := queueWithdrawals(ctx, t, pages); err != nil {
		return false, err
	}
	if err := erase(ctx, t, pages, 0); err != nil {
		return false, err
	}
	if len(pages) < removalBatch {
		return false, t.later(ctx, write{
			doing: "forgetting the deleted site " + siteID,
			text:  `DELETE FROM doomed_sites WHERE site_id = ?`,
			args:  []any{siteID},
		})
	}
	return true, t.later(ctx, write{
		doing: "dooming the pages of site " + siteID,
		text:  `INSERT INTO doomed_sites (site_id) VALUES (?) ON CONFLICT DO NOTHING`,
		args:  []any{siteID},
	})
}

// nextDoomed finds a site of which pages are still to be removed; sql.ErrNoRows when there is none.
func nextDoomed(ctx context.Context, q querier) (siteID string, err error) {
	return scanString(q.queryRow(ctx, `SELECT site_id FROM doomed_sites ORDER BY site_id LIMIT 1`))
}

// removeDoomed removes the next pages of deleted sites, and reports whether there are more.
func (c *Catalog) removeDoomed(ctx context.Context) (more bool, err error) {
	if _, err := nextDoomed(ctx, c.db.read); errors.Is(err, sql.ErrNoRows) {
		return false, nil // mostly so, and asked all the time: without a transaction
	}
	err = c.update(ctx, "removing pages of deleted sites", func(t *tx) error {
		more = false
		if err := t.queueFor(ctx, "removals", ""); err != nil {
			return err
		}
		siteID, err := nextDoomed(ctx, t)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking for deleted sites: %w", err)
		}
		if _, err := removePages(ctx, t, siteID); err != nil {
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

// doomed reports whether the datasource is a page of a site that has been deleted, or such a site itself.
func doomed(ctx context.Context, q querier, d domain.Datasource) (bool, error) {
	if siteOf(d) == "" {
		return false, nil
	}
	var one int
	err := q.queryRow(ctx, `SELECT 1 FROM doomed_sites WHERE site_id = ?`, siteOf(d)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking whether site %s was deleted: %w", siteOf(d), err)
	}
	return true, nil
}

// withoutDoomed drops jobs of pages whose site has been deleted.
func (c *Catalog) withoutDoomed(ctx context.Context, jobs []domain.Job) ([]domain.Job, error) {
	if !slices.ContainsFunc(jobs, func(j domain.Job) bool { return j.GroupID != "" }) {
		return jobs, nil
	}
	sites, err := collect(ctx, c.db.read, scanString, `SELECT site_id FROM doomed_sites`)
	if err != nil {
		return nil, fmt.Errorf("looking for deleted sites: %w", err)
	}
	if len(sites) == 0 {
		return jobs, nil
	}
	return slices.DeleteFunc(jobs, func(j domain.Job) bool { return slices.Contains(sites, j.GroupID) }), nil
}
