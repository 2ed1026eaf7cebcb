package sites

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// reasonPageLimit is the reason for skipping an address beyond the site's page limit. The catalog checks the limit, the
// depth and the patterns itself, because only the catalog knows the current settings and whether there is a shorter
// path to the address.
const reasonPageLimit = "beyond the site's page limit"

// Discovered adds an event's links to the site as pages with crawl jobs and returns the number of queued jobs. The
// links are from the page or site `from`.
func (c *Sites) Discovered(ctx context.Context, t *db.Tx, siteID string, from record.Record, store domain.Datastore, ev domain.Event, out domain.Outcome) (int, error) {
	site, exists, err := record.Find(ctx, t, siteID)
	if err != nil || !exists {
		return 0, err
	}
	if !acceptsPages(&site, from, ev) {
		return 0, nil
	}
	if from.ID != site.ID && from.Config.Lead > domain.MaxLead {
		return 0, nil // the settings have changed to exclude the page since it was requested
	}
	queued, refused, err := c.addPages(ctx, t, &site, store, toFoundLinks(from, out.Links))
	if err != nil {
		return 0, err
	}
	leftOut := out.LeftOut
	if len(refused) > 0 {
		for reason, n := range leftOut {
			refused[reason] += n
		}
		leftOut = refused
		site.Capped = site.Capped || refused[reasonPageLimit] > 0
	}
	if !site.AddLeftOut(leftOut) {
		return queued, nil
	}
	return queued, site.Store(ctx, t, t.Stamp())
}

// acceptsPages reports whether a site accepts an event's links. The event must be about the site or its pages and
// belong to the site's newest crawl, which must not have been stopped.
func acceptsPages(r *record.Record, from record.Record, ev domain.Event) bool {
	switch {
	case r.Crawl.Stopped():
		return false
	case from.ID == r.ID:
		return true // domain.Apply has checked that the event belongs to the newest job
	default:
		return from.RunID == r.RunID && (ev.JobID == from.JobID || ev.JobID == domain.PageJobID(r.RunID, from.ID))
	}
}

func (c *Sites) siteReach(ctx context.Context, t *db.Tx, site record.Record) (r domain.SiteReach, err error) {
	r = domain.SiteReach{Scope: site.Config.Scope(site.FollowLinks), Limit: c.pageLimit(site), Pages: site.Pages, MaxLeads: int64(c.limits.Leads)}
	r.Refused, r.Leads, err = countExcluded(ctx, t, site.ID)
	return r, err
}

// lowerLead lowers the Lead (see domain.DatasourceConfig) of a page that is read only for its links, after a shorter
// path to it was found. The crawl can then follow links further from the page.
func lowerLead(ctx context.Context, t *db.Tx, page *record.Record, lead int, in *domain.SiteReach) error {
	in.SetLead(&page.Datasource, lead)
	if err := page.Store(ctx, t, t.Stamp()); err != nil {
		return err
	}
	if !page.Status.Terminal() {
		return nil // its links have not been read yet
	}
	return queueWork(ctx, t, siteTask{siteID: page.GroupID, kind: workLinks, pageID: page.ID})
}

