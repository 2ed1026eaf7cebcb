package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Applied is what applying an event did.
type Applied struct {
	Found      bool              // false: the datasource no longer exists
	Changed    bool              // the datasource's row, or its site's, or its site's list of pages
	Datasource domain.Datasource // as it stands after the event
	Site       *domain.Datasource
	NewPages   int      // pages of the site that the event has put into the outbox
	Removed    bool     // the datasource has left the datastore with the event; Datasource is as it was
	Others     []string // ids of other datasources of the datastore that the event has changed
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
			if out[i], err = c.apply(telemetry.Within(ctx, ev.Trace), t, ev); err != nil {
				return fmt.Errorf("%s of datasource %s: %w", ev.Type, ev.DatasourceID, err)
			}
		}
		if err := c.countEmbedded(ctx, t); err != nil {
			return err
		}
		return c.raiseMark(ctx, t, highest)
	})
	if err != nil {
		return nil, err
	}
	c.noteMark(highest)
	return out, nil
}

// carries reports whether the generation is what readers see of a datasource, or will see once its datastore has moved.
func carries(d domain.Datasource, generation uint64) bool {
	return d.ActiveGeneration == generation || d.Target != nil && d.Target.Generation == generation
}

// countEmbedded counts the tokens that workers have embedded, as the events of the transaction say. It comes late in its transaction, as everybody of the workspace
// waits for the row.
func (c *Catalog) countEmbedded(ctx context.Context, t *tx) error {
	for _, ws := range slices.Sorted(maps.Keys(t.embedded)) {
		if t.embedded[ws] <= 0 {
			continue
		}
		uses := map[domain.Metric]int64{domain.MetricEmbedTokens: t.embedded[ws]}
		if err := t.count(ctx, domain.Account{WorkspaceID: ws}, monthOf(c.now()), uses); err != nil {
			return fmt.Errorf("counting what was embedded: %w", err)
		}
	}
	return nil
}

