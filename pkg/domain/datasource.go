package domain

import "time"

// DatasourceType says where a datasource's content comes from.
type DatasourceType string

// The types. A page of a web site is a web_page whose GroupID is the site's id.
const (
	TypeFile    DatasourceType = "file"
	TypeWebPage DatasourceType = "web_page"
	TypeWebSite DatasourceType = "web_site"
	TypeText    DatasourceType = "text"
	TypeQA      DatasourceType = "qa" // a question and its answer
)

// Status is where a datasource stands.
type Status string

// The statuses: unsynched (accepted) → pending (in the job stream) → running → synched, error or skipped. A resync goes
// back to unsynched while the content that is already active stays searchable.
const (
	StatusUnsynched Status = "unsynched"
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusSynched   Status = "synched"
	StatusError     Status = "error"
	// StatusSkipped is that of a page that was fetched and is left out on purpose: it asks for that, or repeats another.
	StatusSkipped Status = "skipped"
)

// Terminal reports whether the datasource waits for nothing.
func (s Status) Terminal() bool {
	return s == StatusSynched || s == StatusError || s == StatusSkipped
}

// Datasource is one unit of content: a file, a page, a site, a text.
type Datasource struct {
	ID          string
	WorkspaceID string
	DatastoreID string
	GroupID     string // the web_site that a page belongs to, or ""
	Type        DatasourceType
	Name        string
	CustomID    string         // caller-chosen, usable in filters
	Metadata    map[string]any // caller's free keys; at most MaxMetadataBytes as JSON
	Config      DatasourceConfig
	Original    *Original // the raw content, nil until there is any

	Status    Status
	Progress  Progress
	Error     string   // why Status is error or skipped, in words for people
	Warnings  []string // what was read with losses (pages without text, a truncated table)
	Chunks    int64    // chunks of the active generation
	TextBytes int64    // bytes of text in them
	Crawl     *Crawl   // web_site: its newest crawl; nil before the first

	CreatedAt time.Time
	UpdatedAt time.Time
	LastSynch *time.Time // when the active generation became active

	Processing
}

// Processing is how far the pipeline is with a datasource. Users see what follows from it: Status, Progress, Error.
type Processing struct {
	DiscoveryDone bool   // web_site: the sitemap, or the root, has been read
	FollowLinks   bool   // web_site: pages are found by following links, not by a sitemap
	Unchanged     bool   // web_page: the newest fetch brought nothing new
	DuplicateOf   string // web_page of a site, skipped: the id of the page that has its content

	JobID            string // the newest accepted job; events of any other job do not change Status
	Runs             int    // ingest jobs issued so far, counted when put into the outbox: more than one may have left rows behind
	ActiveGeneration uint64 // the generation readers see; 0: none yet
	Fence            uint64 // no generation up to it becomes active any more: a job of it has failed
	Fingerprint      string // of the active generation: see Version
	Inputs           string // what the active generation was made of: see Job.Inputs; "" when that is not known

	// Target is what of this datasource is in the place that its datastore moves to; nil: nothing yet, or no move.
	Target *Target
	// MoveID is the move for which a job was last issued to take what readers see to the new place.
	MoveID string
	// Resume is what the datasource goes back to when its move job has ended; nil when its newest job is none, or has
	// done its work.
	Resume *Resume
}

