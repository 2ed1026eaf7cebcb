package domain

import (
	"math"
	"time"
)

// Sweep is what is to be removed once readers no longer need it. Removing again what is gone is no error.
type Sweep struct {
	ID           string
	WorkspaceID  string
	DatastoreID  string
	DatasourceID string   // "" sweeps all of the datastore's
	Place        Place    // the zero place: every place of the datastore; with no datasource and AllGenerations, every place there is
	From, Below  uint64   // rows of generations From ≤ g < Below go; Below 0: none; 0 and AllGenerations: all
	Originals    []string // keys in the store of originals
	Jobs         bool     // the datasource's messages leave the job stream
	// Crawls has crawl jobs of the datasource of generations below it leave the job stream, and nothing else; 0: none. They
	// have been withdrawn: what they fetch is refused, so each that goes in time saves a request.
	Crawls uint64
}

// AllGenerations as Sweep.Below removes every row of the datasource.
const AllGenerations uint64 = math.MaxUint64

// Outcome is what follows from an event beside the changed datasource, to be stored in the same transaction.
type Outcome struct {
	Changed bool // the datasource's row is to be written
	Next    *Job // to be put into the outbox
	// NotBefore is when Next may go; zero: at once.
	NotBefore time.Time
	Begins    bool           // Next begins a crawl: what was a page has become a site
	Removed   bool           // the datasource is to leave the datastore, and all that belongs to it
	Sweeps    []Sweep        // to be queued
	Links     []Link         // pages to become children of the site (the datasource itself or its group)
	LeftOut   map[string]int // addresses that are not among Links, by reason
	Settled   bool           // the job in flight has ended: its place in the window is free
}

func (o *Outcome) sweep(d *Datasource, p Place, from, below uint64) {
	o.Sweeps = append(o.Sweeps, Sweep{WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Place: p, From: from, Below: below})
}

func (o *Outcome) sweepOriginal(d *Datasource, key string) {
	o.Sweeps = append(o.Sweeps, Sweep{WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Originals: []string{key}})
}

// Apply changes the datasource as the event demands and says what else follows. It is the only place where a
// datasource changes its status after acceptance, but for what needs more than one row and so belongs to the catalog:
// unsynched → pending when its job has been published, a page → skipped that repeats another, a site → synched when no page
// of it is waiting, and what is stopped with a crawl.
// store is the datasource's datastore as it is at this moment: no move may begin or end before the outcome is stored.
//
// Events arrive at least once, possibly late and from runs that a newer job has overtaken. The rules that keep
// that harmless:
//   - content only moves forward: a generation becomes active only when it is higher than the active one, and only in
//     the place that serves readers, or that the datastore moves to; rows written elsewhere are swept;
//   - a job that has failed takes what it overtook with it: no older generation becomes active after it;
//   - status belongs to the newest accepted job: events of other jobs never change it;
//   - a job that has ended is not reopened by a late event of its own, but for content that it fetched before it was
//     given up.
func Apply(d *Datasource, store Datastore, ev Event) Outcome {
	current := ev.JobID == d.JobID
	switch ev.Type {
	case EventRunning, EventProgress:
		return applyProgress(d, ev, current)
	case EventDiscovered:
		return applyDiscovered(d, ev, current)
	case EventFetched:
		return applyFetched(d, store, ev)
	case EventUnchanged:
		return applyUnchanged(d, ev, current)
	case EventSynched:
		if ev.JobKind == JobCrawl {
			return applyDiscoveryDone(d, ev, current)
		}
		return applySynched(d, store, ev, current)
	case EventPostponed:
		return applyPostponed(d, store, ev, current)
	case EventSkipped:
		return applySkipped(d, ev, current)
	case EventGone:
		return applyGone(d, ev, current)
	case EventSitemap:
		return applySitemap(d, store, ev, current)
	case EventError:
		return applyError(d, store, ev, current)
	}
	return Outcome{}
}

