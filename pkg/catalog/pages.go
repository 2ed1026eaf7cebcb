package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// addPages makes links the pages of a site, each with a crawl job, and returns how many jobs that put into the outbox.
// A page that is known already is crawled again only when a newer crawl of the site comes upon it; so one crawl asks
// for each page once, however many pages link to it. Past the site's limit links are left out.
func (c *Catalog) addPages(ctx context.Context, t *tx, siteID string, store domain.Datastore, links []domain.Link) (int, error) {
	site, err := readRecord(ctx, t, siteID)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading site %s: %w", siteID, err)
	}
	known, err := pagesByID(ctx, t, siteID, links)
	if err != nil {
		return 0, err
	}
	var count int
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM datasources WHERE group_id = ? AND group_id <> ''`, siteID).Scan(&count); err != nil {
		return 0, fmt.Errorf("counting pages of site %s: %w", siteID, err)
	}
	limit, queued, capped := c.pageLimit(site), 0, false
	for _, link := range links {
		id := domain.ChildID(siteID, link.URL)
		page, exists := known[id]
		switch {
		case exists && page.runID == site.runID:
			continue
		case exists:
			page.runID = site.runID
			page.UpdatedAt = fromMicros(c.stamp())
			job := page.accept(domain.NewPageJob(site.Datasource, page.Datasource, site.runID, store), store)
			if err := page.store(ctx, t, micros(page.UpdatedAt)); err != nil {
				return 0, err
			}
			if err := c.enqueue(ctx, t, job, PriorityReplay); err != nil {
				return 0, err
			}
		case count >= limit:
			capped = true
			continue
		default:
			if page, err = c.addPage(ctx, t, site, link, store); err != nil {
				return 0, err
			}
			count++
		}
		known[id] = page
		queued++
	}
	if capped && !site.capped {
		if _, err := t.exec(ctx, `UPDATE datasources SET capped = 1 WHERE id = ?`, siteID); err != nil {
			return 0, fmt.Errorf("noting the page limit of site %s: %w", siteID, err)
		}
	}
	return queued, nil
}

func (c *Catalog) addPage(ctx context.Context, t *tx, site record, link domain.Link, store domain.Datastore) (record, error) {
	at := fromMicros(c.stamp())
	page := record{
		Datasource: domain.Datasource{
			ID:          domain.ChildID(site.ID, link.URL),
			WorkspaceID: site.WorkspaceID,
			DatastoreID: site.DatastoreID,
			GroupID:     site.ID,
			Type:        domain.TypeWebPage,
			Name:        link.URL,
			Metadata:    site.Metadata,
			Config:      domain.DatasourceConfig{SourceURL: link.URL, Depth: link.Depth},
			CreatedAt:   at,
			UpdatedAt:   at,
		},
		runID: site.runID,
	}
	job := page.accept(domain.NewPageJob(site.Datasource, page.Datasource, site.runID, store), store)
	if err := page.insert(ctx, t, nil); err != nil { // nil: it is there already
		return page, err
	}
	return page, c.enqueue(ctx, t, job, PriorityPages)
}

// pageLimit is the limit of the site, which may ask for fewer pages than the service allows and not for more.
func (c *Catalog) pageLimit(site record) int {
	if n := site.Config.MaxPages; n > 0 && n < c.maxPages {
		return n
	}
	return c.maxPages
}

func pagesByID(ctx context.Context, t *tx, siteID string, links []domain.Link) (map[string]record, error) {
	ids := make([]string, len(links))
	for i, l := range links {
		ids[i] = domain.ChildID(siteID, l.URL)
	}
	known := map[string]record{}
	err := inLists(t.db.dialect, ids, func(in string, args []any) error {
		pages, err := collect(ctx, t, scanRecord, `SELECT `+recordColumns+` FROM datasources WHERE id `+in+`
			ORDER BY id`+t.lock, args...)
		if err != nil {
			return fmt.Errorf("reading pages of site %s: %w", siteID, err)
		}
		for _, p := range pages {
			known[p.ID] = p
		}
		return nil
	})
	return known, err
}
