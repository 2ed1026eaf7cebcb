package config

// Largest accepted value of settings that limit concurrent requests.
const maxConcurrent = 100_000

func startSettings(c *Config) Group {
	return Group{Title: "Start here", Settings: []Setting{
		{Env: "SLUICE_ADDR", set: listenAddress(&c.Addr), Unset: "`127.0.0.1:8080`; a free port for ingestor and crawler processes",
			Doc: "Address to listen on, such as `0.0.0.0:8080`; with port 0, a free port is chosen and logged."},
		{Env: "SLUICE_DATA_DIR", Default: "./data", set: text(&c.DataDir),
			Doc: "Directory for all data; only one api process can use it at a time."},
		{Env: "SLUICE_API_KEY", Secret: true, set: key(&c.APIKey), Unset: "a random key, which is printed once and saved as `api-key` in the data directory",
			Doc: "API key of 16 to 512 ASCII characters, created at startup if it does not exist."},
		{Env: "SLUICE_CHAT_MODEL", set: text(&c.ChatModel), Unset: "no model; answers quote the documents",
			Doc: "Chat model that writes answers, as `model` or `provider:model`; providers are `openai`, `azure` and `anthropic`."},
		{Env: "SLUICE_EMBED_MODEL", set: text(&c.EmbedModel), Unset: "the model in `SLUICE_EMBED_DIR`, else in `models` in the data directory, else the built-in model",
			Doc: "Embedding model for new datastores: one that the OpenAI-compatible server offers, `builtin-en-256-v1`, `builtin-minilm`, or `auto`, which moves datastores from the first built-in model to the second while processors are idle."},
	}}
}

func serviceSettings(c *Config) Group {
	return Group{Title: "Service", Settings: []Setting{
		{Env: "SLUICE_LOG_LEVEL", Default: "info", set: enum(&c.LogLevel, "debug", "info", "warn", "error"),
			Doc: "Lowest level that is logged: `debug`, `info`, `warn` or `error`."},
		{Env: "SLUICE_WORKERS", Default: "true", set: boolean(&c.Workers),
			Doc: "Run the ingestor and the crawler inside the api process; with `false`, separate processes do their work, except writing to the embedded index."},
		{Env: "SLUICE_ADMIN_KEY", Secret: true, set: passphrase(&c.AdminKey), Unset: "no key; profiling is off, and backups work only locally",
			Doc: "Operator's key, 16 to 512 characters, that allows profiling (`/debug/pprof/`) and remote backups, both of which expose all content."},
		{Env: "SLUICE_SECRET_KEY", Secret: true, set: secretKey(&c.SecretKey), Unset: "`secret-key` in the data directory; none in a fleet",
			Doc: "Key of at least 32 random characters that encrypts the request headers stored for protected sites; all api and crawler processes need the same key."},
		{Env: "SLUICE_CORS_ORIGINS", set: origins(&c.CORSOrigins), Unset: "only the service's own origin",
			Doc: "Comma-separated origins of web pages that may call every endpoint with an API key; `*` allows any."},
		{Env: "SLUICE_HOSTS", set: names(&c.Hosts), Unset: "only loopback names, such as `localhost`",
			Doc: "Comma-separated host names that a service on a loopback address accepts, needed behind a proxy on the same machine; `*` accepts any."},
		{Env: "SLUICE_MCP_HOSTS", set: names(&c.Hosts),
			Doc: "Former name of `SLUICE_HOSTS`, still accepted."},
		{Env: "SLUICE_AUDIT_FILE", set: text(&c.AuditFile), Unset: "the process's log",
			Doc: "File to which api processes append audit records as JSON lines."},
		{Env: "SLUICE_AUDIT_EVERY", Default: "1h", set: duration(&c.AuditEvery),
			Doc: "Interval between audits, which compare the index with the catalog and repair differences."},
		{Env: "SLUICE_CONVERSATION_RETENTION", Default: "0", set: retention(&c.ConversationRetention),
			Doc: "Time after which inactive conversations are deleted, such as `90d` or `36h`; 0 keeps them forever."},
		{Env: "SLUICE_SHUTDOWN_GRACE", Default: "10s", set: duration(&c.ShutdownGrace),
			Doc: "How long a stopping process waits for open requests to finish."},
	}}
}

