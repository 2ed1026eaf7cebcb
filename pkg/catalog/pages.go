package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// Reasons of addresses that crawlers have found and the site does not take. tooDeep is in the crawler's words, which
// leaves such addresses to the catalog: only here it is known whether another page leads to them by fewer links.
const (
	overLimit = "past the site's limit of pages"
	tooDeep   = "too many links away from the root"
)

// discovered makes what an event has found the pages of a site, each with a crawl job, and returns how many jobs that put
// into the outbox. from is the datasource that the event is about.
func (c *Catalog) discovered(ctx context.Context, t *tx, siteID string, from record, store domain.Datastore, ev domain.Event, out domain.Outcome) (int, error) {
	site, err := readRecord(ctx, t, siteID)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading site %s: %w", siteID, err)
	}
	if !site.listens(from, ev) {
		return 0, nil
	}
	queued, refused, err := c.addPages(ctx, t, site, store, out.Links)
	if err != nil {
		return 0, err
	}
	leftOut := out.LeftOut
	if len(refused) > 0 {
		for reason, n := range leftOut {
			refused[reason] += n
		}
		leftOut = refused
		site.capped = site.capped || refused[overLimit] > 0
	}
	if !site.LeaveAddressesOut(leftOut) {
		return queued, nil
	}
	return queued, site.store(ctx, t, c.stamp())
}

// listens reports whether a site takes pages that the event of it, or of one of its pages, has found: as long as its
// crawl has not been stopped, and if that is the crawl which has asked for the page.
func (r *record) listens(from record, ev domain.Event) bool {
	switch {
	case r.Crawl.Stopped():
		return false
	case from.ID == r.ID:
		return true // domain.Apply has seen to it that the event is of its newest job
	default:
		return from.runID == r.runID && (ev.JobID == from.JobID || ev.JobID == domain.PageJobID(r.runID, from.ID))
	}
}

// addPages makes links the pages of a site, each with a crawl job, and returns how many jobs that put into the outbox,
// and how many links were left out, by reason. A page that is known already is crawled again only when a
// newer crawl of the site comes upon it; so one crawl asks for each page once, however many pages link to it. What was
// deleted or found gone since the crawl began is not asked for again.
func (c *Catalog) addPages(ctx context.Context, t *tx, site record, store domain.Datastore, links []domain.Link) (queued int, refused map[string]int, err error) {
	known, err := pagesByID(ctx, t, site.ID, links)
	if err != nil {
		return 0, nil, err
	}
	gone, err := leftPages(ctx, t, site.ID, links, known)
	if err != nil {
		return 0, nil, err
	}
	added, limit, deepest := 0, c.pageLimit(site), site.Config.Scope(true).MaxDepth
	refused = map[string]int{}
	for _, link := range links {
		id := domain.ChildID(site.ID, link.URL)
		page, exists := known[id]
		switch {
		case gone[id]:
			continue
		case exists && page.runID == site.runID:
			if site.FollowLinks && link.Depth < page.Config.Depth {
				if err := c.nearer(ctx, t, site, &page, store, link.Depth); err != nil {
					return 0, nil, err
				}
				known[id] = page
			}
			continue
		case exists:
			page.Config.Depth = min(page.Config.Depth, link.Depth)
			if !link.LastMod.IsZero() {
				page.Config.LastMod = link.LastMod
			}
			if err := c.ask(ctx, t, site, &page, store); err != nil {
				return 0, nil, err
			}
		case link.Depth > deepest:
			refused[tooDeep]++
			continue
		case site.pages+int64(added) >= int64(limit):
			refused[overLimit]++
			continue
		default:
			if page, err = c.addPage(ctx, t, site, link, store); err != nil {
				return 0, nil, err
			}
			added++
		}
		known[id] = page
		queued++
	}
	if added == 0 {
		return queued, refused, nil
	}
	return queued, refused, countPage(ctx, t, site.ID, added)
}