// Vanished is what follows from an event of a datasource that has been deleted: what its job has written goes. It may
// have come back under the same id since, as a page of a site does, so later generations stay.
func Vanished(ev Event) []Sweep {
	base := Sweep{WorkspaceID: ev.WorkspaceID, DatastoreID: ev.DatastoreID, DatasourceID: ev.DatasourceID}
	switch ev.Type {
	case EventSynched, EventError:
		sweeps := make([]Sweep, len(ev.Places))
		for i, p := range ev.Places {
			sweeps[i] = base
			sweeps[i].Place, sweeps[i].Below = p, ev.Generation+1
		}
		return sweeps
	case EventFetched:
		base.Originals = []string{ev.Fetched.Original.Key}
		return []Sweep{base}
	}
	return nil
}

func applyProgress(d *Datasource, ev Event, current bool) Outcome {
	if !current || d.Status.Terminal() {
		return Outcome{}
	}
	d.Status, d.Error = StatusRunning, ev.Error
	if ev.Progress != nil {
		d.Progress = *ev.Progress
	}
	d.UpdatedAt = ev.At
	return Outcome{Changed: true}
}

// next makes the job the datasource's newest: the one before has ended.
func (o *Outcome) next(d *Datasource, j Job) {
	d.JobID = j.ID
	d.Runs++
	o.Changed, o.Settled, o.Next = true, true, &j
}

func applyUnchanged(d *Datasource, ev Event, current bool) Outcome {
	if !current || d.Status == StatusSkipped {
		return Outcome{}
	}
	if ev.Inputs != "" && d.ActiveGeneration > 0 {
		d.Inputs = ev.Inputs
	}
	if ev.Fingerprint != "" && d.ActiveGeneration > 0 {
		d.Fingerprint = ev.Fingerprint
	}
	d.same(ev.At)
	return Outcome{Changed: true, Settled: true}
}

// same ends a job that found what readers see as it should be.
func (d *Datasource) same(at time.Time) {
	d.finish(StatusSynched, at)
	d.LastSynch = &at
	d.Unchanged, d.DuplicateOf = d.Type == TypeWebPage, ""
}

func applySynched(d *Datasource, store Datastore, ev Event, current bool) Outcome {
	var out Outcome
	serves := false // the job has written what readers may see
	for _, p := range ev.Places {
		switch {
		case d.holds(store, p, ev.Generation):
			// The event comes again, perhaps after a job that has failed since.
			serves = serves || p == store.Serving()
		case ev.Generation <= d.Fence, !current && d.Status == StatusSkipped:
			out.sweep(d, p, ev.Generation, ev.Generation+1)
		case p == store.Serving() && ev.Generation > store.Since:
			serves = true
			out.activate(d, store, ev)
		case store.Move != nil && p == store.Move.To && ev.Generation > store.Move.Since:
			out.reach(d, p, ev)
		default:
			out.sweep(d, p, 0, ev.Generation+1)
		}
	}
	switch {
	case d.Target != nil && d.Target.Generation < d.ActiveGeneration:
		// Readers see something newer now, which has not been written there: the move is to ask for it again.
		d.Target, d.MoveID = nil, ""
	case d.Target == nil && serves:
		d.MoveID = "" // likewise, also when a move job that this one overtook has been asked for
	}
	switch {
	case !current || ev.Generation <= d.Fence:
	case ev.Move != "":
		d.resume(ev.At)
		out.Changed, out.Settled = true, true
	case serves:
		d.finish(StatusSynched, ev.At)
		d.Warnings = ev.Warnings
		out.Changed, out.Settled = true, true
	default:
		// The datastore has moved away while the job ran, and what it wrote is not where readers look.
		d.finish(StatusUnsynched, ev.At)
		out.next(d, NewIngestJob(*d, store))
	}
	return out
}

// holds reports whether the generation is the one that counts in the place.
func (d *Datasource) holds(store Datastore, p Place, generation uint64) bool {
	switch {
	case p == store.Serving():
		return generation > 0 && generation == d.ActiveGeneration
	case store.Move != nil && p == store.Move.To:
		return d.Target != nil && generation == d.Target.Generation
	default:
		return false
	}
}

