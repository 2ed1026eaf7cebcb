package domain

import "time"

// DatasourceType is the kind of content in a datasource.
type DatasourceType string

// Types of datasources. A page of a web site is a web_page whose GroupID is the site's id.
const (
	TypeFile    DatasourceType = "file"
	TypeWebPage DatasourceType = "web_page"
	TypeWebSite DatasourceType = "web_site"
	TypeText    DatasourceType = "text"
	TypeQA      DatasourceType = "qa"      // a question and its answer
	TypeArchive DatasourceType = "archive" // a ZIP archive; each file in it is a datasource of type file whose GroupID is the archive's id
)

// IsGroup reports whether datasources of this type have no searchable content of their own but consist of others: a web
// site's pages or an archive's files.
func (t DatasourceType) IsGroup() bool { return t == TypeWebSite || t == TypeArchive }

// Status is a datasource's processing state.
type Status string

// Statuses: unsynched (accepted) → pending (in the job stream) → running → synched, error or skipped. A resync starts
// again at unsynched, but the active content stays searchable.
const (
	StatusUnsynched Status = "unsynched"
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusSynched   Status = "synched"
	StatusError     Status = "error"
	// StatusSkipped is the status of a page that was intentionally skipped, for example because it is a duplicate or
	// asks not to be indexed.
	StatusSkipped Status = "skipped"
)

// Terminal reports whether processing has ended, successfully or not.
func (s Status) Terminal() bool {
	return s == StatusSynched || s == StatusError || s == StatusSkipped
}

// Datasource is a unit of content: a file, page, site or text.
type Datasource struct {
	ID          string
	WorkspaceID string
	DatastoreID string
	GroupID     string // the page's web_site or the file's archive, or ""
	Type        DatasourceType
	Name        string
	CustomID    string         // chosen by the caller, for filters
	Metadata    map[string]any // set by the caller; at most MaxMetadataBytes as JSON
	Config      DatasourceConfig
	Original    *Original // the raw content; nil until it exists

	Status    Status
	Progress  Progress
	Error     string   // why the status is error or skipped, worded for users
	Warnings  []string // parts of the content that could not be read (pages without text, a truncated table)
	Chunks    int64    // chunks of the active generation
	TextBytes int64    // bytes of the chunks' text
	Crawl     *Crawl   // a web_site's newest crawl or an archive's newest unpacking; nil before the first one

	CreatedAt time.Time
	UpdatedAt time.Time
	LastSynch *time.Time // when the active content was last indexed or found up to date

	Processing
}

// Processing is a datasource's internal processing state. Users see only the derived Status, Progress and Error.
type Processing struct {
	DiscoveryDone bool   // web_site: the sitemap or root page has been read; archive: it has been unpacked
	FollowLinks   bool   // web_site: pages are found by following links, not in a sitemap
	Unchanged     bool   // web_page: the newest fetch found no change; file in an archive: the newest unpacking found none
	DuplicateOf   string // skipped page of a site: id of the page with the same content, if it was skipped as a duplicate

	JobID            string // the newest accepted job; events from other jobs do not change Status
	Runs             int    // number of ingest jobs queued so far; if above 1, earlier jobs may have left rows behind
	ActiveGeneration uint64 // the generation visible to readers; 0 if there is none yet
	Fence            uint64 // generations up to this one cannot become active, because a job failed or the content was removed
	Fingerprint      string // the active generation's fingerprint; see Version
	Inputs           string // the active generation's inputs; see Job.Inputs; "" if unknown

	// Target describes the copy in the place to which the datastore is moving (see Place). nil if there is none.
	Target *Target
	// MoveID is the id of the last move that queued a job to copy the active generation.
	MoveID string
	// Resume is the state to restore after the newest job, if that is a move job. It is nil for other jobs, and after a
	// move job has succeeded.
	Resume *Resume
}