func providerSettings(c *Config) Group {
	return Group{Title: "Model servers", About: "[Chat models](models.md) and [embedding models](embedding.md) have examples.", Settings: []Setting{
		{Env: "OPENAI_BASE_URL", set: httpAddress(&c.OpenAIBaseURL), Unset: "OpenAI's, if `OPENAI_API_KEY` is set",
			Doc: "Base URL of an OpenAI-compatible server, such as `http://localhost:11434/v1`."},
		{Env: "OPENAI_API_KEY", Secret: true, set: text(&c.OpenAIKey), Doc: "API key for the OpenAI-compatible server."},
		{Env: "AZURE_OPENAI_ENDPOINT", set: httpAddress(&c.AzureEndpoint),
			Doc: "URL of an Azure OpenAI resource, such as `https://name.openai.azure.com`; its models are named by their deployments."},
		{Env: "AZURE_OPENAI_API_KEY", Secret: true, set: text(&c.AzureKey), Doc: "API key for the Azure OpenAI resource."},
		{Env: "AZURE_OPENAI_API_VERSION", set: text(&c.AzureVersion), Unset: "Azure's v1 API, which has no dated versions",
			Doc: "Version of Azure's dated API to use, such as `2024-10-21`."},
		{Env: "ANTHROPIC_BASE_URL", set: httpAddress(&c.AnthropicURL), Unset: "Anthropic's, if `ANTHROPIC_API_KEY` is set",
			Doc: "Base URL of a server with Anthropic's Messages API."},
		{Env: "ANTHROPIC_API_KEY", Secret: true, set: text(&c.AnthropicKey), Doc: "API key for Anthropic, or for the server at `ANTHROPIC_BASE_URL`."},
	}}
}

func answerSettings(c *Config) Group {
	named := func(env, name string) Setting {
		return Setting{
			Env: env, Doc: "Chat model to use if a request names the model `" + name + "`.", Unset: "`SLUICE_CHAT_MODEL`",
			set: func(v string) error {
				if v != "" {
					c.ModelNames[name] = v
				}
				return nil
			},
		}
	}
	return Group{Title: "Answers", About: "See [chat models](models.md).", Settings: []Setting{
		{Env: "SLUICE_CHAT_FALLBACK", set: text(&c.ChatFallback), Unset: "no fallback",
			Doc: "Chat model to use if `SLUICE_CHAT_MODEL` fails before the first word of an answer."},
		named("SLUICE_MODEL_LLM_3_5_TURBO", "llm_3_5_turbo"),
		named("SLUICE_MODEL_LLM_3_5_TURBO_16K", "llm_3_5_turbo_16k"),
		named("SLUICE_MODEL_LLM_4", "llm_4"),
		named("SLUICE_MODEL_LLM_4_32K", "llm_4_32k"),
		{Env: "SLUICE_CHAT_WINDOW", set: windows(&c.ChatWindows), Unset: "the model's own if it is known, else 8192",
			Doc: "Context window in tokens, for all models (`8192`), for single ones (`gpt-4o=128000`), or both (`8192,gpt-4o=128000`)."},
		{Env: "SLUICE_CHAT_MAX_TOKENS", Default: "4096", set: number(&c.ChatMaxTokens, 1, 128_000),
			Doc: "Tokens reserved for an answer if the agent sets no `maxTokens`; also the output limit of Anthropic's models and of public agents."},
		{Env: "SLUICE_CHAT_FRAGMENTS", Default: "10", set: number(&c.ChatFragments, 1, 100), Doc: "Number of fragments retrieved for an answer."},
		{Env: "SLUICE_CHAT_CONTEXT", Default: "3000", set: number(&c.ChatContext, 100, 1_000_000), Doc: "Maximum tokens from retrieved fragments in a prompt."},
		{Env: "SLUICE_CHAT_HISTORY", Default: "1500", set: number(&c.ChatHistory, 0, 1_000_000),
			Doc: "Maximum tokens from earlier messages in a prompt; 0 sends none."},
		{Env: "SLUICE_CHAT_START_TIMEOUT", Default: "60s", set: duration(&c.ChatStart),
			Doc: "Time limit for the first word of an answer, including retries."},
		{Env: "SLUICE_CHAT_STALL_TIMEOUT", Default: "30s", set: duration(&c.ChatStall), Doc: "How long a model may pause within an answer."},
		{Env: "SLUICE_CHAT_TIMEOUT", Default: "5m", set: duration(&c.ChatTimeout), Doc: "Time limit for a whole answer."},
		{Env: "SLUICE_CHAT_ATTEMPTS", Default: "3", set: number(&c.ChatAttempts, 1, 10),
			Doc: "Maximum attempts to get the first word of an answer; an answer that has begun is not retried."},
	}}
}

