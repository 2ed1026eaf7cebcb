package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/domain"
)

// scopeBatch is the number of pages per transaction when a scope is applied.
const scopeBatch = 50

// foundLink is an address found in a page or a sitemap.
type foundLink struct {
	domain.Link
	lead int // Lead of the page if it matches no include pattern
}

// foundOn converts the links that a page or the site's discovery has reported.
func foundOn(from record, links []domain.Link) []foundLink {
	out := make([]foundLink, len(links))
	for i, l := range links {
		out[i] = foundLink{Link: l, lead: from.Config.Lead + 1}
	}
	return out
}

// scope applies the site's settings to its pages and evaluates the stored links of these, one batch at a time. It runs
// after a change of the settings and in each crawl that follows links: an unchanged page reports no links, so the stored
// ones are used.
func (w *siteWork) scope(ctx context.Context) error {
	condition, args := `group_id = ? AND group_id <> '' AND id > ? ORDER BY id`, []any{w.site.ID, w.after}
	if w.task.pageID != "" {
		condition, args = `group_id = ? AND id = ?`, []any{w.site.ID, w.task.pageID}
	}
	pages, err := collect(ctx, w.t, scanRecord, `SELECT `+recordColumns+` FROM datasources WHERE `+condition+` LIMIT ?`+w.t.lock,
		append(args, scopeBatch)...)
	if err != nil {
		return fmt.Errorf("reading pages: %w", err)
	}
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = p.ID
	}
	links, err := linksOf(ctx, w.t, ids)
	if err != nil {
		return err
	}
	scope := w.site.Config.Scope(w.site.FollowLinks)
	patterns := scope.Patterns()
	var found []foundLink
	at := make(map[string]int)
	for i := range pages {
		p := &pages[i]
		urls, known := links[p.ID]
		if err := w.fit(ctx, p, *scope, scope.Refuses(patterns, p.Config.SourceURL, p.Config.Depth), known); err != nil {
			return err
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
	if w.site.FollowLinks && !w.site.Crawl.Stopped() {
		if err := w.take(ctx, found); err != nil {
			return err
		}
	}
	if w.task.pageID != "" {
		return nil
	}
	if len(pages) > 0 {
		w.after = pages[len(pages)-1].ID
	}
	if w.more = len(pages) == scopeBatch; w.more || w.task.kind != workScope {
		return nil
	}
	return w.trim(ctx)
}

// take adds the links inside the site's scope as pages. Refused links are not counted: the crawl that found them has counted
// them.
func (w *siteWork) take(ctx context.Context, found []foundLink) error {
	for group := range slices.Chunk(found, maxSitePages) {
		queued, refused, err := w.c.addPages(ctx, w.t, &w.site, w.store, group)
		if err != nil {
			return err
		}
		if refused[overLimit] > 0 && !w.site.capped {
			w.site.capped = true
			if err := w.site.store(ctx, w.t, w.c.stamp()); err != nil {
				return err
			}
		}
		if queued > 0 {
			w.t.queuedWork = true
		}
	}
	return nil
}

// maxSitePages bounds the links of one lookup.
const maxSitePages = 500

// fit applies the site's settings to a page. why is the reason for leaving the page out, "" if it is in scope; known says
// that its links are stored.
func (w *siteWork) fit(ctx context.Context, p *record, scope domain.SiteScope, why string, known bool) error {
	before := p.Datasource
	leads := why != "" && scope.LeadsOn(why, p.Config.SourceURL)
	switch lead := p.Config.Lead; {
	case !leads:
		p.Config.Lead = 0
	case lead == 0 && !domain.SameSpelling(p.Config.SourceURL, scope.Root):
		p.Config.Lead = 1
	}
	waits := !p.own().Terminal()
	if why != "" && p.Status != domain.StatusSkipped && (!waits || !leads || p.ActiveGeneration > 0) {
		if err := queueWithdrawals(ctx, w.t, []record{*p}); err != nil {
			return err
		}
		if err := w.c.makeWay(ctx, w.t, p, "", scope.LeftOutBy(why, p.Config.SourceURL), fromMicros(w.c.stamp())); err != nil {
			return err
		}
		w.changed = append(w.changed, p.ID)
		if err := queueRelease(ctx, w.t, before, workRelease); err != nil {
			return err
		}
		waits = false
	} else if p.Config.Lead != before.Config.Lead {
		if err := p.store(ctx, w.t, w.c.stamp()); err != nil {
			return err
		}
	}
	if w.task.kind != workScope || w.site.Crawl.Stopped() || !w.site.DiscoveryDone {
		return nil // a crawl in progress fetches every page; a stopped one fetches none
	}
	unread := w.site.FollowLinks && !known && (why == "" || leads)
	left := why == "" && p.Status == domain.StatusSkipped && p.DuplicateOf == ""
	if stale := waits && p.jobKind == domain.JobCrawl; !unread && !left && !stale || waits && !stale {
		return nil
	}
	job := domain.NewPageJob(w.site.Datasource, p.Datasource, w.site.runID, w.store)
	job.ID = domain.NewID() // the crawl may already have a job for the page, with the old settings
	if err := queueWithdrawals(ctx, w.t, []record{*p}); err != nil {
		return err
	}
	w.changed = append(w.changed, p.ID)
	return w.c.askBy(ctx, w.t, w.site, p, w.store, job)
}

// trim leaves out the pages beyond the site's limit, the last found first.
func (w *siteWork) trim(ctx context.Context) error {
	pages, leads, err := pageCount(ctx, w.t, w.site)
	if err != nil {
		return err
	}
	over := pages - leads - int64(w.c.pageLimit(w.site))
	if over <= 0 {
		return nil
	}
	left, err := collect(ctx, w.t, scanRecord, `SELECT `+recordColumns+` FROM datasources WHERE group_id = ? AND group_id <> '' AND lead = 0
		ORDER BY created_at DESC, id DESC LIMIT ?`+w.t.lock, w.site.ID, min(over, siteBatch))
	if err != nil {
		return fmt.Errorf("looking for pages beyond the limit: %w", err)
	}
	if err := queueWithdrawals(ctx, w.t, left); err != nil {
		return err
	}
	w.site.capped = true
	if err := w.c.leave(ctx, w.t, w.site, left, 0); err != nil {
		return err
	}
	for _, p := range left {
		w.changed = append(w.changed, p.ID)
		if err := queueRelease(ctx, w.t, p.Datasource, workRelease); err != nil {
			return err
		}
	}
	w.more = over > siteBatch
	return nil
}

// pageCount returns the number of the site's pages, and the number of those read only for their links.
func pageCount(ctx context.Context, t *tx, site record) (pages, leads int64, err error) {
	err = t.queryRow(ctx, `SELECT pages FROM datasources WHERE id = ?`, site.ID).Scan(&pages)
	if err == nil {
		leads, err = leadCount(ctx, t, site.ID)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("counting the pages of site %s: %w", site.ID, err)
	}
	return pages, leads, nil
}

// leadCount counts the pages of a site that are read only for their links.
func leadCount(ctx context.Context, t *tx, siteID string) (n int64, err error) {
	err = t.queryRow(ctx, `SELECT COUNT(*) FROM datasources WHERE group_id = ? AND lead > 0`, siteID).Scan(&n)
	return n, err
}

// rescope queues the work that applies changed settings of a site to its pages.
func (c *Catalog) rescope(ctx context.Context, t *tx, before domain.DatasourceConfig, site *record) error {
	if site.Type != domain.TypeWebSite || before.SameReach(site.Config) {
		return nil
	}
	site.capped = false // trim sets it again
	if listed := site.DiscoveryDone && !site.FollowLinks && site.pages > 0; listed && before.Widens(site.Config) {
		site.WarnOfSitemap()
	}
	return queueWork(ctx, t, siteTask{siteID: site.ID, kind: workScope})
}
