package pipeline

import (
	"cmp"
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

// Applied is the effect of an event.
type Applied struct {
	Found      bool              // false if the datasource no longer exists
	Changed    bool              // whether the datasource's row, its site's row or its site's list of pages changed
	Datasource domain.Datasource // state after the event
	Site       *domain.Datasource
	NewPages   int      // number of the site's pages added to the outbox
	Removed    bool     // whether the event removed the datasource; Datasource is then its last state
	Others     []string // ids of other datasources in the datastore that changed
}

// Apply applies one event; see ApplyAll.
func (c *Pipeline) Apply(ctx context.Context, ev domain.Event) (Applied, error) {
	out, err := c.ApplyAll(ctx, []domain.Event{ev})
	if err != nil {
		return Applied{}, err
	}
	return out[0], nil
}

// ApplyAll applies the events in order and in one transaction, all or nothing. domain.Apply decides how a datasource
// changes. The transaction also stores the consequences, such as the next job, a site's new pages and sweeps. Applying
// an event twice or late is harmless. If the datasource no longer exists, the job's results are swept. ApplyAll fails
// with domain.CodeInvalid if an event lacks a required field.
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
			if out[i], err = c.apply(telemetry.Extract(ctx, ev.Trace), t, ev); err != nil {
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
	c.MarkStored(highest)
	return out, nil
}

// isServedGeneration reports whether the generation is active or becomes active when the datastore's move finishes.
func isServedGeneration(d domain.Datasource, generation uint64) bool {
	return d.ActiveGeneration == generation || d.Target != nil && d.Target.Generation == generation
}

// embeddedTokens maps each workspace to the number of embedded tokens that a transaction's events report.
type embeddedTokens map[string]int64

func embeddedTokensOf(t *db.Tx) embeddedTokens {
	return db.Local(t, func() embeddedTokens { return embeddedTokens{} })
}

// countEmbedded adds the embedded tokens reported in the transaction to the workspaces' counters. It runs last, because
// it locks a row that all of the workspace's transactions need.
func (c *Pipeline) countEmbedded(ctx context.Context, t *db.Tx) error {
	embedded := embeddedTokensOf(t)
	for _, ws := range slices.Sorted(maps.Keys(embedded)) {
		if embedded[ws] <= 0 {
			continue
		}
		uses := map[domain.Metric]int64{domain.MetricEmbedTokens: embedded[ws]}
		if err := accounts.Count(ctx, t, domain.Account{WorkspaceID: ws}, accounts.MonthOf(c.db.Now()), uses); err != nil {
			return fmt.Errorf("counting embedded tokens: %w", err)
		}
	}
	return nil
}

// checkEvent rejects events that domain.Apply cannot process.
func checkEvent(ev domain.Event) error {
	switch {
	case ev.DatasourceID == "" || ev.DatastoreID == "" || ev.JobID == "":
		return domain.Invalid("event", "of type %q lacks its datasource, datastore or job", ev.Type)
	case ev.Type == domain.EventFetched && ev.Fetched == nil:
		return domain.Invalid("fetched", "is missing in an event of type fetched of datasource %s", ev.DatasourceID)
	case ev.Type == domain.EventPostponed && ev.JobKind != domain.JobIngest && (ev.Crawl == nil || ev.Until.IsZero()):
		return domain.Invalid("until", "is missing in an event of type postponed of datasource %s, or the event does not say what to fetch", ev.DatasourceID)
	case len(ev.Members) > domain.MaxMembersPerEvent:
		return domain.Invalid("members", "has %[2]d entries in an event of datasource %[1]s; the limit is %[3]d",
			ev.DatasourceID, len(ev.Members), domain.MaxMembersPerEvent)
	case len(ev.Links) > domain.MaxLinksPerEvent:
		return domain.Invalid("links", "has %[2]d entries in an event of datasource %[1]s; the limit is %[3]d",
			ev.DatasourceID, len(ev.Links), domain.MaxLinksPerEvent)
	}
	return nil
}

// lockFor locks the events' datastores and datasources in the order that all transactions follow.
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
		return Applied{}, queueOrphanSweeps(ctx, t, ev)
	}
	if err != nil {
		return Applied{}, err
	}
	store, err := record.ShareDatastore(ctx, t, r.DatastoreID)
	if errors.Is(err, sql.ErrNoRows) { // the datastore was deleted, but its datasources are still being removed
		return Applied{}, queueOrphanSweeps(ctx, t, ev)
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
		err = sites.RemoveGone(ctx, t, r, ev)
	} else {
		err = storeOutcome(ctx, t, &r, ev, out)
	}
	if err != nil {
		return Applied{}, err
	}
	done.Datasource = r.Datasource
	if ev.Type == domain.EventSynched && !isServedGeneration(before.Datasource, ev.Generation) && isServedGeneration(r.Datasource, ev.Generation) {
		embeddedTokensOf(t)[r.WorkspaceID] += ev.EmbedTokens // counted once, even if the event is delivered again
	}
	siteID := record.SiteOf(r.Datasource)
	if siteID == "" {
		return done, nil
	}
	if ev.Type == domain.EventDiscovered && r.GroupID != "" && ev.Generation >= before.Seen {
		if err := sites.StoreLinks(ctx, t, ev); err != nil {
			return Applied{}, err
		}
	}
	if ev.Type == domain.EventUnchanged && ev.JobKind == domain.JobCrawl && r.GroupID != "" && out.Changed {
		if done.NewPages, err = c.sites.FollowStored(ctx, t, r, store, ev); err != nil {
			return Applied{}, err
		}
	}
	if len(out.Members) > 0 {
		if done.NewPages, err = sites.AddMembers(ctx, t, r, store, out.Members, ev.Force); err != nil {
			return Applied{}, err
		}
	}
	if len(out.Links) > 0 || len(out.LeftOut) > 0 {
		if done.NewPages, err = c.sites.Discovered(ctx, t, siteID, r, store, ev, out); err != nil {
			return Applied{}, err
		}
	}
	if out.Settled && !out.Removed {
		if err := queueSiteWork(ctx, t, before, r); err != nil {
			return Applied{}, err
		}
	}
	if done.NewPages > 0 || out.Settled && (out.Removed || !isSameForSite(before, r)) {
		site, err := c.sites.SettleSite(ctx, t, siteID, ev.At)
		if err != nil {
			return Applied{}, err
		}
		done.showSite(siteID, site)
	}
	return done, nil
}