func retrievalSettings(c *Config) Group {
	return Group{Title: "Embedding and reranking", About: "See [embedding models](embedding.md) and [retrieval](retrieval.md).", Settings: []Setting{
		{Env: "SLUICE_EMBED_DIR", set: text(&c.EmbedDir), Unset: "no directory",
			Doc: "Directory of a sentence-transformers model that runs inside the process; all api and ingestor processes need the same model."},
		{Env: "SLUICE_EMBED_DIMENSIONS", Default: "0", set: number(&c.EmbedDims, 0, 32_768),
			Doc: "Number of dimensions to request from `SLUICE_EMBED_MODEL`; 0 uses the model's default."},
		{Env: "SLUICE_EMBED_QUERY_PREFIX", set: text(&c.QueryPrefix), Unset: "read from the model's directory",
			Doc: "Text that the embedding model expects before a query, such as `query: `."},
		{Env: "SLUICE_EMBED_PASSAGE_PREFIX", set: text(&c.PassagePrefix), Unset: "read from the model's directory",
			Doc: "Text that the embedding model expects before a passage, such as `passage: `; a different prefix counts as a different model."},
		{Env: "RERANK_URL", set: httpAddress(&c.RerankURL), Unset: "no server",
			Doc: "URL of a server that reranks the best 50 candidates, such as `https://api.cohere.com/v2/rerank`."},
		{Env: "RERANK_API_KEY", Secret: true, set: text(&c.RerankKey), Doc: "API key for the reranker."},
		{Env: "RERANK_MODEL", set: text(&c.RerankModel), Unset: "no model in process",
			Doc: "Reranker: a model on the server at `RERANK_URL`, such as `rerank-v3.5`, or, without that setting, the name (`ms-marco-MiniLM-L6-v2`) or directory of one in process."},
		{Env: "SLUICE_RERANK_BUDGET", Default: "0s", set: delay(&c.RerankBudget),
			Doc: "Time limit for reranking a query's results, after which only the candidates scored so far are reordered; `0s` means 300 ms for a model in process and 5 s for a server."},
	}}
}

func storageSettings(c *Config) Group {
	return Group{Title: "Storage", Settings: []Setting{
		{Env: "DATABASE_URL", Secret: true, set: text(&c.DatabaseURL), Unset: "SQLite in the data directory",
			Doc: "PostgreSQL database for the catalog, `postgres://…@host/database`; only api processes need it."},
		{Env: "MILVUS_ADDR", set: text(&c.MilvusAddr), Unset: "the embedded index", Doc: "Address of the Milvus server that holds the index, `host:port`."},
		{Env: "MILVUS_USER", set: text(&c.MilvusUser), Doc: "User name for Milvus."},
		{Env: "MILVUS_PASSWORD", Secret: true, set: text(&c.MilvusPassword), Doc: "Password for Milvus."},
		{Env: "MILVUS_DATABASE", set: text(&c.MilvusDatabase), Unset: "Milvus's default database", Doc: "Database to use in Milvus."},
		{Env: "MILVUS_TLS", Default: "false", set: boolean(&c.MilvusTLS), Doc: "Connect to Milvus with TLS."},
		{Env: "SLUICE_EMBEDDED_INDEX", Default: "auto", set: enum((*string)(&c.EmbeddedIndex), string(Auto), string(Yes), string(No)),
			Doc: "Whether this process opens the embedded index: `true`, `false`, or `auto` (if Milvus is not configured or the catalog is SQLite); only one api process can open it."},
		{Env: "SLUICE_CACHE_MEMORY", Default: "0", set: sizeOrNone(&c.CacheMemory, 1<<20),
			Doc: "Memory for a process's caches; 0 means 120 MiB, or more if 1/64 of the machine's memory exceeds the share for index postings."},
	}}
}

