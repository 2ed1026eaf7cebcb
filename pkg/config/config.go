// Package config reads Sluice's settings from flags, which take precedence, and the environment. All settings are in
// one table, from which the documentation is generated. Unknown settings are errors. Secrets are never printed.
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
	AdminKey     string // "": requests that need it are rejected
	Workers      bool
	LogLevel     string
	AuditFile    string // "": the log
	AllowPrivate bool
	CrawlAllow   string
	CrawlProxy   string   // "": none
	SecretKey    string   // "": a key file in the data directory, if one process does everything
	Hosts        []string // host names, besides loopback names, that clients use to reach a service on a loopback address
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
	NATSMonitor  []string // addresses of the monitoring endpoints of the servers at NATSURL

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

	ChatModel     string // model name used by the provider, with or without the prefix "provider:"
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

	EmbedModel    string // name of a model of the OpenAI-compatible server or of a built-in model, or EmbedAuto
	EmbedDims     int
	EmbedDir      string // directory of an embedding model that runs in this process
	QueryPrefix   string // for the model in SLUICE_EMBED_MODEL or SLUICE_EMBED_DIR
	PassagePrefix string
	ModelNames    map[string]string // maps the API's model names, such as llm_4, to the provider's model names

	RerankURL   string
	RerankKey   string
	RerankModel string

	RerankBudget time.Duration // maximum time a query may spend on reranking; 0: the reranker's default

	IngestConcurrency int
	CrawlConcurrency  int
	CrawlDelay        time.Duration
	CrawlPerHost      int
	CrawlTries        int
	Window            int
	CacheMemory       Bytes
	ExtractMemory     Bytes
	ExtractTimeout    time.Duration
	Tesseract         string   // path to the program; "" to search the PATH, "off" to disable text recognition
	OCRLanguages      []string // as Tesseract names them
	OCRConcurrency    int
	OCRPages          int
	OCRPictures       int

	LimitUpload       Bytes
	LimitJSON         Bytes
	LimitDocuments    int
	LimitPages        int
	LimitPageBytes    Bytes
	LimitArchiveFiles int
	LimitArchiveBytes Bytes
	LimitQuery        int
	LimitRate         int
	LimitChunks       int
	QuotaQueries      int64
	QuotaTokens       int64
	QuotaChunks       int64
	QuotaBytes        Bytes
	LimitVisitor      int
	LimitSearches     int // maximum number of concurrent searches; 0: chosen by the process
	LimitAnswers      int // maximum number of concurrent answers; 0: chosen by the process
	LimitUploads      int // maximum number of concurrent uploads; 0: chosen by the process
	LimitRequests     int // maximum number of other concurrent requests; 0: chosen by the process
	LimitOpen         int // maximum number of open streams
	LimitWaiting      int // maximum number of waiting jobs
	LimitDisk         Bytes
	AdmissionWait     time.Duration
	ShutdownGrace     time.Duration
	AuditEvery        time.Duration

	ConversationRetention time.Duration // 0: kept forever
}

func newConfig() Config { return Config{ModelNames: map[string]string{}} }

// Choice is a setting that is on, off, or derived from other settings.
type Choice string

// Values of a Choice.
const (
	Auto Choice = "auto"
	Yes  Choice = "true"
	No   Choice = "false"
)

// clientVariables lists the SLUICE_ variables that only client commands use. The service ignores them.
var clientVariables = map[string]bool{"SLUICE_URL": true}

// Parse reads settings from the arguments (without the program name) and the environment (entries of the form "K=V").
// It reports all errors at once.
func Parse(args, environ []string) (Config, error) {
	return parse(args, environ, func(s Setting) string { return fmt.Sprintf("%s (--%s)", s.Env, s.Flag) })
}

// ParseEnviron is like Parse, but for commands whose flags are not settings. Errors mention only the variables.
func ParseEnviron(environ []string) (Config, error) {
	return parse(nil, environ, func(s Setting) string { return s.Env })
}

