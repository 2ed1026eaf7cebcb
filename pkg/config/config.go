// Package config reads Sluice's settings from flags and the environment: one table in the code, from which the
// documentation is generated. Flags come before the environment, unknown settings are errors, secrets are never
// printed.
package config

//go:generate go run ./gendoc ../../docs/configuration.md
//go:generate go run ../manual/gendoc ../..

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// Config is every setting of a process. Its zero value is not usable; Parse fills in the defaults.
type Config struct {
	Addr         string
	DataDir      string
	APIKey       string
	AdminKey     string // "": what it would open is shut
	Workers      bool
	LogLevel     string
	AuditFile    string // "": the log
	AllowPrivate bool
	CrawlAllow   string
	CrawlProxy   string   // "": none
	SecretKey    string   // "": one in the data directory, where one process does everything
	MCPHosts     []string // by which clients of the Model Context Protocol reach the service
	CORSOrigins  []string // of web pages that may call the service
	UserAgent    string
	ChromeURL    string
	Chromium     string

	NATSURL      string
	NATSListen   string
	NATSToken    string
	NATSCreds    string
	NATSCA       string
	NATSCert     string
	NATSKey      string
	NATSReplicas int

	DatabaseURL string

	MilvusAddr     string
	MilvusUser     string
	MilvusPassword string
	MilvusDatabase string
	MilvusTLS      bool
	EmbeddedIndex  Choice

	OpenAIBaseURL string
	OpenAIKey     string
	AzureEndpoint string
	AzureKey      string
	AzureVersion  string
	AnthropicURL  string
	AnthropicKey  string

	ChatModel     string // as the provider has it, with or without "provider:" before it
	ChatFallback  string // likewise
	ChatWindows   Windows
	ChatMaxTokens int
	ChatFragments int
	ChatContext   int // tokens
	ChatHistory   int // tokens
	ChatStart     time.Duration
	ChatStall     time.Duration
	ChatTimeout   time.Duration
	ChatAttempts  int

	EmbedModel    string
	EmbedDims     int
	EmbedDir      string // of a model that is run in process
	QueryPrefix   string // of the model that SLUICE_EMBED_MODEL or SLUICE_EMBED_DIR names
	PassagePrefix string
	ModelNames    map[string]string // interface name (llm_4) → provider's model name

	RerankURL   string
	RerankKey   string
	RerankModel string

	IngestConcurrency int
	CrawlConcurrency  int
	CrawlDelay        time.Duration
	CrawlPerHost      int
	CrawlTries        int
	Window            int
	CacheMemory       Bytes
	ExtractMemory     Bytes
	ExtractTimeout    time.Duration

	LimitUpload    Bytes
	LimitJSON      Bytes
	LimitDocuments int
	LimitPages     int
	LimitPageBytes Bytes
	LimitQuery     int
	LimitRate      int
	LimitChunks    int
	QuotaQueries   int64
	QuotaTokens    int64
	QuotaChunks    int64
	QuotaBytes     Bytes
	LimitVisitor   int
	LimitSearches  int // at once; 0: chosen by the process
	LimitAnswers   int // likewise
	LimitUploads   int // likewise
	LimitRequests  int // likewise, of all others
	LimitOpen      int // streams
	LimitWaiting   int // jobs
	LimitDisk      Bytes
	AdmissionWait  time.Duration
	ShutdownGrace  time.Duration
	AuditEvery     time.Duration

	ConversationRetention time.Duration // 0: for ever
}

// Choice is a setting that is on, off, or follows from others.
type Choice string

// The choices.
const (
	Auto Choice = "auto"
	Yes  Choice = "true"
	No   Choice = "false"
)

// Bytes is a size that is written with a unit: 100MiB, 64KiB, 512.
type Bytes int64

// Setting is one row of the table.
type Setting struct {
	Env     string
	Flag    string
	Default string
	Doc     string
	Secret  bool
	set     func(c *Config, value string) error
}

