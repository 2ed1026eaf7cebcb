package domain

import (
	"math"
	"time"
)

// Sweep describes data to delete once readers no longer need it. Repeating a sweep is harmless.
type Sweep struct {
	ID           string
	WorkspaceID  string
	DatastoreID  string
	DatasourceID string   // "" means the whole datastore
	Place        Place    // zero means all of the datastore's places or, if the whole datastore is deleted, every place that exists
	From, Below  uint64   // rows with generations in [From, Below) are deleted; Below 0 means no rows; From 0 and Below AllGenerations mean all rows
	Originals    []string // keys in the original store
	Jobs         bool     // whether the datasource's messages are deleted from the job stream
	// Crawls, unless 0, deletes the datasource's crawl jobs with lower generations from the stream. These jobs were
	// withdrawn, so their results would be rejected anyway; deleting them saves requests.
	Crawls uint64
}

// AllGenerations is the value of Sweep.Below that deletes every row of the datasource.
const AllGenerations uint64 = math.MaxUint64

// Outcome holds an event's consequences other than the changes to the datasource. They must be stored in the same
// transaction as the datasource.
type Outcome struct {
	Changed bool // the datasource's row must be written
	Next    *Job // job to add to the outbox
	// NotBefore is the earliest time to publish Next. Zero means immediately.
	NotBefore time.Time
	Begins    bool           // Next starts a crawl or unpacks an archive, because a page has become a site, or a file an archive
	Removed   bool           // the datasource and its data must be removed from the datastore
	Sweeps    []Sweep        // sweeps to queue
	Links     []Link         // pages to add to the site (the datasource itself or its group)
	Members   []Original     // files to add to the archive
	LeftOut   map[string]int // addresses missing from Links, by reason
	Settled   bool           // the job in flight has ended, so another may be published
}

func (o *Outcome) sweep(d *Datasource, p Place, from, below uint64) {
	o.Sweeps = append(o.Sweeps, Sweep{WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Place: p, From: from, Below: below})
}

func (o *Outcome) sweepOriginal(d *Datasource, key string) {
	o.Sweeps = append(o.Sweeps, Sweep{WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Originals: []string{key}})
}

// Apply changes the datasource according to the event and returns the other consequences. store is the datasource's
// current datastore: no move may start or end before the outcome is stored. Once a datasource is accepted, only Apply
// changes its status, with a few exceptions where the catalog changes several rows itself. The catalog sets a
// datasource to pending when its job is published, a duplicate page to skipped, and a site to synched when no pages are
// waiting, and it stops crawls.
//
// Events may arrive late or more than once, or come from a job that a newer job has overtaken. These rules make them
// harmless:
//   - Content only moves forward: a generation becomes active only if it is higher than the active one, and only in
//     the place that serves readers or the place that the datastore is moving to. Rows written elsewhere are swept.
//   - When a job fails, the jobs it overtook fail with it: no older generation becomes active afterwards.
//   - Status belongs to the newest accepted job: events from other jobs never change it.
//   - A job that has ended is not reopened by its own late events, except for content it fetched before it was
//     abandoned.
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
		switch {
		case ev.JobKind == JobCrawl:
			return applyDiscoveryDone(d, ev, current)
		case d.Type == TypeArchive:
			return applyUnpacked(d, ev, current)
		}
		return applySynched(d, store, ev, current)
	case EventPostponed:
		if ev.JobKind == JobIngest {
			return applyScanned(d, store, ev, current)
		}
		return applyPostponed(d, store, ev, current)
	case EventSkipped:
		return applySkipped(d, ev, current)
	case EventGone:
		return applyGone(d, ev, current)
	case EventSitemap:
		return applySitemap(d, store, ev, current)
	case EventArchive:
		return applyArchive(d, store, ev, current)
	case EventError:
		return applyError(d, store, ev, current)
	}
	return Outcome{}
}

// OrphanSweeps returns sweeps for a job's results after its datasource was deleted. ev is an event from the job. Rows
// of later generations are kept, because a datasource with the same id, such as a site's page, may have been created
// since.
func OrphanSweeps(ev Event) []Sweep {
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
	case EventDiscovered:
		for _, m := range ev.Members {
			base.Originals = append(base.Originals, m.Key)
		}
		if len(base.Originals) > 0 {
			return []Sweep{base}
		}
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

// applyScanned handles an event from an ingest job that found scanned pages. A scan job takes over.
func applyScanned(d *Datasource, store Datastore, ev Event, current bool) Outcome {
	if !current || d.Status.Terminal() {
		return Outcome{}
	}
	if ev.Move != "" && (store.Move == nil || store.Move.ID != ev.Move) { // the move has ended
		d.restoreAfterMove(ev.At)
		return Outcome{Changed: true, Settled: true}
	}
	var out Outcome
	out.scan(d, store, ev)
	return out
}

// scan makes a scan job the datasource's newest job, in place of the job that the event is about.
func (o *Outcome) scan(d *Datasource, store Datastore, ev Event) {
	next := newScanJob(PostponedJobID(ev.JobID, ev.Generation), ev.Force, ev.Move, *d, store)
	d.JobID = next.ID
	d.finish(StatusUnsynched, ev.At)
	d.Progress.Stage = StageScan
	o.Changed, o.Settled, o.Next = true, true, &next
}

// next makes j the datasource's newest job after the previous one has ended.
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
	d.finishUnchanged(ev.At)
	return Outcome{Changed: true, Settled: true}
}

