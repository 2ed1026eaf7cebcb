package domain

import (
	"slices"
	"time"
)

// Stages of a site or archive whose pages or files are being read.
const (
	stageCrawling     = "crawling"
	stageReadingFiles = "reading files"
)

// WaitingStage returns the stage of a site or archive that waits for its pages or files.
func (d *Datasource) WaitingStage() string {
	if d.Type == TypeArchive {
		return stageReadingFiles
	}
	return stageCrawling
}

// Maximum number of redirects stored with a page.
const maxRedirects = 10

// MaxPostponed is the longest time a job can be postponed.
const MaxPostponed = 24 * time.Hour

// applyDiscovered returns an Outcome with the event's links. A site's links must come from its newest job. A page's
// links are always accepted here; the catalog drops them unless the site's current crawl requested the page.
func applyDiscovered(d *Datasource, ev Event, current bool) Outcome {
	if !d.Type.IsGroup() {
		return Outcome{Links: ev.Links, LeftOut: ev.LeftOut}
	}
	if !current || d.Type == TypeArchive && d.DiscoveryDone {
		return Outcome{} // the audit removes the originals of members that an overtaken job has stored
	}
	if d.Type == TypeArchive {
		return Outcome{Members: ev.Members}
	}
	out := Outcome{Links: ev.Links, LeftOut: ev.LeftOut}
	if d.FollowLinks != ev.Follow {
		d.FollowLinks, out.Changed = ev.Follow, true
	}
	return out
}

func applyDiscoveryDone(d *Datasource, ev Event, current bool) Outcome {
	if !current || d.DiscoveryDone {
		return Outcome{}
	}
	// The catalog sets the site to synched once no pages are waiting, which may already be the case.
	d.DiscoveryDone = true
	d.Status = StatusRunning
	d.Error = ""
	d.Progress.Stage = d.WaitingStage()
	d.Warnings = ev.Warnings
	d.UpdatedAt = ev.At
	c := d.crawl(ev.At)
	c.addLeftOut(ev.LeftOut)
	if c.Widened && !d.FollowLinks {
		d.WarnSitemap()
	}
	switch {
	case d.FollowLinks:
		c.MissingPages = RestRefetched
	case ev.Complete:
		c.MissingPages = RestRemoved
	default:
		c.MissingPages = RestKept
	}
	return Outcome{Changed: true, Settled: true}
}

func applyFetched(d *Datasource, store Datastore, ev Event) Outcome {
	if !d.Accepts(ev) {
		return refuse(d, ev)
	}
	var out Outcome
	f := ev.Fetched
	if old := d.Original; old != nil && old.Key != f.Original.Key {
		out.sweepOriginal(d, old.Key)
	}
	original := f.Original
	if d.Original != nil && d.Original.SHA256 != original.SHA256 {
		d.Config.ChangedAt = ev.At
	}
	d.Original = &original
	if f.Title != "" && (d.Name == "" || d.Name == d.Config.SourceURL || d.Config.NamedByDocument) {
		d.Name, d.Config.NamedByDocument = f.Title, false
	}
	d.Config.MIMEType, d.Config.FileSize, d.Config.SHA256 = original.MIMEType, original.Size, original.SHA256
	d.storeFetch(f)
	d.DuplicateOf, d.Unchanged = "", false
	job := newIngestJob(IngestJobID(ev.JobID, ev.Generation), *d, store)
	if inputs := job.Inputs(); d.ActiveGeneration > 0 && inputs != "" && inputs == d.Inputs {
		d.finishUnchanged(ev.At)
		out.Changed, out.Settled = true, true
		return out
	}
	d.Status, d.Error = StatusRunning, ""
	d.Progress = Progress{Stage: "fetched"}
	d.UpdatedAt = ev.At
	out.next(d, job)
	return out
}

// Accepts reports whether the datasource is still waiting for the fetch reported by the event.
func (d *Datasource) Accepts(ev Event) bool {
	return ev.JobID == d.JobID && d.Status != StatusSynched && d.Status != StatusSkipped
}

// refuse discards a fetched page that is no longer needed.
func refuse(d *Datasource, ev Event) (out Outcome) {
	key := ev.Fetched.Original.Key
	if d.Original == nil || d.Original.Key != key { // otherwise the same fetch was already applied
		out.sweepOriginal(d, key)
	}
	return out
}

// storeFetch stores the results of a fetch in the page's configuration.
func (d *Datasource) storeFetch(f *Fetched) {
	c := &d.Config
	c.ETag, c.LastModified = f.ETag, f.LastModified
	c.SetFinalURL(f.URL)
	c.Redirects = slices.Clone(f.Redirects[:min(len(f.Redirects), maxRedirects)])
	c.Canonical, c.Rendered = f.Canonical, f.Rendered
	c.TextHash, c.Sketch, c.LinksKnown = f.TextHash, slices.Clone(f.Sketch), f.LinksKnown
}