// Target is a generation in the place that a datastore moves to.
type Target struct {
	Generation  uint64 `json:"generation"`
	Chunks      int64  `json:"chunks"`
	TextBytes   int64  `json:"text_bytes"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Inputs      string `json:"inputs,omitempty"`
}

// Resume is how a datasource stood before a move job, which changes nothing that readers see.
type Resume struct {
	Status Status `json:"status"` // synched or error
	Error  string `json:"error,omitempty"`
}

// MaxMetadataBytes bounds a datasource's metadata (it travels with every job and chunk).
const MaxMetadataBytes = 16 << 10

// DatasourceConfig is what the caller asked for and what was found out about the content.
type DatasourceConfig struct {
	SourceURL string   `json:"source_url,omitempty"` // web_page: its address; web_site: where discovery starts
	Sitemap   string   `json:"sitemap,omitempty"`    // web_site: address of a sitemap
	Include   []string `json:"include,omitempty"`    // web_site: glob patterns of paths to take; empty: all
	Exclude   []string `json:"exclude,omitempty"`    // web_site: glob patterns of paths to leave
	MaxPages  int      `json:"max_pages,omitempty"`  // web_site: 0 means the configured limit
	MaxDepth  int      `json:"max_depth,omitempty"`  // web_site: links from the root; 0 means the default
	MIMEType  string   `json:"mime_type,omitempty"`
	FileName  string   `json:"file_name,omitempty"`
	FileSize  int64    `json:"file_size,omitempty"`
	SHA256    string   `json:"sha256,omitempty"`
	CustomID  string   `json:"custom_id,omitempty"`
	Question  string   `json:"question,omitempty"` // qa; the answer is in the content
	// Document is what the content that readers see says of itself.
	Document *DocumentInfo `json:"document,omitempty"`

	// Validators of the last fetch, for conditional requests (RFC 9110, section 13).
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	Depth        int    `json:"depth,omitempty"` // page of a site: links from the root

	// Refresh is when web content is fetched again: an interval ("24h"), or five fields of cron in UTC ("0 3 * * *"). "": never.
	Refresh string `json:"refresh,omitempty"`
	// Access holds additional headers for requests to the site; nil: none. Pages of a site use those of their site.
	Access *SiteAccess `json:"access,omitempty"`
	// What the last fetch of a page found: where it lies after Redirects, if that is not SourceURL, what it says its address is,
	// when it was changed as its sitemap says, and whether a browser was needed to read it.
	FinalURL  string     `json:"final_url,omitempty"`
	Redirects []Redirect `json:"redirects,omitempty"`
	Canonical string     `json:"canonical_url,omitempty"`
	LastMod   time.Time  `json:"last_mod,omitzero"`
	Rendered  bool       `json:"rendered,omitempty"`
	// TextHash and Sketch describe the page's text: see Fetched.
	TextHash string `json:"text_hash,omitempty"`
	Sketch   []byte `json:"sketch,omitempty"`
	// TextID is that of the text from which the current content was made: see Event.TextID.
	TextID string `json:"text_id,omitempty"`
	// LinksKnown says that the links of the last fetch are stored. Otherwise the page is fetched unconditionally, because
	// an unchanged page returns no links.
	LinksKnown bool `json:"links_known,omitempty"`
	// Lead is set for a page that matches no include pattern of its site and is therefore read only for its links. It is
	// the number of consecutive such pages on the path to it, itself included. 0: the page matches, or is the root.
	Lead int `json:"lead,omitempty"`
	// NamedByDocument says that the page's name is the title of the document behind it: nobody has given it one.
	NamedByDocument bool `json:"named_by_document,omitempty"`
}

// WebPatch changes how web content is fetched, from its next fetch on: nil leaves a field as it is.
type WebPatch struct {
	Refresh  *string
	Include  *[]string
	Exclude  *[]string
	MaxPages *int
	MaxDepth *int
	Access   *AccessPatch
}

// AccessPatch changes the headers of a site's requests.
type AccessPatch struct {
	To *SiteAccess // nil: none from now on
}

// OfSites reports whether the patch changes what only a site has.
func (p WebPatch) OfSites() bool {
	return p.Include != nil || p.Exclude != nil || p.MaxPages != nil || p.MaxDepth != nil
}

// Apply sets the fields that the patch carries.
func (p WebPatch) Apply(c *DatasourceConfig) {
	set(&c.Refresh, p.Refresh)
	set(&c.Include, p.Include)
	set(&c.Exclude, p.Exclude)
	set(&c.MaxPages, p.MaxPages)
	set(&c.MaxDepth, p.MaxDepth)
	if p.Access != nil {
		c.Access = p.Access.To
	}
}

// Progress is how far a job has come. For a web_site the counts are of its pages.
type Progress struct {
	Stage string `json:"stage,omitempty"` // fetching, fetched, extracting, indexing, discovering, crawling, StageRetrying, StageUnreadable
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// StageRetrying is the stage of a job that waits for another attempt; Datasource.Error says what went wrong last.
const StageRetrying = "waiting to be tried again"

// StageUnreadable is the stage that a job has failed at whose content cannot be read, however often it is tried: it is
// encrypted, damaged, or of no form that can be read. Other failures leave no stage.
const StageUnreadable = "unreadable"

// Original points to raw content in the store of originals.
type Original struct {
	Key      string `json:"key"` // unique to one upload or fetch, never overwritten
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
	MIMEType string `json:"mime_type"` // as declared or sniffed; extraction decides
	Name     string `json:"name"`      // file name or address: a hint for the format
}

// Filters narrow a query. Values within one field are alternatives; the fields must all match. Metadata compares
// top-level keys for equality with a string, number or boolean.
type Filters struct {
	CustomIDs     []string
	DatasourceIDs []string
	Metadata      map[string]any
}

// Empty reports whether nothing is filtered.
func (f Filters) Empty() bool {
	return len(f.CustomIDs) == 0 && len(f.DatasourceIDs) == 0 && len(f.Metadata) == 0
}
