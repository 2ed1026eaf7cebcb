package config

// maxConcurrent is the largest accepted value of settings that limit concurrent requests.
const maxConcurrent = 100_000

func startSettings(c *Config) Group {
	return Group{Title: "Start here", Settings: []Setting{
		{Env: "SLUICE_ADDR", set: listenAddress(&c.Addr), Unset: "`127.0.0.1:8080`; ingestor and crawler: a free port",
			Doc: "Address to listen on; port 0 picks a free port, which the log shows."},
		{Env: "SLUICE_DATA_DIR", Default: "./data", set: text(&c.DataDir),
			Doc: "Data directory, used by one process at a time."},
		{Env: "SLUICE_API_KEY", Secret: true, set: key(&c.APIKey), Unset: "created at the first start, printed once, saved as `api-key` in the data directory",
			Doc: "First API key, 16 to 512 ASCII characters."},
		{Env: "SLUICE_CHAT_MODEL", set: text(&c.ChatModel), Unset: "none: answers quote the documents",
			Doc: "Chat model that writes answers, `model` or `provider:model` (`openai`, `azure`, `anthropic`)."},
		{Env: "SLUICE_EMBED_MODEL", set: text(&c.EmbedModel), Unset: "`SLUICE_EMBED_DIR`, else `models` in the data directory, else built-in",
			Doc: "Embedding model for new datastores, on the OpenAI-compatible server."},
	}}
}

func serviceSettings(c *Config) Group {
	return Group{Title: "Service", Settings: []Setting{
		{Env: "SLUICE_LOG_LEVEL", Default: "info", set: enum(&c.LogLevel, "debug", "info", "warn", "error"),
			Doc: "Log level: `debug`, `info`, `warn` or `error`."},
		{Env: "SLUICE_WORKERS", Default: "true", set: boolean(&c.Workers),
			Doc: "Run ingestor and crawler inside the api process; `false` leaves all but writing the embedded index to separate processes."},
		{Env: "SLUICE_ADMIN_KEY", Secret: true, set: passphrase(&c.AdminKey), Unset: "none: no profiles, local backups only",
			Doc: "Operator's key, 16 to 512 characters, for profiles (`/debug/pprof/`) and remote backups, which expose all content."},
		{Env: "SLUICE_SECRET_KEY", Secret: true, set: secretKey(&c.SecretKey), Unset: "`secret-key` in the data directory; none in a fleet",
			Doc: "Encryption key for the headers of protected sites, at least 32 random characters, the same in every api and crawler process."},
		{Env: "SLUICE_CORS_ORIGINS", set: origins(&c.CORSOrigins), Unset: "its own",
			Doc: "Comma-separated origins of web pages that may call every endpoint with a key; `*`: any."},
		{Env: "SLUICE_HOSTS", set: names(&c.Hosts), Unset: "loopback names",
			Doc: "Comma-separated host names that a service on a loopback address accepts, for a proxy on the same machine; `*`: any."},
		{Env: "SLUICE_MCP_HOSTS", set: names(&c.Hosts), Unset: "`SLUICE_HOSTS`",
			Doc: "Former name of `SLUICE_HOSTS`."},
		{Env: "SLUICE_AUDIT_FILE", set: text(&c.AuditFile), Unset: "the log",
			Doc: "File to which api processes append audit records as JSON lines."},
		{Env: "SLUICE_AUDIT_EVERY", Default: "1h", set: duration(&c.AuditEvery),
			Doc: "Interval between checks that compare the index with the catalog and repair differences."},
		{Env: "SLUICE_CONVERSATION_RETENTION", Default: "0", set: retention(&c.ConversationRetention),
			Doc: "Age at which inactive conversations are deleted, such as `90d` or `36h`; 0: never."},
		{Env: "SLUICE_SHUTDOWN_GRACE", Default: "10s", set: duration(&c.ShutdownGrace),
			Doc: "Time that a stopping process gives requests in progress."},
	}}
}

