package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/textid"
)

// names reports whether a page of the site says that it is the other page. Careless sites name their root on every page,
// which counts for other spellings of the root alone.
func names(site record, page domain.DatasourceConfig, id string) bool {
	root := site.Config.Scope(false).Root
	return page.Canonical != "" && domain.ChildID(site.ID, page.Canonical) == id &&
		(!domain.SameSpelling(page.Canonical, root) || domain.SameSpelling(page.SourceURL, root))
}

// canonical is the page that the fetched one, r, says it is: one that is known and has, or awaits, a text that is alike, or
// one that becomes a page of the site now. "" when there is none such and the page stays; and also when it has content and the
// other has none yet: then it stays until that has, see queueYield. Where the other is still to be fetched, its text is not
// known: the page is left out for it at first, and is fetched again when the texts turn out not to be alike, see release.
func (c *Catalog) canonical(ctx context.Context, t *tx, site, r record, store domain.Datastore, f domain.Fetched) (string, error) {
	id, said := domain.ChildID(site.ID, f.Canonical), r.Config
	said.Canonical, said.TextHash, said.Sketch = f.Canonical, f.TextHash, f.Sketch
	if id == r.ID || !names(site, said, id) {
		return "", nil
	}
	target, err := readRecord(ctx, t, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		added, err := c.addCanonical(ctx, t, site, r, store, domain.Link{URL: f.Canonical, Depth: r.Config.Depth})
		if err != nil || !added || r.ActiveGeneration > 0 {
			return "", err
		}
		return id, nil
	case err != nil:
		return "", fmt.Errorf("reading the canonical page: %w", err)
	case !target.Alive() || target.DuplicateOf == r.ID:
		return "", nil
	case target.Original != nil && !alike(said, target.Config):
		return "", nil
	case r.ActiveGeneration > 0 && target.ActiveGeneration == 0 && !target.Status.Terminal():
		// It may have been judged before, to this page's favour. Only its content can change that.
		return "", nil
	}
	round, err := c.roundTrip(ctx, t, site, target, r.ID)
	if err != nil || round {
		return "", err
	}
	return id, nil
}

// alike reports whether the texts of two pages have so much in common that one may stand for the other.
func alike(a, b domain.DatasourceConfig) bool {
	return a.TextHash != "" && a.TextHash == b.TextHash || textid.Alike(a.Sketch, b.Sketch)
}

// maxNamings bounds the pages of a chain, each of which says that it is the next.
const maxNamings = 8

// roundTrip reports whether a page names another as its own address, and so on, until one names the page with the id. In such a
// circle no page makes way for another, or they would do so in turns without end. A circle of two is none here: the caller
// keeps one of the two.
func (c *Catalog) roundTrip(ctx context.Context, t *tx, site, from record, id string) (bool, error) {
	for hop := range maxNamings {
		next := from.Config.Canonical
		if next == "" {
			return false, nil
		}
		nextID := domain.ChildID(site.ID, next)
		switch {
		case nextID == from.ID || !names(site, from.Config, nextID):
			return false, nil
		case nextID == id:
			return hop > 0, nil
		}
		var err error
		from, err = readRecord(ctx, t, nextID)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reading page %s: %w", nextID, err)
		}
	}
	return false, nil
}

// addCanonical makes the address a page of the site, and reports whether it is one now: not past the limit, nor if it is
// gone.
func (c *Catalog) addCanonical(ctx context.Context, t *tx, site, r record, store domain.Datastore, link domain.Link) (bool, error) {
	if site.Crawl.Stopped() || r.runID != site.runID {
		return false, nil
	}
	queued, _, err := c.addPages(ctx, t, &site, store, []foundLink{{Link: link, lead: domain.MaxLead + 1}})
	return queued > 0, err
}

// queueYield queues, after the end of a job of a page, the work that follows when it has content: pages with content that
// say they are this page make way now. Its own content may have been what it kept until another page has some.
func queueYield(ctx context.Context, t *tx, page domain.Datasource) error {
	if page.GroupID == "" || page.ActiveGeneration == 0 || !page.Alive() {
		return nil
	}
	if !page.Unchanged { // else those that name it have been dealt with
		if err := queueYieldTo(ctx, t, page.GroupID, page.ID); err != nil {
			return err
		}
	}
	if page.Config.Canonical == "" {
		return nil
	}
	site, err := readRecord(ctx, t, page.GroupID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading site %s: %w", page.GroupID, err)
	}
	own := domain.ChildID(site.ID, page.Config.Canonical)
	if own == page.ID || !names(site, page.Config, own) {
		return nil
	}
	var generation int64
	err = t.queryRow(ctx, `SELECT active_generation FROM datasources WHERE id = ?`, own).Scan(&generation)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && generation == 0:
		return nil
	case err != nil:
		return fmt.Errorf("looking for the page that it says it is: %w", err)
	}
	return queueYieldTo(ctx, t, site.ID, own)
}

// queueYieldTo queues the work for pages that say they are the given one, if there are any.
func queueYieldTo(ctx context.Context, t *tx, siteID, pageID string) error {
	var one int
	err := t.queryRow(ctx, `SELECT 1 FROM datasources WHERE canonical_id = ? AND canonical_id <> '' AND id <> ? LIMIT 1`, pageID, pageID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for pages that say they are this one: %w", err)
	}
	return queueWork(ctx, t, siteTask{siteID: siteID, kind: workYield, pageID: pageID})
}

// yield leaves out pages that say they are one which has content now, if the texts are alike and that one does not say it is
// one of them.
func (w *siteWork) yield(ctx context.Context) error {
	keeper, err := readRecord(ctx, w.t, w.task.pageID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading page %s: %w", w.task.pageID, err)
	}
	if keeper.ActiveGeneration == 0 || !keeper.Alive() {
		return nil
	}
	pages, err := w.pages(ctx, `canonical_id = ? AND canonical_id <> '' AND id > ? ORDER BY id`, keeper.ID, w.after)
	if err != nil || len(pages) == 0 {
		return err
	}
	w.after = pages[len(pages)-1].ID
	at := fromMicros(w.c.stamp())
	for _, p := range pages {
		if p.ID == keeper.ID || p.GroupID != w.site.ID || !names(w.site, p.Config, keeper.ID) || names(w.site, keeper.Config, p.ID) || !alike(p.Config, keeper.Config) {
			continue
		}
		round, err := w.c.roundTrip(ctx, w.t, w.site, keeper, p.ID)
		if err != nil {
			return err
		}
		if round {
			continue
		}
		if err := w.c.makeWay(ctx, w.t, &p, keeper.ID, itSaysItIs(p.Config.Canonical), at); err != nil {
			return err
		}
		w.changed = append(w.changed, p.ID)
		if err := queueRelease(ctx, w.t, p.Datasource, workRelease); err != nil {
			return err
		}
	}
	return nil
}

// itSaysItIs is the reason of a page that is left out for the one with the address.
func itSaysItIs(address string) string { return "It says that its address is " + address + "." }
