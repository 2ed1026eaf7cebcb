package sites

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// StopCrawl stops the crawl of a site or page and returns the updated datasource. It fails with domain.CodeInvalid if
// the datasource is not web content, and changes nothing if no job is pending.
//
// Waiting pages are no longer fetched: they become synched if they have content and skipped otherwise. Their jobs are
// deleted from the job stream, and the results of running jobs are rejected. Pages that were already fetched are still
// indexed. The site gets its final status once none of its jobs is in progress.
//
// Once the stop is committed, no new pages are added. The waiting pages are processed in batches; if the process dies,
// WorkOnSite processes the remaining ones.
func (c *Sites) StopCrawl(ctx context.Context, ws, id string) (domain.Datasource, error) {
	working := false
	err := c.db.Update(ctx, "stopping a crawl", func(t *db.Tx) error {
		working = false
		r, _, err := record.LockDatasourceOf(ctx, t, ws, id)
		if err != nil {
			return err
		}
		switch {
		case r.Type == domain.TypeWebPage:
			return c.stopPages(ctx, t, r)
		case r.Type != domain.TypeWebSite:
			return domain.Invalid("id", "datasource %s is neither a web page nor a web site", id)
		}
		working, err = stopSite(ctx, t, r)
		return err
	})
	for more := working; more && err == nil; {
		var batch SiteBatch
		if batch, err = c.WorkOnSite(ctx, SiteTask{siteTask{siteID: id, kind: workStop}}); err != nil {
			err = fmt.Errorf("withdrawing waiting pages (continues in the background): %w", err)
		}
		more = batch.More
	}
	if err != nil {
		return domain.Datasource{}, err
	}
	return record.Datasource(ctx, c.db.Read, ws, id)
}

// stopSite marks the site's crawl as stopped and reports whether one was in progress.
func stopSite(ctx context.Context, t *db.Tx, site record.Record) (bool, error) {
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
		if err := record.QueueWithdrawals(ctx, t, []record.Record{site}); err != nil {
			return false, err
		}
		site.Location = record.NoJob
	}
	site.CrawlStopped(db.FromMicros(t.Stamp()))
	for _, w := range []db.Write{
		{Text: `DELETE FROM outbox WHERE datasource_id = ?`, Args: []any{site.ID}},
		{Text: `DELETE FROM site_work WHERE site_id = ? AND kind <> ?`, Args: []any{site.ID, workScope}},
	} {
		w.Action = "stopping the crawl of site " + site.ID
		if err := t.Queue(ctx, w); err != nil {
			return false, err
		}
	}
	if err := site.Store(ctx, t, t.Stamp()); err != nil {
		return false, err
	}
	return true, queueWork(ctx, t, siteTask{siteID: site.ID, kind: workStop})
}

// stop withdraws the next batch of pages waiting to be fetched. It starts with pages whose jobs are in the outbox,
// because those jobs would be published as soon as other withdrawn jobs free capacity in the stream.
func (w *siteWork) stop(ctx context.Context) error {
	pages, err := w.pages(ctx, `group_id = ? AND group_id <> '' AND status = 'unsynched' AND place = 1 AND job_kind = 'crawl'`, w.site.ID)
	if err == nil && !w.more {
		var sent []record.Record
		sent, err = w.pages(ctx, `group_id = ? AND group_id <> '' AND `+record.Live+` AND place = 2 AND job_kind = 'crawl'`, w.site.ID)
		pages = append(pages, sent...)
	}
	if err != nil {
		return err
	}
	for _, p := range pages {
		w.changed = append(w.changed, p.ID)
	}
	return withdraw(ctx, w.t, pages)
}

// stopPages withdraws the crawl job of the page p if it is waiting to be fetched.
func (c *Sites) stopPages(ctx context.Context, t *db.Tx, p record.Record) error {
	if p.Location == record.NoJob || p.JobKind != domain.JobCrawl || p.Status.Terminal() {
		return nil
	}
	stopped := []record.Record{p}
	if err := withdraw(ctx, t, stopped); err != nil {
		return err
	}
	if err := Release(ctx, t, p.Datasource, stopped[0].Datasource); err != nil {
		return err
	}
	_, err := c.SettleSite(ctx, t, p.GroupID, db.FromMicros(t.Stamp()))
	return err
}

// withdraw deletes the pages' crawl jobs from the outbox and the stream and restores the pages' earlier state.
func withdraw(ctx context.Context, t *db.Tx, pages []record.Record) error {
	if err := record.QueueWithdrawals(ctx, t, pages); err != nil {
		return err
	}
	var ids []string
	for i := range pages {
		p := &pages[i]
		ids = append(ids, p.ID)
		p.RestorePage(db.FromMicros(t.Stamp()))
		p.Location = record.NoJob
		if err := p.Store(ctx, t, db.Micros(p.UpdatedAt)); err != nil {
			return err
		}
	}
	err := db.InLists(t, ids, func(in string, args []any) error {
		_, err := t.Exec(ctx, `DELETE FROM outbox WHERE datasource_id `+in, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("removing pages from the outbox: %w", err)
	}
	return nil
}