func providerSettings(c *Config) Group {
	return Group{Title: "Model servers", About: "[Chat models](models.md) and [embedding models](embedding.md) have examples.", Settings: []Setting{
		{Env: "OPENAI_BASE_URL", set: httpAddress(&c.OpenAIBaseURL), Unset: "OpenAI, if a key is set",
			Doc: "OpenAI-compatible server, such as `http://localhost:11434/v1`."},
		{Env: "OPENAI_API_KEY", Secret: true, set: text(&c.OpenAIKey), Doc: "API key for this server."},
		{Env: "AZURE_OPENAI_ENDPOINT", set: httpAddress(&c.AzureEndpoint),
			Doc: "Azure OpenAI resource, such as `https://name.openai.azure.com`; models are named by deployment."},
		{Env: "AZURE_OPENAI_API_KEY", Secret: true, set: text(&c.AzureKey), Doc: "API key for this resource."},
		{Env: "AZURE_OPENAI_API_VERSION", set: text(&c.AzureVersion), Unset: "the v1 API",
			Doc: "`api-version` of the Azure API with dated versions, such as `2024-10-21`."},
		{Env: "ANTHROPIC_BASE_URL", set: httpAddress(&c.AnthropicURL), Unset: "Anthropic, if a key is set",
			Doc: "Base URL of a server with Anthropic's Messages API."},
		{Env: "ANTHROPIC_API_KEY", Secret: true, set: text(&c.AnthropicKey), Doc: "API key for this server."},
	}}
}

func answerSettings(c *Config) Group {
	named := func(env, name string) Setting {
		return Setting{
			Env: env, Doc: "Chat model for `" + name + "`.", Unset: "`SLUICE_CHAT_MODEL`",
			set: func(v string) error {
				if v != "" {
					c.ModelNames[name] = v
				}
				return nil
			},
		}
	}
	return Group{Title: "Answers", About: "See [chat models](models.md).", Settings: []Setting{
		{Env: "SLUICE_CHAT_FALLBACK", set: text(&c.ChatFallback), Unset: "none",
			Doc: "Chat model used if `SLUICE_CHAT_MODEL` fails before the first word of its answer."},
		named("SLUICE_MODEL_LLM_3_5_TURBO", "llm_3_5_turbo"),
		named("SLUICE_MODEL_LLM_3_5_TURBO_16K", "llm_3_5_turbo_16k"),
		named("SLUICE_MODEL_LLM_4", "llm_4"),
		named("SLUICE_MODEL_LLM_4_32K", "llm_4_32k"),
		{Env: "SLUICE_CHAT_WINDOW", set: windows(&c.ChatWindows), Unset: "the model's, if known, else 8192",
			Doc: "Context window in tokens, for all models, for single ones, or both: `8192,gpt-4o=128000`."},
		{Env: "SLUICE_CHAT_MAX_TOKENS", Default: "4096", set: number(&c.ChatMaxTokens, 1, 128_000),
			Doc: "Tokens reserved for an answer without `maxTokens`, also the output limit of Anthropic's models and of public agents."},
		{Env: "SLUICE_CHAT_FRAGMENTS", Default: "10", set: number(&c.ChatFragments, 1, 100), Doc: "Fragments retrieved for an answer."},
		{Env: "SLUICE_CHAT_CONTEXT", Default: "3000", set: number(&c.ChatContext, 100, 1_000_000), Doc: "Maximum number of tokens of retrieved fragments in a prompt."},
		{Env: "SLUICE_CHAT_HISTORY", Default: "1500", set: number(&c.ChatHistory, 0, 1_000_000),
			Doc: "Maximum tokens of earlier messages in a prompt; 0: none."},
		{Env: "SLUICE_CHAT_START_TIMEOUT", Default: "60s", set: duration(&c.ChatStart),
			Doc: "Time limit for the first word of an answer, including retries."},
		{Env: "SLUICE_CHAT_STALL_TIMEOUT", Default: "30s", set: duration(&c.ChatStall), Doc: "Maximum time that a model may pause within an answer."},
		{Env: "SLUICE_CHAT_TIMEOUT", Default: "5m", set: duration(&c.ChatTimeout), Doc: "Time limit for a whole answer."},
		{Env: "SLUICE_CHAT_ATTEMPTS", Default: "3", set: number(&c.ChatAttempts, 1, 10),
			Doc: "Maximum attempts to get the first word of an answer; afterwards nothing is repeated."},
	}}
}