// activate makes the event's generation the one that readers see, unless they see a newer one.
func (o *Outcome) activate(d *Datasource, store Datastore, ev Event) {
	switch {
	case ev.Generation > d.ActiveGeneration:
		if d.ActiveGeneration > 0 || d.Runs > 1 {
			o.sweep(d, store.Serving(), 0, ev.Generation)
		}
		at := ev.At
		if ev.Move == "" {
			d.LastSynch = &at
		}
		d.ActiveGeneration = ev.Generation
		d.Chunks, d.TextBytes, d.Fingerprint, d.Inputs = ev.Chunks, ev.Bytes, ev.Fingerprint, ev.Inputs
		d.UpdatedAt = ev.At
		if ev.MIMEType != "" {
			d.Config.MIMEType = ev.MIMEType
		}
		d.Config.Document, d.Config.TextID = ev.Document, ev.TextID
		d.nameByDocument()
		o.Changed = true
	case ev.Generation < d.ActiveGeneration:
		o.sweep(d, store.Serving(), 0, d.ActiveGeneration)
	}
}

// reach notes that the event's generation is in the place that the datastore moves to.
func (o *Outcome) reach(d *Datasource, p Place, ev Event) {
	switch {
	case d.Target == nil || ev.Generation > d.Target.Generation:
		if d.Target != nil || d.Runs > 1 {
			o.sweep(d, p, 0, ev.Generation)
		}
		d.Target = &Target{Generation: ev.Generation, Chunks: ev.Chunks, TextBytes: ev.Bytes, Fingerprint: ev.Fingerprint, Inputs: ev.Inputs}
		o.Changed = true
	case ev.Generation < d.Target.Generation:
		o.sweep(d, p, 0, d.Target.Generation)
	}
}

func applyError(d *Datasource, store Datastore, ev Event, current bool) Outcome {
	if !current || d.Status == StatusSynched || d.Status == StatusSkipped {
		return unseen(d, ev, current)
	}
	out := Outcome{Changed: true, Settled: true}
	d.Unchanged = false
	if d.Fence = max(d.Fence, ev.Generation); ev.Generation > 0 {
		// What it has written, and what runs before it have that it overtook.
		for _, p := range ev.Places {
			from := d.ActiveGeneration + 1
			if store.Move != nil && p == store.Move.To {
				from = 0
				if d.Target != nil {
					from = d.Target.Generation + 1
				}
			}
			if from <= ev.Generation {
				out.sweep(d, p, from, ev.Generation+1)
			}
		}
	}
	switch {
	case ev.Move == "":
		d.finish(StatusError, ev.At)
		d.Error, d.DuplicateOf = ev.Error, ""
		if ev.Progress != nil {
			d.Progress.Stage = ev.Progress.Stage
		}
	case store.Move != nil && store.Move.ID == ev.Move:
		// Readers lose nothing, but the move cannot end without it. Resume stays: cancelling the move heals it.
		d.finish(StatusError, ev.At)
		d.Error = "It cannot be moved to " + store.Move.To.String() + ": " + ev.Error
	default:
		d.resume(ev.At)
	}
	return out
}

// unseen sweeps what a job that was overtaken has written before it failed, where no newer job will do so: of a datasource
// that waits for nothing, and of which there is nothing to be kept.
func unseen(d *Datasource, ev Event, current bool) (out Outcome) {
	if current || !d.Status.Terminal() || d.ActiveGeneration > 0 || d.Target != nil {
		return out
	}
	for _, p := range ev.Places {
		out.sweep(d, p, 0, ev.Generation+1)
	}
	return out
}

// resume puts the datasource back to where it was before its move job.
func (d *Datasource) resume(at time.Time) {
	before := Resume{Status: StatusSynched}
	if d.Resume != nil {
		before = *d.Resume
	}
	d.finish(before.Status, at)
	d.Error, d.Resume = before.Error, nil
}

// EndMove puts a datasource that a move could not take along back to where it was before, when the move is given up. It
// reports whether anything changed.
func (d *Datasource) EndMove(at time.Time) bool {
	if d.Resume == nil || !d.Status.Terminal() {
		return false // a job that is still under way does it when it ends
	}
	d.resume(at)
	return true
}

func (d *Datasource) finish(s Status, at time.Time) {
	d.Status, d.Error, d.Progress, d.UpdatedAt = s, "", Progress{}, at
}
