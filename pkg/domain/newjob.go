package domain

import (
	"encoding/json"
	"strconv"
)

// NewIngestJob is the job that reads a datasource's original into the index. The caller sets Datasource.JobID to its id.
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

// NewMoveJob is the job that takes what readers see of a datasource to the place that its datastore moves to.
func NewMoveJob(d Datasource, store Datastore) Job {
	j := NewIngestJob(d, store)
	j.Places, j.Move = []Place{store.Move.To}, store.Move.ID
	return j
}

// NewCrawlJob is the job that fetches a page or discovers a site. A page whose last fetch is what readers see is asked
// for conditionally. While that fetch has not been indexed, or could not be, "not modified" would leave readers with what
// was there before it, so the page is then fetched whole.
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

// NewPageJob is the crawl job of a site's page. Its id follows from the site's job and the page, so that discovering
// the page again in the same run asks for nothing new. A page whose links are needed and not stored is fetched
// unconditionally.
func NewPageJob(site, page Datasource, siteJobID string, store Datastore) Job {
	j := NewCrawlJob(page, store)
	j.ID = PageJobID(siteJobID, page.ID)
	j.Crawl.Site, j.Crawl.Access = site.Config.Scope(site.FollowLinks), site.Config.Access
	if site.FollowLinks && !page.Config.LinksKnown {
		j.Crawl.ETag, j.Crawl.LastModified = "", ""
	}
	return j
}

// Inputs tells ingest jobs apart by everything that the rows they write follow from, as far as the job says it: equal
// inputs make equal rows, as long as the program's way of reading and the place stay the same. It is "", which tells
// nothing, for a job whose content was stored without a checksum.
func (j Job) Inputs() string {
	o := j.Original
	if o == nil || o.SHA256 == "" {
		return ""
	}
	metadata, err := json.Marshal(j.Metadata)
	if err != nil {
		return ""
	}
	return DerivedID("inputs", o.SHA256, o.MIMEType, o.Name, string(j.Type), j.Name, j.CustomID, string(metadata),
		strconv.Itoa(j.Chunking.TargetTokens), strconv.Itoa(j.Chunking.MaxTokens))
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
		Chunking:     store.Chunking,
	}
}

// DefaultMaxDepth is how many links away from a site's root discovery goes when the site does not say.
const DefaultMaxDepth = 10

// Scope is what the site's configuration allows discovery to take.
func (c DatasourceConfig) Scope(follow bool) *SiteScope {
	root := c.SourceURL
	if root == "" {
		root = c.Sitemap
	}
	depth := c.MaxDepth
	if depth == 0 {
		depth = DefaultMaxDepth
	}
	return &SiteScope{Root: root, Include: c.Include, Exclude: c.Exclude, MaxDepth: depth, Follow: follow}
}