func retrievalSettings(c *Config) Group {
	return Group{Title: "Embedding and reranking", About: "See [embedding models](embedding.md) and [retrieval](retrieval.md).", Settings: []Setting{
		{Env: "SLUICE_EMBED_DIR", set: text(&c.EmbedDir), Unset: "none",
			Doc: "Directory of a sentence-transformers model to run in-process; all api and ingestor processes need the same model."},
		{Env: "SLUICE_EMBED_DIMENSIONS", Default: "0", set: number(&c.EmbedDims, 0, 32_768),
			Doc: "Dimensions requested from `SLUICE_EMBED_MODEL`; 0: the model's own."},
		{Env: "SLUICE_EMBED_QUERY_PREFIX", set: text(&c.QueryPrefix), Unset: "from the model's directory",
			Doc: "Prefix that the model expects before queries, such as `query: `."},
		{Env: "SLUICE_EMBED_PASSAGE_PREFIX", set: text(&c.PassagePrefix), Unset: "from the model's directory",
			Doc: "Prefix for passages, such as `passage: `; changing it counts as another model."},
		{Env: "RERANK_URL", set: httpAddress(&c.RerankURL), Unset: "none",
			Doc: "Reranker for the best 50 candidates, such as `https://api.cohere.com/v2/rerank`."},
		{Env: "RERANK_API_KEY", Secret: true, set: text(&c.RerankKey), Doc: "API key for the reranker."},
		{Env: "RERANK_MODEL", set: text(&c.RerankModel), Doc: "Reranker model, if the server offers several, such as `rerank-v3.5`."},
	}}
}

func storageSettings(c *Config) Group {
	return Group{Title: "Storage", Settings: []Setting{
		{Env: "DATABASE_URL", Secret: true, set: text(&c.DatabaseURL), Unset: "SQLite in the data directory",
			Doc: "PostgreSQL catalog, `postgres://…@host/database`, for api processes only."},
		{Env: "MILVUS_ADDR", set: text(&c.MilvusAddr), Unset: "the embedded index", Doc: "Milvus index, `host:port`."},
		{Env: "MILVUS_USER", set: text(&c.MilvusUser), Doc: "User name for Milvus."},
		{Env: "MILVUS_PASSWORD", Secret: true, set: text(&c.MilvusPassword), Doc: "Password for Milvus."},
		{Env: "MILVUS_DATABASE", set: text(&c.MilvusDatabase), Unset: "Milvus's default", Doc: "Database in Milvus."},
		{Env: "MILVUS_TLS", Default: "false", set: boolean(&c.MilvusTLS), Doc: "Connect to Milvus with TLS."},
		{Env: "SLUICE_EMBEDDED_INDEX", Default: "auto", set: enum((*string)(&c.EmbeddedIndex), string(Auto), string(Yes), string(No)),
			Doc: "Whether this process opens the embedded index, which only one api process can do: `true`, `false`, or `auto` (without Milvus or with SQLite)."},
		{Env: "SLUICE_CACHE_MEMORY", Default: "0", set: sizeOrNone(&c.CacheMemory, 1<<20),
			Doc: "Memory for the caches of a process; 0 means 120MiB, and more for index postings on large machines."},
	}}
}

func natsSettings(c *Config) Group {
	return Group{Title: "NATS", Settings: []Setting{
		{Env: "NATS_URL", Secret: true, set: text(&c.NATSURL), Unset: "the embedded server",
			Doc: "Comma-separated NATS servers with JetStream, `nats://` or `tls://`."},
		{Env: "NATS_CREDS", set: file(&c.NATSCreds), Doc: "Credentials file (JWT and seed) for these servers."},
		{Env: "NATS_CA", set: file(&c.NATSCA), Unset: "the system's", Doc: "PEM file of the servers' certificate authority."},
		{Env: "NATS_CERT", set: file(&c.NATSCert), Doc: "PEM file of the client certificate."},
		{Env: "NATS_KEY", set: file(&c.NATSKey), Doc: "PEM file with the private key of the NATS client certificate."},
		{Env: "SLUICE_NATS_REPLICAS", Default: "1", set: number(&c.NATSReplicas, 1, 5),
			Doc: "Copies of each message, at most one per NATS server; with 3, messages survive the loss of one server."},
		{Env: "NATS_MONITOR_URL", Secret: true, set: httpAddresses(&c.NATSMonitor), Unset: "not checked",
			Doc: "Comma-separated monitoring addresses of these servers (`http://n1:8222`), to check that they sync to disk."},
		{Env: "SLUICE_NATS_LISTEN", set: listenAddress(&c.NATSListen), Unset: "none",
			Doc: "Address at which the embedded server accepts worker processes."},
		{Env: "SLUICE_NATS_TOKEN", Secret: true, set: text(&c.NATSToken), Doc: "Token for `NATS_URL` or `SLUICE_NATS_LISTEN`, which requires one."},
	}}
}

