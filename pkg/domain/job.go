package domain

import "time"

// JobKind says which worker a job is for.
type JobKind string

// The kinds of job.
const (
	JobCrawl  JobKind = "crawl"  // fetch a page or discover a site
	JobIngest JobKind = "ingest" // extract, chunk, embed, index
)

// Job is one unit of work. It carries references, never content. What a job makes is derived from the job and
// its generation, so doing it twice changes nothing.
type Job struct {
	ID           string         `json:"id"`
	Kind         JobKind        `json:"kind"`
	WorkspaceID  string         `json:"workspace_id"`
	DatastoreID  string         `json:"datastore_id"`
	DatasourceID string         `json:"datasource_id"`
	Type         DatasourceType `json:"type"`
	GroupID      string         `json:"group_id,omitempty"` // the web_site that a page belongs to
	Name         string         `json:"name"`
	CustomID     string         `json:"custom_id,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
	Places       []Place        `json:"places"`             // where the rows go, the place that serves readers first; a crawl job's are those of its datastore
	Move         string         `json:"move,omitempty"`     // ingest: the move of which the job is a part; it then takes what readers have to the new place alone
	Previous     *Version       `json:"previous,omitempty"` // ingest: what readers see now; vectors of unchanged text are copied from it
	Force        bool           `json:"force,omitempty"`    // ingest: write anew even what has not changed
	Chunking     Chunking       `json:"chunking,omitzero"`  // how the document is cut
	Original     *Original      `json:"original,omitempty"` // ingest: what to read
	Crawl        *CrawlSpec     `json:"crawl,omitempty"`    // crawl: what to fetch
	Tries        int            `json:"tries,omitempty"`    // crawl: fetches of this content that failed before this job and were put off
	Since        time.Time      `json:"since,omitzero"`     // crawl: when the first of them failed

	Trace string `json:"trace,omitempty"` // in which the job was asked for, as W3C Trace Context writes it; "" when nobody follows it

	// Generation is the sequence of the job's message in the stream: it only grows, and so fences off older runs.
	Generation uint64 `json:"-"`
	// Delivery counts how often this message has been handed to a worker, from 1.
	Delivery int `json:"-"`
}

// Version is a generation of a datasource that is whole.
type Version struct {
	Place       Place  `json:"place"`
	Generation  uint64 `json:"generation"`
	Chunks      int64  `json:"chunks"`
	Fingerprint string `json:"fingerprint,omitempty"` // of everything that its rows follow from: equal fingerprints, equal rows
	TextID      string `json:"text_id,omitempty"`     // of a page: see Event.TextID
}

// CrawlSpec is what a crawl job fetches.
type CrawlSpec struct {
	URL     string `json:"url,omitempty"`     // web_page: the page; web_site: the root
	Sitemap string `json:"sitemap,omitempty"` // web_site
	// Site is set on a page that belongs to a site whose links are followed: what is in scope.
	Site         *SiteScope `json:"site,omitempty"`
	Depth        int        `json:"depth,omitempty"` // links from the site's root
	ETag         string     `json:"etag,omitempty"`
	LastModified string     `json:"last_modified,omitempty"`
	// Access is that of the page or, for a page of a site, that of the site; nil: none.
	Access *SiteAccess `json:"access,omitempty"`
}

// SiteScope bounds the discovery of a site by links.
type SiteScope struct {
	Root     string   `json:"root"` // only its scheme-independent host and path prefix are in scope
	Include  []string `json:"include,omitempty"`
	Exclude  []string `json:"exclude,omitempty"`
	MaxDepth int      `json:"max_depth"` // links are not followed beyond it
	Follow   bool     `json:"follow"`    // false: the pages came from a sitemap, their links are not followed
}

// EventType says what a worker reports.
type EventType string

// The types of event.
const (
	EventRunning    EventType = "running"    // a worker has taken the job
	EventProgress   EventType = "progress"   // Stage, Done, Total
	EventFetched    EventType = "fetched"    // crawl: the page lies in originals, an ingest job is due
	EventDiscovered EventType = "discovered" // crawl: Links are pages of the site
	EventPostponed  EventType = "postponed"  // crawl: not now; the job is to come again at Until, and leaves the stream till then
	EventSkipped    EventType = "skipped"    // crawl: the page is not to be indexed; Error says why
	EventGone       EventType = "gone"       // crawl: the page does not exist (404, 410); Error says so
	EventSitemap    EventType = "sitemap"    // crawl: what was added as a page is a list of pages: it becomes a site
	EventSynched    EventType = "synched"    // ingest: all chunks of the generation are written; crawl of a site: discovery is complete
	EventUnchanged  EventType = "unchanged"  // crawl: the page has not changed since the last fetch; ingest: the rows that are there are what the job would write
	EventError      EventType = "error"      // the job has failed for good; Error says why
)

// Event is what a worker reports about a job. Applying an event twice, or late, is harmless.
type Event struct {
	Type         EventType `json:"type"`
	JobID        string    `json:"job_id"`
	JobKind      JobKind   `json:"job_kind"`
	WorkspaceID  string    `json:"workspace_id"`
	DatastoreID  string    `json:"datastore_id"`
	DatasourceID string    `json:"datasource_id"`
	Generation   uint64    `json:"generation"`
	Places       []Place   `json:"places,omitempty"` // the job's
	Move         string    `json:"move,omitempty"`   // the job's
	At           time.Time `json:"at"`
	Trace        string    `json:"trace,omitempty"` // the job's

	Progress *Progress `json:"progress,omitempty"`
	Fetched  *Fetched  `json:"fetched,omitempty"`
	Links    []Link    `json:"links,omitempty"`  // discovered: at most MaxLinksPerEvent
	Follow   bool      `json:"follow,omitempty"` // discovered, of a site: links of its pages are to be followed
	// Part and Parts, in a page's discovered event, are the number of this part of the page's links, from 0, and the number of
	// parts. Together the parts replace the stored links of the page. Parts 0: the links are not stored.
	Part  int `json:"part,omitempty"`
	Parts int `json:"parts,omitempty"`
	// Complete, of a site's synched, says that every page of the site has been listed: pages that have not are no part of it.
	Complete bool `json:"complete,omitempty"`
	// LeftOut, of a site's synched and of discovered, counts addresses that were not taken, by reason.
	LeftOut map[string]int `json:"left_out,omitempty"`
	// Until, Tries and Since, of postponed: when the job is to come again, how many fetches have failed by then, and when
	// the first of them did, if one has. Crawl, of postponed, is what the job was to fetch.
	Until  time.Time  `json:"until,omitzero"`
	Tries  int        `json:"tries,omitempty"`
	Since  time.Time  `json:"since,omitzero"`
	Crawl  *CrawlSpec `json:"crawl,omitempty"`
	Chunks int64      `json:"chunks,omitempty"` // synched
	Bytes  int64      `json:"bytes,omitempty"`  // synched: text bytes
	// EmbedTokens, of synched, are the tokens of the texts that were embedded anew, as far as this run of the job did it.
	EmbedTokens int64  `json:"embed_tokens,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"` // synched: what the content was
	// Document, of synched, is what the content says of itself and how it was read.
	Document *DocumentInfo `json:"document,omitempty"`
	// Fingerprint, in synched, is that of the rows written: see Version. In unchanged it is that of a page whose bytes have
	// changed and whose text has not.
	Fingerprint string `json:"fingerprint,omitempty"`
	// TextID, in synched, is a hash of the text of the rows written and of the document's properties. It stays the same if
	// only markup, times of generation, view counters or tokens of the page change. "" for content other than web pages.
	TextID string `json:"text_id,omitempty"`
	// Inputs, of an ingest job's synched and unchanged, are the job's.
	Inputs   string   `json:"inputs,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // synched
	Error    string   `json:"error,omitempty"`    // error, skipped, gone, postponed, and progress of a job that is tried again: for people
}

