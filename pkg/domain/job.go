package domain

import "time"

// JobKind is the kind of worker that a job needs.
type JobKind string

// Kinds of jobs.
const (
	JobCrawl  JobKind = "crawl"  // fetch a page or discover a site's pages
	JobIngest JobKind = "ingest" // extract, chunk, embed and index
	JobScan   JobKind = "scan"   // like ingest, for a document whose pages need text recognition (OCR)
)

// Ingests reports whether jobs of this kind read an original into the index.
func (k JobKind) Ingests() bool { return k == JobIngest || k == JobScan }

// Job is a unit of work. It refers to content but contains none. Its results depend only on the job and its generation,
// so running it twice is harmless.
type Job struct {
	ID           string         `json:"id"`
	Kind         JobKind        `json:"kind"`
	WorkspaceID  string         `json:"workspace_id"`
	DatastoreID  string         `json:"datastore_id"`
	DatasourceID string         `json:"datasource_id"`
	Type         DatasourceType `json:"type"`
	GroupID      string         `json:"group_id,omitempty"` // the page's web_site or the file's archive
	Name         string         `json:"name"`
	CustomID     string         `json:"custom_id,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
	Places       []Place        `json:"places"`              // where the rows go, starting with the place that serves readers; for a crawl job, its datastore's places
	Move         string         `json:"move,omitempty"`      // ingest: id of the move this job belongs to; such a job only copies active content to the new place
	Previous     *Version       `json:"previous,omitempty"`  // ingest: the active version, from which vectors of unchanged text are copied
	Force        bool           `json:"force,omitempty"`     // ingest: write rows even if nothing has changed
	Chunking     Chunking       `json:"chunking,omitzero"`   // chunk sizes
	Languages    OCRLanguages   `json:"languages,omitempty"` // ingest: scanned pages' languages
	Original     *Original      `json:"original,omitempty"`  // ingest: the content to read
	Crawl        *CrawlSpec     `json:"crawl,omitempty"`     // crawl: the address to fetch
	CreatedAt    time.Time      `json:"created_at,omitzero"` // when the datasource was created; zero in jobs from earlier versions
	ChangedAt    time.Time      `json:"changed_at,omitzero"` // when its content or description last changed; zero if not since it was created
	Tries        int            `json:"tries,omitempty"`     // crawl: number of failed fetches by the postponed jobs that preceded this one
	Since        time.Time      `json:"since,omitzero"`      // crawl: time of the first failed fetch

	Trace string `json:"trace,omitempty"` // the request's trace, in W3C Trace Context format; "" if not traced

	// Generation is the sequence number of the job's message in the stream. It increases with every job, so results
	// from older jobs can be recognised and discarded.
	Generation uint64 `json:"-"`
	// Delivery is how many times this message has been delivered, including this delivery.
	Delivery int `json:"-"`
}

// Version is a complete generation of a datasource.
type Version struct {
	Place       Place  `json:"place"`
	Generation  uint64 `json:"generation"`
	Chunks      int64  `json:"chunks"`
	Fingerprint string `json:"fingerprint,omitempty"` // fingerprint of everything that determines the rows; equal fingerprints mean equal rows
	TextID      string `json:"text_id,omitempty"`     // web page: see Event.TextID
}

// CrawlSpec describes what a crawl job fetches.
type CrawlSpec struct {
	URL     string `json:"url,omitempty"`     // web_page: the page; web_site: the root
	Sitemap string `json:"sitemap,omitempty"` // web_site
	// Site is the site's scope. It is set in jobs for sites and for their pages.
	Site         *SiteScope `json:"site,omitempty"`
	Depth        int        `json:"depth,omitempty"` // links from the site's root
	ETag         string     `json:"etag,omitempty"`
	LastModified string     `json:"last_modified,omitempty"`
	// Access holds extra headers for requests to the page or its site, or is nil.
	Access *SiteAccess `json:"access,omitempty"`
}

// SiteScope determines which pages belong to a site and how far links are followed.
type SiteScope struct {
	Root     string   `json:"root"` // only its host and path prefix are in scope, with any scheme
	Include  []string `json:"include,omitempty"`
	Exclude  []string `json:"exclude,omitempty"`
	MaxDepth int      `json:"max_depth"` // links are followed up to this depth
	Follow   bool     `json:"follow"`    // false if the pages come from a sitemap and links are not followed
}

// EventType is the type of a worker's report.
type EventType string

// Types of events.
const (
	EventRunning    EventType = "running"    // a worker has started the job
	EventProgress   EventType = "progress"   // the job has made progress: Stage, Done, Total
	EventFetched    EventType = "fetched"    // crawl: the page is in the original store; an ingest job follows
	EventDiscovered EventType = "discovered" // crawl: Links are pages on the site; ingest of an archive: Members are files in it
	EventPostponed  EventType = "postponed"  // crawl: the job leaves the stream, and a new one follows at Until; ingest: a scan job follows
	EventSkipped    EventType = "skipped"    // crawl: the page must not be indexed; Error says why
	EventGone       EventType = "gone"       // crawl: the page does not exist (404, 410); Error says why
	EventSitemap    EventType = "sitemap"    // crawl: the page is a list of pages, so the datasource becomes a site
	EventArchive    EventType = "archive"    // ingest: the file is a ZIP archive, so the datasource becomes an archive; Error says why it cannot be read as a document
	EventSynched    EventType = "synched"    // ingest: all chunks of the generation are written; crawl of a site: discovery is complete
	EventUnchanged  EventType = "unchanged"  // crawl: the page has not changed; ingest: the job would write the rows that already exist
	EventError      EventType = "error"      // the job failed permanently; Error says why
)

// Event is a worker's report about a job. Applying an event twice, or late, is harmless.
type Event struct {
	Type         EventType `json:"type"`
	JobID        string    `json:"job_id"`
	JobKind      JobKind   `json:"job_kind"`
	WorkspaceID  string    `json:"workspace_id"`
	DatastoreID  string    `json:"datastore_id"`
	DatasourceID string    `json:"datasource_id"`
	Generation   uint64    `json:"generation"`
	Places       []Place   `json:"places,omitempty"` // the job's places
	Move         string    `json:"move,omitempty"`   // the job's move
	At           time.Time `json:"at"`
	Trace        string    `json:"trace,omitempty"` // the job's trace

	Progress *Progress `json:"progress,omitempty"`
	Fetched  *Fetched  `json:"fetched,omitempty"`
	Links    []Link    `json:"links,omitempty"`  // discovered: at most MaxLinksPerEvent
	Follow   bool      `json:"follow,omitempty"` // discovered, for a site: follow the links on its pages
	// Members, in an archive's discovered events, are up to MaxMembersPerEvent of its files. They are stored as
	// originals, named after their paths in the archive.
	Members []Original `json:"members,omitempty"`
	// A page's links may be split across several discovered events. Part is the event's 0-based index, and Parts is
	// their number. Together they replace the page's stored links. If Parts is 0, the links are not stored.
	Part  int `json:"part,omitempty"`
	Parts int `json:"parts,omitempty"`
	// Complete is set in a site's or archive's synched event if the job listed every page or file. Any page or file it
	// did not list no longer belongs to the site or archive.
	Complete bool `json:"complete,omitempty"`
	// LeftOut counts skipped addresses by reason. It is set in discovered events and in a site's synched event.
	LeftOut map[string]int `json:"left_out,omitempty"`
	// Force is the job's Force. It is set when an ingest job is postponed, with Scan, and in an archive's events.
	Force bool `json:"force,omitempty"`
	// These fields are set when a crawl job is postponed. Until is when the next job is due, Tries is the number of
	// failed fetches so far, Since is the time of the first one, or zero, and Crawl is the job's CrawlSpec.
	Until  time.Time  `json:"until,omitzero"`
	Tries  int        `json:"tries,omitempty"`
	Since  time.Time  `json:"since,omitzero"`
	Crawl  *CrawlSpec `json:"crawl,omitempty"`
	Chunks int64      `json:"chunks,omitempty"` // synched
	Bytes  int64      `json:"bytes,omitempty"`  // synched: text bytes
	// EmbedTokens, in synched events, is the number of newly embedded tokens.
	EmbedTokens int64  `json:"embed_tokens,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"` // synched: the content's detected type
	// Document, in synched events, describes the content and how it was read.
	Document *DocumentInfo `json:"document,omitempty"`
	// Scan, in synched events, says that text from the document's pictures is still missing and a scan job follows.
	Scan bool `json:"scan,omitempty"`
	// Fingerprint, in synched events, is the fingerprint of the written rows (see Version). In unchanged events, it is
	// a page's new fingerprint, set only if the page's bytes changed but its text did not.
	Fingerprint string `json:"fingerprint,omitempty"`
	// TextID, in synched events, is a hash of the written rows' text and the document's properties. It ignores markup,
	// generation times, view counters and tokens in the page. It is "" if the content is not a web page.
	TextID string `json:"text_id,omitempty"`
	// Inputs is Job.Inputs. It is set in an ingest job's synched and unchanged events.
	Inputs   string   `json:"inputs,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // synched
	Error    string   `json:"error,omitempty"`    // message for users; set in error, skipped, gone and postponed events, and in a retried job's progress events
}