func ingestionSettings(c *Config) Group {
	return Group{Title: "Ingestion", About: "See [sizing](deployment.md#sizing).", Settings: []Setting{
		{Env: "SLUICE_INGEST_CONCURRENCY", Default: "8", set: number(&c.IngestConcurrency, 1, 256),
			Doc: "Documents that an ingestor processes at once, or up to four times as many short ones with the embedded index."},
		{Env: "SLUICE_WINDOW", Default: "0", set: number(&c.Window, 0, 100_000),
			Doc: "Unfinished jobs in the job stream; 0: 64 with the embedded NATS server, 256 with `NATS_URL`."},
		{Env: "SLUICE_EXTRACT_MEMORY", Default: "3GiB", set: size(&c.ExtractMemory, 512<<20), Doc: "Address space of a process that reads a document."},
		{Env: "SLUICE_EXTRACT_TIMEOUT", Default: "2m", set: duration(&c.ExtractTimeout), Doc: "Time limit to read a document; below 2 MiB less, at least 15 s."},
	}}
}

func crawlerSettings(c *Config) Group {
	return Group{Title: "Crawler", About: "See [crawling](crawling.md).", Settings: []Setting{
		{Env: "SLUICE_USER_AGENT", Default: "SluiceBot/1.0 (+https://github.com/sluice/sluice)", set: text(&c.UserAgent),
			Doc: "User-Agent of the crawler; add a contact address."},
		{Env: "SLUICE_CRAWL_ALLOW", set: text(&c.CrawlAllow), Unset: "none",
			Doc: "Comma-separated private addresses that the crawler may reach: `10.1.0.0/16`, `192.168.1.7`, `*.corp.example`."},
		{Env: "SLUICE_ALLOW_PRIVATE_ADDRESSES", Default: "false", set: boolean(&c.AllowPrivate),
			Doc: "Let the crawler reach all private addresses; set it only if every user may see their content."},
		{Env: "SLUICE_CRAWL_PROXY", Secret: true, set: proxy(&c.CrawlProxy), Unset: "none",
			Doc: "Proxy for all requests of the crawler, `http://`, `https://` or `socks5://`, with user and password if required."},
		{Env: "CHROME_URL", Secret: true, set: text(&c.ChromeURL), Unset: "`SLUICE_CHROMIUM`",
			Doc: "DevTools address of a running Chromium, such as `http://chromium:9222`, for pages that need scripts."},
		{Env: "SLUICE_CHROMIUM", set: text(&c.Chromium), Unset: "none: such pages end with status `error`",
			Doc: "Path of a Chromium that the crawler starts instead, or `auto` to find one."},
		{Env: "SLUICE_CRAWL_CONCURRENCY", Default: "16", set: number(&c.CrawlConcurrency, 1, 256), Doc: "Concurrent page requests per crawler."},
		{Env: "SLUICE_CRAWL_PER_HOST", Default: "2", set: number(&c.CrawlPerHost, 0, 256),
			Doc: "Maximum concurrent requests to one host, across all crawlers; 0: unlimited."},
		{Env: "SLUICE_CRAWL_DELAY", Default: "200ms", set: delay(&c.CrawlDelay),
			Doc: "Minimum time between requests to one host, across all crawlers; longer if robots.txt asks for it."},
		{Env: "SLUICE_CRAWL_TRIES", Default: "20", set: number(&c.CrawlTries, 1, 100),
			Doc: "Maximum attempts for a page with a temporary error; 20 take about two hours."},
	}}
}