func natsSettings(c *Config) Group {
	return Group{Title: "NATS", Settings: []Setting{
		{Env: "NATS_URL", Secret: true, set: text(&c.NATSURL), Unset: "the embedded NATS server",
			Doc: "Comma-separated URLs of NATS servers with JetStream, each `nats://` or `tls://`."},
		{Env: "NATS_CREDS", set: file(&c.NATSCreds), Doc: "File with the credentials for the NATS servers (JWT and seed)."},
		{Env: "NATS_CA", set: file(&c.NATSCA), Unset: "the system's authorities", Doc: "PEM file with the certificate authority for the NATS servers."},
		{Env: "NATS_CERT", set: file(&c.NATSCert), Doc: "PEM file with the client certificate for NATS."},
		{Env: "NATS_KEY", set: file(&c.NATSKey), Doc: "PEM file with the client certificate's private key."},
		{Env: "SLUICE_NATS_REPLICAS", Default: "1", set: number(&c.NATSReplicas, 1, 5),
			Doc: "Number of NATS servers that store each message; with 3, messages survive the loss of one server."},
		{Env: "NATS_MONITOR_URL", Secret: true, set: httpAddresses(&c.NATSMonitor), Unset: "no check",
			Doc: "Comma-separated monitoring URLs of the NATS servers, such as `http://n1:8222`, used to check that they sync to disk."},
		{Env: "SLUICE_NATS_LISTEN", set: listenAddress(&c.NATSListen), Unset: "no connections from other processes",
			Doc: "Address on which the embedded NATS server accepts worker processes; requires `SLUICE_NATS_TOKEN`."},
		{Env: "SLUICE_NATS_TOKEN", Secret: true, set: text(&c.NATSToken), Doc: "Token for connections to `NATS_URL` or to `SLUICE_NATS_LISTEN`."},
	}}
}

func ingestionSettings(c *Config) Group {
	return Group{Title: "Ingestion", About: "See [sizing](deployment.md#sizing) and [scans](extraction.md#scans).", Settings: []Setting{
		{Env: "SLUICE_INGEST_CONCURRENCY", Default: "8", set: number(&c.IngestConcurrency, 1, 256),
			Doc: "Number of documents that an ingestor processes at once; with the embedded index, up to four times as many if they are short."},
		{Env: "SLUICE_WINDOW", Default: "0", set: number(&c.Window, 0, 100_000),
			Doc: "Maximum unfinished jobs in the job stream; 0 means 64 with the embedded NATS server and 256 with `NATS_URL`."},
		{Env: "SLUICE_EXTRACT_MEMORY", Default: "3GiB", set: size(&c.ExtractMemory, 512<<20), Doc: "Maximum address space of a process that reads a document."},
		{Env: "SLUICE_EXTRACT_TIMEOUT", Default: "2m", set: duration(&c.ExtractTimeout), Doc: "Time limit for reading a document; shorter, but at least 15 s, for documents under 2 MiB."},
		{Env: "SLUICE_TESSERACT", set: text(&c.Tesseract), Unset: "`tesseract` in the PATH, if it is installed",
			Doc: "Path to Tesseract, which reads scanned documents; `off` disables text recognition."},
		{Env: "SLUICE_OCR_LANGUAGES", set: languages(&c.OCRLanguages), Unset: "the installed languages of a page's script",
			Doc: "Comma-separated languages of scans, as Tesseract names them, such as `deu,eng`."},
		{Env: "SLUICE_OCR_CONCURRENCY", Default: "0", set: number(&c.OCRConcurrency, 0, 256),
			Doc: "Number of scanned pages that an ingestor reads at once; 0 means half of the processors."},
		{Env: "SLUICE_OCR_PAGES", Default: "1000", set: number(&c.OCRPages, 1, 10_000), Doc: "Maximum scanned pages to read per document."},
		{Env: "SLUICE_OCR_PICTURES", Default: "100", set: number(&c.OCRPictures, 0, 10_000),
			Doc: "Maximum pictures per document to read text from; 0 reads none."},
	}}
}