// Limits on pages that match no include pattern of their site and are read only for their links.
const (
	MaxLead  = 3     // consecutive such pages on the path to a matching page
	MaxLeads = 1_000 // such pages per site, by default
)

// LeadsNowhere is the DatasourceConfig.Lead of an excluded page whose links are not followed. It is above MaxLead.
const LeadsNowhere = 100

// MaxLinksPerEvent is the maximum number of links in a discovered event, which keeps events well below the maximum
// message size.
const MaxLinksPerEvent = 200

// MaxMembersPerEvent is the maximum number of files in an archive's discovered event, which keeps events well below the
// maximum message size.
const MaxMembersPerEvent = 100

// Fetched is the result of fetching a page.
type Fetched struct {
	Original     Original `json:"original"`
	URL          string   `json:"url"` // after redirects
	Title        string   `json:"title,omitempty"`
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
	// Redirects are the hops from the requested address to URL, at most 10.
	Redirects []Redirect `json:"redirects,omitempty"`
	// Canonical is the canonical address named by the page, normalised. It is set only if it differs from URL and is in
	// the site's scope.
	Canonical string `json:"canonical,omitempty"`
	Rendered  bool   `json:"rendered,omitempty"` // scripts in a browser produced the content
	// TextHash is a hash of the page's title and main text, without content that changes with every request, such as
	// clocks and counters. Sketch is for finding similar pages; see package textid. Both are empty if the page isn't
	// HTML or has no text.
	TextHash string `json:"text_hash,omitempty"`
	Sketch   []byte `json:"sketch,omitempty"`
	// LinksKnown says whether the page's links were reported in discovered events; see Event.Parts.
	LinksKnown bool `json:"links_known,omitempty"`
}

// Redirect is a response that redirects the crawler to another address.
type Redirect struct {
	URL    string `json:"url"`    // requested address
	Status int    `json:"status"` // 301, 302, 303, 307 or 308; 200 for a redirect by a refresh or script
}

// Link is a site's page found by discovery.
type Link struct {
	URL   string `json:"url"` // normalised
	Depth int    `json:"depth"`
	// LastMod is when the page last changed according to its sitemap; zero if unknown.
	LastMod time.Time `json:"last_mod,omitzero"`
}
