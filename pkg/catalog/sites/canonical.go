package sites

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/textid"
)

// canonical decides whether to skip the fetched page r in favour of the page at its canonical address, adding that page
// to the site if necessary. It returns that page's id if r is skipped, or "" to keep r.
//
// r is skipped only if the two pages' texts are similar or the canonical page's text is still unknown. If r has content
// and the canonical page does not, r is kept until the canonical page has content; see QueueYield. If neither has
// content, r is skipped, and it is fetched again if the texts turn out to differ; see the release method.
func (c *Sites) canonical(ctx context.Context, t *db.Tx, site, r record.Record, store domain.Datastore, f domain.Fetched) (string, error) {
	id, said := domain.ChildID(site.ID, f.Canonical), r.Config
	said.Canonical, said.TextHash, said.Sketch = f.Canonical, f.TextHash, f.Sketch
	if id == r.ID || !site.HasCanonical(said, id) {
		return "", nil
	}
	target, exists, err := record.Find(ctx, t, id)
	if err != nil {
		return "", err
	}
	if !exists {
		added, err := c.addCanonical(ctx, t, site, r, store, domain.Link{URL: f.Canonical, Depth: r.Config.Depth})
		if err != nil || !added || r.ActiveGeneration > 0 {
			return "", err
		}
		return id, nil
	}
	if !r.MayBeReplacedBy(target.Datasource, areSimilar(said, target.Config)) {
		return "", nil
	}
	cycle, err := canonicalCycle(ctx, t, site, target, r.ID)
	if err != nil || cycle {
		return "", err
	}
	return id, nil
}

// areSimilar reports whether two pages' texts are similar enough for one page to replace the other.
func areSimilar(a, b domain.DatasourceConfig) bool {
	return a.TextHash != "" && a.TextHash == b.TextHash || textid.IsSimilar(a.Sketch, b.Sketch)
}

// canonicalCycle calls domain.Datasource.CanonicalCycle for the stored pages.
func canonicalCycle(ctx context.Context, t *db.Tx, site, from record.Record, id string) (bool, error) {
	return site.CanonicalCycle(from.Datasource, id, func(id string) (*domain.Datasource, error) {
		page, exists, err := record.Find(ctx, t, id)
		if err != nil || !exists {
			return nil, err
		}
		return &page.Datasource, nil
	})
}

// addCanonical adds r's canonical address to the site as a page. It returns false if it can't add the page, for example
// because the site is at its page limit or because the page was found to be gone.
func (c *Sites) addCanonical(ctx context.Context, t *db.Tx, site, r record.Record, store domain.Datastore, link domain.Link) (bool, error) {
	if site.Crawl.Stopped() || r.RunID != site.RunID {
		return false, nil
	}
	queued, _, err := c.addPages(ctx, t, &site, store, []foundLink{{Link: link, lead: domain.MaxLead + 1}})
	return queued > 0, err
}

// QueueYield must be called when a page's job has finished. If the page has content, QueueYield queues work that skips
// pages naming it as canonical. If the page itself names a canonical page that has content, QueueYield queues work that
// may skip this page in favour of the canonical page.
func QueueYield(ctx context.Context, t *db.Tx, page domain.Datasource) error {
	if page.GroupID == "" || page.ActiveGeneration == 0 || !page.Alive() {
		return nil
	}
	if !page.Unchanged { // pages that name an unchanged page were already compared with it
		if err := queueYieldTo(ctx, t, page.GroupID, page.ID); err != nil {
			return err
		}
	}
	if page.Config.Canonical == "" {
		return nil
	}
	site, exists, err := record.Find(ctx, t, page.GroupID)
	if err != nil || !exists {
		return err
	}
	own := domain.ChildID(site.ID, page.Config.Canonical)
	if own == page.ID || !site.HasCanonical(page.Config, own) {
		return nil
	}
	served, err := db.Exists(ctx, t, `SELECT 1 FROM datasources WHERE id = ? AND active_generation > 0`, own)
	if err != nil || !served {
		return err
	}
	return queueYieldTo(ctx, t, site.ID, own)
}

// queueYieldTo queues work that skips any pages naming this page as canonical.
func queueYieldTo(ctx context.Context, t *db.Tx, siteID, pageID string) error {
	named, err := db.Exists(ctx, t, `SELECT 1 FROM datasources WHERE canonical_id = ? AND canonical_id <> '' AND id <> ? LIMIT 1`, pageID, pageID)
	if err != nil || !named {
		return err
	}
	return queueWork(ctx, t, siteTask{siteID: siteID, kind: workYield, pageID: pageID})
}

// skipNonCanonical skips pages that have similar text and name the task's page as canonical, except a page that the
// task's page itself names as canonical. It does nothing if the task's page has no content.
func (w *siteWork) skipNonCanonical(ctx context.Context) error {
	keeper, exists, err := record.Find(ctx, w.t, w.task.pageID)
	if err != nil || !exists {
		return err
	}
	if keeper.ActiveGeneration == 0 || !keeper.Alive() {
		return nil
	}
	pages, err := w.pages(ctx, `canonical_id = ? AND canonical_id <> '' AND id > ? ORDER BY id`, keeper.ID, w.after)
	if err != nil || len(pages) == 0 {
		return err
	}
	w.after = pages[len(pages)-1].ID
	at := db.FromMicros(w.t.Stamp())
	for _, p := range pages {
		if !w.site.IsReplacedBy(p.Datasource, keeper.Datasource, areSimilar(p.Config, keeper.Config)) {
			continue
		}
		cycle, err := canonicalCycle(ctx, w.t, w.site, keeper, p.ID)
		if err != nil {
			return err
		}
		if cycle {
			continue
		}
		if err := removeContent(ctx, w.t, &p, keeper.ID, canonicalReason(p.Config.Canonical), at); err != nil {
			return err
		}
		w.changed = append(w.changed, p.ID)
		if err := QueueRelease(ctx, w.t, p.Datasource, domain.PageLost); err != nil {
			return err
		}
	}
	return nil
}

// canonicalReason returns the reason, as shown to users, for skipping a page in favour of its canonical page.
func canonicalReason(address string) string { return "Its canonical address is " + address + "." }
