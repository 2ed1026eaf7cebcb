package api

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/neighbours"
	"github.com/sluice/sluice/pkg/api/openai/inference"
	"github.com/sluice/sluice/pkg/api/openai/responses"
	"github.com/sluice/sluice/pkg/api/searchsettings"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Options are the API's limits and settings. A field's zero value means its default.
type Options struct {
	MaxUploadBytes int64 // maximum file size; default 100 MiB
	MaxJSONBytes   int64 // maximum JSON body size; default 10 MiB
	MaxDocuments   int   // maximum number of documents in one upsert; default 1,000
	MaxPages       int   // largest allowed max_pages for a web site; default 10,000
	MaxQueryChars  int   // maximum query length; default 8,000

	RatePerSecond    int // maximum requests per second per key, twice that in bursts; 0 means no limit
	VisitorPerMinute int // maximum questions per minute from one visitor to a public agent; 0 means no limit
	VisitorMaxTokens int // largest maxTokens a caller without a key may request from a public agent; default 4,096

	Admission admit.Options // limits on concurrent requests; default: none

	MCPHosts    []string // additional host names, without ports, for Host and Origin in MCP requests; "*" means any
	CORSOrigins []string // origins of web pages that may call every endpoint, as returned by domain.ParseOrigin
	Version     string   // service version, sent to MCP clients

	TempDir string // directory for unfinished uploads; default os.TempDir()

	Engines         []domain.Engine // engines for datastores, the default first; default: only embedded
	EmbeddingModels []string        // models for datastores, the default first; at least one is required

	Heartbeat      time.Duration // interval between comment lines in a silent stream; default 15 s
	WriteTimeout   time.Duration // time limit for each write of a response; default 30 s
	ReadTimeout    time.Duration // longest pause within a body, which must also arrive at transfer.MinRate; default 30 s
	ReadyTimeout   time.Duration // total time limit for the /readyz checks; default 2 s
	PlanTimeout    time.Duration // time limit for planning a site; default 20 s
	KeyTimeout     time.Duration // time limit for looking up a key, to detect a hanging catalog early; default 10 s
	ClaimHeartbeat time.Duration // how often a request with an Idempotency-Key renews its claim; default: a quarter of catalog.IdempotencyLease
}

// Deps are the API's dependencies. All fields are required unless their comment says otherwise.
type Deps struct {
	// Views of the catalog, one per group of handlers.
	Agents        AgentStore
	Datastores    DatastoreStore
	Datasources   DatasourceStore
	Documents     DocumentStore
	Jobs          JobQueue
	Sites         SiteStore
	Conversations ConversationStore
	Keys          KeyStore
	KeyFinder     access.KeyFinder
	Usage         UsageMeter
	Accounts      AccountStore
	Claims        idempotency.Store
	Responses     responses.Store
	Files         FileStore

	SearchSettings searchsettings.Store

	Originals Originals
	Drawer    Drawer
	Converter neighbours.Converter
	Chunks    ChunkReader
	Retriever Retriever
	Embedders inference.Embedders // the models in Options.EmbeddingModels
	Reranker  retrieve.Reranker   // nil if not configured
	Locator   Locator             // nil: fragments have no rectangles
	Answerer  Answerer
	Watcher   Watcher

	Runner     *responses.Runner // runs background responses; if nil, a new one is created and never closed
	ChatModels map[string]string // maps configured chat models to their names in the API; nil if there are none

	// DetectType returns a file's type, given its first bytes, its name and the type declared by the client.
	DetectType func(head []byte, name, declared string) string
	Formats    []format.Format // file formats that can be read

	// Scheduled is called after a datasource's refresh schedule changes. It may be nil.
	Scheduled func()

	// Planner shows what a crawl would fetch. It is nil if this process does not crawl.
	Planner Planner

	// Sealer encrypts protected sites' headers. It is nil if the service has no encryption key; requests with such
	// headers are then rejected.
	Sealer Sealer

	Secrets domain.Secrets       // the operator's secrets, removed from responses and logs
	Traces  *telemetry.Traces    // nil means no traces
	Audit   *slog.Logger         // records how keys are used; defaults to Log
	Checks  []Check              // health checks for /readyz
	Metrics *prometheus.Registry // served at /metrics; defaults to a registry with only the API's metrics
	Log     *slog.Logger         // defaults to slog.Default()
	Now     func() time.Time     // defaults to time.Now
	NewID   func() string        // defaults to domain.NewID
	NewKey  func() string        // generates a key's secret; defaults to sk_ and 256 random bits
}

func (o Options) withDefaults() Options {
	o.MaxUploadBytes = cmp.Or(o.MaxUploadBytes, 100<<20)
	o.MaxJSONBytes = cmp.Or(o.MaxJSONBytes, 10<<20)
	o.MaxDocuments = cmp.Or(o.MaxDocuments, 1000)
	o.MaxPages = cmp.Or(o.MaxPages, 10_000)
	o.MaxQueryChars = cmp.Or(o.MaxQueryChars, 8000)
	o.VisitorMaxTokens = cmp.Or(o.VisitorMaxTokens, 4096)
	o.TempDir = cmp.Or(o.TempDir, os.TempDir())
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 30*time.Second)
	o.ReadyTimeout = cmp.Or(o.ReadyTimeout, 2*time.Second)
	o.PlanTimeout = cmp.Or(o.PlanTimeout, 20*time.Second)
	o.KeyTimeout = cmp.Or(o.KeyTimeout, 10*time.Second)
	o.ClaimHeartbeat = cmp.Or(o.ClaimHeartbeat, catalog.IdempotencyLease/4)
	if len(o.Engines) == 0 {
		o.Engines = []domain.Engine{domain.EngineEmbedded}
	}
	return o
}

// documented returns the server limits included in the OpenAPI document.
func (o Options) documented() document.Limits {
	return document.Limits{
		UploadBytes: o.MaxUploadBytes, JSONBytes: o.MaxJSONBytes, QueryChars: o.MaxQueryChars, Documents: o.MaxDocuments, PagesOfSite: o.MaxPages,
	}
}

func (d Deps) withDefaults() (Deps, error) {
	if slices.Contains([]any{
		d.Agents, d.Datastores, d.Datasources, d.Documents, d.Jobs, d.Sites, d.Conversations, d.Keys, d.KeyFinder, d.Usage, d.Accounts, d.Claims, d.Responses, d.Files, d.SearchSettings,
		d.Originals, d.Drawer, d.Converter, d.Chunks, d.Retriever, d.Embedders, d.Answerer, d.Watcher,
	}, nil) || d.DetectType == nil || len(d.Formats) == 0 {
		return d, errors.New("creating the API: a dependency is missing")
	}
	if d.Metrics == nil {
		d.Metrics = prometheus.NewRegistry()
	}
	d.Log = cmp.Or(d.Log, slog.Default())
	d.Audit = cmp.Or(d.Audit, d.Log)
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.NewID == nil {
		d.NewID = domain.NewID
	}
	if d.Runner == nil {
		d.Runner = responses.NewRunner(d.NewID())
	}
	if d.NewKey == nil {
		d.NewKey = domain.NewKey
	}
	return d, nil
}
