package sites

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// Maximum number of addresses per transaction when stored links are evaluated. A transaction exceeds it only if a
// single page has more addresses.
const linkBatch = 2_000

// scopeBatch is the number of pages per transaction when changed settings are applied to them.
func (w *siteWork) scopeBatch() int { return max(w.c.limits.Batch/4, 1) }

// foundLink is an address found on a page or in a sitemap.
type foundLink struct {
	domain.Link
	lead int // Lead of the page at the address if it matches no include pattern
}

// toFoundLinks converts links reported by a page's fetch or a site's discovery. `from` is the page or site that
// reported them.
func toFoundLinks(from record.Record, links []domain.Link) []foundLink {
	return lists.Map(links, func(l domain.Link) foundLink { return foundLink{Link: l, lead: from.Config.Lead + 1} })
}

// scope applies a site's changed settings to its pages, one batch at a time. If the site follows links, the last batch
// queues a workLinks task to evaluate the stored links.
func (w *siteWork) scope(ctx context.Context) error {
	pages, err := w.batch(ctx)
	if err != nil {
		return err
	}
	known, err := pagesWithLinks(ctx, w.t, idsOf(pages))
	if err != nil {
		return err
	}
	scope := w.site.Config.Scope(w.site.FollowLinks)
	patterns := scope.Patterns()
	for i := range pages {
		p := &pages[i]
		if err := w.applySettings(ctx, p, *scope, scope.Refuses(patterns, p.Config.SourceURL, p.Config.Depth), known[p.ID]); err != nil {
			return err
		}
	}
	if w.more {
		return nil
	}
	if err := w.dropExcess(ctx); err != nil || w.more || !w.site.FollowLinks {
		return err
	}
	return queueWork(ctx, w.t, siteTask{siteID: w.site.ID, kind: workLinks})
}

// links applies the site's current settings to stored links: those of the task's page or, if the task is for the whole
// site, those of all pages. It skips pages whose Lead exceeds domain.MaxLead.
func (w *siteWork) links(ctx context.Context) error {
	if !w.site.FollowLinks {
		return nil
	}
	pages, err := w.batch(ctx)
	if err != nil {
		return err
	}
	links, err := linksOf(ctx, w.t, idsOf(pages))
	if err != nil {
		return err
	}
	var found []foundLink
	at := make(map[string]int)
	for i := range pages {
		p := &pages[i]
		urls, known := links[p.ID]
		if i > 0 && len(found)+len(urls) > linkBatch {
			w.after, w.more = walkPosition(pages[i-1]), true
			break
		}
		if p.Config.Lead > domain.MaxLead {
			continue
		}
		if !known && w.task.pageID != "" && p.OwnStatus().Terminal() {
			if err := w.refetch(ctx, p); err != nil {
				return err
			}
		}
		for _, u := range urls {
			l := foundLink{Link: domain.Link{URL: u, Depth: p.Config.Depth + 1}, lead: p.Config.Lead + 1}
			if n, seen := at[u]; seen {
				found[n].Depth, found[n].lead = min(found[n].Depth, l.Depth), min(found[n].lead, l.lead)
				continue
			}
			at[u] = len(found)
			found = append(found, l)
		}
	}
	// Process links near the root first, because the number of pages read only for their links is limited.
	slices.SortStableFunc(found, func(a, b foundLink) int { return cmp.Compare(a.Depth, b.Depth) })
	queued, err := w.c.addStoredLinks(ctx, w.t, &w.site, w.store, found)
	if queued > 0 {
		w.t.Wake(record.TopicSites)
	}
	return err
}

// batch reads the task's next pages in the order in which they were found. If the task is for a single page, it reads
// only that page.
func (w *siteWork) batch(ctx context.Context) ([]record.Record, error) {
	at, id := parseWalkPosition(w.after)
	condition, args := `group_id = ? AND group_id <> '' AND (created_at, id) > (?, ?) ORDER BY created_at, id`, []any{w.site.ID, at, id}
	if w.task.pageID != "" {
		condition, args = `group_id = ? AND id = ?`, []any{w.site.ID, w.task.pageID}
	}
	pages, err := db.Collect(ctx, w.t, record.Scan, `SELECT `+record.Columns+` FROM datasources WHERE `+condition+` LIMIT ?`+w.t.Lock,
		append(args, w.scopeBatch())...)
	if err != nil {
		return nil, fmt.Errorf("reading pages: %w", err)
	}
	if len(pages) > 0 && w.task.pageID == "" {
		w.after = walkPosition(pages[len(pages)-1])
	}
	w.more = len(pages) == w.scopeBatch()
	return pages, nil
}

// walkPosition returns a page's position in the batch method's order: creation time in microseconds, slash, id.
func walkPosition(page record.Record) string {
	return strconv.FormatInt(db.Micros(page.CreatedAt), 10) + "/" + page.ID
}

// parseWalkPosition parses a position from walkPosition. Earlier versions stored just an id. For such a position, it
// returns the start of the list.
func parseWalkPosition(place string) (at int64, id string) {
	first, id, found := strings.Cut(place, "/")
	at, err := strconv.ParseInt(first, 10, 64)
	if !found || err != nil {
		return 0, ""
	}
	return at, id
}

func idsOf(pages []record.Record) []string {
	return lists.Map(pages, func(p record.Record) string { return p.ID })
}