// finishUnchanged ends a job that found the active content to be up to date.
func (d *Datasource) finishUnchanged(at time.Time) {
	d.finish(StatusSynched, at)
	d.LastSynch = &at
	d.Unchanged, d.DuplicateOf = d.Type == TypeWebPage, ""
}

func applySynched(d *Datasource, store Datastore, ev Event, current bool) Outcome {
	var out Outcome
	serves := false // the job wrote the content that readers see
	for _, p := range ev.Places {
		switch {
		case d.isCurrentIn(store, p, ev.Generation):
			// The event was already applied, and its rows are in use. Keep them even if a later job has failed since
			// then and raised d.Fence above this generation.
			serves = serves || p == store.Serving()
		case ev.Generation <= d.Fence, !current && d.Status == StatusSkipped:
			out.sweep(d, p, ev.Generation, ev.Generation+1)
		case p == store.Serving() && ev.Generation > store.Since:
			serves = true
			out.activate(d, store, ev)
		case store.Move != nil && p == store.Move.To && ev.Generation > store.Move.Since:
			out.recordMoved(d, p, ev)
		default:
			out.sweep(d, p, 0, ev.Generation+1)
		}
	}
	switch {
	case d.Target != nil && d.Target.Generation < d.ActiveGeneration:
		// Readers now see a newer generation that the move's destination lacks, so another job must copy it there.
		d.Target, d.MoveID = nil, ""
	case d.Target == nil && serves:
		d.MoveID = "" // even if this job overtook a move job
	}
	switch {
	case !current || ev.Generation <= d.Fence:
	case ev.Move != "":
		d.restoreAfterMove(ev.At)
		out.Changed, out.Settled = true, true
	case serves && ev.Scan:
		out.scan(d, store, ev)
		d.Warnings = ev.Warnings
	case serves:
		d.finish(StatusSynched, ev.At)
		d.Warnings = ev.Warnings
		out.Changed, out.Settled = true, true
	default:
		// The datastore moved while the job was running, so the job's rows are not where readers look.
		d.finish(StatusUnsynched, ev.At)
		out.next(d, NewIngestJob(*d, store))
	}
	return out
}

// isCurrentIn reports whether a generation must be kept in place p: the active one in the place that serves readers,
// and d.Target's in the place to which the datastore is moving.
func (d *Datasource) isCurrentIn(store Datastore, p Place, generation uint64) bool {
	switch {
	case p == store.Serving():
		return generation > 0 && generation == d.ActiveGeneration
	case store.Move != nil && p == store.Move.To:
		return d.Target != nil && generation == d.Target.Generation
	default:
		return false
	}
}

// activate makes the event's generation active unless a newer one already is.
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
		if ev.Move == "" || ev.Document != nil { // a move job that copies rows does not read the document
			d.Config.Document = ev.Document
		}
		d.Config.TextID = ev.TextID
		d.nameByDocument()
		o.Changed = true
	case ev.Generation < d.ActiveGeneration:
		o.sweep(d, store.Serving(), 0, d.ActiveGeneration)
	}
}

// recordMoved records that the event's generation is in the place the datastore is moving to.
func (o *Outcome) recordMoved(d *Datasource, p Place, ev Event) {
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
		return sweepOvertaken(d, ev, current)
	}
	out := Outcome{Changed: true, Settled: true}
	d.Unchanged = false
	if d.Fence = max(d.Fence, ev.Generation); ev.Generation > 0 {
		// Sweep the rows from this run and from earlier runs that it overtook.
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
		// A failed move job changes nothing for readers, but it keeps the datastore's move from finishing. Keep Resume,
		// so that cancelling the move can restore the datasource's state.
		d.finish(StatusError, ev.At)
		d.Error = "The document could not be moved to " + store.Move.To.String() + ": " + ev.Error
	default:
		d.restoreAfterMove(ev.At)
	}
	return out
}

// sweepOvertaken sweeps a failed job's rows after a newer job has overtaken it. If the datasource is waiting for a job
// or has content, it does nothing, because a later job will sweep these rows along with all older generations.
func sweepOvertaken(d *Datasource, ev Event, current bool) (out Outcome) {
	if current || !d.Status.Terminal() || d.ActiveGeneration > 0 || d.Target != nil {
		return out
	}
	for _, p := range ev.Places {
		out.sweep(d, p, 0, ev.Generation+1)
	}
	return out
}

// restoreAfterMove restores the datasource's state from before its move job.
func (d *Datasource) restoreAfterMove(at time.Time) {
	before := Resume{Status: StatusSynched}
	if d.Resume != nil {
		before = *d.Resume
	}
	d.finish(before.Status, at)
	d.Error, d.Resume = before.Error, nil
}

func (d *Datasource) finish(s Status, at time.Time) {
	d.Status, d.Error, d.Progress, d.UpdatedAt = s, "", Progress{}, at
}
