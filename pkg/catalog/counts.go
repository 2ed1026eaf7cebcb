package catalog

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

type groupCount struct {
	group  string
	status domain.Status
	n      int64
}

func scanGroupCount(s scanner) (g groupCount, err error) {
	err = s.Scan(&g.group, &g.status, &g.n)
	return g, err
}

// DatastoreCounts counts the datasources of a datastore of the workspace by status, pages of sites included. A status
// that none has is absent.
func (c *Catalog) DatastoreCounts(ctx context.Context, ws, id string) (map[domain.Status]int64, error) {
	if _, err := readDatastore(ctx, c.db.read, ws, id, ""); err != nil {
		return nil, err
	}
	return c.counts(ctx, `SELECT datastore_id, status, COUNT(*) FROM datasources WHERE datastore_id = ? GROUP BY datastore_id, status`, id)
}

// SiteCounts counts the pages of a site by status; none when there is no such site.
func (c *Catalog) SiteCounts(ctx context.Context, siteID string) (map[domain.Status]int64, error) {
	return c.counts(ctx, `SELECT group_id, status, COUNT(*) FROM datasources
		WHERE group_id = ? AND group_id <> '' GROUP BY group_id, status`, siteID)
}

func (c *Catalog) counts(ctx context.Context, text, id string) (map[domain.Status]int64, error) {
	groups, err := collect(ctx, c.db.read, scanGroupCount, text, id)
	if err != nil {
		return nil, fmt.Errorf("counting datasources: %w", err)
	}
	out := make(map[domain.Status]int64, len(groups))
	for _, g := range groups {
		out[g.status] = g.n
	}
	return out, nil
}

// countPages fills the progress of sites: pages that are done, of all pages known so far. It is counted when read, not
// kept, so it cannot go wrong.
func (c *Catalog) countPages(ctx context.Context, ds []domain.Datasource) error {
	var ids []string
	sites := map[string]*domain.Datasource{}
	for i := range ds {
		if ds[i].Type == domain.TypeWebSite {
			ids, sites[ds[i].ID] = append(ids, ds[i].ID), &ds[i]
			ds[i].Progress.Done, ds[i].Progress.Total = 0, 0
		}
	}
	return inLists(c.db.dialect, ids, func(in string, args []any) error {
		groups, err := collect(ctx, c.db.read, scanGroupCount, `SELECT group_id, status, COUNT(*) FROM datasources
			WHERE group_id `+in+` AND group_id <> '' GROUP BY group_id, status`, args...)
		if err != nil {
			return fmt.Errorf("counting pages: %w", err)
		}
		for _, g := range groups {
			p := &sites[g.group].Progress
			p.Total += g.n
			if g.status.Terminal() {
				p.Done += g.n
			}
		}
		return nil
	})
}
