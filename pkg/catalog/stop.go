package catalog

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// StopCrawl ends the crawl of a site, or of a page, at once. What waits to be fetched waits no longer: a page with content
// keeps it and is synched, one without is skipped. So does what is in the job stream already, be it with a crawler: its jobs
// leave the stream, and what comes of those that run is refused. Pages that have been fetched are read to their end. The
// site settles as soon as nothing of it is under way. Stopping what waits for nothing changes nothing; what was never web
// content fails with domain.CodeInvalid. The result is the datasource as it is then.
//
// From the commit of the stop on nothing new is found, and a page whose fetch is put off is not waited for. The pages that wait are worked off in batches, here and, should
// the process die over it, by WorkOnSite.
func (c *Catalog) StopCrawl(ctx context.Context, ws, id string) (domain.Datasource, error) {
	working := false
	err := c.update(ctx, "stopping a crawl", func(t *tx) error {
		working = false
		r, _, err := t.take(ctx, id)
		if err != nil {
			return found(err, "datasource", id)
		}
		switch {
		case r.WorkspaceID != ws:
			return domain.NotFound("datasource", id)
		case r.Type == domain.TypeWebPage:
			return c.stopPages(ctx, t, r)
		case r.Type != domain.TypeWebSite:
			return domain.Invalid("id", "datasource %s is no web page and no web site", id)
		}
		working, err = c.stopSite(ctx, t, r)
		return err
	})
	for more := working; more && err == nil; {
		var batch SiteBatch
		if batch, err = c.WorkOnSite(ctx, SiteTask{siteTask{siteID: id, kind: workStop}}); err != nil {
			err = fmt.Errorf("withdrawing pages that wait, which goes on by itself: %w", err)
		}
		more = batch.More
	}
	if err != nil {
		return domain.Datasource{}, err
	}
	return c.Datasource(ctx, ws, id)
}

// stopSite stores that the crawl is stopped, and reports whether there was one.
func (c *Catalog) stopSite(ctx context.Context, t *tx, site record) (bool, error) {
	working, err := hasWork(ctx, t, site.ID)
	if err != nil {
		return false, err
	}
	waiting, err := hasWaiting(ctx, t, site.ID)
	if err != nil {
		return false, err
	}
	if site.Status.Terminal() && !working && !waiting {
		return false, nil
	}
	if !site.Status.Terminal() && !site.DiscoveryDone {
		if err := queueWithdrawals(ctx, t, []record{site}); err != nil {
			return false, err
		}
		site.place = placeNowhere
	}
	site.CrawlStopped(fromMicros(c.stamp()))
	for _, w := range []write{
		{text: `DELETE FROM outbox WHERE datasource_id = ?`, args: []any{site.ID}},
		{text: `DELETE FROM site_work WHERE site_id = ? AND kind <> ?`, args: []any{site.ID, workScope}},
	} {
		w.doing = "stopping the crawl of site " + site.ID
		if err := t.later(ctx, w); err != nil {
			return false, err
		}
	}
	if err := site.store(ctx, t, c.stamp()); err != nil {
		return false, err
	}
	return true, queueWork(ctx, t, siteTask{siteID: site.ID, kind: workStop})
}

// stop withdraws the next pages that wait to be fetched. Those in the stream come last: each makes room there, which others
// that wait would take.
func (w *siteWork) stop(ctx context.Context) error {
	pages, err := w.pages(ctx, `group_id = ? AND group_id <> '' AND status = 'unsynched' AND place = 1 AND job_kind = 'crawl'`, w.site.ID)
	if err == nil && !w.more {
		var sent []record
		sent, err = w.pages(ctx, `group_id = ? AND group_id <> '' AND `+live+` AND place = 2 AND job_kind = 'crawl'`, w.site.ID)
		pages = append(pages, sent...)
	}
	if err != nil {
		return err
	}
	for _, p := range pages {
		w.changed = append(w.changed, p.ID)
	}
	return w.c.withdraw(ctx, w.t, pages)
}

// stopPages withdraws the job of a page that waits to be fetched.
func (c *Catalog) stopPages(ctx context.Context, t *tx, p record) error {
	if p.place == placeNowhere || p.jobKind != domain.JobCrawl || p.Status.Terminal() {
		return nil
	}
	stopped := []record{p}
	if err := c.withdraw(ctx, t, stopped); err != nil {
		return err
	}
	if err := c.release(ctx, t, p.Datasource, stopped[0].Datasource); err != nil {
		return err
	}
	_, err := c.settleSite(ctx, t, p.GroupID, fromMicros(c.stamp()))
	return err
}

// withdraw takes the crawl jobs of pages from the outbox and the stream, and puts the pages back to where they were.
func (c *Catalog) withdraw(ctx context.Context, t *tx, pages []record) error {
	if err := queueWithdrawals(ctx, t, pages); err != nil {
		return err
	}
	var ids []string
	for i := range pages {
		p := &pages[i]
		ids = append(ids, p.ID)
		p.PageStopped(fromMicros(c.stamp()))
		p.place = placeNowhere
		if err := p.store(ctx, t, micros(p.UpdatedAt)); err != nil {
			return err
		}
	}
	err := inLists(t.db.dialect, ids, func(in string, args []any) error {
		_, err := t.exec(ctx, `DELETE FROM outbox WHERE datasource_id `+in, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("taking pages from the outbox: %w", err)
	}
	return nil
}
