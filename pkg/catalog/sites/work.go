package sites

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// workKind is a kind of work on a site's pages.
type workKind int

const (
	workStop    workKind = 1 // withdraw the pages waiting to be fetched, because the crawl was stopped
	workRest    workKind = 2 // handle pages that the newest crawl did not find; see domain.MissingPolicy
	workRelease workKind = 3 // refetch pages skipped in favour of a page that has lost its content
	workCompare workKind = 4 // refetch pages skipped in favour of a page whose content has changed
	workYield   workKind = 5 // skip pages whose canonical page now has content
	workLinks   workKind = 6 // evaluate the stored links of one page, or of all pages, after the settings have changed
	workScope   workKind = 7 // apply the site's changed settings to its pages; workLinks follows
	workNamed   workKind = 8 // refetch skipped pages if the text of their canonical page, known only now, differs
)

// workOf maps each kind of change to a page to the work it causes on pages that were skipped as the page's duplicates.
var workOf = map[domain.PageChange]workKind{domain.PageLost: workRelease, domain.PageKnown: workNamed, domain.PageDiffers: workCompare}

func changeOf(kind workKind) domain.PageChange {
	for change, k := range workOf {
		if k == kind {
			return change
		}
	}
	return domain.PageSame
}

// siteTask is work on a site's pages. The site is not final until the work is done.
type siteTask struct {
	siteID string
	kind   workKind
	pageID string // id of the page the work is about; "" means the whole site
}

// SiteTask is queued work on a site's pages. WorkOnSite performs it, one batch at a time.
type SiteTask struct{ siteTask }

// SiteID returns the site's id.
func (t SiteTask) SiteID() string { return t.siteID }

// SiteBatch is the outcome of one batch of work on a site.
type SiteBatch struct {
	DatastoreID string
	Changed     []string // ids of changed or removed datasources
	More        bool     // whether the task is not complete yet
}

// queueWork queues work on a site's pages as part of the site's current crawl.
func queueWork(ctx context.Context, t *db.Tx, w siteTask) error {
	t.Wake(record.TopicSites)
	return t.Queue(ctx, db.Write{
		Action: "queueing work on site " + w.siteID,
		Text: `INSERT INTO site_work (site_id, kind, page_id, run_id, after_id)
			SELECT id, CAST(? AS SMALLINT), CAST(? AS TEXT), run_id, '' FROM datasources WHERE id = ?
			ON CONFLICT (site_id, kind, page_id) DO UPDATE SET run_id = excluded.run_id, after_id = ''`,
		Args: []any{w.kind, w.pageID, w.siteID},
	})
}

// hasWork reports whether the site has queued work.
func hasWork(ctx context.Context, t *db.Tx, siteID string) (bool, error) {
	return db.Exists(ctx, t, `SELECT 1 FROM site_work WHERE site_id = ? LIMIT 1`, siteID)
}

// SiteWork returns up to limit tasks that come after the task `after`, which may be zero. Tasks stay queued until
// WorkOnSite has completed them.
func (c *Sites) SiteWork(ctx context.Context, after SiteTask, limit int) ([]SiteTask, error) {
	tasks, err := db.Collect(ctx, c.db.Read, db.Scan(func(w *SiteTask) []any { return []any{&w.siteID, &w.kind, &w.pageID} }), `SELECT site_id, kind, page_id FROM site_work WHERE (site_id, kind, page_id) > (?, ?, ?)
		ORDER BY site_id, kind, page_id LIMIT ?`, after.siteID, after.kind, after.pageID, limit)
	if err != nil {
		return nil, fmt.Errorf("looking for sites with work to do: %w", err)
	}
	return tasks, nil
}

// WorkOnSite performs a task's next batch in a transaction. If the task is the site's last one, WorkOnSite also sets
// the site's final status. It does nothing if the task is complete or the site is gone.
func (c *Sites) WorkOnSite(ctx context.Context, task SiteTask) (SiteBatch, error) {
	var done SiteBatch
	err := c.db.Update(ctx, "working on a site", func(t *db.Tx) error {
		done = SiteBatch{}
		site, store, err := record.LockDatasource(ctx, t, task.siteID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		w := siteWork{c: c, t: t, site: site, store: store, task: task.siteTask}
		err = t.QueryRow(ctx, `SELECT run_id, after_id FROM site_work WHERE site_id = ? AND kind = ? AND page_id = ?`,
			task.siteID, task.kind, task.pageID).Scan(&w.runID, &w.after)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the task: %w", err)
		}
		if err := w.runStep(ctx); err != nil {
			return err
		}
		done = SiteBatch{DatastoreID: store.ID, Changed: append(w.changed, site.ID), More: w.more}
		return w.finish(ctx)
	})
	return done, err
}

// siteWork is one batch of a task.
type siteWork struct {
	c       *Sites
	t       *db.Tx
	site    record.Record
	store   domain.Datastore
	task    siteTask
	runID   string // id of the crawl the task was queued for
	after   string // where the previous batch ended; "" for the first batch
	changed []string
	more    bool
}

func (w *siteWork) runStep(ctx context.Context) error {
	stopped := w.site.Crawl.Stopped()
	switch {
	case w.task.kind == workStop && stopped:
		return w.stop(ctx)
	case w.task.kind == workRest && !stopped && w.site.DiscoveryDone && w.site.RunID == w.runID:
		return w.handleMissing(ctx)
	case w.task.kind == workYield:
		return w.skipNonCanonical(ctx)
	case w.task.kind == workScope:
		return w.scope(ctx)
	case w.task.kind == workLinks && !stopped:
		return w.links(ctx)
	case w.task.kind == workLinks:
		return nil
	case w.task.kind >= workRelease && !stopped:
		return w.release(ctx)
	default: // obsolete, because a newer crawl has begun or this one has ended
		return nil
	}
}