func parse(args, environ []string, name func(Setting) string) (Config, error) {
	c := newConfig()
	settings := settingsOf(&c)
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
		flags.Var(flagValue{values, s.Env, s.IsBool()}, s.Flag, s.Doc)
	}
	switch err := flags.Parse(args); {
	case err != nil:
		faults = append(faults, err)
	case flags.NArg() > 0:
		faults = append(faults, fmt.Errorf("unexpected argument %q (write settings as --name=value)", flags.Arg(0)))
	}
	for _, s := range settings {
		err := rejectQuotes(values[s.Env])
		if err == nil && s.Secret {
			err = oneLine(values[s.Env])
		}
		if err == nil {
			err = s.set(values[s.Env])
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

// defaultWindow returns the default maximum number of jobs in the stream, a few times the number processed
// concurrently. With a larger window, a single upload would wait longer behind a large import, because the stream is
// first in, first out.
func defaultWindow(c Config) int {
	if c.NATSURL == "" {
		return 64
	}
	return 256
}

// check rejects contradictory settings.
func (c Config) check() error {
	if c.NATSListen != "" && c.NATSToken == "" {
		return errors.New("SLUICE_NATS_LISTEN needs SLUICE_NATS_TOKEN: without a token, anyone who can reach the port can read every job")
	}
	if c.NATSListen != "" && c.NATSURL != "" {
		return errors.New("SLUICE_NATS_LISTEN and NATS_URL are both set: set SLUICE_NATS_LISTEN for the embedded NATS server or NATS_URL for another one")
	}
	if (c.NATSCert == "") != (c.NATSKey == "") {
		return errors.New("NATS_CERT and NATS_KEY must be set together: set both or neither")
	}
	if c.NATSURL == "" && c.NATSReplicas > 1 {
		return fmt.Errorf("SLUICE_NATS_REPLICAS is %d, but the embedded NATS server cannot replicate: set NATS_URL to a cluster, or remove SLUICE_NATS_REPLICAS", c.NATSReplicas)
	}
	if c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL, "postgresql://") {
		return errors.New("DATABASE_URL must have the form postgres://user:password@host:5432/database")
	}
	if authority, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(c.DatabaseURL, "postgres://"), "postgresql://"), "/"); strings.Count(authority, "@") > 1 {
		return errors.New("DATABASE_URL has more than one @ before its host: write @ in the user name or password as %40")
	}
	if scheme, _, found := strings.Cut(c.MilvusAddr, "://"); found {
		return fmt.Errorf("MILVUS_ADDR %q must be host:port: remove %s://, and set MILVUS_TLS=true for an encrypted connection", c.MilvusAddr, scheme)
	}
	if c.MilvusAddr != "" && !strings.Contains(c.MilvusAddr, ":") {
		return fmt.Errorf("MILVUS_ADDR %q must include a port, such as %s:19530", c.MilvusAddr, c.MilvusAddr)
	}
	if (c.QueryPrefix != "" || c.PassagePrefix != "") && c.ServerEmbedModel() == "" && c.EmbedDir == "" {
		return errors.New("SLUICE_EMBED_QUERY_PREFIX and SLUICE_EMBED_PASSAGE_PREFIX need a model: set SLUICE_EMBED_MODEL or SLUICE_EMBED_DIR")
	}
	if c.RerankKey != "" && c.RerankURL == "" {
		return errors.New("RERANK_API_KEY needs a server: set RERANK_URL")
	}
	if !c.HasRemoteIndex() && c.EmbeddedIndex == No {
		return errors.New("SLUICE_EMBEDDED_INDEX is false and MILVUS_ADDR is not set, so there is no index: set MILVUS_ADDR, or SLUICE_EMBEDDED_INDEX=auto")
	}
	return nil
}

// HasRemoteIndex reports whether an index on separate servers is configured.
func (c Config) HasRemoteIndex() bool { return c.MilvusAddr != "" }

// HasEmbeddedIndex reports whether an api process with these settings opens the embedded index.
func (c Config) HasEmbeddedIndex() bool {
	if c.EmbeddedIndex == Auto {
		return !c.HasRemoteIndex() || c.DatabaseURL == ""
	}
	return c.EmbeddedIndex == Yes
}

// EmbedAuto is the value of SLUICE_EMBED_MODEL that makes datastores start with the fastest built-in model and move to
// the best one later.
const EmbedAuto = "auto"

// builtinPrefix is the prefix shared by the names of all built-in embedding models.
const builtinPrefix = "builtin-"

// ServerEmbedModel returns the name of the embedding model on the OpenAI-compatible server, or "" if none is
// configured.
func (c Config) ServerEmbedModel() string {
	if c.BuiltinEmbedModel() != "" {
		return ""
	}
	return c.EmbedModel
}

// BuiltinEmbedModel returns EmbedModel if it is EmbedAuto or a built-in model, and otherwise "".
func (c Config) BuiltinEmbedModel() string {
	if c.EmbedModel == EmbedAuto || strings.HasPrefix(c.EmbedModel, builtinPrefix) {
		return c.EmbedModel
	}
	return ""
}

// HasModelServer reports whether an OpenAI-compatible server is configured.
func (c Config) HasModelServer() bool { return c.OpenAIBaseURL != "" || c.OpenAIKey != "" }

// suggestSetting returns the setting that shares the longest prefix with an unknown name, or "" if none is similar.
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
