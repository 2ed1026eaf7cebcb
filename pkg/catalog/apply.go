package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Applied is what applying an event did.
type Applied struct {
	Found      bool              // false: the datasource no longer exists
	Changed    bool              // the datasource's row, or its site's, or its site's list of pages
	Datasource domain.Datasource // as it stands after the event
	Site       *domain.Datasource
	NewPages   int // pages of the site that the event has put into the outbox
}

// Apply stores what the event means: see ApplyAll.
func (c *Catalog) Apply(ctx context.Context, ev domain.Event) (Applied, error) {
	out, err := c.ApplyAll(ctx, []domain.Event{ev})
	if err != nil {
		return Applied{}, err
	}
	return out[0], nil
}

// ApplyAll stores what events mean, in their order and in one transaction: all of them or none. domain.Apply decides
// how a datasource changes; the next job, new pages of a site, the end of a site's crawl and sweeps are stored with it.
// Applying an event again, or late, is harmless. An event of a datasource that no longer exists queues a sweep of what
// its job has written. An event that lacks what its type demands fails with domain.CodeInvalid, whatever the others are.
func (c *Catalog) ApplyAll(ctx context.Context, evs []domain.Event) ([]Applied, error) {
	var highest uint64
	for _, ev := range evs {
		if err := checkEvent(ev); err != nil {
			return nil, err
		}
		highest = max(highest, ev.Generation)
	}
	var out []Applied
	err := c.update(ctx, "applying events", func(t *tx) error {
		out = make([]Applied, len(evs))
		if err := t.lockFor(ctx, evs); err != nil {
			return err
		}
		for i, ev := range evs {
			var err error
			if out[i], err = c.apply(ctx, t, ev); err != nil {
				return fmt.Errorf("%s of datasource %s: %w", ev.Type, ev.DatasourceID, err)
			}
		}
		return c.raiseMark(ctx, t, highest)
	})
	if err != nil {
		return nil, err
	}
	c.noteMark(highest)
	return out, nil
}

// checkEvent refuses what domain.Apply could not read.
func checkEvent(ev domain.Event) error {
	switch {
	case ev.DatasourceID == "" || ev.DatastoreID == "" || ev.JobID == "":
		return domain.Invalid("event", "of type %q names no datasource, datastore or job", ev.Type)
	case ev.Type == domain.EventFetched && ev.Fetched == nil:
		return domain.Invalid("fetched", "is missing in an event of type fetched of datasource %s", ev.DatasourceID)
	case len(ev.Links) > domain.MaxLinksPerEvent:
		return domain.Invalid("links", "of an event of datasource %s are %d; at most %d are allowed",
			ev.DatasourceID, len(ev.Links), domain.MaxLinksPerEvent)
	}
	return nil
}

// lockFor takes the locks of events in the order that all transactions take them in.
func (t *tx) lockFor(ctx context.Context, evs []domain.Event) error {
	stores, ids := make([]string, len(evs)), make([]string, len(evs))
	for i, ev := range evs {
		stores[i], ids[i] = ev.DatastoreID, ev.DatasourceID
	}
	if err := t.share(ctx, stores...); err != nil {
		return err
	}
	return t.lockDatasources(ctx, ids...)
}

func (c *Catalog) apply(ctx context.Context, t *tx, ev domain.Event) (Applied, error) {
	r, err := readRecord(ctx, t, ev.DatasourceID)
	if errors.Is(err, sql.ErrNoRows) {
		return Applied{}, vanished(ctx, t, ev)
	}
	if err != nil {
		return Applied{}, err
	}
	store, err := t.datastore(ctx, r.DatastoreID)
	if errors.Is(err, sql.ErrNoRows) { // deleted; its datasources are still being removed
		return Applied{}, vanished(ctx, t, ev)
	}
	if err != nil {
		return Applied{}, fmt.Errorf("reading the datastore: %w", err)
	}
	out := domain.Apply(&r.Datasource, store, ev)
	if err := c.storeOutcome(ctx, t, &r, ev, out); err != nil {
		return Applied{}, err
	}
	done := Applied{Found: true, Changed: out.Changed, Datasource: r.Datasource}
	siteID := r.GroupID
	if r.Type == domain.TypeWebSite {
		siteID = r.ID
	}
	if siteID == "" {
		return done, nil
	}
	if len(out.Links) > 0 {
		if done.NewPages, err = c.addPages(ctx, t, siteID, store, out.Links); err != nil {
			return Applied{}, err
		}
	}
	if done.NewPages > 0 || out.Settled {
		site, err := c.settleSite(ctx, t, siteID, ev.At)
		if err != nil {
			return Applied{}, err
		}
		done.showSite(siteID, site)
	}
	return done, nil
}

