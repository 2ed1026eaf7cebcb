package api

import (
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
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Options are limits and choices. The zero value of each field means its default.
type Options struct {
	MaxUploadBytes int64 // of one file; default 100 MiB
	MaxJSONBytes   int64 // of a JSON body; default 10 MiB
	MaxDocuments   int   // of one upsert; default 1,000
	MaxPages       int   // that a web site may ask for; default 10,000
	MaxQueryChars  int   // default 8,000

	RatePerSecond    int // requests of one key, with bursts of twice as many; 0: no limit
	VisitorPerMinute int // questions of one visitor of a public agent, at once or apart; 0: no limit
	VisitorMaxTokens int // that one who has no key may ask an answer of a public agent to have; default 4,096

	Admission admit.Options // how much is served at once; default without limits

	MCPHosts    []string // names, without ports, by which clients of the Model Context Protocol reach a service on loopback, and web origins that may; "*": any
	CORSOrigins []string // of web pages that may call every endpoint, as domain.ParseOrigin returns them
	Version     string   // of the service, told to those clients

	TempDir string // where uploads wait until they are complete; default os.TempDir()

	Engines         []domain.Engine // that datastores may use, the default one first; default embedded alone
	EmbeddingModels []string        // that datastores may use, the default one first; at least one is needed

	Heartbeat      time.Duration // between comment lines of a silent stream; default 15 s
	WriteTimeout   time.Duration // for one piece of an answer to reach the client; default 30 s
	ReadTimeout    time.Duration // for a JSON body, and for each piece of an upload; default 30 s
	ReadyTimeout   time.Duration // for all checks of /readyz together; default 2 s
	PlanTimeout    time.Duration // for the plan of a site; default 20 s
	KeyTimeout     time.Duration // for the catalog to say whose a key is: one that does not answer is found out before anything is begun; default 10 s
	ClaimHeartbeat time.Duration // how often a request with an Idempotency-Key says that it is alive; default a quarter of catalog.IdempotencyLease
}

// Deps are what the API works with. All fields are needed unless they say otherwise.
type Deps struct {
	// Parts of the catalog, by the handlers that use them.
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

	Originals Originals
	Chunks    ChunkReader
	Retriever Retriever
	Answerer  Answerer
	Watcher   Watcher

	// DetectType says what a file is from its first bytes, its name and the type that the sender declared.
	DetectType func(head []byte, name, declared string) string
	Formats    []format.Format // that can be read

	// Scheduled is called when a datasource has got, changed or lost the times at which it is fetched again; may be
	// nil.
	Scheduled func()

	// Planner shows what a crawl would fetch; nil: this process does not crawl.
	Planner Planner

	// Sealer encrypts headers of protected sites. nil: the service has no key, and rejects headers.
	Sealer Sealer

	Secrets domain.Secrets       // of the operator, which no answer and no log shows
	Traces  *telemetry.Traces    // nil: none are made
	Audit   *slog.Logger         // of what keys were used for; nil: Log
	Checks  []Check              // dependencies that /readyz asks
	Metrics *prometheus.Registry // what /metrics shows; nil: a registry with the API's own alone
	Log     *slog.Logger         // nil: slog.Default()
	Now     func() time.Time     // nil: time.Now
	NewID   func() string        // nil: domain.NewID
	NewKey  func() string        // makes the secret of a key; nil: sk_ and 256 random bits
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxUploadBytes, 100<<20)
	setDefault(&o.MaxJSONBytes, 10<<20)
	setDefault(&o.MaxDocuments, 1000)
	setDefault(&o.MaxPages, 10_000)
	setDefault(&o.MaxQueryChars, 8000)
	setDefault(&o.VisitorMaxTokens, 4096)
	setDefault(&o.TempDir, os.TempDir())
	setDefault(&o.Heartbeat, 15*time.Second)
	setDefault(&o.WriteTimeout, 30*time.Second)
	setDefault(&o.ReadTimeout, 30*time.Second)
	setDefault(&o.ReadyTimeout, 2*time.Second)
	setDefault(&o.PlanTimeout, 20*time.Second)
	setDefault(&o.KeyTimeout, 10*time.Second)
	setDefault(&o.ClaimHeartbeat, catalog.IdempotencyLease/4)
	if len(o.Engines) == 0 {
		o.Engines = []domain.Engine{domain.EngineEmbedded}
	}
	return o
}

// documented are the limits that the OpenAPI document names.
func (o Options) documented() document.Limits {
	return document.Limits{
		UploadBytes: o.MaxUploadBytes, JSONBytes: o.MaxJSONBytes, QueryChars: o.MaxQueryChars, Documents: o.MaxDocuments, PagesOfSite: o.MaxPages,
	}
}

func (d Deps) withDefaults() (Deps, error) {
	if slices.Contains([]any{
		d.Agents, d.Datastores, d.Datasources, d.Documents, d.Jobs, d.Sites, d.Conversations, d.Keys, d.KeyFinder, d.Usage, d.Accounts, d.Claims,
		d.Originals, d.Chunks, d.Retriever, d.Answerer, d.Watcher,
	}, nil) || d.DetectType == nil || len(d.Formats) == 0 {
		return d, errors.New("creating the API: a dependency is missing")
	}
	if d.Metrics == nil {
		d.Metrics = prometheus.NewRegistry()
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Audit == nil {
		d.Audit = d.Log
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.NewID == nil {
		d.NewID = domain.NewID
	}
	if d.NewKey == nil {
		d.NewKey = domain.NewKey
	}
	return d, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