// Settings is the table, in the order of the documentation.
func Settings() []Setting {
	models := func(name string) Setting {
		return Setting{
			Env: "SLUICE_MODEL_" + strings.ToUpper(name), Flag: "model-" + strings.ReplaceAll(name, "_", "-"),
			Doc: "model for `" + name + "`, with or without a provider before it; empty: `SLUICE_CHAT_MODEL`",
			set: func(c *Config, v string) error {
				if v != "" {
					c.ModelNames[name] = v
				}
				return nil
			},
		}
	}
	return []Setting{
		{Env: "SLUICE_ADDR", Flag: "addr", Doc: "listen address of the process; port 0 takes a free one; empty: `127.0.0.1:8080` for api, a free port of 127.0.0.1, named in the log, for the health and metrics of ingestor and crawler", set: listenAddress(func(c *Config) *string { return &c.Addr })},
		{Env: "SLUICE_DATA_DIR", Flag: "data-dir", Default: "./data", Doc: "everything the laptop shape keeps; one process at a time", set: text(func(c *Config) *string { return &c.DataDir })},
		{Env: "SLUICE_API_KEY", Flag: "api-key", Secret: true, Doc: "a key of 16 to 512 ASCII characters without spaces that is valid from the first start; empty: one is made, printed once and kept in `api-key` in the data directory", set: key(func(c *Config) *string { return &c.APIKey })},
		{Env: "SLUICE_ADMIN_KEY", Flag: "admin-key", Secret: true, Doc: "the operator's key, of at least 16 characters, for profiles at `/debug/pprof/` of every process and backups at `/admin/backup` of the api process, which hold all content; empty: there are no profiles, and backups only for who can read the data directory", set: passphrase(func(c *Config) *string { return &c.AdminKey })},
		{Env: "SLUICE_MCP_HOSTS", Flag: "mcp-hosts", Doc: "names, separated by commas, by which clients of the Model Context Protocol reach `/mcp` of a service that listens on loopback behind a proxy, and of web pages' origins that may call it; `*`: any; empty: loopback names, and no other origin", set: names(func(c *Config) *[]string { return &c.MCPHosts })},
		{Env: "SLUICE_CORS_ORIGINS", Flag: "cors-origins", Doc: "origins of web pages, separated by commas, from which browsers may call every endpoint with a key, such as `https://app.example.com`; `*`: any; empty: none but the service's own. Public agents have origins of their own: `allowedOrigins`", set: origins(func(c *Config) *[]string { return &c.CORSOrigins })},
		{Env: "SLUICE_WORKERS", Flag: "workers", Default: "true", Doc: "run ingestor and crawler inside the api process; `false` leaves the work to processes of their own, but for what goes into the embedded index", set: boolean(func(c *Config) *bool { return &c.Workers })},
		{Env: "SLUICE_AUDIT_FILE", Flag: "audit-file", Doc: "file to which what keys are used for is appended as lines of JSON, of api processes; empty: the log", set: text(func(c *Config) *string { return &c.AuditFile })},
		{Env: "SLUICE_LOG_LEVEL", Flag: "log-level", Default: "info", Doc: "`debug`, `info`, `warn` or `error`", set: oneOf(func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error")},
		{Env: "SLUICE_ALLOW_PRIVATE_ADDRESSES", Flag: "allow-private-addresses", Default: "false", Doc: "let the crawler reach loopback and private addresses; only where every user may see what they serve", set: boolean(func(c *Config) *bool { return &c.AllowPrivate })},
		{Env: "SLUICE_CRAWL_ALLOW", Flag: "crawl-allow", Doc: "private addresses that the crawler may reach all the same, separated by commas: `10.1.0.0/16`, `192.168.1.7`, `wiki.corp.example`, `*.corp.example`", set: text(func(c *Config) *string { return &c.CrawlAllow })},
		{Env: "SLUICE_CRAWL_PROXY", Flag: "crawl-proxy", Secret: true, Doc: "proxy through which the crawler sends all its requests, `http://proxy.corp.example:3128`, `https://…` or `socks5://…`, optionally with user and password; private addresses are still refused; empty: no proxy, `HTTP_PROXY` has no effect", set: proxy(func(c *Config) *string { return &c.CrawlProxy })},
		{Env: "SLUICE_SECRET_KEY", Flag: "secret-key", Secret: true, Doc: "key that encrypts the headers of protected sites (`config.headers`), of at least 32 random characters, the same in every api and crawler process; empty: a process that runs all services creates one in `secret-key` in the data directory; other processes refuse such headers", set: secretKey(func(c *Config) *string { return &c.SecretKey })},
		{Env: "SLUICE_USER_AGENT", Flag: "user-agent", Default: "SluiceBot/1.0 (+https://github.com/sluice/sluice)", Doc: "how the crawler names itself; add an address where its operator can be reached", set: text(func(c *Config) *string { return &c.UserAgent })},

		{Env: "CHROME_URL", Flag: "chrome-url", Secret: true, Doc: "DevTools address of a running Chromium (`http://chromium:9222`), which reads pages that show their text only by running scripts; empty: `SLUICE_CHROMIUM`", set: text(func(c *Config) *string { return &c.ChromeURL })},
		{Env: "SLUICE_CHROMIUM", Flag: "chromium", Doc: "path of a Chromium that the crawler starts for such pages, or `auto` to look for one; empty: they end with status `error` that says so", set: text(func(c *Config) *string { return &c.Chromium })},

		{Env: "NATS_URL", Flag: "nats-url", Secret: true, Doc: "NATS servers with JetStream, `nats://` or `tls://`, several separated by commas; empty: the embedded server", set: text(func(c *Config) *string { return &c.NATSURL })},
		{Env: "NATS_CREDS", Flag: "nats-creds", Doc: "credentials file (JWT and seed) for `NATS_URL`", set: file(func(c *Config) *string { return &c.NATSCreds })},
		{Env: "NATS_CA", Flag: "nats-ca", Doc: "PEM file of the authority that signed the servers' certificates; empty: the system's", set: file(func(c *Config) *string { return &c.NATSCA })},
		{Env: "NATS_CERT", Flag: "nats-cert", Doc: "PEM file of the client's certificate, for servers that ask for one", set: file(func(c *Config) *string { return &c.NATSCert })},
		{Env: "NATS_KEY", Flag: "nats-key", Doc: "PEM file of its key", set: file(func(c *Config) *string { return &c.NATSKey })},
		{Env: "SLUICE_NATS_REPLICAS", Flag: "nats-replicas", Default: "1", Doc: "servers that keep each message, of a cluster of at least as many; 3 survives the loss of one", set: number(func(c *Config) *int { return &c.NATSReplicas }, 1, 5)},
		{Env: "SLUICE_NATS_LISTEN", Flag: "nats-listen", Doc: "address at which the embedded NATS server takes worker processes; empty: no port is opened", set: listenAddress(func(c *Config) *string { return &c.NATSListen })},
		{Env: "SLUICE_NATS_TOKEN", Flag: "nats-token", Secret: true, Doc: "token for `SLUICE_NATS_LISTEN` (required with it) and for `NATS_URL`", set: text(func(c *Config) *string { return &c.NATSToken })},

		{Env: "DATABASE_URL", Flag: "database-url", Secret: true, Doc: "PostgreSQL as catalog, `postgres://user:password@host/database`; for api processes only; empty: SQLite in the data directory", set: text(func(c *Config) *string { return &c.DatabaseURL })},

		{Env: "MILVUS_ADDR", Flag: "milvus-addr", Doc: "Milvus as index, `host:port`; empty: the embedded index", set: text(func(c *Config) *string { return &c.MilvusAddr })},
		{Env: "MILVUS_USER", Flag: "milvus-user", Doc: "user of Milvus; empty: none", set: text(func(c *Config) *string { return &c.MilvusUser })},
		{Env: "MILVUS_PASSWORD", Flag: "milvus-password", Secret: true, Doc: "its password", set: text(func(c *Config) *string { return &c.MilvusPassword })},
		{Env: "MILVUS_DATABASE", Flag: "milvus-database", Doc: "database within Milvus; empty: the default one", set: text(func(c *Config) *string { return &c.MilvusDatabase })},
		{Env: "MILVUS_TLS", Flag: "milvus-tls", Default: "false", Doc: "speak TLS with Milvus", set: boolean(func(c *Config) *bool { return &c.MilvusTLS })},
		{Env: "SLUICE_EMBEDDED_INDEX", Flag: "embedded-index", Default: "auto", Doc: "open the embedded index in the data directory: `true`, `false`, or `auto`: where it is the only index, or the catalog is SQLite; one api process at a time can have it", set: oneOf(func(c *Config) *string { return (*string)(&c.EmbeddedIndex) }, string(Auto), string(Yes), string(No))},

		{Env: "OPENAI_BASE_URL", Flag: "openai-base-url", Doc: "an OpenAI-compatible server (`http://localhost:11434/v1`); empty with a key: OpenAI's own", set: httpAddress(func(c *Config) *string { return &c.OpenAIBaseURL })},
		{Env: "OPENAI_API_KEY", Flag: "openai-api-key", Secret: true, Doc: "its key; servers that need none take any", set: text(func(c *Config) *string { return &c.OpenAIKey })},
		{Env: "AZURE_OPENAI_ENDPOINT", Flag: "azure-openai-endpoint", Doc: "an Azure OpenAI resource (`https://name.openai.azure.com`), whose models are called by the names of their deployments", set: httpAddress(func(c *Config) *string { return &c.AzureEndpoint })},
		{Env: "AZURE_OPENAI_API_KEY", Flag: "azure-openai-api-key", Secret: true, Doc: "its key", set: text(func(c *Config) *string { return &c.AzureKey })},
		{Env: "AZURE_OPENAI_API_VERSION", Flag: "azure-openai-api-version", Doc: "`api-version` of its dated interface (`2024-10-21`); empty: its v1 interface, which has none", set: text(func(c *Config) *string { return &c.AzureVersion })},
		{Env: "ANTHROPIC_API_KEY", Flag: "anthropic-api-key", Secret: true, Doc: "key of Anthropic", set: text(func(c *Config) *string { return &c.AnthropicKey })},
		{Env: "ANTHROPIC_BASE_URL", Flag: "anthropic-base-url", Doc: "another server that speaks Anthropic's Messages API; empty with a key: Anthropic's own", set: httpAddress(func(c *Config) *string { return &c.AnthropicURL })},
		{Env: "SLUICE_CHAT_MODEL", Flag: "chat-model", Doc: "model that writes answers, `model` or `provider:model` with `openai`, `azure` or `anthropic`; without a provider: the first of these that is configured; empty: the built-in answerer quotes the documents", set: text(func(c *Config) *string { return &c.ChatModel })},
		{Env: "SLUICE_CHAT_FALLBACK", Flag: "chat-fallback", Doc: "model that is asked when the one that was to answer fails before the first word, `model` or `provider:model`; empty: none", set: text(func(c *Config) *string { return &c.ChatFallback })},
		{Env: "SLUICE_CHAT_WINDOW", Flag: "chat-window", Doc: "tokens that models take, prompt and answer together: a number for all, and `model=number` for one, separated by commas (`8192,gpt-4o=128000`); without: what is known of the model by its name, else 8192", set: windows(func(c *Config) *Windows { return &c.ChatWindows })},
		{Env: "SLUICE_CHAT_MAX_TOKENS", Flag: "chat-max-tokens", Default: "4096", Doc: "tokens kept free for an answer where the query has no `maxTokens`, up to a quarter of the window; Anthropic's models also stop there, and who asks a public agent without a key may set no more", set: number(func(c *Config) *int { return &c.ChatMaxTokens }, 1, 128_000)},
		{Env: "SLUICE_CHAT_FRAGMENTS", Flag: "chat-fragments", Default: "10", Doc: "fragments that are retrieved for an answer", set: number(func(c *Config) *int { return &c.ChatFragments }, 1, 100)},
		{Env: "SLUICE_CHAT_CONTEXT", Flag: "chat-context", Default: "3000", Doc: "tokens of fragments in a prompt at most, as far as the window has room", set: number(func(c *Config) *int { return &c.ChatContext }, 100, 1_000_000)},
		{Env: "SLUICE_CHAT_HISTORY", Flag: "chat-history", Default: "1500", Doc: "tokens of what was said before in a prompt at most, the newest first; 0: agents answer each question as if it were the first of its conversation", set: number(func(c *Config) *int { return &c.ChatHistory }, 0, 1_000_000)},
		{Env: "SLUICE_CHAT_START_TIMEOUT", Flag: "chat-start-timeout", Default: "60s", Doc: "how long a model may take until the first word of its answer, attempts included", set: duration(func(c *Config) *time.Duration { return &c.ChatStart })},
		{Env: "SLUICE_CHAT_STALL_TIMEOUT", Flag: "chat-stall-timeout", Default: "30s", Doc: "how long it may be silent in the middle of one", set: duration(func(c *Config) *time.Duration { return &c.ChatStall })},
		{Env: "SLUICE_CHAT_TIMEOUT", Flag: "chat-timeout", Default: "5m", Doc: "how long a whole answer may take, from question to end", set: duration(func(c *Config) *time.Duration { return &c.ChatTimeout })},
		{Env: "SLUICE_CHAT_ATTEMPTS", Flag: "chat-attempts", Default: "3", Doc: "how often a model is asked before its first word, when what fails may pass by itself", set: number(func(c *Config) *int { return &c.ChatAttempts }, 1, 10)},
		{Env: "SLUICE_EMBED_MODEL", Flag: "embed-model", Doc: "the server's embedding model for new datastores; empty: that of `SLUICE_EMBED_DIR`, else one in `models` in the data directory, else the built-in one", set: text(func(c *Config) *string { return &c.EmbedModel })},
		{Env: "SLUICE_EMBED_DIMENSIONS", Flag: "embed-dimensions", Default: "0", Doc: "dimensions of `SLUICE_EMBED_MODEL`'s vectors, asked for from models that can shorten them; 0: as the model gives them", set: number(func(c *Config) *int { return &c.EmbedDims }, 0, 32_768)},
		{Env: "SLUICE_EMBED_DIR", Flag: "embed-dir", Doc: "directory of a sentence-transformers model that is run in process (`config.json`, `tokenizer.json`, `model.safetensors`), the same in every api and ingestor; embedding model of new datastores unless `SLUICE_EMBED_MODEL` is set", set: text(func(c *Config) *string { return &c.EmbedDir })},
		{Env: "SLUICE_EMBED_QUERY_PREFIX", Flag: "embed-query-prefix", Doc: "what goes before queries, for models that were trained so (`query: `); of `SLUICE_EMBED_MODEL`, else of `SLUICE_EMBED_DIR`; empty: what the directory's own configuration says, nothing with a server", set: text(func(c *Config) *string { return &c.QueryPrefix })},
		{Env: "SLUICE_EMBED_PASSAGE_PREFIX", Flag: "embed-passage-prefix", Doc: "likewise for passages (`passage: `); another one makes another model, since its vectors do not compare", set: text(func(c *Config) *string { return &c.PassagePrefix })},
		{Env: "RERANK_URL", Flag: "rerank-url", Doc: "a server that puts the best 50 candidates of a query in order: `https://api.cohere.com/v2/rerank`, `https://api.jina.ai/v1/rerank` (and vLLM's), or the `/rerank` of Text Embeddings Inference; the form is Cohere's or Jina's where the path ends in `/v2` or `/v1`, with or without `/rerank`, else TEI's; empty: none", set: httpAddress(func(c *Config) *string { return &c.RerankURL })},
		{Env: "RERANK_API_KEY", Flag: "rerank-api-key", Secret: true, Doc: "its key", set: text(func(c *Config) *string { return &c.RerankKey })},
		{Env: "RERANK_MODEL", Flag: "rerank-model", Doc: "its model (`rerank-v3.5`), for servers that have several", set: text(func(c *Config) *string { return &c.RerankModel })},
		models("llm_3_5_turbo"), models("llm_3_5_turbo_16k"), models("llm_4"), models("llm_4_32k"),

		{Env: "SLUICE_INGEST_CONCURRENCY", Flag: "ingest-concurrency", Default: "8", Doc: "documents that one ingestor works on at once, with the embedded index up to four times as many where they are short; as many of them are read at a time as there are processors, but two at least", set: number(func(c *Config) *int { return &c.IngestConcurrency }, 1, 256)},
		{Env: "SLUICE_CRAWL_CONCURRENCY", Flag: "crawl-concurrency", Default: "16", Doc: "pages that one crawler fetches at once, over all hosts", set: number(func(c *Config) *int { return &c.CrawlConcurrency }, 1, 256)},
		{Env: "SLUICE_CRAWL_DELAY", Flag: "crawl-delay", Default: "200ms", Doc: "time between two requests to one host, over all crawlers, unless its robots.txt asks for more; `0s`: none, for hosts of your own", set: delay(func(c *Config) *time.Duration { return &c.CrawlDelay })},
		{Env: "SLUICE_CRAWL_PER_HOST", Flag: "crawl-per-host", Default: "2", Doc: "requests to one host at once, over all crawlers; 0: any number, for hosts of your own", set: number(func(c *Config) *int { return &c.CrawlPerHost }, 0, 256)},
		{Env: "SLUICE_CRAWL_TRIES", Flag: "crawl-tries", Default: "20", Doc: "how often a page is asked for that fails in a way that may pass, with delays from a second to ten minutes between, or as long as its host asks for; 20 takes some two hours. Where a host asks for longer, three attempts are made, and others until ten minutes times this number have gone by", set: number(func(c *Config) *int { return &c.CrawlTries }, 1, 100)},
		{Env: "SLUICE_WINDOW", Flag: "window", Default: "0", Doc: "unfinished jobs admitted to the job stream at a time; the rest wait in the catalog, fairly by workspace. 0: 64 with the embedded NATS server, 256 with `NATS_URL`", set: number(func(c *Config) *int { return &c.Window }, 0, 100_000)},
		{Env: "SLUICE_CACHE_MEMORY", Flag: "cache-memory", Default: "0", Doc: "memory in which a process keeps what it may soon need again, beside what it works with: four fifteenths each for postings and for rows of the embedded index and for vectors of passages just embedded, two for what queries ask of an SQLite catalog, one for originals that wait to be read; 0: `120MiB`, and for postings, which are given up when nobody searches, a sixty-fourth of the memory of its control group or of the machine where that is more", set: sizeOrNone(func(c *Config) *Bytes { return &c.CacheMemory }, 1<<20)},
		{Env: "SLUICE_EXTRACT_MEMORY", Flag: "extract-memory", Default: "3GiB", Doc: "address space of a process that reads a document; a document that needs more ends with status `error`", set: size(func(c *Config) *Bytes { return &c.ExtractMemory }, 512<<20)},
		{Env: "SLUICE_EXTRACT_TIMEOUT", Flag: "extract-timeout", Default: "2m", Doc: "longest time to read a document", set: duration(func(c *Config) *time.Duration { return &c.ExtractTimeout })},

		{Env: "SLUICE_LIMIT_UPLOAD", Flag: "limit-upload", Default: "100MiB", Doc: "largest uploaded file", set: size(func(c *Config) *Bytes { return &c.LimitUpload }, 1)},
		{Env: "SLUICE_LIMIT_JSON", Flag: "limit-json", Default: "10MiB", Doc: "largest JSON body", set: size(func(c *Config) *Bytes { return &c.LimitJSON }, 1024)},
		{Env: "SLUICE_LIMIT_DOCUMENTS", Flag: "limit-documents", Default: "1000", Doc: "documents of one upsert", set: number(func(c *Config) *int { return &c.LimitDocuments }, 1, 100_000)},
		{Env: "SLUICE_LIMIT_PAGES", Flag: "limit-pages", Default: "10000", Doc: "pages of one web site", set: number(func(c *Config) *int { return &c.LimitPages }, 1, 10_000_000)},
		{Env: "SLUICE_LIMIT_PAGE_BYTES", Flag: "limit-page-bytes", Default: "20MiB", Doc: "largest fetched page or document, after unpacking", set: size(func(c *Config) *Bytes { return &c.LimitPageBytes }, 1024)},
		{Env: "SLUICE_LIMIT_QUERY", Flag: "limit-query", Default: "8000", Doc: "characters of a query", set: number(func(c *Config) *int { return &c.LimitQuery }, 1, 1_000_000)},
		{Env: "SLUICE_LIMIT_CHUNKS", Flag: "limit-chunks", Default: "200000", Doc: "chunks of one document", set: number(func(c *Config) *int { return &c.LimitChunks }, 1, 10_000_000)},
		{Env: "SLUICE_LIMIT_RATE", Flag: "limit-rate", Default: "0", Doc: "requests per second and key, with bursts of twice as many; 0: no limit", set: number(func(c *Config) *int { return &c.LimitRate }, 0, 1_000_000)},
		{Env: "SLUICE_QUOTA_QUERIES", Flag: "quota-queries", Default: "0", Doc: "agent queries per workspace and calendar month (UTC), beyond which they are answered 402; this and the quotas below can be set lower for each workspace and key by `PUT /usage/limits` and `PUT /keys/{id}/limits`; 0: no limit", set: number64(func(c *Config) *int64 { return &c.QuotaQueries })},
		{Env: "SLUICE_QUOTA_TOKENS", Flag: "quota-tokens", Default: "0", Doc: "model tokens of agent queries per workspace and calendar month; 0: no limit", set: number64(func(c *Config) *int64 { return &c.QuotaTokens })},
		{Env: "SLUICE_QUOTA_CHUNKS", Flag: "quota-chunks", Default: "0", Doc: "searchable chunks of a workspace, beyond which new content is answered 402; what was accepted is finished; 0: no limit", set: number64(func(c *Config) *int64 { return &c.QuotaChunks })},
		{Env: "SLUICE_QUOTA_BYTES", Flag: "quota-bytes", Default: "0", Doc: "content of a workspace as it came in, beyond which more is answered 402; pages of sites that were accepted may pass it; 0: no limit", set: size(func(c *Config) *Bytes { return &c.QuotaBytes }, 0)},
		{Env: "SLUICE_LIMIT_VISITOR", Flag: "limit-visitor", Default: "0", Doc: "questions a minute of one visitor of a public agent, told by `visitorId`, else by address; they may come at once; 0: no limit", set: number(func(c *Config) *int { return &c.LimitVisitor }, 0, 1_000_000)},
		{Env: "SLUICE_LIMIT_SEARCHES", Flag: "limit-searches", Default: "0", Doc: "datastore queries that an api process works on at once; some more wait for `SLUICE_ADMISSION_WAIT`, all others are answered 503 with `Retry-After` ([more](scaling.md#beyond-capacity)); 0: 4 for each processor, 64 where an engine or a model server is waited for", set: number(func(c *Config) *int { return &c.LimitSearches }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_ANSWERS", Flag: "limit-answers", Default: "0", Doc: "likewise agent queries, each until its answer begins; 0: 4 for each processor, 256 with a chat model", set: number(func(c *Config) *int { return &c.LimitAnswers }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_UPLOADS", Flag: "limit-uploads", Default: "0", Doc: "likewise requests that bring content; 0: 32 for each processor", set: number(func(c *Config) *int { return &c.LimitUploads }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_REQUESTS", Flag: "limit-requests", Default: "0", Doc: "likewise all other requests, but for `/healthz`, `/readyz` and `/metrics`, which are always answered; 0: 32 for each processor", set: number(func(c *Config) *int { return &c.LimitRequests }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_OPEN", Flag: "limit-open", Default: "4096", Doc: "answers that are being sent at once, open streams above all", set: number(func(c *Config) *int { return &c.LimitOpen }, 1, 1_000_000)},
		{Env: "SLUICE_ADMISSION_WAIT", Flag: "admission-wait", Default: "25ms", Doc: "how long a query waits for its turn at most before it is refused, where others have been waiting all the time; ten times as long in a burst, which is what comes within the first four times of it, and ten times as long for other requests", set: duration(func(c *Config) *time.Duration { return &c.AdmissionWait })},
		{Env: "SLUICE_LIMIT_WAITING", Flag: "limit-waiting", Default: "1000000", Doc: "jobs that may wait; beyond it, new content is answered 503", set: number(func(c *Config) *int { return &c.LimitWaiting }, 1, 1_000_000_000)},
		{Env: "SLUICE_LIMIT_DISK", Flag: "limit-disk", Default: "256MiB", Doc: "room that must be free on the disk of the data directory; with less, new content is answered 503; 0: nobody looks", set: size(func(c *Config) *Bytes { return &c.LimitDisk }, 0)},
		{Env: "SLUICE_CONVERSATION_RETENTION", Flag: "conversation-retention", Default: "0", Doc: "how long conversations are kept in which nothing is said any more, such as `90d` or `36h`; 0: for ever", set: retention(func(c *Config) *time.Duration { return &c.ConversationRetention })},
		{Env: "SLUICE_SHUTDOWN_GRACE", Flag: "shutdown-grace", Default: "10s", Doc: "how long a stopping process finishes what it serves before it cuts off", set: duration(func(c *Config) *time.Duration { return &c.ShutdownGrace })},
		{Env: "SLUICE_AUDIT_EVERY", Flag: "audit-every", Default: "1h", Doc: "how often index and catalog are compared and mended", set: duration(func(c *Config) *time.Duration { return &c.AuditEvery })},
	}
}

// foreign are names with our prefix that the command line of a remote service reads, not the service.
var foreign = map[string]bool{"SLUICE_URL": true}

// Parse reads args (without the program's name) and environ ("K=V"). It reports every fault at once. flag.ErrHelp is
// returned after usage was written to out.
func Parse(args, environ []string, out io.Writer) (Config, error) {
	settings := Settings()
	values := make(map[string]string, len(settings))
	known := make(map[string]bool, len(settings))
	for _, s := range settings {
		values[s.Env], known[s.Env] = s.Default, true
	}
	var faults []error
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case known[name]:
			if value != "" {
				values[name] = value
			}
		case strings.HasPrefix(name, "SLUICE_") && !foreign[name]:
			faults = append(faults, fmt.Errorf("%s is not a setting%s", name, closest(name, settings)))
		}
	}
	flags := flag.NewFlagSet("sluice", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, s := range settings {
		isBool := s.Default == "true" || s.Default == "false"
		flags.Var(flagValue{values, s.Env, isBool}, s.Flag, s.Doc)
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		Usage(out)
		return Config{}, err
	case err != nil:
		faults = append(faults, err)
	case flags.NArg() > 0:
		faults = append(faults, fmt.Errorf("unexpected argument %q (settings are written --name=value)", flags.Arg(0)))
	}
	c := Config{ModelNames: map[string]string{}}
	for _, s := range settings {
		err := unquoted(values[s.Env])
		if err == nil && s.Secret {
			err = oneLine(values[s.Env])
		}
		if err == nil {
			err = s.set(&c, values[s.Env])
		}
		if err != nil {
			shown := fmt.Sprintf(" %q", values[s.Env])
			if s.Secret {
				shown = ""
			}
			faults = append(faults, fmt.Errorf("%s (--%s)%s: %w", s.Env, s.Flag, shown, err))
		}
	}
	if c.Window == 0 {
		c.Window = defaultWindow(c)
	}
	if err := c.check(); err != nil {
		faults = append(faults, err)
	}
	return c, errors.Join(faults...)
}

// defaultWindow is a few times what is worked on at once: what is in the window goes before what comes in after it, and a
// single upload should not wait long behind somebody's import.
func defaultWindow(c Config) int {
	if c.NATSURL == "" {
		return 64
	}
	return 256
}

// check refuses settings that make no sense together.
func (c Config) check() error {
	if c.NATSListen != "" && c.NATSToken == "" {
		return errors.New("SLUICE_NATS_LISTEN needs SLUICE_NATS_TOKEN: whoever can reach the port could read every job")
	}
	if c.NATSListen != "" && c.NATSURL != "" {
		return errors.New("SLUICE_NATS_LISTEN opens the embedded NATS server, NATS_URL uses another: set one of them")
	}
	if (c.NATSCert == "") != (c.NATSKey == "") {
		return errors.New("NATS_CERT and NATS_KEY belong together: set both, or neither")
	}
	if c.NATSURL == "" && c.NATSReplicas > 1 {
		return fmt.Errorf("SLUICE_NATS_REPLICAS is %d, and the embedded NATS server is one: set NATS_URL", c.NATSReplicas)
	}
	if c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL, "postgresql://") {
		return errors.New("DATABASE_URL must have the form postgres://user:password@host:5432/database")
	}
	if authority, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(c.DatabaseURL, "postgres://"), "postgresql://"), "/"); strings.Count(authority, "@") > 1 {
		return errors.New("DATABASE_URL has more than one @ before its host: write an @ of the user or the password as %40")
	}
	if c.MilvusAddr != "" && !strings.Contains(c.MilvusAddr, ":") {
		return fmt.Errorf("MILVUS_ADDR is %q and must name a port: %s:19530", c.MilvusAddr, c.MilvusAddr)
	}
	if (c.QueryPrefix != "" || c.PassagePrefix != "") && c.EmbedModel == "" && c.EmbedDir == "" {
		return errors.New("SLUICE_EMBED_QUERY_PREFIX and SLUICE_EMBED_PASSAGE_PREFIX belong to a model: set SLUICE_EMBED_MODEL or SLUICE_EMBED_DIR too")
	}
	if (c.RerankKey != "" || c.RerankModel != "") && c.RerankURL == "" {
		return errors.New("RERANK_API_KEY and RERANK_MODEL belong to a reranker: set RERANK_URL too")
	}
	if c.MilvusAddr == "" && c.EmbeddedIndex == No {
		return errors.New("SLUICE_EMBEDDED_INDEX is false and MILVUS_ADDR is not set: there would be no index")
	}
	return nil
}