// isSameForSite reports whether a changed page keeps its status. If so, the change can't affect the page's site, and
// the site doesn't have to be checked. During a move, every page changes, so checking the whole site each time would
// take quadratic time.
func isSameForSite(before, after record.Record) bool {
	return after.GroupID != "" && before.OwnStatus().Terminal() && before.OwnStatus() == after.OwnStatus()
}

// outcome applies the event to the record without storing the record. others are the ids of pages that were skipped in
// favour of the record's page; these changes are already stored.
func (c *Pipeline) outcome(ctx context.Context, t *db.Tx, r *record.Record, store domain.Datastore, ev domain.Event) (out domain.Outcome, others []string, err error) {
	if ev.Type == domain.EventFetched && r.GroupID != "" && r.Accepts(ev) {
		v, err := c.sites.Judge(ctx, t, *r, store, *ev.Fetched, ev.At)
		if err != nil {
			return out, nil, fmt.Errorf("looking for its duplicates: %w", err)
		}
		if v.Keeper != "" {
			return r.ExcludeFetched(v.Reason, v.Keeper, ev), nil, nil
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
			r.RestorePage(ev.At)
			out.Next, out.NotBefore = nil, time.Time{}
		}
	}
	return out, others, nil
}

// stoppedSince reports whether the site's crawl was stopped after requesting this page.
func stoppedSince(ctx context.Context, t *db.Tx, page record.Record) (bool, error) {
	site, exists, err := record.Find(ctx, t, page.GroupID)
	if err != nil || !exists {
		return false, err
	}
	return site.Crawl.Stopped() && page.QueuedAt <= db.Micros(site.Crawl.StoppedAt), nil
}

// queueSiteWork queues the work on a site's pages that becomes necessary when a job for the site or a page finishes.
func queueSiteWork(ctx context.Context, t *db.Tx, before, after record.Record) error {
	if after.Type.IsGroup() {
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

// showSite adds the site to the result. site is nil if it has not changed.
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

// storeOutcome stores the record and the event's effects, except those on other datasources.
func storeOutcome(ctx context.Context, t *db.Tx, r *record.Record, ev domain.Event, out domain.Outcome) error {
	if out.Settled {
		// If the event arrives before Published is called, the job is still in the outbox but must not be published
		// again.
		err := t.Queue(ctx, db.Write{
			Action: "taking the job from the outbox",
			Text:   `DELETE FROM outbox WHERE datasource_id = ? AND job_id = ?`,
			Args:   []any{r.ID, ev.JobID},
		})
		if err != nil {
			return err
		}
		r.Location = record.NoJob
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

// enqueueNext adds the next job to the outbox. Scan jobs have their own priority. Other jobs usually get the highest
// priority, so that work in progress is finished first. A postponed job is published only when it is due, and gets
// PriorityPages if it fetches a site's page.
func enqueueNext(ctx context.Context, t *db.Tx, r record.Record, out domain.Outcome) error {
	switch {
	case out.Next.Kind == domain.JobScan:
		return record.Enqueue(ctx, t, *out.Next, record.PriorityScans)
	case out.NotBefore.IsZero():
		return record.Enqueue(ctx, t, *out.Next, record.PriorityFresh)
	case r.GroupID != "":
		return record.EnqueueAt(ctx, t, *out.Next, record.PriorityPages, db.Micros(out.NotBefore))
	default:
		return record.EnqueueAt(ctx, t, *out.Next, record.PriorityFresh, db.Micros(out.NotBefore))
	}
}

// queueOrphanSweeps queues sweeps for the results of a job whose datasource has been deleted.
func queueOrphanSweeps(ctx context.Context, t *db.Tx, ev domain.Event) error {
	sweeps := domain.OrphanSweeps(ev)
	if len(sweeps) == 0 {
		return nil
	}
	_, err := record.ShareDatastore(ctx, t, ev.DatastoreID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		// The datastore is gone, but the job may have recreated it in the index. So sweep the whole datastore.
		whole := domain.Sweep{WorkspaceID: ev.WorkspaceID, DatastoreID: ev.DatastoreID, Below: domain.AllGenerations, Jobs: true}
		for _, s := range sweeps {
			whole.Originals = append(whole.Originals, s.Originals...)
		}
		sweeps = []domain.Sweep{whole}
	case err != nil:
		return fmt.Errorf("looking for the datastore: %w", err)
	}
	for _, s := range sweeps {
		s.Below = cmp.Or(s.Below, ev.Generation+1)
		s.Jobs = true // the job was published after the deletion; otherwise, the stream would not contain it
		if err := record.QueueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}
