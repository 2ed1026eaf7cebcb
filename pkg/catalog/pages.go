package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// Reasons of addresses that crawlers have found and the site does not take. tooDeep is in the crawler's words, which
// leaves such addresses, and what the patterns say, to the catalog: only here it is known whether another page leads to them
// by fewer links, and only here the settings are those of now.
const (
	overLimit = "past the site's limit of pages"
	tooDeep   = domain.LeftTooDeep
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
	if from.ID != site.ID && from.Config.Lead > domain.MaxLead {
		return 0, nil // the settings refuse the page since it was asked for
	}
	queued, refused, err := c.addPages(ctx, t, &site, store, foundOn(from, out.Links))
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

// reach is a site's scope, compiled for judging many links.
type reach struct {
	scope    *domain.SiteScope
	patterns domain.Patterns
	limit    int
	refused  int64 // pages of the site that the scope refuses
	leads    int64 // pages of these that are read for their links
}

func (c *Catalog) reachOf(ctx context.Context, t *tx, site record) (reach, error) {
	r := reach{scope: site.Config.Scope(site.FollowLinks), limit: c.pageLimit(site)}
	r.patterns = r.scope.Patterns()
	var err error
	r.refused, r.leads, err = unsearchable(ctx, t, site.ID)
	return r, err
}

// judge returns the reason for refusing a link or, if it becomes a page, its Lead.
func (r *reach) judge(l foundLink) (why string, lead int) {
	if domain.SameSpelling(l.URL, r.scope.Root) {
		return "", 0 // the root is always read for its links
	}
	deepest := r.scope.MaxDepth
	switch why = r.patterns.RefusesURL(l.URL); {
	case why == domain.LeftExcluded:
		return why, 0
	case l.Depth > deepest:
		return tooDeep, 0
	case why == "":
		return "", 0
	case !r.scope.Follow, l.lead > domain.MaxLead, l.Depth == deepest, r.leads >= domain.MaxLeads:
		return why, 0
	default:
		return "", l.lead
	}
}

// lead sets the Lead of a known page, and updates the counts.
func (r *reach) lead(page *record, lead int) {
	count := func(lead int, by int64) {
		if lead > 0 {
			r.refused += by
		}
		if lead > 0 && lead <= domain.MaxLead {
			r.leads += by
		}
	}
	count(page.Config.Lead, -1)
	count(lead, 1)
	if page.Config.Lead > domain.MaxLead && lead > 0 && page.Status == domain.StatusSkipped && page.DuplicateOf == "" {
		page.Error = r.scope.LeftOutBy(domain.LeftNotIncluded, page.Config.SourceURL)
	}
	page.Config.Lead = lead
}

// leadFewer lowers the Lead of a page that is read only for its links, after a shorter path to it was found. Lead
// limits how far its links are followed.
func (c *Catalog) leadFewer(ctx context.Context, t *tx, page *record, lead int, in *reach) error {
	in.lead(page, lead)
	if err := page.store(ctx, t, c.stamp()); err != nil {
		return err
	}
	if !page.Status.Terminal() {
		return nil // its links have not been read yet
	}
	return queueWork(ctx, t, siteTask{siteID: page.GroupID, kind: workLinks, pageID: page.ID})
}

// addPages makes links the pages of a site, each with a crawl job, and returns how many jobs that put into the outbox, and how
// many links were left out, by reason. A page that is known already is crawled again only when a newer crawl of the site comes
// upon it; so one crawl asks for each page once, however many pages link to it. A page that was deleted or found gone since
// the crawl began is not fetched again. A page that matches no include pattern is added only for its links, up to
// domain.MaxLead such pages in a row.
func (c *Catalog) addPages(ctx context.Context, t *tx, site *record, store domain.Datastore, links []foundLink) (queued int, refused map[string]int, err error) {
	known, err := pagesByID(ctx, t, site.ID, links)
	if err != nil {
		return 0, nil, err
	}
	gone, err := leftPages(ctx, t, site.ID, links, known)
	if err != nil {
		return 0, nil, err
	}
	reach, err := c.reachOf(ctx, t, *site)
	if err != nil {
		return 0, nil, err
	}
	added := 0
	refused = map[string]int{}
	for _, link := range links {
		id := domain.ChildID(site.ID, link.URL)
		page, exists := known[id]
		why, lead := reach.judge(link)
		switch {
		case gone[id]:
			continue
		case why == domain.LeftExcluded, why != "" && (!exists || page.Config.Lead > domain.MaxLead):
			refused[why]++
			continue
		case exists && page.runID == site.runID:
			if lead < page.Config.Lead && (lead > 0 || page.Config.Lead > domain.MaxLead && why == "") {
				if err := c.leadFewer(ctx, t, &page, lead, &reach); err != nil {
					return 0, nil, err
				}
			}
			if site.FollowLinks && link.Depth < page.Config.Depth {
				if err := c.nearer(ctx, t, *site, &page, store, link.Depth); err != nil {
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
				reach.lead(&page, lead)
			}
			if err := c.ask(ctx, t, *site, &page, store); err != nil {
				return 0, nil, err
			}
		case lead == 0 && site.pages-reach.refused >= int64(reach.limit):
			refused[overLimit]++
			continue
		default:
			if page, err = c.addPage(ctx, t, *site, link, lead, store); err != nil {
				return 0, nil, err
			}
			added++
			site.pages++
			if lead > 0 {
				reach.refused++
				reach.leads++
			}
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
// page that has been fetched is fetched again, if its links count or if it was left out for being too many links away.
func (c *Catalog) nearer(ctx context.Context, t *tx, site record, page *record, store domain.Datastore, depth int) error {
	deepest := site.Config.Scope(true).MaxDepth
	counts := depth < deepest || depth == deepest && page.Config.Depth > deepest
	page.Config.Depth = depth
	waits := page.place == placeOutbox && page.jobKind == domain.JobCrawl
	if !waits && page.Status != domain.StatusError && counts {
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

func (c *Catalog) addPage(ctx context.Context, t *tx, site record, link foundLink, lead int, store domain.Datastore) (record, error) {
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
			Config:      domain.DatasourceConfig{SourceURL: link.URL, Depth: link.Depth, LastMod: link.LastMod, Lead: lead},
			CreatedAt:   at,
			UpdatedAt:   at,
		},
		runID: site.runID,
	}
	job := domain.NewPageJob(site.Datasource, page.Datasource, site.runID, store)
	if site.Crawl != nil && site.Crawl.Removed > 0 {
		job.ID = domain.NewID() // the page may have left since the crawl asked for it, and the stream drops repeated ids
	}
	job = page.accept(job, store)
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

func pagesByID(ctx context.Context, t *tx, siteID string, links []foundLink) (map[string]record, error) {
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
func leftPages(ctx context.Context, t *tx, siteID string, links []foundLink, known map[string]record) (map[string]bool, error) {
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