// checkEvent refuses what domain.Apply could not read.
func checkEvent(ev domain.Event) error {
	switch {
	case ev.DatasourceID == "" || ev.DatastoreID == "" || ev.JobID == "":
		return domain.Invalid("event", "of type %q names no datasource, datastore or job", ev.Type)
	case ev.Type == domain.EventFetched && ev.Fetched == nil:
		return domain.Invalid("fetched", "is missing in an event of type fetched of datasource %s", ev.DatasourceID)
	case ev.Type == domain.EventPostponed && (ev.Crawl == nil || ev.Until.IsZero()):
		return domain.Invalid("until", "or what to fetch is missing in an event of type postponed of datasource %s", ev.DatasourceID)
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
	before := r
	out, others, err := c.outcome(ctx, t, &r, store, ev)
	if err != nil {
		return Applied{}, err
	}
	done := Applied{Found: true, Changed: out.Changed, Removed: out.Removed, Others: others}
	if before.place == placeStream && (out.Settled || out.Removed) {
		t.freedPlace = true
	}
	if out.Removed {
		err = c.gone(ctx, t, r, ev)
	} else {
		err = c.storeOutcome(ctx, t, &r, ev, out)
	}
	if err != nil {
		return Applied{}, err
	}
	done.Datasource = r.Datasource
	if ev.Type == domain.EventSynched && !carries(before.Datasource, ev.Generation) && carries(r.Datasource, ev.Generation) {
		t.embedded[r.WorkspaceID] += ev.EmbedTokens // once, however often the event comes
	}
	siteID := siteOf(r.Datasource)
	if siteID == "" {
		return done, nil
	}
	if ev.Type == domain.EventDiscovered && r.GroupID != "" && ev.Generation >= before.seen {
		if err := t.keepLinks(ctx, ev); err != nil {
			return Applied{}, err
		}
	}
	if ev.Type == domain.EventUnchanged && ev.JobKind == domain.JobCrawl && r.GroupID != "" && out.Changed {
		if done.NewPages, err = c.followKept(ctx, t, r, store, ev); err != nil {
			return Applied{}, err
		}
	}
	if len(out.Links) > 0 || len(out.LeftOut) > 0 {
		if done.NewPages, err = c.discovered(ctx, t, siteID, r, store, ev, out); err != nil {
			return Applied{}, err
		}
	}
	if out.Settled && !out.Removed {
		if err := c.consequences(ctx, t, before, r); err != nil {
			return Applied{}, err
		}
	}
	if done.NewPages > 0 || out.Settled && (out.Removed || !sameForSite(before, r)) {
		site, err := c.settleSite(ctx, t, siteID, ev.At)
		if err != nil {
			return Applied{}, err
		}
		done.showSite(siteID, site)
	}
	return done, nil
}

// sameForSite reports whether a page stands with its site where it stood: a move takes every page along, and looking each
// time at all pages of the site would cost their number squared.
func sameForSite(before, after record) bool {
	return after.GroupID != "" && before.own().Terminal() && before.own() == after.own()
}

// siteOf is the site that the datasource is, or is a page of; "" for none.
func siteOf(d domain.Datasource) string {
	if d.Type == domain.TypeWebSite {
		return d.ID
	}
	return d.GroupID
}

// outcome changes the record as the event demands. others are the datasources that were changed with it, and stored.
func (c *Catalog) outcome(ctx context.Context, t *tx, r *record, store domain.Datastore, ev domain.Event) (out domain.Outcome, others []string, err error) {
	if ev.Type == domain.EventFetched && r.GroupID != "" && r.Takes(ev) {
		v, err := c.judge(ctx, t, *r, store, *ev.Fetched, ev.At)
		if err != nil {
			return out, nil, fmt.Errorf("looking for its duplicates: %w", err)
		}
		if v.keeper != "" {
			return r.LeaveOutFetched(v.reason, v.keeper, ev), nil, nil
		}
		others = v.yielded
	}
	out = domain.Apply(&r.Datasource, store, ev)
	if !out.NotBefore.IsZero() && r.GroupID != "" {
		stopped, err := stoppedSince(ctx, t, *r)
		if err != nil {
			return out, nil, err
		}
		if stopped {
			r.PageStopped(ev.At)
			out.Next, out.NotBefore = nil, time.Time{}
		}
	}
	return out, others, nil
}

// stoppedSince reports whether the crawl of a page's site has been stopped since the page was asked for.
func stoppedSince(ctx context.Context, t *tx, page record) (bool, error) {
	site, err := readRecord(ctx, t, page.GroupID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading site %s: %w", page.GroupID, err)
	}
	return site.Crawl.Stopped() && page.queued <= micros(site.Crawl.StoppedAt), nil
}

// consequences queues the work on a site that follows from the end of a job of it or of one of its pages.
func (c *Catalog) consequences(ctx context.Context, t *tx, before, after record) error {
	if after.Type == domain.TypeWebSite {
		if !after.DiscoveryDone || before.DiscoveryDone {
			return nil
		}
		return queueRest(ctx, t, after)
	}
	if err := c.release(ctx, t, before.Datasource, after.Datasource); err != nil {
		return err
	}
	return queueYield(ctx, t, after.Datasource)
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
	if out.Begins {
		r.runID, r.capped = out.Next.ID, false
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
		if err := c.enqueueNext(ctx, t, *r, out); err != nil {
			return err
		}
	}
	return queueSweeps(ctx, t, out.Sweeps)
}

// enqueueNext puts the job that follows from an event into the outbox: at once and before others, for what was begun is
// to be finished; but what was put off waits, and then takes its turn.
func (c *Catalog) enqueueNext(ctx context.Context, t *tx, r record, out domain.Outcome) error {
	switch {
	case out.NotBefore.IsZero():
		return c.enqueue(ctx, t, *out.Next, PriorityFresh)
	case r.GroupID != "":
		return c.enqueueAt(ctx, t, *out.Next, PriorityPages, micros(out.NotBefore))
	default:
		return c.enqueueAt(ctx, t, *out.Next, PriorityFresh, micros(out.NotBefore))
	}
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