// Bounds of pages that match no include pattern of their site and are read only for their links.
const (
	MaxLead  = 3     // consecutive such pages on the path to a matching page
	MaxLeads = 1_000 // of one site
)

// LeadsNowhere is the DatasourceConfig.Lead of a page that the settings of its site refuse and whose links are not followed
// either. It is above MaxLead.
const LeadsNowhere = 100

// MaxLinksPerEvent keeps a discovered event well below the message limit.
const MaxLinksPerEvent = 200

// Fetched describes a fetched page.
type Fetched struct {
	Original     Original `json:"original"`
	URL          string   `json:"url"` // after redirects
	Title        string   `json:"title,omitempty"`
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
	// Redirects are the hops from the address that was asked for to URL, at most 10.
	Redirects []Redirect `json:"redirects,omitempty"`
	// Canonical is the address that the page says is its own, normalised, when that is another and within the site's scope.
	Canonical string `json:"canonical,omitempty"`
	Rendered  bool   `json:"rendered,omitempty"` // the content was made by the page's scripts, in a browser
	// TextHash is a hash of the page's title and main text without clocks and counters; Sketch is for finding similar pages:
	// see package textid. Both are empty if the page is not HTML or has no text.
	TextHash string `json:"text_hash,omitempty"`
	Sketch   []byte `json:"sketch,omitempty"`
	// LinksKnown says that the page's links have been reported, in discovered events with Parts.
	LinksKnown bool `json:"links_known,omitempty"`
}

// Redirect is one answer that sent the crawler elsewhere.
type Redirect struct {
	URL    string `json:"url"`    // that was asked for
	Status int    `json:"status"` // 301, 302, 303, 307 or 308; 200 for a page that redirects by a refresh or a script
}

// Link is a page of a site that discovery found.
type Link struct {
	URL   string `json:"url"` // normalised
	Depth int    `json:"depth"`
	// LastMod is when the page was last changed, as its sitemap says; zero when it does not.
	LastMod time.Time `json:"last_mod,omitzero"`
}