// applySettings applies the site's settings to page p. why is the reason for skipping the page, or "" if the page is in
// scope. known says whether the page's links are stored.
func (w *siteWork) applySettings(ctx context.Context, p *record.Record, scope domain.SiteScope, why string, known bool) error {
	before := p.Datasource
	root := scope.Follow && domain.SameAddress(p.Config.SourceURL, scope.Root)
	p.Config.Lead = 0
	if why != "" && !root {
		p.Config.Lead = domain.LeadsNowhere // unless a link to the page lowers it; see lowerLead
	}
	waits := !p.OwnStatus().Terminal()
	if why != "" && p.Status != domain.StatusSkipped && (!waits || !root || p.ActiveGeneration > 0) {
		reason := p.Config.SourceURL + " was skipped: " + why + "."
		if root {
			reason = scope.LeftOutReason(why, p.Config.SourceURL)
		}
		if err := record.QueueWithdrawals(ctx, w.t, []record.Record{*p}); err != nil {
			return err
		}
		if err := removeContent(ctx, w.t, p, "", reason, db.FromMicros(w.t.Stamp())); err != nil {
			return err
		}
		w.changed = append(w.changed, p.ID)
		if err := QueueRelease(ctx, w.t, before, domain.PageLost); err != nil {
			return err
		}
		waits = false
	} else if p.Config.Lead != before.Config.Lead {
		if err := p.Store(ctx, w.t, w.t.Stamp()); err != nil {
			return err
		}
	}
	if w.site.Crawl.Stopped() || !w.site.DiscoveryDone {
		return nil // a crawl in progress fetches every page, a stopped one none
	}
	unread := w.site.FollowLinks && !known && (why == "" || root)
	left := why == "" && p.Status == domain.StatusSkipped && p.DuplicateOf == ""
	if stale := waits && p.JobKind == domain.JobCrawl; !unread && !left && !stale || waits && !stale {
		return nil
	}
	return w.refetch(ctx, p)
}

// refetch fetches a page again with the current settings. The job needs a new id, because the crawl may already have a
// job for the page with the old settings.
func (w *siteWork) refetch(ctx context.Context, p *record.Record) error {
	job := domain.NewPageJob(w.site.Datasource, p.Datasource, w.site.RunID, w.store)
	job.ID = domain.NewID()
	if err := record.QueueWithdrawals(ctx, w.t, []record.Record{*p}); err != nil {
		return err
	}
	w.changed = append(w.changed, p.ID)
	return requestWith(ctx, w.t, w.site, p, w.store, job)
}

// dropExcess skips pages beyond the site's page limit, starting with those found last.
func (w *siteWork) dropExcess(ctx context.Context) error {
	var pages int64
	if err := w.t.QueryRow(ctx, `SELECT pages FROM datasources WHERE id = ?`, w.site.ID).Scan(&pages); err != nil {
		return fmt.Errorf("counting the pages of site %s: %w", w.site.ID, err)
	}
	uncounted, _, err := countExcluded(ctx, w.t, w.site.ID)
	if err != nil {
		return err
	}
	over := pages - uncounted - int64(w.c.pageLimit(w.site))
	if over <= 0 {
		return nil
	}
	left, err := db.Collect(ctx, w.t, record.Scan, `SELECT `+record.Columns+` FROM datasources WHERE group_id = ? AND group_id <> '' AND lead = 0
		ORDER BY created_at DESC, id DESC LIMIT ?`+w.t.Lock, w.site.ID, min(over, int64(w.c.limits.Batch)))
	if err != nil {
		return fmt.Errorf("looking for pages beyond the limit: %w", err)
	}
	if err := record.QueueWithdrawals(ctx, w.t, left); err != nil {
		return err
	}
	w.site.Capped = true
	if err := removePages(ctx, w.t, w.site, left, 0); err != nil {
		return err
	}
	for _, p := range left {
		w.changed = append(w.changed, p.ID)
		if err := QueueRelease(ctx, w.t, p.Datasource, domain.PageLost); err != nil {
			return err
		}
	}
	w.more = over > int64(w.c.limits.Batch)
	return nil
}

// countExcluded counts the pages excluded by the site's settings, which don't count towards its page limit. leads is
// the number of excluded pages that are still fetched to read their links.
func countExcluded(ctx context.Context, t *db.Tx, siteID string) (all, leads int64, err error) {
	err = t.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN lead < ? THEN 1 ELSE 0 END), 0) FROM datasources
		WHERE group_id = ? AND lead > 0`, domain.LeadsNowhere, siteID).Scan(&all, &leads)
	if err != nil {
		return 0, 0, fmt.Errorf("counting the pages of site %s that its settings exclude: %w", siteID, err)
	}
	return all, leads, nil
}

// rescope queues work that applies a site's changed settings to its pages.
func (c *Sites) rescope(ctx context.Context, t *db.Tx, before domain.DatasourceConfig, site *record.Record) error {
	if site.Type != domain.TypeWebSite || before.SameScope(site.Config) {
		return nil
	}
	// Reset Capped. dropExcess and addStoredLinks set it again if necessary. A site that has reached its limit and does
	// not follow links stays capped, because the remainder of its sitemap is unknown.
	if site.FollowLinks || int64(c.pageLimit(*site)) > site.Pages {
		site.Capped = false
	}
	switch listed := !site.FollowLinks && site.Pages > 0; {
	case !before.Widens(site.Config):
	case !site.DiscoveryDone && !site.Status.Terminal():
		site.CrawlWidened() // the end of discovery shows whether there is a sitemap, and so whether to warn
	case site.DiscoveryDone && listed:
		site.WarnSitemap()
	}
	return queueWork(ctx, t, siteTask{siteID: site.ID, kind: workScope})
}