// Target describes a datasource's generation in the place its datastore is moving to.
type Target struct {
	Generation  uint64 `json:"generation"`
	Chunks      int64  `json:"chunks"`
	TextBytes   int64  `json:"text_bytes"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Inputs      string `json:"inputs,omitempty"`
}

// Resume is a datasource's state before a move job. It is restored afterwards, because a move job doesn't change the
// content that readers see.
type Resume struct {
	Status Status `json:"status"` // synched or error
	Error  string `json:"error,omitempty"`
}

// MaxMetadataBytes is the maximum size of a datasource's metadata as JSON. Every job and chunk contains a copy.
const MaxMetadataBytes = 16 << 10

// DatasourceConfig holds the caller's settings as well as properties found in the content.
type DatasourceConfig struct {
	SourceURL string   `json:"source_url,omitempty"` // web_page: address; web_site: start of discovery
	Sitemap   string   `json:"sitemap,omitempty"`    // web_site: a sitemap's address
	Include   []string `json:"include,omitempty"`    // web_site: glob patterns of paths to include; empty: all
	Exclude   []string `json:"exclude,omitempty"`    // web_site: glob patterns of paths to exclude
	MaxPages  int      `json:"max_pages,omitempty"`  // web_site: maximum number of pages; 0 means the configured limit
	MaxDepth  int      `json:"max_depth,omitempty"`  // web_site: maximum link depth from the root; 0 means DefaultMaxDepth
	MIMEType  string   `json:"mime_type,omitempty"`
	FileName  string   `json:"file_name,omitempty"`
	FileSize  int64    `json:"file_size,omitempty"`
	SHA256    string   `json:"sha256,omitempty"`
	CustomID  string   `json:"custom_id,omitempty"`
	Question  string   `json:"question,omitempty"` // qa: the question; the content is the answer
	// FileID is the id of the datasource's File; see Datasource.FileID.
	FileID string `json:"file_id,omitempty"`
	// Chunking overrides the datastore's chunking for this datasource.
	Chunking *FileChunking `json:"chunking,omitempty"`
	// ChangedAt is when the content, name, metadata or custom id last changed. It is zero if nothing has changed since
	// the datasource was created.
	ChangedAt time.Time `json:"changed_at,omitzero"`
	// Document holds the active content's metadata.
	Document *DocumentInfo `json:"document,omitempty"`

	// Validators from the last response, for conditional requests (RFC 9110, section 13).
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	Depth        int    `json:"depth,omitempty"` // page of a site: number of links from the root

	// Refresh says when to fetch the content again: an interval ("24h"), five cron fields in UTC ("0 3 * * *"), or ""
	// for never.
	Refresh string `json:"refresh,omitempty"`
	// Access holds extra headers for requests to the site, or is nil. Pages use their site's headers.
	Access *SiteAccess `json:"access,omitempty"`
	// Results of the page's last fetch. FinalURL is where Redirects lead, or empty if that is SourceURL. Canonical is
	// the canonical address named by the page, LastMod is the last change according to the sitemap, and Rendered says
	// whether the page needed a browser.
	FinalURL  string     `json:"final_url,omitempty"`
	Redirects []Redirect `json:"redirects,omitempty"`
	Canonical string     `json:"canonical_url,omitempty"`
	LastMod   time.Time  `json:"last_mod,omitzero"`
	Rendered  bool       `json:"rendered,omitempty"`
	// TextHash and Sketch describe the page's text; see Fetched.
	TextHash string `json:"text_hash,omitempty"`
	Sketch   []byte `json:"sketch,omitempty"`
	// TextID identifies the active content's text; see Event.TextID.
	TextID string `json:"text_id,omitempty"`
	// LinksKnown says whether the links from the last fetch are stored. If not, the next request for the page is
	// unconditional, because a "not modified" response contains no links.
	LinksKnown bool `json:"links_known,omitempty"`
	// Lead limits how far links are followed through pages that match no include pattern and are read only for their
	// links. It is 0 for the root and for matching pages. For others, it is the number of consecutive non-matching
	// pages at the end of the path from the root, including the page itself.
	Lead int `json:"lead,omitempty"`
	// NamedByDocument is true if the caller gave no name, so the page is named after its document's title.
	NamedByDocument bool `json:"named_by_document,omitempty"`
}

// WebPatch changes how web content is fetched from now on. Nil fields are left unchanged.
type WebPatch struct {
	Refresh  *string
	Include  *[]string
	Exclude  *[]string
	MaxPages *int
	MaxDepth *int
	Access   *AccessPatch
}

// AccessPatch changes the extra headers for requests to a site.
type AccessPatch struct {
	To *SiteAccess // the new headers; nil removes the old ones
}

// ChangesSite reports whether the patch changes settings that only sites have.
func (p WebPatch) ChangesSite() bool {
	return p.Include != nil || p.Exclude != nil || p.MaxPages != nil || p.MaxDepth != nil
}

// Apply applies the patch to c.
func (p WebPatch) Apply(c *DatasourceConfig) {
	assignIf(&c.Refresh, p.Refresh)
	assignIf(&c.Include, p.Include)
	assignIf(&c.Exclude, p.Exclude)
	assignIf(&c.MaxPages, p.MaxPages)
	assignIf(&c.MaxDepth, p.MaxDepth)
	if p.Access != nil {
		c.Access = p.Access.To
	}
}

// IsOutdated reports whether readers see content from before the last change of content, name or metadata.
func (d Datasource) IsOutdated() bool {
	return d.Chunks > 0 && d.Status != StatusSynched && d.LastSynch != nil && d.Config.ChangedAt.After(*d.LastSynch)
}

// Progress is a job's progress, counted in pages for a web_site and in files for an archive.
type Progress struct {
	Stage string `json:"stage,omitempty"` // fetching, fetched, extracting, indexing, discovering, crawling, unpacking, reading files, StageRetrying, StageUnreadable
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// StageScan is the stage of a scan job waiting for its turn.
const StageScan = "waiting for text recognition"

// StageRetrying is the stage of a job waiting for a retry. Datasource.Error then contains the last error.
const StageRetrying = "waiting to be tried again"

// StageUnreadable is the stage of a failed job whose content can never be read, because it is encrypted, damaged or in
// an unsupported format. Other failures have no stage.
const StageUnreadable = "unreadable"

// Original refers to raw content in the original store.
type Original struct {
	Key      string `json:"key"` // unique per upload or fetch, never overwritten
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
	MIMEType string `json:"mime_type"` // declared or detected type; extraction detects it again
	Name     string `json:"name"`      // file name or address; a hint for the format
}

// Filters restrict a query to certain documents. A document must match all fields that are set. If a field has several
// values, one of them is enough. For metadata, a top-level key must have this string, number or boolean as its value.
type Filters struct {
	CustomIDs     []string
	DatasourceIDs []string
	Metadata      map[string]any
}

// ActiveDatasource is what retrieval needs to know about a datasource: the generation that readers see, and properties
// shown with fragments.
type ActiveDatasource struct {
	ID               string
	DatastoreID      string
	GroupID          string
	Type             DatasourceType
	Name             string
	CustomID         string
	Place            Place  // the place serving its datastore, read together with ActiveGeneration
	ActiveGeneration uint64 // 0 if no generation is active yet, in which case no rows may be shown
	CreatedAt        time.Time
	ChangedAt        time.Time // when its content, name, metadata or custom id last changed; zero if not since CreatedAt
	MIMEType         string
	SourceURL        string
	FileName         string
	FileID           string         // id of its File; "" if there is none
	Metadata         map[string]any // metadata set by the caller
	Document         *DocumentInfo  // metadata found in the content; may be nil
}