// ask puts the crawl job of a page that is known into the outbox, for the site's newest crawl. A page that readers see
// as it was fetched is asked for conditionally.
func (c *Catalog) ask(ctx context.Context, t *tx, site record, page *record, store domain.Datastore) error {
	return c.askBy(ctx, t, site, page, store, domain.NewPageJob(site.Datasource, page.Datasource, site.runID, store))
}

func (c *Catalog) askBy(ctx context.Context, t *tx, site record, page *record, store domain.Datastore, job domain.Job) error {
	page.runID = site.runID
	page.UpdatedAt = fromMicros(c.stamp())
	job = page.accept(job, store)
	if err := page.store(ctx, t, micros(page.UpdatedAt)); err != nil {
		return err
	}
	return c.enqueue(ctx, t, job, PriorityReplay)
}

// nearer notes that a page which the crawl has asked for already is fewer links from the root than it seemed: crawlers
// do not come upon pages in order. How far its own links are followed depends on that. So a job that waits is told, and a
// page that has been fetched is fetched again, if its links count.
func (c *Catalog) nearer(ctx context.Context, t *tx, site record, page *record, store domain.Datastore, depth int) error {
	page.Config.Depth = depth
	waits := page.place == placeOutbox && page.jobKind == domain.JobCrawl
	if !waits && page.Status != domain.StatusError && depth < site.Config.Scope(true).MaxDepth {
		job := domain.NewPageJob(site.Datasource, page.Datasource, site.runID, store)
		job.ID = domain.NearerJobID(job.ID, depth)
		job.Crawl.ETag, job.Crawl.LastModified = "", "" // an answer of "not modified" shows no links
		return c.askBy(ctx, t, site, page, store, job)
	}
	if waits {
		if err := tellDepth(ctx, t, *page); err != nil {
			return err
		}
	}
	return page.store(ctx, t, c.stamp())
}

// tellDepth tells the crawl job of a page that waits in the outbox how far from the root the page is.
func tellDepth(ctx context.Context, t *tx, page record) error {
	payload, err := scanString(t.queryRow(ctx, `SELECT payload FROM outbox WHERE datasource_id = ?`, page.ID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it has just been published
	}
	if err != nil {
		return fmt.Errorf("reading the job of page %s: %w", page.ID, err)
	}
	var job domain.Job
	if err := fromJSON(payload, &job); err != nil {
		return err
	}
	job.Crawl.Depth = page.Config.Depth
	if payload, err = toJSON(job); err != nil {
		return err
	}
	return t.later(ctx, write{
		doing: "changing the job of page " + page.ID,
		text:  `UPDATE outbox SET payload = ? WHERE datasource_id = ? AND job_id = ?`,
		args:  []any{payload, page.ID, job.ID},
	})
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
			Config:      domain.DatasourceConfig{SourceURL: link.URL, Depth: link.Depth, LastMod: link.LastMod},
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
	known, err := recordsByID(ctx, t, ids)
	if err != nil {
		return nil, fmt.Errorf("reading pages of site %s: %w", siteID, err)
	}
	return known, nil
}

// leftPages are those of the links that were deleted or found gone since the site's newest crawl began.
func leftPages(ctx context.Context, t *tx, siteID string, links []domain.Link, known map[string]record) (map[string]bool, error) {
	var ids []string
	for _, l := range links {
		if id := domain.ChildID(siteID, l.URL); known[id].ID == "" {
			ids = append(ids, id)
		}
	}
	gone := map[string]bool{}
	err := inLists(t.db.dialect, ids, func(in string, args []any) error {
		found, err := collect(ctx, t, scanString, `SELECT page_id FROM left_pages WHERE site_id = ? AND page_id `+in, append([]any{siteID}, args...)...)
		for _, id := range found {
			gone[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for pages of site %s that are gone: %w", siteID, err)
	}
	return gone, nil
}
