package domain

import (
	"cmp"
	"encoding/json"
	"strconv"
)

// NewIngestJob returns a job that reads a datasource's original into the index. The caller must set Datasource.JobID to
// the job's id.
func NewIngestJob(d Datasource, store Datastore) Job {
	return newIngestJob(NewID(), d, store)
}

func newIngestJob(id string, d Datasource, store Datastore) Job {
	j := newJob(id, JobIngest, d, store)
	j.Original = d.Original
	if d.ActiveGeneration > 0 {
		j.Previous = &Version{Place: store.Serving(), Generation: d.ActiveGeneration, Chunks: d.Chunks, Fingerprint: d.Fingerprint, TextID: d.Config.TextID}
	}
	return j
}

// NewMoveJob returns a job that copies a datasource's active content to the place its datastore is moving to.
func NewMoveJob(d Datasource, store Datastore) Job {
	j := NewIngestJob(d, store)
	j.Places, j.Move = []Place{store.Move.To}, store.Move.ID
	return j
}

// newScanJob returns the scan job that replaces a postponed ingest job, with the same Force and Move.
func newScanJob(id string, force bool, move string, d Datasource, store Datastore) Job {
	j := newIngestJob(id, d, store)
	j.Kind, j.Force = JobScan, force
	if move != "" {
		j.Places, j.Move = []Place{store.Move.To}, move
	}
	return j
}

// NewCrawlJob returns a job that fetches a page or discovers a site's pages. A page is requested conditionally only if
// readers see the last fetch's content. Otherwise, a "not modified" response would leave them with older content.
func NewCrawlJob(d Datasource, store Datastore) Job {
	j := newJob(NewID(), JobCrawl, d, store)
	j.Crawl = &CrawlSpec{URL: d.Config.SourceURL, Depth: d.Config.Depth, Access: d.Config.Access}
	switch {
	case d.Type == TypeWebSite:
		j.Crawl.Sitemap = d.Config.Sitemap
		j.Crawl.Site = d.Config.Scope(true)
	case d.ActiveGeneration > 0 && d.Status == StatusSynched:
		j.Crawl.ETag = d.Config.ETag
		j.Crawl.LastModified = d.Config.LastModified
	}
	return j
}

// NewPageJob returns the job that fetches one of a site's pages. Its id is derived from the site's job and the page, so
// a crawl that finds the page twice adds only one job. If the page's links are needed but not stored, the request is
// unconditional.
func NewPageJob(site, page Datasource, siteJobID string, store Datastore) Job {
	j := NewCrawlJob(page, store)
	j.ID = PageJobID(siteJobID, page.ID)
	j.Crawl.Site, j.Crawl.Access = site.Config.Scope(site.FollowLinks), site.Config.Access
	if site.FollowLinks && !page.Config.LinksKnown {
		j.Crawl.ETag, j.Crawl.LastModified = "", ""
	}
	return j
}

// Inputs returns a hash of everything in an ingest job that affects its rows. Jobs with equal inputs write equal rows,
// as long as the program's extraction and the place stay the same. For content stored without a checksum, it returns
// "", which matches nothing.
func (j Job) Inputs() string {
	o := j.Original
	if o == nil || o.SHA256 == "" {
		return ""
	}
	metadata, err := json.Marshal(j.Metadata)
	if err != nil {
		return ""
	}
	inputs := []string{"inputs", o.SHA256, o.MIMEType, o.Name, string(j.Type), j.Name, j.CustomID, string(metadata),
		strconv.Itoa(j.Chunking.TargetTokens), strconv.Itoa(j.Chunking.MaxTokens)}
	if j.Languages != "" { // without languages, the result is the same as in earlier versions
		inputs = append(inputs, string(j.Languages))
	}
	return DerivedID(inputs...)
}

func newJob(id string, kind JobKind, d Datasource, store Datastore) Job {
	return Job{
		ID:           id,
		Kind:         kind,
		WorkspaceID:  d.WorkspaceID,
		DatastoreID:  d.DatastoreID,
		DatasourceID: d.ID,
		Type:         d.Type,
		GroupID:      d.GroupID,
		Name:         d.jobName(),
		CustomID:     d.CustomID,
		Metadata:     d.Metadata,
		Places:       store.Places(),
		Chunking:     d.chunkingIn(store),
		Languages:    store.OCRLanguages,
		CreatedAt:    d.CreatedAt,
		ChangedAt:    d.Config.ChangedAt,
	}
}

// chunkingIn returns the datasource's own chunk sizes or, if it has none, the datastore's.
func (d *Datasource) chunkingIn(store Datastore) Chunking {
	if d.Config.Chunking != nil {
		return d.Config.Chunking.Chunking()
	}
	return store.Chunking
}

// DefaultMaxDepth is the maximum number of links from a site's root to a page. A site can override it.
const DefaultMaxDepth = 10

// Scope returns the scope of a site with this configuration. If follow is true, pages are found by following links.
func (c DatasourceConfig) Scope(follow bool) *SiteScope {
	root := cmp.Or(c.SourceURL, c.Sitemap)
	depth := cmp.Or(c.MaxDepth, DefaultMaxDepth)
	return &SiteScope{Root: root, Include: c.Include, Exclude: c.Exclude, MaxDepth: depth, Follow: follow}
}