func limitSettings(c *Config) Group {
	return Group{Title: "Limits", About: "[Limits](limits.md) also lists those that are not settings.", Settings: []Setting{
		{Env: "SLUICE_LIMIT_UPLOAD", Default: "100MiB", set: size(&c.LimitUpload, 1), Doc: "Largest uploaded file."},
		{Env: "SLUICE_LIMIT_JSON", Default: "10MiB", set: size(&c.LimitJSON, 1024), Doc: "Largest JSON body."},
		{Env: "SLUICE_LIMIT_PAGE_BYTES", Default: "20MiB", set: size(&c.LimitPageBytes, 1024), Doc: "Largest fetched page or document, after decompression."},
		{Env: "SLUICE_LIMIT_DOCUMENTS", Default: "1000", set: number(&c.LimitDocuments, 1, 100_000), Doc: "Documents per upsert."},
		{Env: "SLUICE_LIMIT_PAGES", Default: "10000", set: number(&c.LimitPages, 1, 10_000_000), Doc: "Pages per web site."},
		{Env: "SLUICE_LIMIT_CHUNKS", Default: "200000", set: number(&c.LimitChunks, 1, 10_000_000), Doc: "Chunks per document."},
		{Env: "SLUICE_LIMIT_QUERY", Default: "8000", set: number(&c.LimitQuery, 1, 1_000_000), Doc: "Characters per query, also after Unicode normalisation (NFKC)."},
		{Env: "SLUICE_LIMIT_RATE", Default: "0", set: number(&c.LimitRate, 0, 1_000_000),
			Doc: "Requests per second and API key, in bursts of up to twice as many; 0: unlimited."},
		{Env: "SLUICE_LIMIT_VISITOR", Default: "0", set: number(&c.LimitVisitor, 0, 1_000_000),
			Doc: "Questions per minute from each visitor of a public agent; 0: unlimited."},
		{Env: "SLUICE_LIMIT_WAITING", Default: "1000000", set: number(&c.LimitWaiting, 1, 1_000_000_000),
			Doc: "Waiting jobs beyond which new content is rejected with 503."},
		{Env: "SLUICE_LIMIT_DISK", Default: "256MiB", set: size(&c.LimitDisk, 0),
			Doc: "Free disk space for the data directory below which new content is rejected with 503; 0: not checked."},
	}}
}

func quotaSettings(c *Config) Group {
	return Group{Title: "Quotas", About: "Requests beyond a quota are rejected with 402; accepted content and sites are finished. `PUT /usage/limits` and `PUT /keys/{id}/limits` can lower quotas.", Settings: []Setting{
		{Env: "SLUICE_QUOTA_QUERIES", Default: "0", set: number64(&c.QuotaQueries),
			Doc: "Agent queries per workspace and calendar month (UTC); 0: unlimited."},
		{Env: "SLUICE_QUOTA_TOKENS", Default: "0", set: number64(&c.QuotaTokens),
			Doc: "Model tokens of agent queries per workspace and calendar month; 0: unlimited."},
		{Env: "SLUICE_QUOTA_CHUNKS", Default: "0", set: number64(&c.QuotaChunks),
			Doc: "Searchable chunks per workspace; 0: unlimited."},
		{Env: "SLUICE_QUOTA_BYTES", Default: "0", set: size(&c.QuotaBytes, 0),
			Doc: "Maximum stored content per workspace, at the size uploaded; 0: unlimited."},
	}}
}

func overloadSettings(c *Config) Group {
	return Group{Title: "Overload", About: "These apply to each api process: [beyond capacity](scaling.md#beyond-capacity).", Settings: []Setting{
		{Env: "SLUICE_LIMIT_SEARCHES", Default: "0", set: number(&c.LimitSearches, 0, maxConcurrent),
			Doc: "Concurrent datastore queries; 0 means 4 per processor, or 64 per processor with an external engine or model server."},
		{Env: "SLUICE_LIMIT_ANSWERS", Default: "0", set: number(&c.LimitAnswers, 0, maxConcurrent),
			Doc: "Concurrent agent queries, each until its answer begins; 0 means 4 per processor, 64 per processor with an external engine or model server, or 256 per processor with a chat model."},
		{Env: "SLUICE_LIMIT_UPLOADS", Default: "0", set: number(&c.LimitUploads, 0, maxConcurrent),
			Doc: "Concurrent requests that upload content, half of them for a workspace; 0 means 32 per processor."},
		{Env: "SLUICE_LIMIT_REQUESTS", Default: "0", set: number(&c.LimitRequests, 0, maxConcurrent),
			Doc: "Other concurrent requests, except `/healthz`, `/readyz` and `/metrics`; 0 means 32 per processor."},
		{Env: "SLUICE_LIMIT_OPEN", Default: "4096", set: number(&c.LimitOpen, 1, 1_000_000), Doc: "Open streams; at most half for a workspace, a third for a key."},
		{Env: "SLUICE_ADMISSION_WAIT", Default: "25ms", set: duration(&c.AdmissionWait),
			Doc: "Longest time a query may queue before it is rejected with 503; ten times longer for other requests and at the start of bursts."},
	}}
}