// HasEmbeddedIndex reports whether an api process opens the embedded index.
func (c Config) HasEmbeddedIndex() bool {
	if c.EmbeddedIndex == Auto {
		return c.MilvusAddr == "" || c.DatabaseURL == ""
	}
	return c.EmbeddedIndex == Yes
}

// HasModelServer reports whether an OpenAI-compatible server is configured.
func (c Config) HasModelServer() bool { return c.OpenAIBaseURL != "" || c.OpenAIKey != "" }

// HasAzure reports whether an Azure OpenAI resource is configured.
func (c Config) HasAzure() bool { return c.AzureEndpoint != "" }

// HasAnthropic reports whether Anthropic, or a server that speaks its API, is configured.
func (c Config) HasAnthropic() bool { return c.AnthropicURL != "" || c.AnthropicKey != "" }

// Usage writes the table for people.
func Usage(out io.Writer) {
	for _, s := range Settings() {
		fmt.Fprintf(out, "  --%s, %s", s.Flag, s.Env)
		if s.Default != "" {
			fmt.Fprintf(out, " (default %s)", s.Default)
		}
		fmt.Fprintf(out, "\n        %s\n", strings.ReplaceAll(s.Doc, "`", ""))
	}
}

// Markdown writes the table for the documentation.
func Markdown(out io.Writer) {
	fmt.Fprint(out, "| environment | flag | default | |\n|---|---|---|---|\n")
	for _, s := range Settings() {
		def := "–"
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		fmt.Fprintf(out, "| `%s` | `--%s` | %s | %s |\n", s.Env, s.Flag, def, s.Doc)
	}
}

// closest suggests the setting that shares the longest prefix with a name that is none.
func closest(name string, settings []Setting) string {
	best := append([]Setting(nil), settings...)
	sort.SliceStable(best, func(i, j int) bool { return shared(best[i].Env, name) > shared(best[j].Env, name) })
	if shared(best[0].Env, name) <= len("SLUICE_") {
		return ""
	}
	return "; did you mean " + best[0].Env + "?"
}

func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