func crawlerSettings(c *Config) Group {
	return Group{Title: "Crawler", About: "See [crawling](crawling.md).", Settings: []Setting{
		{Env: "SLUICE_USER_AGENT", Default: "SluiceBot/1.0 (+https://github.com/sluice/sluice)", set: text(&c.UserAgent),
			Doc: "User-Agent header of the crawler, which should contain a contact address."},
		{Env: "SLUICE_CRAWL_ALLOW", set: text(&c.CrawlAllow), Unset: "none",
			Doc: "Comma-separated private or loopback addresses that the crawler may reach, such as `10.1.0.0/16`, `127.0.0.1` or `*.corp.example`."},
		{Env: "SLUICE_ALLOW_PRIVATE_ADDRESSES", Default: "false", set: boolean(&c.AllowPrivate),
			Doc: "Let the crawler reach all private addresses; use this only if every user may see what they serve."},
		{Env: "SLUICE_CRAWL_PROXY", Secret: true, set: proxy(&c.CrawlProxy), Unset: "no proxy",
			Doc: "Proxy for all requests of the crawler (`http://`, `https://` or `socks5://`), with user name and password if it requires them."},
		{Env: "CHROME_URL", Secret: true, set: text(&c.ChromeURL), Unset: "`SLUICE_CHROMIUM`",
			Doc: "DevTools URL of a running Chromium that renders pages that need scripts, such as `http://chromium:9222`."},
		{Env: "SLUICE_CHROMIUM", set: text(&c.Chromium), Unset: "none; pages that need scripts end with status `error`",
			Doc: "Path to a Chromium binary that the crawler starts if `CHROME_URL` is not set; `auto` searches the `PATH`."},
		{Env: "SLUICE_CRAWL_CONCURRENCY", Default: "16", set: number(&c.CrawlConcurrency, 1, 256), Doc: "Maximum pages that a crawler requests at once."},
		{Env: "SLUICE_CRAWL_PER_HOST", Default: "2", set: number(&c.CrawlPerHost, 0, 256),
			Doc: "Maximum concurrent requests to one host from all crawlers; 0 means no limit."},
		{Env: "SLUICE_CRAWL_DELAY", Default: "200ms", set: delay(&c.CrawlDelay),
			Doc: "Minimum time between two requests to one host from all crawlers, unless robots.txt asks for a longer one."},
		{Env: "SLUICE_CRAWL_TRIES", Default: "20", set: number(&c.CrawlTries, 1, 100),
			Doc: "Maximum attempts to fetch a page that fails temporarily; 20 attempts take about two hours."},
	}}
}

func limitSettings(c *Config) Group {
	return Group{Title: "Limits", About: "[Limits](limits.md) also lists the limits that cannot be set.", Settings: []Setting{
		{Env: "SLUICE_LIMIT_UPLOAD", Default: "100MiB", set: size(&c.LimitUpload, 1), Doc: "Maximum size of an uploaded file."},
		{Env: "SLUICE_LIMIT_JSON", Default: "10MiB", set: size(&c.LimitJSON, 1024), Doc: "Maximum size of a JSON request body."},
		{Env: "SLUICE_LIMIT_PAGE_BYTES", Default: "20MiB", set: size(&c.LimitPageBytes, 1024), Doc: "Maximum size of a fetched page or document after decompression."},
		{Env: "SLUICE_LIMIT_DOCUMENTS", Default: "1000", set: number(&c.LimitDocuments, 1, 100_000), Doc: "Maximum documents in one upsert request."},
		{Env: "SLUICE_LIMIT_PAGES", Default: "10000", set: number(&c.LimitPages, 1, 10_000_000), Doc: "Maximum pages of a website."},
		{Env: "SLUICE_LIMIT_ARCHIVE_FILES", Default: "10000", set: number(&c.LimitArchiveFiles, 1, 100_000), Doc: "Maximum files to read from a ZIP archive."},
		{Env: "SLUICE_LIMIT_ARCHIVE_BYTES", Default: "1GiB", set: size(&c.LimitArchiveBytes, 1024), Doc: "Maximum unpacked size of the files read from a ZIP archive."},
		{Env: "SLUICE_LIMIT_CHUNKS", Default: "200000", set: number(&c.LimitChunks, 1, 10_000_000), Doc: "Maximum chunks of a document."},
		{Env: "SLUICE_LIMIT_QUERY", Default: "8000", set: number(&c.LimitQuery, 1, 1_000_000), Doc: "Maximum length of a query in characters, before and after Unicode normalisation (NFKC)."},
		{Env: "SLUICE_LIMIT_RATE", Default: "0", set: number(&c.LimitRate, 0, 1_000_000),
			Doc: "Maximum requests per second to each api process, per API key or, without a key, per address, with bursts of up to twice as many; 0 means no limit."},
		{Env: "SLUICE_LIMIT_VISITOR", Default: "0", set: number(&c.LimitVisitor, 0, 1_000_000),
			Doc: "Maximum questions per minute from each visitor of a public agent; 0 means no limit."},
		{Env: "SLUICE_LIMIT_WAITING", Default: "1000000", set: number(&c.LimitWaiting, 1, 1_000_000_000),
			Doc: "Number of waiting jobs above which new content is rejected with 503."},
		{Env: "SLUICE_LIMIT_DISK", Default: "256MiB", set: size(&c.LimitDisk, 0),
			Doc: "Free disk space for the data directory below which new content is rejected with 503; 0 turns off this check."},
	}}
}

