package sites

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// SiteProgress counts the pages of sites and the files of archives. Other datasources are absent.
func (c *Sites) SiteProgress(ctx context.Context, siteIDs ...string) (map[string]domain.SiteProgress, error) {
	type site struct {
		id    string
		crawl *domain.Crawl
	}
	type group struct {
		record.GroupCount
		unchanged int
	}
	out := make(map[string]domain.SiteProgress, len(siteIDs))
	err := db.InLists(c.db.Read, siteIDs, func(in string, args []any) error {
		sites, err := db.Collect(ctx, c.db.Read, func(s db.Scanner) (v site, err error) {
			var crawl string
			if err := s.Scan(&v.id, &crawl); err != nil {
				return v, err
			}
			return v, db.FromJSON(crawl, &v.crawl)
		}, `SELECT id, crawl FROM datasources WHERE type || '' IN ('web_site', 'archive') AND id `+in, args...)
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
		groups, err := db.Collect(ctx, c.db.Read, db.Scan(func(g *group) []any { return []any{&g.Group, &g.Status, &g.unchanged, &g.N} }), `SELECT group_id, status, unchanged, COUNT(*) FROM datasources WHERE group_id `+in+` AND group_id <> ''
			GROUP BY group_id, status, unchanged`, args...)
		for _, g := range groups {
			if p, isSite := out[g.Group]; isSite {
				p.Discovered += g.N
				*statusCounter(&p, g.Status, g.unchanged == 1) += g.N
				out[g.Group] = p
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("counting the pages of sites: %w", err)
	}
	return out, nil
}

// statusCounter returns the field of p that counts pages with this status. unchanged matters only for synched pages.
func statusCounter(p *domain.SiteProgress, s domain.Status, unchanged bool) *int64 {
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