// addPages adds links to a site as pages with crawl jobs. It returns the number of queued jobs, and the number of
// skipped links by reason.
//
// A crawl requests each page at most once. It never requests a page that was deleted or found to be gone since the
// crawl began. A page that matches no include pattern is added only so that its links are read. A path may contain at
// most domain.MaxLead consecutive pages of this kind.
func (c *Sites) addPages(ctx context.Context, t *db.Tx, site *record.Record, store domain.Datastore, links []foundLink) (queued int, refused map[string]int, err error) {
	known, err := pagesByID(ctx, t, site.ID, links)
	if err != nil {
		return 0, nil, err
	}
	gone, err := blocked(ctx, t, site.ID, linkedIDs(site.ID, links), known)
	if err != nil {
		return 0, nil, err
	}
	reach, err := c.siteReach(ctx, t, *site)
	if err != nil {
		return 0, nil, err
	}
	added := 0
	refused = map[string]int{}
	for _, link := range links {
		id := domain.ChildID(site.ID, link.URL)
		page, exists := known[id]
		why, lead := reach.Judge(link.Link, link.lead)
		switch {
		case gone[id]:
			continue
		case why == domain.LeftExcluded, why != "" && (!exists || page.Config.Lead > domain.MaxLead):
			refused[why]++
			continue
		case exists && page.RunID == site.RunID:
			if lead < page.Config.Lead && (lead > 0 || page.Config.Lead > domain.MaxLead && why == "") {
				if err := lowerLead(ctx, t, &page, lead, &reach); err != nil {
					return 0, nil, err
				}
			}
			if site.FollowLinks && link.Depth < page.Config.Depth {
				if err := updateDepth(ctx, t, *site, &page, store, link.Depth); err != nil {
					return 0, nil, err
				}
			}
			known[id] = page
			continue
		case exists:
			page.Config.Depth = min(page.Config.Depth, link.Depth)
			if !link.LastMod.IsZero() {
				page.Config.LastMod = link.LastMod
			}
			if why == "" {
				reach.SetLead(&page.Datasource, lead)
			}
			if err := requestPage(ctx, t, *site, &page, store); err != nil {
				return 0, nil, err
			}
		case lead == 0 && reach.Full():
			refused[reasonPageLimit]++
			continue
		default:
			if page, err = addPage(ctx, t, *site, link, lead, store); err != nil {
				return 0, nil, err
			}
			added++
			site.Pages++
			reach.Add(lead)
		}
		known[id] = page
		queued++
	}
	if added == 0 {
		return queued, refused, nil
	}
	return queued, refused, CountPage(ctx, t, site.ID, added)
}

// requestPage queues a known page's crawl job for the site's newest crawl. If the page's active content is from its
// last fetch, the job makes a conditional request, so that the server doesn't send an unchanged page again.
func requestPage(ctx context.Context, t *db.Tx, site record.Record, page *record.Record, store domain.Datastore) error {
	return requestWith(ctx, t, site, page, store, domain.NewPageJob(site.Datasource, page.Datasource, site.RunID, store))
}

func requestWith(ctx context.Context, t *db.Tx, site record.Record, page *record.Record, store domain.Datastore, job domain.Job) error {
	page.RunID = site.RunID
	page.UpdatedAt = db.FromMicros(t.Stamp())
	job = page.Accept(job, store)
	if err := page.Store(ctx, t, db.Micros(page.UpdatedAt)); err != nil {
		return err
	}
	return record.Enqueue(ctx, t, job, record.PriorityReplay)
}

// updateDepth updates the depth of a page that the crawl has already requested, after finding a shorter path to it. The
// depth limits how far links are followed from the page. If the page's job is still in the outbox, updateDepth changes
// the job. Otherwise, it fetches the page again if the new depth matters: because the page's links may now be followed,
// or because the page was skipped for its old depth.
func updateDepth(ctx context.Context, t *db.Tx, site record.Record, page *record.Record, store domain.Datastore, depth int) error {
	deepest := site.Config.Scope(true).MaxDepth
	counts := depth < deepest || depth == deepest && page.Config.Depth > deepest
	page.Config.Depth = depth
	waits := page.Location == record.InOutbox && page.JobKind == domain.JobCrawl
	if !waits && page.Status != domain.StatusError && counts {
		job := domain.NewPageJob(site.Datasource, page.Datasource, site.RunID, store)
		job.ID = domain.NearerJobID(job.ID, depth)
		job.Crawl.ETag, job.Crawl.LastModified = "", "" // a "not modified" response contains no links
		return requestWith(ctx, t, site, page, store, job)
	}
	if waits {
		if err := updateJobDepth(ctx, t, *page); err != nil {
			return err
		}
	}
	return page.Store(ctx, t, t.Stamp())
}