func (w *siteWork) finish(ctx context.Context) error {
	key := []any{w.task.siteID, w.task.kind, w.task.pageID}
	if w.more {
		_, err := w.t.Exec(ctx, `UPDATE site_work SET after_id = ? WHERE site_id = ? AND kind = ? AND page_id = ?`, append([]any{w.after}, key...)...)
		return err
	}
	if _, err := w.t.Exec(ctx, `DELETE FROM site_work WHERE site_id = ? AND kind = ? AND page_id = ?`, key...); err != nil {
		return err
	}
	_, err := w.c.SettleSite(ctx, w.t, w.task.siteID, db.FromMicros(w.t.Stamp()))
	return err
}

// pages reads the site's next pages that match the SQL condition and records whether there may be more.
func (w *siteWork) pages(ctx context.Context, condition string, args ...any) ([]record.Record, error) {
	pages, err := db.Collect(ctx, w.t, record.Scan, `SELECT `+record.Columns+` FROM datasources WHERE `+condition+` LIMIT ?`+w.t.Lock,
		append(args, w.c.limits.Batch)...)
	if err != nil {
		return nil, fmt.Errorf("reading pages: %w", err)
	}
	w.more = w.more || len(pages) == w.c.limits.Batch
	return pages, nil
}

// QueueRest queues work on any pages that the site's crawl did not find.
func QueueRest(ctx context.Context, t *db.Tx, site record.Record) error {
	if site.Crawl == nil || site.Crawl.MissingPages == domain.RestKept {
		return nil
	}
	for _, other := range []string{`<`, `>`} {
		left, err := db.Exists(ctx, t, `SELECT 1 FROM datasources WHERE group_id = ? AND group_id <> '' AND run_id `+other+` ? LIMIT 1`, site.ID, site.RunID)
		if err != nil {
			return fmt.Errorf("looking for pages that the crawl has not found: %w", err)
		}
		if left {
			return queueWork(ctx, t, siteTask{siteID: site.ID, kind: workRest})
		}
	}
	return nil
}

// handleMissing removes or refetches pages that the crawl did not find, as its MissingPages says.
func (w *siteWork) handleMissing(ctx context.Context) (err error) {
	var rest []record.Record
	for _, other := range []string{`<`, `>`} {
		pages, err := w.pages(ctx, `group_id = ? AND group_id <> '' AND run_id `+other+` ?`, w.site.ID, w.site.RunID)
		if err != nil {
			return err
		}
		rest = append(rest, pages...)
	}
	var kept, left []record.Record
	if w.site.Crawl.MissingPages == domain.RestRefetched {
		for _, p := range rest {
			if p.Config.Lead > domain.MaxLead {
				left = append(left, p) // excluded by the settings
			} else {
				kept = append(kept, p)
			}
		}
	} else if kept, left, err = w.splitReferenced(ctx, rest); err != nil {
		return err
	}
	if err := w.refetchPages(ctx, kept); err != nil {
		return err
	}
	for _, p := range left {
		w.changed = append(w.changed, p.ID)
	}
	return removePages(ctx, w.t, w.site, left, 0)
}

// splitReferenced splits pages that the newest crawl did not find into those to keep, because the crawl skipped
// duplicates in their favour, and those left, which no longer belong to the site.
func (w *siteWork) splitReferenced(ctx context.Context, pages []record.Record) (kept, left []record.Record, err error) {
	for _, p := range pages {
		stands, err := db.Exists(ctx, w.t, `SELECT 1 FROM datasources WHERE duplicate_of = ? AND duplicate_of <> '' AND run_id = ? LIMIT 1`, p.ID, w.site.RunID)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("looking for duplicates of page %s: %w", p.ID, err)
		case stands:
			kept = append(kept, p)
		default:
			left = append(left, p)
		}
	}
	return kept, left, nil
}

func (w *siteWork) refetchPages(ctx context.Context, pages []record.Record) error {
	for i := range pages {
		if err := requestPage(ctx, w.t, w.site, &pages[i], w.store); err != nil {
			return err
		}
		w.changed = append(w.changed, pages[i].ID)
	}
	return nil
}

// release refetches pages that were skipped in favour of the task's page but may no longer be its duplicates. A task of
// kind workRelease means that the task's page has lost its content. If the page has regained content by now, release
// does nothing.
func (w *siteWork) release(ctx context.Context) error {
	keeper, exists, err := record.Find(ctx, w.t, w.task.pageID)
	if err != nil {
		return err
	}
	if exists && keeper.Alive() && w.task.kind == workRelease {
		return nil
	}
	pages, err := w.pages(ctx, `duplicate_of = ? AND duplicate_of <> '' AND id > ? ORDER BY id`, w.task.pageID, w.after)
	if err != nil || len(pages) == 0 {
		return err
	}
	w.after = pages[len(pages)-1].ID
	pages = slices.DeleteFunc(pages, func(p record.Record) bool {
		return !w.site.FetchesAgain(p.Datasource, w.task.pageID, changeOf(w.task.kind), areSimilar(p.Config, keeper.Config))
	})
	for i := range pages {
		job := domain.NewPageJob(w.site.Datasource, pages[i].Datasource, w.site.RunID, w.store)
		// The job needs a new id, because the crawl has already requested most of these pages and the stream drops jobs
		// with known ids.
		job.ID = domain.NewID()
		if err := requestWith(ctx, w.t, w.site, &pages[i], w.store, job); err != nil {
			return err
		}
		w.changed = append(w.changed, pages[i].ID)
	}
	return nil
}