// SetFinalURL records the address at which a fetch ended if it was redirected.
func (c *DatasourceConfig) SetFinalURL(address string) {
	c.FinalURL = ""
	if address != c.SourceURL {
		c.FinalURL = address
	}
}

func applyPostponed(d *Datasource, store Datastore, ev Event, current bool) Outcome {
	if !current || d.Status.Terminal() || d.Type == TypeWebSite && d.DiscoveryDone {
		return Outcome{}
	}
	next := newJob(PostponedJobID(ev.JobID, ev.Generation), JobCrawl, *d, store)
	next.Crawl, next.Tries, next.Since = ev.Crawl, ev.Tries, ev.Since
	if ev.Crawl != nil && d.GroupID == "" { // the headers may have changed
		spec := *ev.Crawl
		spec.Access = d.Config.Access
		next.Crawl = &spec
	}
	d.JobID = next.ID
	d.finish(StatusUnsynched, ev.At)
	if ev.Error != "" {
		d.Progress.Stage, d.Error = StageRetrying, ev.Error
	}
	until := ev.Until
	if latest := ev.At.Add(MaxPostponed); until.After(latest) {
		until = latest
	}
	return Outcome{Changed: true, Settled: true, Next: &next, NotBefore: until}
}

func applySkipped(d *Datasource, ev Event, current bool) Outcome {
	if !current || d.Status.Terminal() {
		return Outcome{}
	}
	return d.Exclude(ev.Error, "", ev.Generation, ev.At)
}

// Exclude ends a page's crawl and removes its content. reason is for users. keeper is the id of the page kept instead,
// or "". No generation up to `generation` can become active any more.
func (d *Datasource) Exclude(reason, keeper string, generation uint64, at time.Time) Outcome {
	out := Outcome{Changed: true, Settled: true}
	out.removeContent(d, generation)
	d.finish(StatusSkipped, at)
	d.Error, d.DuplicateOf = reason, keeper
	return out
}

// ExcludeFetched excludes a page whose fetch, reported by ev, showed that the page duplicates keeper. The page must
// accept ev; see Accepts.
func (d *Datasource) ExcludeFetched(reason, keeper string, ev Event) Outcome {
	out := d.Exclude(reason, keeper, ev.Generation, ev.At)
	d.storeFetch(ev.Fetched)
	d.Config.ETag, d.Config.LastModified = "", ""
	out.sweepOriginal(d, ev.Fetched.Original.Key)
	return out
}

func applyGone(d *Datasource, ev Event, current bool) Outcome {
	if !current || d.Status.Terminal() {
		return Outcome{}
	}
	if d.GroupID != "" && (d.ActiveGeneration > 0 || d.Original != nil || d.LastSynch != nil) {
		return Outcome{Changed: true, Settled: true, Removed: true}
	}
	out := Outcome{Changed: true, Settled: true}
	out.removeContent(d, ev.Generation)
	d.finish(StatusError, ev.At)
	d.Error, d.DuplicateOf = ev.Error, ""
	return out
}

func applySitemap(d *Datasource, store Datastore, ev Event, current bool) Outcome {
	if !current || d.Status.Terminal() || d.Type != TypeWebPage {
		return Outcome{}
	}
	if d.GroupID != "" {
		return d.Exclude("This is a sitemap or a feed, not a page.", "", ev.Generation, ev.At)
	}
	out := Outcome{Changed: true, Settled: true, Begins: true}
	out.removeContent(d, ev.Generation)
	d.Type, d.Config.Sitemap, d.Config.SourceURL = TypeWebSite, d.Config.SourceURL, ""
	d.Config.FinalURL, d.Config.Redirects, d.Config.Canonical, d.Config.Rendered = "", nil, "", false
	d.Config.NamedByDocument = false
	d.BeginCrawl(ev.At)
	d.finish(StatusUnsynched, ev.At)
	job := NewCrawlJob(*d, store)
	job.ID = SitemapJobID(ev.JobID, ev.Generation)
	d.JobID, out.Next = job.ID, &job
	return out
}

// removeContent removes the datasource's active content and its original. Afterwards, no generation up to `generation`
// can become active, nor can any generation that d already knows. Rows written by later jobs stay.
func (o *Outcome) removeContent(d *Datasource, generation uint64) {
	last := max(generation, d.ActiveGeneration, d.Fence)
	if d.Target != nil {
		last = max(last, d.Target.Generation)
	}
	if d.Runs > 0 || d.ActiveGeneration > 0 {
		o.sweep(d, Place{}, 0, last+1)
	}
	if d.Original != nil {
		o.sweepOriginal(d, d.Original.Key)
	}
	d.Fence, d.ActiveGeneration = last, 0
	d.Chunks, d.TextBytes, d.Fingerprint, d.Inputs = 0, 0, "", ""
	d.Original, d.Target, d.MoveID, d.Resume = nil, nil, "", nil
	d.Warnings, d.Unchanged = nil, false
	c := &d.Config
	c.MIMEType, c.FileSize, c.SHA256, c.Document = "", 0, "", nil
	c.ETag, c.LastModified, c.TextID = "", "", ""
}
