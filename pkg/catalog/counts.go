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
	return c.counts(ctx, `SELECT datastore_id, status, COUNT(*) FROM datasources
		WHERE datastore_id = ? AND `+ofNoDoomedSite+` GROUP BY datastore_id, status`, id)
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

// SiteProgress counts the pages of sites; ids of what is no site are absent.
func (c *Catalog) SiteProgress(ctx context.Context, siteIDs ...string) (map[string]domain.SiteProgress, error) {
	type site struct {
		id    string
		crawl *domain.Crawl
	}
	type group struct {
		groupCount
		unchanged int
	}
	out := make(map[string]domain.SiteProgress, len(siteIDs))
	err := inLists(c.db.dialect, siteIDs, func(in string, args []any) error {
		sites, err := collect(ctx, c.db.read, func(s scanner) (v site, err error) {
			var crawl string
			if err := s.Scan(&v.id, &crawl); err != nil {
				return v, err
			}
			return v, fromJSON(crawl, &v.crawl)
		}, `SELECT id, crawl FROM datasources WHERE type || '' = 'web_site' AND id `+in, args...)
		if err != nil {
			return err
		}
		for _, v := range sites {
			p := domain.SiteProgress{}
			if v.crawl != nil {
				p.Removed = v.crawl.Removed
			}
			out[v.id] = p
		}
		groups, err := collect(ctx, c.db.read, func(s scanner) (g group, err error) {
			err = s.Scan(&g.group, &g.status, &g.unchanged, &g.n)
			return g, err
		}, `SELECT group_id, status, unchanged, COUNT(*) FROM datasources WHERE group_id `+in+` AND group_id <> ''
			GROUP BY group_id, status, unchanged`, args...)
		for _, g := range groups {
			if p, isSite := out[g.group]; isSite {
				p.Discovered += g.n
				*counter(&p, g.status, g.unchanged == 1) += g.n
				out[g.group] = p
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("counting the pages of sites: %w", err)
	}
	return out, nil
}

// counter is where pages of a status are counted.
func counter(p *domain.SiteProgress, s domain.Status, unchanged bool) *int64 {
	switch {
	case s == domain.StatusSkipped:
		return &p.Skipped
	case s == domain.StatusError:
		return &p.Failed
	case s == domain.StatusSynched && unchanged:
		return &p.Unchanged
	case s == domain.StatusSynched:
		return &p.Fetched
	default:
		return &p.Waiting
	}
}
