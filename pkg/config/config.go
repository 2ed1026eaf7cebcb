// Package config reads Sluice's settings from flags and the environment. All settings are in one table, from which the
// documentation is generated. Flags take precedence over the environment. Unknown settings are errors. Secrets are
// never printed.
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

// Config holds all settings of a process. Its zero value is not usable; Parse fills in the defaults.
type Config struct {
	Addr         string
	DataDir      string
	APIKey       string
	AdminKey     string // "": requests that need it are refused
	Workers      bool
	LogLevel     string
	AuditFile    string // "": the log
	AllowPrivate bool
	CrawlAllow   string
	CrawlProxy   string   // "": none
	SecretKey    string   // "": a key file in the data directory, if one process does everything
	MCPHosts     []string // host names under which clients of the Model Context Protocol reach the service
	CORSOrigins  []string // origins of web pages that may call the service
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

	ChatModel     string // the provider's name of the model, with or without the prefix "provider:"
	ChatFallback  string // in the same form as ChatModel
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
	EmbedDir      string // directory of a model that runs in this process
	QueryPrefix   string // for the model that SLUICE_EMBED_MODEL or SLUICE_EMBED_DIR names
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
	LimitSearches  int // concurrent; 0: chosen by the process
	LimitAnswers   int // concurrent; 0: chosen by the process
	LimitUploads   int // concurrent; 0: chosen by the process
	LimitRequests  int // other concurrent requests; 0: chosen by the process
	LimitOpen      int // concurrent streams
	LimitWaiting   int // jobs
	LimitDisk      Bytes
	AdmissionWait  time.Duration
	ShutdownGrace  time.Duration
	AuditEvery     time.Duration

	ConversationRetention time.Duration // 0: kept forever
}

// Choice is a setting that is on, off, or derived from other settings.
type Choice string

// Values of a Choice.
const (
	Auto Choice = "auto"
	Yes  Choice = "true"
	No   Choice = "false"
)

// Bytes is a size in bytes, written with a unit: 100MiB, 64KiB, 512.
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