func quotaSettings(c *Config) Group {
	return Group{Title: "Quotas", About: "Requests beyond a quota are rejected with 402; content accepted earlier is still processed. `PUT /usage/limits` and `PUT /keys/{id}/limits` can lower quotas. 0 means no limit.", Settings: []Setting{
		{Env: "SLUICE_QUOTA_QUERIES", Default: "0", set: number64(&c.QuotaQueries),
			Doc: "Maximum agent queries per workspace and calendar month (UTC)."},
		{Env: "SLUICE_QUOTA_TOKENS", Default: "0", set: number64(&c.QuotaTokens),
			Doc: "Maximum model tokens of agent queries per workspace and calendar month (UTC)."},
		{Env: "SLUICE_QUOTA_CHUNKS", Default: "0", set: number64(&c.QuotaChunks),
			Doc: "Maximum searchable chunks per workspace."},
		{Env: "SLUICE_QUOTA_BYTES", Default: "0", set: size(&c.QuotaBytes, 0),
			Doc: "Maximum size of the content stored per workspace, measured as uploaded."},
	}}
}

func overloadSettings(c *Config) Group {
	return Group{Title: "Overload", About: "These limits apply to each api process; see [beyond capacity](scaling.md#beyond-capacity).", Settings: []Setting{
		{Env: "SLUICE_LIMIT_SEARCHES", Default: "0", set: number(&c.LimitSearches, 0, maxConcurrent),
			Doc: "Maximum concurrent datastore queries; 0 means 4 per processor (64 with an external engine or model server)."},
		{Env: "SLUICE_LIMIT_ANSWERS", Default: "0", set: number(&c.LimitAnswers, 0, maxConcurrent),
			Doc: "Maximum agent queries whose answers have not begun; 0 means 4 per processor (64 with an external engine or model server, 256 with a chat model)."},
		{Env: "SLUICE_LIMIT_UPLOADS", Default: "0", set: number(&c.LimitUploads, 0, maxConcurrent),
			Doc: "Maximum concurrent requests that upload content; one workspace gets at most half of them; 0 means 32 per processor."},
		{Env: "SLUICE_LIMIT_REQUESTS", Default: "0", set: number(&c.LimitRequests, 0, maxConcurrent),
			Doc: "Maximum concurrent requests other than searches, answers and uploads, not counting `/healthz`, `/readyz` and `/metrics`; 0 means 32 per processor."},
		{Env: "SLUICE_LIMIT_OPEN", Default: "4096", set: number(&c.LimitOpen, 1, 1_000_000), Doc: "Maximum open streams; one workspace gets at most half of them and one key a third."},
		{Env: "SLUICE_ADMISSION_WAIT", Default: "25ms", set: duration(&c.AdmissionWait),
			Doc: "Longest time that a query may wait in the queue before it is rejected with 503; ten times longer for other requests and at the start of a burst."},
	}}
}