// showSite adds what the event has changed of the site.
func (a *Applied) showSite(siteID string, site *domain.Datasource) {
	a.Changed = a.Changed || site != nil || a.NewPages > 0
	switch {
	case site == nil:
	case a.Datasource.ID == siteID:
		a.Datasource = *site
	default:
		a.Site = site
	}
}

// storeOutcome writes the record and what follows from the event for it alone.
func (c *Catalog) storeOutcome(ctx context.Context, t *tx, r *record, ev domain.Event, out domain.Outcome) error {
	if out.Settled {
		// The event may have overtaken Published: the job has ended, so it must not be published again.
		err := t.later(ctx, write{
			doing: "taking the job from the outbox",
			text:  `DELETE FROM outbox WHERE datasource_id = ? AND job_id = ?`,
			args:  []any{r.ID, ev.JobID},
		})
		if err != nil {
			return err
		}
		r.place = placeNowhere
	}
	if out.Next != nil {
		r.jobKind, r.place = out.Next.Kind, placeOutbox
	}
	r.seen = max(r.seen, ev.Generation)
	if out.Changed || out.Settled {
		if err := r.store(ctx, t, c.stamp()); err != nil {
			return err
		}
	}
	if out.Next != nil {
		if err := c.enqueue(ctx, t, *out.Next, PriorityFresh); err != nil {
			return err
		}
	}
	for _, s := range out.Sweeps {
		if err := queueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// vanished queues the sweeps of what a job has written for a datasource that was deleted meanwhile.
func vanished(ctx context.Context, t *tx, ev domain.Event) error {
	sweeps := domain.Vanished(ev)
	if len(sweeps) == 0 {
		return nil
	}
	_, err := t.datastore(ctx, ev.DatastoreID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		// The whole datastore has been deleted, and the job may have written it anew.
		whole := domain.Sweep{WorkspaceID: ev.WorkspaceID, DatastoreID: ev.DatastoreID, Below: domain.AllGenerations, Jobs: true}
		for _, s := range sweeps {
			whole.Originals = append(whole.Originals, s.Originals...)
		}
		sweeps = []domain.Sweep{whole}
	case err != nil:
		return fmt.Errorf("looking for the datastore: %w", err)
	}
	for _, s := range sweeps {
		if s.Below == 0 {
			s.Below = ev.Generation + 1
		}
		s.Jobs = true // its job was published after its deletion, or the stream would not have had it any more
		if err := queueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// own is the status of a page as its site sees it: that the page is taken to another place is no matter of the site's.
const own = `CASE WHEN resume_status <> '' THEN resume_status ELSE status END`

// settleSite brings the status of a site in line with its pages: synched when its discovery is done and no page waits,
// running when one waits again. It returns the site if it changed, and nil if not or if there is none.
func (c *Catalog) settleSite(ctx context.Context, t *tx, siteID string, at time.Time) (*domain.Datasource, error) {
	if siteID == "" {
		return nil, nil
	}
	site, err := readRecord(ctx, t, siteID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading site %s: %w", siteID, err)
	}
	if !site.DiscoveryDone || site.place != placeNowhere {
		return nil, nil
	}
	var waiting int
	if err := t.queryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM datasources
		WHERE group_id = ? AND group_id <> '' AND `+live+` AND resume_status = '' LIMIT 1) AS waiting`, siteID).Scan(&waiting); err != nil {
		return nil, fmt.Errorf("looking for waiting pages of site %s: %w", siteID, err)
	}
	switch {
	case waiting > 0 && site.Status.Terminal():
		site.Status, site.Error, site.Progress.Stage = domain.StatusRunning, "", "crawling"
	case waiting == 0:
		changed, err := c.settlePages(ctx, t, &site, at)
		if err != nil || !changed {
			return nil, err
		}
	default:
		return nil, nil
	}
	site.UpdatedAt = at
	if err := site.store(ctx, t, c.stamp()); err != nil {
		return nil, err
	}
	return &site.Datasource, nil
}

// settlePages lets the outcome of a site's pages decide the site's.
func (c *Catalog) settlePages(ctx context.Context, t *tx, site *record, at time.Time) (changed bool, err error) {
	var pages, failed int64
	var cause string
	err = t.queryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN `+own+` = 'error' THEN 1 ELSE 0 END), 0),
		COALESCE(MAX(CASE WHEN `+own+` = 'error' THEN error ELSE '' END), '')
		FROM datasources WHERE group_id = ? AND group_id <> ''`, site.ID).Scan(&pages, &failed, &cause)
	if err != nil {
		return false, fmt.Errorf("counting the pages of site %s: %w", site.ID, err)
	}
	changed = site.SettlePages(pages, failed, cause, at)
	capped := fmt.Sprintf("The site has more pages than its limit of %d; the rest was left out.", c.pageLimit(*site))
	if site.capped && !slices.Contains(site.Warnings, capped) {
		site.Warnings = append(site.Warnings, capped)
		changed = true
	}
	return changed, nil
}