// Settings returns the table of settings, in the order of the documentation.
func Settings() []Setting {
	models := func(name string) Setting {
		return Setting{
			Env: "SLUICE_MODEL_" + strings.ToUpper(name), Flag: "model-" + strings.ReplaceAll(name, "_", "-"),
			Doc: "chat model for `" + name + "`, `model` or `provider:model`; default: `SLUICE_CHAT_MODEL`",
			set: func(c *Config, v string) error {
				if v != "" {
					c.ModelNames[name] = v
				}
				return nil
			},
		}
	}
	return []Setting{
		{Env: "SLUICE_ADDR", Flag: "addr", Doc: "listen address; port 0 picks a free one; default: `127.0.0.1:8080` for api, a free local port, shown in the log, for health and metrics of ingestor and crawler", set: listenAddress(func(c *Config) *string { return &c.Addr })},
		{Env: "SLUICE_DATA_DIR", Flag: "data-dir", Default: "./data", Doc: "directory for all data of a single server; used by one process at a time", set: text(func(c *Config) *string { return &c.DataDir })},
		{Env: "SLUICE_API_KEY", Flag: "api-key", Secret: true, Doc: "API key that is valid from the first start, 16 to 512 ASCII characters without spaces; default: a key is created, printed once and stored in `api-key` in the data directory", set: key(func(c *Config) *string { return &c.APIKey })},
		{Env: "SLUICE_ADMIN_KEY", Flag: "admin-key", Secret: true, Doc: "operator's key, at least 16 characters, for `/debug/pprof/` of every process and `/admin/backup` of api processes, which expose all content; default: no profiles, and backups only for users who can read the data directory", set: passphrase(func(c *Config) *string { return &c.AdminKey })},
		{Env: "SLUICE_MCP_HOSTS", Flag: "mcp-hosts", Doc: "comma-separated host names under which a proxy on the same machine forwards requests to `/mcp`, and whose web pages may call it; `*`: any; default: loopback names, no other origin", set: names(func(c *Config) *[]string { return &c.MCPHosts })},
		{Env: "SLUICE_CORS_ORIGINS", Flag: "cors-origins", Doc: "comma-separated origins of web pages that may call every endpoint with a key (`https://app.example.com`); `*`: any; default: the service's own; public agents have `allowedOrigins`", set: origins(func(c *Config) *[]string { return &c.CORSOrigins })},
		{Env: "SLUICE_WORKERS", Flag: "workers", Default: "true", Doc: "run ingestor and crawler inside the api process; `false` leaves the work to separate processes, except writing the embedded index", set: boolean(func(c *Config) *bool { return &c.Workers })},
		{Env: "SLUICE_AUDIT_FILE", Flag: "audit-file", Doc: "file to which api processes append audit records as JSON lines; default: the log", set: text(func(c *Config) *string { return &c.AuditFile })},
		{Env: "SLUICE_LOG_LEVEL", Flag: "log-level", Default: "info", Doc: "`debug`, `info`, `warn` or `error`", set: enum(func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error")},
		{Env: "SLUICE_ALLOW_PRIVATE_ADDRESSES", Flag: "allow-private-addresses", Default: "false", Doc: "let the crawler reach loopback and private addresses; use this only if every user may see their content", set: boolean(func(c *Config) *bool { return &c.AllowPrivate })},
		{Env: "SLUICE_CRAWL_ALLOW", Flag: "crawl-allow", Doc: "comma-separated private addresses that the crawler may reach: `10.1.0.0/16`, `192.168.1.7`, `wiki.corp.example`, `*.corp.example`", set: text(func(c *Config) *string { return &c.CrawlAllow })},
		{Env: "SLUICE_CRAWL_PROXY", Flag: "crawl-proxy", Secret: true, Doc: "proxy for all requests of the crawler (`http://proxy.corp.example:3128`, `https://…`, `socks5://…`), optionally with user and password; private addresses stay blocked; `HTTP_PROXY` has no effect", set: proxy(func(c *Config) *string { return &c.CrawlProxy })},
		{Env: "SLUICE_SECRET_KEY", Flag: "secret-key", Secret: true, Doc: "key that encrypts the headers of protected sites (`config.headers`), at least 32 random characters, the same in every api and crawler process; default: a process that runs all services creates one in `secret-key` in the data directory, others reject such headers", set: secretKey(func(c *Config) *string { return &c.SecretKey })},
		{Env: "SLUICE_USER_AGENT", Flag: "user-agent", Default: "SluiceBot/1.0 (+https://github.com/sluice/sluice)", Doc: "User-Agent of the crawler; add an address of its operator", set: text(func(c *Config) *string { return &c.UserAgent })},

		{Env: "CHROME_URL", Flag: "chrome-url", Secret: true, Doc: "DevTools address of a running Chromium (`http://chromium:9222`) for pages whose text is produced by scripts; default: `SLUICE_CHROMIUM`", set: text(func(c *Config) *string { return &c.ChromeURL })},
		{Env: "SLUICE_CHROMIUM", Flag: "chromium", Doc: "path of a Chromium that the crawler starts for such pages, or `auto` to find one; default: such pages end with status `error`", set: text(func(c *Config) *string { return &c.Chromium })},

		{Env: "NATS_URL", Flag: "nats-url", Secret: true, Doc: "comma-separated NATS servers with JetStream, `nats://` or `tls://`; default: the embedded server", set: text(func(c *Config) *string { return &c.NATSURL })},
		{Env: "NATS_CREDS", Flag: "nats-creds", Doc: "credentials file (JWT and seed) for `NATS_URL`", set: file(func(c *Config) *string { return &c.NATSCreds })},
		{Env: "NATS_CA", Flag: "nats-ca", Doc: "PEM file of the authority of the servers' certificates; default: the system's authorities", set: file(func(c *Config) *string { return &c.NATSCA })},
		{Env: "NATS_CERT", Flag: "nats-cert", Doc: "PEM file of the client certificate, if the servers require one", set: file(func(c *Config) *string { return &c.NATSCert })},
		{Env: "NATS_KEY", Flag: "nats-key", Doc: "PEM file of the client certificate's key", set: file(func(c *Config) *string { return &c.NATSKey })},
		{Env: "SLUICE_NATS_REPLICAS", Flag: "nats-replicas", Default: "1", Doc: "copies of each message, at most the number of servers; 3 survives the loss of one server", set: number(func(c *Config) *int { return &c.NATSReplicas }, 1, 5)},
		{Env: "SLUICE_NATS_LISTEN", Flag: "nats-listen", Doc: "address at which the embedded NATS server accepts worker processes; default: none", set: listenAddress(func(c *Config) *string { return &c.NATSListen })},
		{Env: "SLUICE_NATS_TOKEN", Flag: "nats-token", Secret: true, Doc: "token for `SLUICE_NATS_LISTEN` (required with it) and for `NATS_URL`", set: text(func(c *Config) *string { return &c.NATSToken })},

		{Env: "DATABASE_URL", Flag: "database-url", Secret: true, Doc: "PostgreSQL as catalog, `postgres://user:password@host/database`, for api processes only; default: SQLite in the data directory", set: text(func(c *Config) *string { return &c.DatabaseURL })},

		{Env: "MILVUS_ADDR", Flag: "milvus-addr", Doc: "Milvus as index, `host:port`; default: the embedded index", set: text(func(c *Config) *string { return &c.MilvusAddr })},
		{Env: "MILVUS_USER", Flag: "milvus-user", Doc: "user of Milvus", set: text(func(c *Config) *string { return &c.MilvusUser })},
		{Env: "MILVUS_PASSWORD", Flag: "milvus-password", Secret: true, Doc: "password of Milvus", set: text(func(c *Config) *string { return &c.MilvusPassword })},
		{Env: "MILVUS_DATABASE", Flag: "milvus-database", Doc: "database in Milvus; default: Milvus's default database", set: text(func(c *Config) *string { return &c.MilvusDatabase })},
		{Env: "MILVUS_TLS", Flag: "milvus-tls", Default: "false", Doc: "use TLS for Milvus", set: boolean(func(c *Config) *bool { return &c.MilvusTLS })},
		{Env: "SLUICE_EMBEDDED_INDEX", Flag: "embedded-index", Default: "auto", Doc: "open the embedded index in the data directory, in one api process at a time: `true`, `false`, or `auto` (if it is the only index or the catalog is SQLite)", set: enum(func(c *Config) *string { return (*string)(&c.EmbeddedIndex) }, string(Auto), string(Yes), string(No))},

		{Env: "OPENAI_BASE_URL", Flag: "openai-base-url", Doc: "OpenAI-compatible server (`http://localhost:11434/v1`); default with a key: OpenAI", set: httpAddress(func(c *Config) *string { return &c.OpenAIBaseURL })},
		{Env: "OPENAI_API_KEY", Flag: "openai-api-key", Secret: true, Doc: "API key of that server, if it requires one", set: text(func(c *Config) *string { return &c.OpenAIKey })},
		{Env: "AZURE_OPENAI_ENDPOINT", Flag: "azure-openai-endpoint", Doc: "Azure OpenAI resource (`https://name.openai.azure.com`), whose models are named by their deployments", set: httpAddress(func(c *Config) *string { return &c.AzureEndpoint })},
		{Env: "AZURE_OPENAI_API_KEY", Flag: "azure-openai-api-key", Secret: true, Doc: "API key of that resource", set: text(func(c *Config) *string { return &c.AzureKey })},
		{Env: "AZURE_OPENAI_API_VERSION", Flag: "azure-openai-api-version", Doc: "`api-version` of the dated Azure API (`2024-10-21`); default: the v1 API", set: text(func(c *Config) *string { return &c.AzureVersion })},
		{Env: "ANTHROPIC_API_KEY", Flag: "anthropic-api-key", Secret: true, Doc: "API key of Anthropic", set: text(func(c *Config) *string { return &c.AnthropicKey })},
		{Env: "ANTHROPIC_BASE_URL", Flag: "anthropic-base-url", Doc: "other server with Anthropic's Messages API; default with a key: Anthropic", set: httpAddress(func(c *Config) *string { return &c.AnthropicURL })},
		{Env: "SLUICE_CHAT_MODEL", Flag: "chat-model", Doc: "chat model that writes answers, `model` or `provider:model` with `openai`, `azure` or `anthropic`; without a provider, the first of these that is configured; default: the built-in answerer quotes the documents", set: text(func(c *Config) *string { return &c.ChatModel })},
		{Env: "SLUICE_CHAT_FALLBACK", Flag: "chat-fallback", Doc: "chat model that is asked if the first one fails before its first word", set: text(func(c *Config) *string { return &c.ChatFallback })},
		{Env: "SLUICE_CHAT_WINDOW", Flag: "chat-window", Doc: "context window in tokens, prompt and answer together: a number for all models, and `model=number` for single ones, separated by commas (`8192,gpt-4o=128000`); default: the known window of the model, else 8192", set: windows(func(c *Config) *Windows { return &c.ChatWindows })},
		{Env: "SLUICE_CHAT_MAX_TOKENS", Flag: "chat-max-tokens", Default: "4096", Doc: "tokens reserved for an answer without `maxTokens`, up to a quarter of the window; also the output limit of Anthropic's models and the largest `maxTokens` for public agents without a key", set: number(func(c *Config) *int { return &c.ChatMaxTokens }, 1, 128_000)},
		{Env: "SLUICE_CHAT_FRAGMENTS", Flag: "chat-fragments", Default: "10", Doc: "number of fragments retrieved for an answer", set: number(func(c *Config) *int { return &c.ChatFragments }, 1, 100)},
		{Env: "SLUICE_CHAT_CONTEXT", Flag: "chat-context", Default: "3000", Doc: "maximum tokens of fragments in a prompt", set: number(func(c *Config) *int { return &c.ChatContext }, 100, 1_000_000)},
		{Env: "SLUICE_CHAT_HISTORY", Flag: "chat-history", Default: "1500", Doc: "maximum tokens of previous messages in a prompt, newest first; 0 turns history off", set: number(func(c *Config) *int { return &c.ChatHistory }, 0, 1_000_000)},
		{Env: "SLUICE_CHAT_START_TIMEOUT", Flag: "chat-start-timeout", Default: "60s", Doc: "time limit for the first word of a model's answer, including retries", set: duration(func(c *Config) *time.Duration { return &c.ChatStart })},
		{Env: "SLUICE_CHAT_STALL_TIMEOUT", Flag: "chat-stall-timeout", Default: "30s", Doc: "longest pause of a model within an answer", set: duration(func(c *Config) *time.Duration { return &c.ChatStall })},
		{Env: "SLUICE_CHAT_TIMEOUT", Flag: "chat-timeout", Default: "5m", Doc: "time limit for a whole answer", set: duration(func(c *Config) *time.Duration { return &c.ChatTimeout })},
		{Env: "SLUICE_CHAT_ATTEMPTS", Flag: "chat-attempts", Default: "3", Doc: "attempts to get a model's first word after temporary errors", set: number(func(c *Config) *int { return &c.ChatAttempts }, 1, 10)},
		{Env: "SLUICE_EMBED_MODEL", Flag: "embed-model", Doc: "the server's embedding model for new datastores; default: `SLUICE_EMBED_DIR`, else a model in `models` in the data directory, else the built-in one", set: text(func(c *Config) *string { return &c.EmbedModel })},
		{Env: "SLUICE_EMBED_DIMENSIONS", Flag: "embed-dimensions", Default: "0", Doc: "dimensions requested from `SLUICE_EMBED_MODEL`, if it can shorten vectors; 0: the model's own", set: number(func(c *Config) *int { return &c.EmbedDims }, 0, 32_768)},
		{Env: "SLUICE_EMBED_DIR", Flag: "embed-dir", Doc: "directory of a sentence-transformers model to run in process (`config.json`, `tokenizer.json`, `model.safetensors`), the same in every api and ingestor; used for new datastores unless `SLUICE_EMBED_MODEL` is set", set: text(func(c *Config) *string { return &c.EmbedDir })},
		{Env: "SLUICE_EMBED_QUERY_PREFIX", Flag: "embed-query-prefix", Doc: "prefix for queries that the model expects (`query: `), for `SLUICE_EMBED_MODEL`, else `SLUICE_EMBED_DIR`; default: as configured in the directory, none on a server", set: text(func(c *Config) *string { return &c.QueryPrefix })},
		{Env: "SLUICE_EMBED_PASSAGE_PREFIX", Flag: "embed-passage-prefix", Doc: "prefix for passages (`passage: `), as above; changing it makes another model", set: text(func(c *Config) *string { return &c.PassagePrefix })},
		{Env: "RERANK_URL", Flag: "rerank-url", Doc: "reranker for the best 50 candidates: `https://api.cohere.com/v2/rerank`, `https://api.jina.ai/v1/rerank` (also vLLM), or `/rerank` of Text Embeddings Inference; a path that ends in `/v2` or `/v1`, with or without `/rerank`, selects Cohere's or Jina's format, any other TEI's", set: httpAddress(func(c *Config) *string { return &c.RerankURL })},
		{Env: "RERANK_API_KEY", Flag: "rerank-api-key", Secret: true, Doc: "API key of the reranker", set: text(func(c *Config) *string { return &c.RerankKey })},
		{Env: "RERANK_MODEL", Flag: "rerank-model", Doc: "model of the reranker (`rerank-v3.5`), if it has several", set: text(func(c *Config) *string { return &c.RerankModel })},
		models("llm_3_5_turbo"), models("llm_3_5_turbo_16k"), models("llm_4"), models("llm_4_32k"),

		{Env: "SLUICE_INGEST_CONCURRENCY", Flag: "ingest-concurrency", Default: "8", Doc: "documents in progress per ingestor, up to four times as many short ones with the embedded index; one per processor, at least two, is read at a time", set: number(func(c *Config) *int { return &c.IngestConcurrency }, 1, 256)},
		{Env: "SLUICE_CRAWL_CONCURRENCY", Flag: "crawl-concurrency", Default: "16", Doc: "concurrent page requests per crawler, over all hosts", set: number(func(c *Config) *int { return &c.CrawlConcurrency }, 1, 256)},
		{Env: "SLUICE_CRAWL_DELAY", Flag: "crawl-delay", Default: "200ms", Doc: "time between two requests to one host, over all crawlers, unless robots.txt asks for more; use `0s` only for your own hosts", set: delay(func(c *Config) *time.Duration { return &c.CrawlDelay })},
		{Env: "SLUICE_CRAWL_PER_HOST", Flag: "crawl-per-host", Default: "2", Doc: "concurrent requests to one host, over all crawlers; 0: unlimited, only for your own hosts", set: number(func(c *Config) *int { return &c.CrawlPerHost }, 0, 256)},
		{Env: "SLUICE_CRAWL_TRIES", Flag: "crawl-tries", Default: "20", Doc: "maximum attempts for a page with a temporary error; waits grow from a second to ten minutes, so 20 attempts take about two hours; if the host asks for more than ten minutes, three attempts, then more until this number × ten minutes have passed", set: number(func(c *Config) *int { return &c.CrawlTries }, 1, 100)},
		{Env: "SLUICE_WINDOW", Flag: "window", Default: "0", Doc: "unfinished jobs in the job stream at a time; the others wait in the catalog, shared fairly among workspaces; 0: 64 with the embedded NATS server, 256 with `NATS_URL`", set: number(func(c *Config) *int { return &c.Window }, 0, 100_000)},
		{Env: "SLUICE_CACHE_MEMORY", Flag: "cache-memory", Default: "0", Doc: "memory for the caches of a process; 0: `120MiB`, and for index postings up to 1/64 of the available memory", set: sizeOrNone(func(c *Config) *Bytes { return &c.CacheMemory }, 1<<20)},
		{Env: "SLUICE_EXTRACT_MEMORY", Flag: "extract-memory", Default: "3GiB", Doc: "address space of a process that reads a document; a document that needs more ends with status `error`", set: size(func(c *Config) *Bytes { return &c.ExtractMemory }, 512<<20)},
		{Env: "SLUICE_EXTRACT_TIMEOUT", Flag: "extract-timeout", Default: "2m", Doc: "time limit to read a document", set: duration(func(c *Config) *time.Duration { return &c.ExtractTimeout })},

		{Env: "SLUICE_LIMIT_UPLOAD", Flag: "limit-upload", Default: "100MiB", Doc: "largest uploaded file", set: size(func(c *Config) *Bytes { return &c.LimitUpload }, 1)},
		{Env: "SLUICE_LIMIT_JSON", Flag: "limit-json", Default: "10MiB", Doc: "largest JSON body", set: size(func(c *Config) *Bytes { return &c.LimitJSON }, 1024)},
		{Env: "SLUICE_LIMIT_DOCUMENTS", Flag: "limit-documents", Default: "1000", Doc: "documents per upsert", set: number(func(c *Config) *int { return &c.LimitDocuments }, 1, 100_000)},
		{Env: "SLUICE_LIMIT_PAGES", Flag: "limit-pages", Default: "10000", Doc: "pages per web site", set: number(func(c *Config) *int { return &c.LimitPages }, 1, 10_000_000)},
		{Env: "SLUICE_LIMIT_PAGE_BYTES", Flag: "limit-page-bytes", Default: "20MiB", Doc: "largest fetched page or document, after decompression", set: size(func(c *Config) *Bytes { return &c.LimitPageBytes }, 1024)},
		{Env: "SLUICE_LIMIT_QUERY", Flag: "limit-query", Default: "8000", Doc: "characters per query", set: number(func(c *Config) *int { return &c.LimitQuery }, 1, 1_000_000)},
		{Env: "SLUICE_LIMIT_CHUNKS", Flag: "limit-chunks", Default: "200000", Doc: "chunks per document", set: number(func(c *Config) *int { return &c.LimitChunks }, 1, 10_000_000)},
		{Env: "SLUICE_LIMIT_RATE", Flag: "limit-rate", Default: "0", Doc: "requests per second and key, in bursts of up to twice as many; 0: unlimited", set: number(func(c *Config) *int { return &c.LimitRate }, 0, 1_000_000)},
		{Env: "SLUICE_QUOTA_QUERIES", Flag: "quota-queries", Default: "0", Doc: "agent queries per workspace and calendar month (UTC), then 402; `PUT /usage/limits` and `PUT /keys/{id}/limits` can lower this and the following quotas; 0: unlimited", set: number64(func(c *Config) *int64 { return &c.QuotaQueries })},
		{Env: "SLUICE_QUOTA_TOKENS", Flag: "quota-tokens", Default: "0", Doc: "model tokens of agent queries per workspace and calendar month; 0: unlimited", set: number64(func(c *Config) *int64 { return &c.QuotaTokens })},
		{Env: "SLUICE_QUOTA_CHUNKS", Flag: "quota-chunks", Default: "0", Doc: "searchable chunks per workspace, beyond which new content is answered with 402; accepted content is finished; 0: unlimited", set: number64(func(c *Config) *int64 { return &c.QuotaChunks })},
		{Env: "SLUICE_QUOTA_BYTES", Flag: "quota-bytes", Default: "0", Doc: "stored content per workspace as received, beyond which more is answered with 402; pages of accepted sites may exceed it; 0: unlimited", set: size(func(c *Config) *Bytes { return &c.QuotaBytes }, 0)},
		{Env: "SLUICE_LIMIT_VISITOR", Flag: "limit-visitor", Default: "0", Doc: "questions per minute of a public agent's visitor, identified by `visitorId`, else by address; they may come at once; 0: unlimited", set: number(func(c *Config) *int { return &c.LimitVisitor }, 0, 1_000_000)},
		{Env: "SLUICE_LIMIT_SEARCHES", Flag: "limit-searches", Default: "0", Doc: "concurrent datastore queries per api process; a few more wait for `SLUICE_ADMISSION_WAIT`, others are answered with 503 ([more](scaling.md#beyond-capacity)); 0: 4 per processor, 64 with an external engine or model server", set: number(func(c *Config) *int { return &c.LimitSearches }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_ANSWERS", Flag: "limit-answers", Default: "0", Doc: "concurrent agent queries per api process, each until its answer begins; 0: 4 per processor, 256 with a chat model", set: number(func(c *Config) *int { return &c.LimitAnswers }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_UPLOADS", Flag: "limit-uploads", Default: "0", Doc: "concurrent requests with content per api process; 0: 32 per processor", set: number(func(c *Config) *int { return &c.LimitUploads }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_REQUESTS", Flag: "limit-requests", Default: "0", Doc: "other concurrent requests per api process; `/healthz`, `/readyz` and `/metrics` are always answered; 0: 32 per processor", set: number(func(c *Config) *int { return &c.LimitRequests }, 0, 100_000)},
		{Env: "SLUICE_LIMIT_OPEN", Flag: "limit-open", Default: "4096", Doc: "responses being sent at once per api process, mainly open streams", set: number(func(c *Config) *int { return &c.LimitOpen }, 1, 1_000_000)},
		{Env: "SLUICE_ADMISSION_WAIT", Flag: "admission-wait", Default: "25ms", Doc: "longest time that a query may queue under sustained load before it is rejected with 503; ten times longer for other requests and at the start of a burst", set: duration(func(c *Config) *time.Duration { return &c.AdmissionWait })},
		{Env: "SLUICE_LIMIT_WAITING", Flag: "limit-waiting", Default: "1000000", Doc: "waiting jobs, beyond which new content is answered with 503", set: number(func(c *Config) *int { return &c.LimitWaiting }, 1, 1_000_000_000)},
		{Env: "SLUICE_LIMIT_DISK", Flag: "limit-disk", Default: "256MiB", Doc: "free space required on the disk of the data directory; with less, new content is answered with 503; 0: not checked", set: size(func(c *Config) *Bytes { return &c.LimitDisk }, 0)},
		{Env: "SLUICE_CONVERSATION_RETENTION", Flag: "conversation-retention", Default: "0", Doc: "age at which inactive conversations are deleted (`90d`, `36h`); 0: never", set: retention(func(c *Config) *time.Duration { return &c.ConversationRetention })},
		{Env: "SLUICE_SHUTDOWN_GRACE", Flag: "shutdown-grace", Default: "10s", Doc: "time that a stopping process gives requests in progress", set: duration(func(c *Config) *time.Duration { return &c.ShutdownGrace })},
		{Env: "SLUICE_AUDIT_EVERY", Flag: "audit-every", Default: "1h", Doc: "interval at which index and catalog are compared and repaired", set: duration(func(c *Config) *time.Duration { return &c.AuditEvery })},
	}
}

// clientVariables holds variables with the prefix SLUICE_ that the command line reads for a remote service. The service
// ignores them.
var clientVariables = map[string]bool{"SLUICE_URL": true}

// Parse reads args (without the program's name) and environ ("K=V"). It reports all faults at once. It returns
// flag.ErrHelp after writing the usage to out.
func Parse(args, environ []string, out io.Writer) (Config, error) {
	return parse(args, environ, out, func(s Setting) string { return fmt.Sprintf("%s (--%s)", s.Env, s.Flag) })
}

// ParseEnviron is Parse for a command with flags of its own: error messages name only the variables.
func ParseEnviron(environ []string) (Config, error) {
	return parse(nil, environ, io.Discard, func(s Setting) string { return s.Env })
}

func parse(args, environ []string, out io.Writer, name func(Setting) string) (Config, error) {
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
		case strings.HasPrefix(name, "SLUICE_") && !clientVariables[name]:
			faults = append(faults, fmt.Errorf("%s is not a setting%s", name, suggestSetting(name, settings)))
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
		err := rejectQuotes(values[s.Env])
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
			faults = append(faults, fmt.Errorf("%s%s: %w", name(s), shown, err))
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

// defaultWindow returns the default number of jobs admitted to the stream: a few times the number processed at once.
// The stream is first in, first out, so a larger window would let a single upload wait longer behind a large import.
func defaultWindow(c Config) int {
	if c.NATSURL == "" {
		return 64
	}
	return 256
}

// check rejects settings that contradict each other.
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
	if scheme, _, found := strings.Cut(c.MilvusAddr, "://"); found {
		return fmt.Errorf("MILVUS_ADDR is %q and must be host:port: leave out %s://, and set MILVUS_TLS=true where the connection is to be encrypted", c.MilvusAddr, scheme)
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
	if !c.HasRemoteIndex() && c.EmbeddedIndex == No {
		return errors.New("SLUICE_EMBEDDED_INDEX is false and MILVUS_ADDR is not set: there would be no index")
	}
	return nil
}

// HasRemoteIndex reports whether an index on servers of its own is configured.
func (c Config) HasRemoteIndex() bool { return c.MilvusAddr != "" }

// HasEmbeddedIndex reports whether an api process opens the embedded index.
func (c Config) HasEmbeddedIndex() bool {
	if c.EmbeddedIndex == Auto {
		return !c.HasRemoteIndex() || c.DatabaseURL == ""
	}
	return c.EmbeddedIndex == Yes
}

// HasModelServer reports whether an OpenAI-compatible server is configured.
func (c Config) HasModelServer() bool { return c.OpenAIBaseURL != "" || c.OpenAIKey != "" }

// Usage writes the table of settings as plain text.
func Usage(out io.Writer) {
	for _, s := range Settings() {
		fmt.Fprintf(out, "  --%s, %s", s.Flag, s.Env)
		if s.Default != "" {
			fmt.Fprintf(out, " (default %s)", s.Default)
		}
		fmt.Fprintf(out, "\n        %s\n", strings.ReplaceAll(s.Doc, "`", ""))
	}
}

// sections maps the first setting of each section to the section's heading in the documentation.
var sections = map[string]string{
	"SLUICE_ADDR":                    "Service",
	"SLUICE_ALLOW_PRIVATE_ADDRESSES": "Crawler",
	"NATS_URL":                       "NATS",
	"DATABASE_URL":                   "Catalog and index",
	"OPENAI_BASE_URL":                "Models and rerankers",
	"SLUICE_INGEST_CONCURRENCY":      "Ingestion",
	"SLUICE_LIMIT_UPLOAD":            "Limits and quotas",
	"SLUICE_CONVERSATION_RETENTION":  "Maintenance",
}

// Markdown writes the tables of the documentation.
func Markdown(out io.Writer) {
	for _, s := range Settings() {
		if title, ok := sections[s.Env]; ok {
			fmt.Fprintf(out, "\n## %s\n\n| setting | default | |\n|---|---|---|\n", title)
		}
		def := "–"
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", s.Env, def, s.Doc)
	}
}

// suggestSetting suggests the setting that shares the longest prefix with an unknown name.
func suggestSetting(name string, settings []Setting) string {
	best := append([]Setting(nil), settings...)
	sort.SliceStable(best, func(i, j int) bool { return commonPrefix(best[i].Env, name) > commonPrefix(best[j].Env, name) })
	if commonPrefix(best[0].Env, name) <= len("SLUICE_") {
		return ""
	}
	return "; did you mean " + best[0].Env + "?"
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
