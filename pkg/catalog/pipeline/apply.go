package pipeline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/sites"
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
func (c *Pipeline) Apply(ctx context.Context, ev domain.Event) (Applied, error) {
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
func (c *Pipeline) ApplyAll(ctx context.Context, evs []domain.Event) ([]Applied, error) {
	var highest uint64
	for _, ev := range evs {
		if err := checkEvent(ev); err != nil {
			return nil, err
		}
		highest = max(highest, ev.Generation)
	}
	var out []Applied
	err := c.db.Update(ctx, "applying events", func(t *db.Tx) error {
		out = make([]Applied, len(evs))
		if err := lockFor(ctx, t, evs); err != nil {
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
		return c.RaiseMark(ctx, t, highest)
	})
	if err != nil {
		return nil, err
	}
	c.NoteMark(highest)
	return out, nil
}

// carries reports whether the generation is what readers see of a datasource, or will see once its datastore has moved.
func carries(d domain.Datasource, generation uint64) bool {
	return d.ActiveGeneration == generation || d.Target != nil && d.Target.Generation == generation
}

// embeddedTokens are the tokens that workers have embedded, by workspace, as the events of a transaction say.
type embeddedTokens map[string]int64

func embeddedBy(t *db.Tx) embeddedTokens {
	return db.Local(t, func() embeddedTokens { return embeddedTokens{} })
}

// countEmbedded counts the tokens that workers have embedded, as the events of the transaction say. It comes late in its transaction, as everybody of the workspace
// waits for the row.
func (c *Pipeline) countEmbedded(ctx context.Context, t *db.Tx) error {
	embedded := embeddedBy(t)
	for _, ws := range slices.Sorted(maps.Keys(embedded)) {
		if embedded[ws] <= 0 {
			continue
		}
		uses := map[domain.Metric]int64{domain.MetricEmbedTokens: embedded[ws]}
		if err := accounts.Count(ctx, t, domain.Account{WorkspaceID: ws}, accounts.MonthOf(c.db.Now()), uses); err != nil {
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
func lockFor(ctx context.Context, t *db.Tx, evs []domain.Event) error {
	stores, ids := make([]string, len(evs)), make([]string, len(evs))
	for i, ev := range evs {
		stores[i], ids[i] = ev.DatastoreID, ev.DatasourceID
	}
	if err := record.ShareDatastores(ctx, t, stores...); err != nil {
		return err
	}
	return record.LockDatasources(ctx, t, ids...)
}

func (c *Pipeline) apply(ctx context.Context, t *db.Tx, ev domain.Event) (Applied, error) {
	r, err := record.Read(ctx, t, ev.DatasourceID)
	if errors.Is(err, sql.ErrNoRows) {
		return Applied{}, vanished(ctx, t, ev)
	}
	if err != nil {
		return Applied{}, err
	}
	store, err := record.ShareDatastore(ctx, t, r.DatastoreID)
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
	if before.Location == record.InStream && (out.Settled || out.Removed) {
		t.Wake(record.TopicOutbox)
	}
	if out.Removed {
		err = sites.Gone(ctx, t, r, ev)
	} else {
		err = storeOutcome(ctx, t, &r, ev, out)
	}
	if err != nil {
		return Applied{}, err
	}
	done.Datasource = r.Datasource
	if ev.Type == domain.EventSynched && !carries(before.Datasource, ev.Generation) && carries(r.Datasource, ev.Generation) {
		embeddedBy(t)[r.WorkspaceID] += ev.EmbedTokens // once, however often the event comes
	}
	siteID := record.SiteOf(r.Datasource)
	if siteID == "" {
		return done, nil
	}
	if ev.Type == domain.EventDiscovered && r.GroupID != "" && ev.Generation >= before.Seen {
		if err := sites.KeepLinks(ctx, t, ev); err != nil {
			return Applied{}, err
		}
	}
	if ev.Type == domain.EventUnchanged && ev.JobKind == domain.JobCrawl && r.GroupID != "" && out.Changed {
		if done.NewPages, err = c.sites.FollowKept(ctx, t, r, store, ev); err != nil {
			return Applied{}, err
		}
	}
	if len(out.Links) > 0 || len(out.LeftOut) > 0 {
		if done.NewPages, err = c.sites.Discovered(ctx, t, siteID, r, store, ev, out); err != nil {
			return Applied{}, err
		}
	}
	if out.Settled && !out.Removed {
		if err := consequences(ctx, t, before, r); err != nil {
			return Applied{}, err
		}
	}
	if done.NewPages > 0 || out.Settled && (out.Removed || !sameForSite(before, r)) {
		site, err := c.sites.SettleSite(ctx, t, siteID, ev.At)
		if err != nil {
			return Applied{}, err
		}
		done.showSite(siteID, site)
	}
	return done, nil
}

// sameForSite reports whether a page stands with its site where it stood: a move takes every page along, and looking each
// time at all pages of the site would cost their number squared.
func sameForSite(before, after record.Record) bool {
	return after.GroupID != "" && before.OwnStatus().Terminal() && before.OwnStatus() == after.OwnStatus()
}

// outcome changes the record as the event demands. others are the datasources that were changed with it, and stored.
func (c *Pipeline) outcome(ctx context.Context, t *db.Tx, r *record.Record, store domain.Datastore, ev domain.Event) (out domain.Outcome, others []string, err error) {
	if ev.Type == domain.EventFetched && r.GroupID != "" && r.Takes(ev) {
		v, err := c.sites.Judge(ctx, t, *r, store, *ev.Fetched, ev.At)
		if err != nil {
			return out, nil, fmt.Errorf("looking for its duplicates: %w", err)
		}
		if v.Keeper != "" {
			return r.LeaveOutFetched(v.Reason, v.Keeper, ev), nil, nil
		}
		others = v.Yielded
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
func stoppedSince(ctx context.Context, t *db.Tx, page record.Record) (bool, error) {
	site, exists, err := record.Find(ctx, t, page.GroupID)
	if err != nil || !exists {
		return false, err
	}
	return site.Crawl.Stopped() && page.QueuedAt <= db.Micros(site.Crawl.StoppedAt), nil
}

// consequences queues the work on a site that follows from the end of a job of it or of one of its pages.
func consequences(ctx context.Context, t *db.Tx, before, after record.Record) error {
	if after.Type == domain.TypeWebSite {
		if !after.DiscoveryDone || before.DiscoveryDone {
			return nil
		}
		return sites.QueueRest(ctx, t, after)
	}
	if err := sites.Release(ctx, t, before.Datasource, after.Datasource); err != nil {
		return err
	}
	return sites.QueueYield(ctx, t, after.Datasource)
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
func storeOutcome(ctx context.Context, t *db.Tx, r *record.Record, ev domain.Event, out domain.Outcome) error {
	if out.Settled {
		// The event may have overtaken Published: the job has ended, so it must not be published again.
		err := t.Later(ctx, db.Write{
			Doing: "taking the job from the outbox",
			Text:  `DELETE FROM outbox WHERE datasource_id = ? AND job_id = ?`,
			Args:  []any{r.ID, ev.JobID},
		})
		if err != nil {
			return err
		}
		r.Location = record.Nowhere
	}
	if out.Begins {
		r.RunID, r.Capped = out.Next.ID, false
	}
	if out.Next != nil {
		r.JobKind, r.Location = out.Next.Kind, record.InOutbox
	}
	r.Seen = max(r.Seen, ev.Generation)
	if out.Changed || out.Settled {
		if err := r.Store(ctx, t, t.Stamp()); err != nil {
			return err
		}
	}
	if out.Next != nil {
		if err := enqueueNext(ctx, t, *r, out); err != nil {
			return err
		}
	}
	return record.QueueSweeps(ctx, t, out.Sweeps)
}

// enqueueNext puts the job that follows from an event into the outbox: at once and before others, for what was begun is
// to be finished; but what was put off waits, and then takes its turn.
func enqueueNext(ctx context.Context, t *db.Tx, r record.Record, out domain.Outcome) error {
	switch {
	case out.NotBefore.IsZero():
		return record.Enqueue(ctx, t, *out.Next, record.PriorityFresh)
	case r.GroupID != "":
		return record.EnqueueAt(ctx, t, *out.Next, record.PriorityPages, db.Micros(out.NotBefore))
	default:
		return record.EnqueueAt(ctx, t, *out.Next, record.PriorityFresh, db.Micros(out.NotBefore))
	}
}

// vanished queues the sweeps of what a job has written for a datasource that was deleted meanwhile.
func vanished(ctx context.Context, t *db.Tx, ev domain.Event) error {
	sweeps := domain.Vanished(ev)
	if len(sweeps) == 0 {
		return nil
	}
	_, err := record.ShareDatastore(ctx, t, ev.DatastoreID)
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
		if err := record.QueueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}
