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
	DatasourceID string   // "" sweeps the whole datastore
	Below        uint64   // rows of generations below it go; 0: none, AllGenerations: all
	Originals    []string // keys in the store of originals
	Jobs         bool     // the datasource's messages leave the job stream
}

// AllGenerations as Sweep.Below removes every row of the datasource.
const AllGenerations uint64 = math.MaxUint64

// Outcome is what follows from an event beside the changed datasource, to be stored in the same transaction.
type Outcome struct {
	Changed bool   // the datasource's row is to be written
	Next    *Job   // to be put into the outbox
	Sweep   *Sweep // to be queued
	Links   []Link // pages to become children of the site (the datasource itself or its group)
	Settled bool   // the job in flight has ended: its place in the window is free
}

// Apply changes the datasource as the event demands and says what else follows. It is the only place where a
// datasource changes its status after acceptance, but for two moves that need more than one row and so belong to the
// catalog: unsynched → pending when its job has been published, and a site → synched when no page of it is waiting.
// model is the datastore's embedding model, for the job that may follow.
//
// Events arrive at least once, possibly late and from runs that a newer job has overtaken. The rules that keep
// that harmless:
//   - content only moves forward: a generation becomes active only when it is higher than the active one;
//   - status belongs to the newest accepted job: events of other jobs never change it;
//   - a job that has ended is not reopened by a late running or progress event of its own.
func Apply(d *Datasource, model string, ev Event) Outcome {
	current := ev.JobID == d.JobID
	switch ev.Type {
	case EventRunning, EventProgress:
		return applyProgress(d, ev, current)
	case EventDiscovered:
		return applyDiscovered(d, ev, current)
	case EventFetched:
		return applyFetched(d, model, ev, current)
	case EventUnchanged:
		return applyUnchanged(d, ev, current)
	case EventSynched:
		if ev.JobKind == JobCrawl {
			return applyDiscoveryDone(d, ev, current)
		}
		return applySynched(d, ev, current)
	case EventError:
		return applyError(d, ev, current)
	}
	return Outcome{}
}

// Vanished is what follows from an event of a datasource that has been deleted: what its job has written goes.
func Vanished(ev Event) *Sweep {
	s := &Sweep{WorkspaceID: ev.WorkspaceID, DatastoreID: ev.DatastoreID, DatasourceID: ev.DatasourceID}
	switch ev.Type {
	case EventSynched, EventError:
		s.Below = AllGenerations
	case EventFetched:
		s.Originals = []string{ev.Fetched.Original.Key}
	default:
		return nil
	}
	return s
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

func applyDiscovered(d *Datasource, ev Event, current bool) Outcome {
	out := Outcome{Links: ev.Links}
	if current && d.Type == TypeWebSite && d.FollowLinks != ev.Follow {
		d.FollowLinks, out.Changed = ev.Follow, true
	}
	return out
}

func applyFetched(d *Datasource, model string, ev Event, current bool) Outcome {
	f := ev.Fetched
	if !current {
		if d.Original != nil && d.Original.Key == f.Original.Key {
			return Outcome{} // the same fetch, applied before
		}
		return Outcome{Sweep: sweepOf(d, 0, f.Original.Key)}
	}
	var out Outcome
	if old := d.Original; old != nil && old.Key != f.Original.Key {
		out.Sweep = sweepOf(d, 0, old.Key)
	}
	original := f.Original
	d.Original = &original
	if d.Name == "" || d.Name == d.Config.SourceURL {
		if f.Title != "" {
			d.Name = f.Title
		}
	}
	d.Config.ETag, d.Config.LastModified = f.ETag, f.LastModified
	d.Config.MIMEType, d.Config.FileSize, d.Config.SHA256 = original.MIMEType, original.Size, original.SHA256
	d.Status = StatusRunning
	d.Progress = Progress{Stage: "fetched"}
	d.UpdatedAt = ev.At

	next := newJob(IngestJobID(ev.JobID, ev.Generation), JobIngest, *d, model)
	next.Original = &original
	d.JobID = next.ID
	d.Runs++
	out.Changed, out.Next, out.Settled = true, &next, true
	return out
}

func applyUnchanged(d *Datasource, ev Event, current bool) Outcome {
	if !current {
		return Outcome{}
	}
	d.finish(StatusSynched, ev.At)
	at := ev.At
	d.LastSynch = &at
	return Outcome{Changed: true, Settled: true}
}

func applyDiscoveryDone(d *Datasource, ev Event, current bool) Outcome {
	if !current || d.DiscoveryDone {
		return Outcome{}
	}
	// The catalog moves the site on to synched when no page is waiting, which may be at once.
	d.DiscoveryDone = true
	d.Status = StatusRunning
	d.Progress.Stage = "crawling"
	d.Warnings = ev.Warnings
	d.UpdatedAt = ev.At
	return Outcome{Changed: true, Settled: true}
}

func applySynched(d *Datasource, ev Event, current bool) Outcome {
	var out Outcome
	switch {
	case ev.Generation > d.ActiveGeneration:
		if d.ActiveGeneration > 0 || d.Runs > 1 {
			out.Sweep = sweepOf(d, ev.Generation)
		}
		at := ev.At
		d.ActiveGeneration, d.LastSynch = ev.Generation, &at
		d.Chunks, d.TextBytes = ev.Chunks, ev.Bytes
		d.UpdatedAt = ev.At
		if ev.MIMEType != "" {
			d.Config.MIMEType = ev.MIMEType
		}
		out.Changed = true
	case ev.Generation < d.ActiveGeneration:
		out.Sweep = sweepOf(d, d.ActiveGeneration)
	}
	if current {
		d.finish(StatusSynched, ev.At)
		d.Warnings = ev.Warnings
		out.Changed, out.Settled = true, true
	}
	return out
}

func applyError(d *Datasource, ev Event, current bool) Outcome {
	if !current || d.Status == StatusSynched {
		return Outcome{}
	}
	d.finish(StatusError, ev.At)
	d.Error = ev.Error
	return Outcome{Changed: true, Settled: true}
}

func (d *Datasource) finish(s Status, at time.Time) {
	d.Status, d.Error, d.Progress, d.UpdatedAt = s, "", Progress{}, at
}

func sweepOf(d *Datasource, below uint64, originals ...string) *Sweep {
	return &Sweep{WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Below: below, Originals: originals}
}