// updateJobDepth updates the depth in a page's crawl job if the job is in the outbox.
func updateJobDepth(ctx context.Context, t *db.Tx, page record.Record) error {
	payload, err := db.ScanString(t.QueryRow(ctx, `SELECT payload FROM outbox WHERE datasource_id = ?`, page.ID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil // the job has just been published
	}
	if err != nil {
		return fmt.Errorf("reading the job of page %s: %w", page.ID, err)
	}
	var job domain.Job
	if err := db.FromJSON(payload, &job); err != nil {
		return err
	}
	job.Crawl.Depth = page.Config.Depth
	if payload, err = db.ToJSON(job); err != nil {
		return err
	}
	return t.Queue(ctx, db.Write{
		Action: "changing the job of page " + page.ID,
		Text:   `UPDATE outbox SET payload = ? WHERE datasource_id = ? AND job_id = ?`,
		Args:   []any{payload, page.ID, job.ID},
	})
}

func addPage(ctx context.Context, t *db.Tx, site record.Record, link foundLink, lead int, store domain.Datastore) (record.Record, error) {
	at := db.FromMicros(t.Stamp())
	page := record.Record{
		Datasource: domain.Datasource{
			ID:          domain.ChildID(site.ID, link.URL),
			WorkspaceID: site.WorkspaceID,
			DatastoreID: site.DatastoreID,
			GroupID:     site.ID,
			Type:        domain.TypeWebPage,
			Name:        link.URL,
			Metadata:    site.Metadata,
			Config:      domain.DatasourceConfig{SourceURL: link.URL, Depth: link.Depth, LastMod: link.LastMod, Lead: lead},
			CreatedAt:   at,
			UpdatedAt:   at,
		},
		RunID: site.RunID,
	}
	job := domain.NewPageJob(site.Datasource, page.Datasource, site.RunID, store)
	if site.Crawl != nil && site.Crawl.Removed > 0 {
		job.ID = domain.NewID() // the crawl may have requested the page before it was removed, and the stream drops repeated ids
	}
	job = page.Accept(job, store)
	if err := page.Insert(ctx, t, nil); err != nil { // nil: an existing page is not an error
		return page, err
	}
	return page, record.Enqueue(ctx, t, job, record.PriorityPages)
}

// pageLimit returns the site's page limit: the service's limit, unless the site's own setting is lower.
func (c *Sites) pageLimit(site record.Record) int {
	if n := site.Config.MaxPages; n > 0 && n < c.limits.Pages {
		return n
	}
	return c.limits.Pages
}

func pagesByID(ctx context.Context, t *db.Tx, siteID string, links []foundLink) (map[string]record.Record, error) {
	known, err := record.ReadAll(ctx, t, linkedIDs(siteID, links))
	if err != nil {
		return nil, fmt.Errorf("reading pages of site %s: %w", siteID, err)
	}
	return known, nil
}

func linkedIDs(siteID string, links []foundLink) []string {
	return lists.Map(links, func(l foundLink) string { return domain.ChildID(siteID, l.URL) })
}

// blocked returns the ids of pages that were deleted or found to be gone since their site's newest crawl began. For an
// archive, it returns the ids of files that were deleted since its unpacking began.
func blocked(ctx context.Context, t *db.Tx, siteID string, all []string, known map[string]record.Record) (map[string]bool, error) {
	var ids []string
	for _, id := range all {
		if known[id].ID == "" {
			ids = append(ids, id)
		}
	}
	gone := map[string]bool{}
	err := db.InLists(t, ids, func(in string, args []any) error {
		found, err := db.Collect(ctx, t, db.ScanString, `SELECT page_id FROM left_pages WHERE site_id = ? AND page_id `+in, append([]any{siteID}, args...)...)
		for _, id := range found {
			gone[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for deleted pages of %s: %w", siteID, err)
	}
	return gone, nil
}
