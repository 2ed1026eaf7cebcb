package config

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestDefaultsNeedNoConfiguration(t *testing.T) {
	t.Parallel()
	c, err := Parse(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "" || c.DataDir != "./data" || !c.Workers || c.AllowPrivate {
		t.Errorf("defaults: %+v", c)
	}
	if c.Window != 64 {
		t.Errorf("window %d", c.Window)
	}
	if fleet, err := Parse([]string{"--nats-url", "nats://n"}, nil); err != nil || fleet.Window != 256 {
		t.Errorf("window of a fleet %d, %v", fleet.Window, err)
	}
	if c.LimitUpload != 100<<20 || c.ExtractTimeout != 2*time.Minute {
		t.Errorf("upload %d, timeout %v", c.LimitUpload, c.ExtractTimeout)
	}
}

func TestFlagsComeBeforeTheEnvironment(t *testing.T) {
	t.Parallel()
	environ := []string{"SLUICE_ADDR=:1", "SLUICE_WINDOW=9", "SLUICE_MODEL_LLM_4=big", "PATH=/bin", "SLUICE_LOG_LEVEL="}
	c, err := Parse([]string{"--addr", ":2", "--workers=false", "--allow-private-addresses"}, environ)
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != ":2" || c.Window != 9 || c.Workers || !c.AllowPrivate || c.ModelNames["llm_4"] != "big" || c.LogLevel != "info" {
		t.Errorf("%+v", c)
	}
}

func TestFaultsAreReportedTogetherAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{
		"SLUICE_ADRR=:1", "SLUICE_WINDOW=many", "SLUICE_LIMIT_UPLOAD=10 furlongs", "SLUICE_LOG_LEVEL=loud",
		"SLUICE_AUDIT_EVERY=-1s", "SLUICE_QUOTA_QUERIES=-4", "SLUICE_WORKERS=perhaps", "SLUICE_NATS_LISTEN=:4222",
		"SLUICE_API_KEY=hush",
	}
	_, err := Parse([]string{"extra"}, environ)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"SLUICE_ADRR is not a setting; did you mean SLUICE_ADDR?", `SLUICE_WINDOW (--window) "many": must be a whole number between 0`,
		"10 furlongs", "must be one of debug", "SLUICE_AUDIT_EVERY", "SLUICE_QUOTA_QUERIES", "true or false",
		"needs SLUICE_NATS_TOKEN", `unexpected argument "extra"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hush") {
		t.Error("a secret is shown")
	}
}

func TestFaultsOfTheEnvironmentNameNoFlags(t *testing.T) {
	t.Parallel()
	environ := []string{"SLUICE_API_KEY=two words"}
	if _, err := ParseEnviron(environ); err == nil || !strings.HasPrefix(err.Error(), "SLUICE_API_KEY: ") {
		t.Errorf("of a command with flags of its own: %v", err)
	}
	if _, err := Parse(nil, environ); err == nil || !strings.HasPrefix(err.Error(), "SLUICE_API_KEY (--api-key): ") {
		t.Errorf("of the service: %v", err)
	}
}

func TestTheEmbeddedIndexIsOpenedByDefault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environ []string
		want    bool
	}{
		"laptop":                     {want: true},
		"Milvus beside SQLite":       {environ: []string{"MILVUS_ADDR=m:19530"}, want: true},
		"fleet":                      {environ: []string{"MILVUS_ADDR=m:19530", "DATABASE_URL=postgres://x"}},
		"fleet that moves to Milvus": {environ: []string{"MILVUS_ADDR=m:19530", "DATABASE_URL=postgres://x", "SLUICE_EMBEDDED_INDEX=true"}, want: true},
		"PostgreSQL alone":           {environ: []string{"DATABASE_URL=postgres://x"}, want: true},
	} {
		c, err := Parse(nil, test.environ)
		if err != nil || c.HasEmbeddedIndex() != test.want {
			t.Errorf("%s: %v, %v", name, c.HasEmbeddedIndex(), err)
		}
	}
}

func TestContradictorySettingsAreRefused(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]string{
		"SLUICE_EMBEDDED_INDEX=false":       "there is no index",
		"SLUICE_NATS_REPLICAS=3":            "set NATS_URL",
		"NATS_CERT=config.go":               "must be set together",
		"DATABASE_URL=postgres:pw@h":        "must have the form",
		"DATABASE_URL=postgres://u:p@w@h/d": "write @ in the user name or password as %40",
		"MILVUS_ADDR=milvus":                "milvus:19530",
		"MILVUS_ADDR=http://milvus:19530":   "must be host:port: remove http://",
		"MILVUS_ADDR=https://milvus":        "MILVUS_TLS=true",
		"NATS_CREDS=/no/such/file":          "must be a readable file",
	} {
		if _, err := Parse(nil, []string{environ}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", environ, err, want)
		}
	}
}

func TestListenAddressesAreValidated(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"": "", ":8080": "", "127.0.0.1:0": "", "[::1]:8080": "", "localhost:80": "",
		"8080": "127.0.0.1:8080", "localhost": "host:port", "127.0.0.1": "host:port", "::1:8080": "host:port",
		"http://localhost:8080": "without a scheme", "https://a.example": "without a scheme", "localhost:http": `port "http"`, "localhost:65536": "65535", "localhost:": `port ""`,
		"*:8080": "0.0.0.0:8080", "256.0.0.1:8080": "not a valid IP address", "0:8080": "not a valid IP address",
	} {
		_, err := Parse(nil, []string{"SLUICE_ADDR=" + addr})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("SLUICE_ADDR=%s: %v, want %q", addr, err, want)
		}
	}
}

func TestKeysThatAreInvalidInHeadersAreRefused(t *testing.T) {
	t.Parallel()
	const good = "sk_0123456789abcdef"
	for value, want := range map[string]string{
		good: "", good + "~!*": "",
		good + "\n": "line break", "sk_01234567\n89abcdef": "line break", " " + good: "space", good + " ": "space", "sk_01234567 89abcdef": "space",
		"Bearer " + good: `"Bearer "`, "schlüssel_0123456789": "outside ASCII", "short": "at least 16", strings.Repeat("k", 513): "at most 512",
	} {
		_, err := Parse(nil, []string{"SLUICE_API_KEY=" + value})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "SLUICE_API_KEY") || strings.Contains(err.Error(), "0123")) {
			t.Errorf("SLUICE_API_KEY=%q: %v, want %q", value, err, want)
		}
	}
	for environ, want := range map[string]string{
		"OPENAI_API_KEY=sk-proj\n": "line break", "ANTHROPIC_API_KEY= sk-ant": "space", "MILVUS_PASSWORD=two words": "",
		"SLUICE_ADMIN_KEY=a key of several words": "", "SLUICE_ADMIN_KEY=short": "at least 16", "SLUICE_ADMIN_KEY=0123456789abcdef\n": "line break",
	} {
		if _, err := Parse(nil, []string{environ}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", environ, err, want)
		}
	}
}

func TestAddressesOfModelServersAreChecked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "ANTHROPIC_BASE_URL", "RERANK_URL", "NATS_MONITOR_URL"} {
		for value, good := range map[string]bool{
			"http://127.0.0.1:11434/v1": true, "https://a.example/?key=1": true, "127.0.0.1:11434": false, "localhost:11434/v1": false, "http:///v1": false, "ftp://a.example": false, "http://[::1": false,
		} {
			_, err := Parse(nil, []string{name + "=" + value})
			if (err == nil) != good || err != nil && (!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "http://")) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}

func TestAValueInQuotesIsRefused(t *testing.T) {
	t.Parallel()
	for value, quoted := range map[string]bool{`"sk_0123456789abcdef"`: true, `'sk_0123456789abcdef'`: true, `"`: false, `"it's"-0123456789abc`: false} {
		_, err := Parse(nil, []string{"OPENAI_API_KEY=" + value})
		if quoted != (err != nil && strings.Contains(err.Error(), "remove them")) || err != nil && strings.Contains(err.Error(), "sk_") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestSizesHaveAMinimum(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Bytes{"0": 0, "0MiB": 0, "64KiB": 64 << 10} {
		c := Config{LimitJSON: 7}
		if err := sizeOrNone(&c.LimitJSON, 1024)(in); err != nil || c.LimitJSON != want {
			t.Errorf("a size or none, %q: %d, %v", in, c.LimitJSON, err)
		}
	}
	for _, in := range []string{"", "1023", "-1", "none"} {
		var c Config
		if err := sizeOrNone(&c.LimitJSON, 1024)(in); err == nil {
			t.Errorf("a size or none: %q accepted as %d", in, c.LimitJSON)
		}
	}
	for _, in := range []string{"0", "1023", ""} {
		var c Config
		if err := size(&c.LimitJSON, 1024)(in); err == nil {
			t.Errorf("%q accepted as %d", in, c.LimitJSON)
		}
	}
}

func TestConversationRetention(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{"": 0, "0": 0, "90d": 90 * 24 * time.Hour, "36h": 36 * time.Hour, "1h": time.Hour, "36500d": 36500 * 24 * time.Hour} {
		c, err := Parse(nil, []string{"SLUICE_CONVERSATION_RETENTION=" + in})
		if err != nil || c.ConversationRetention != want {
			t.Errorf("%q: %s, %v", in, c.ConversationRetention, err)
		}
	}
	for _, in := range []string{"90", "d", "-1d", "1.5d", "59m", "-1h", "36501d", "99999999999999999999d", "90 d", "soon"} {
		if c, err := Parse(nil, []string{"SLUICE_CONVERSATION_RETENTION=" + in}); err == nil {
			t.Errorf("%q accepted as %s", in, c.ConversationRetention)
		}
	}
}

func TestTheDocumentationHasEverySetting(t *testing.T) {
	t.Parallel()
	var doc bytes.Buffer
	Markdown(&doc)
	for _, s := range Settings() {
		if !strings.Contains(doc.String(), "\n| `"+s.Env+"` | ") {
			t.Errorf("%s is missing", s.Env)
		}
		if want := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.Env, "SLUICE_"), "_", "-")); s.Flag != want {
			t.Errorf("the flag of %s is %s; the documentation says %s", s.Env, s.Flag, want)
		}
		if !strings.HasSuffix(s.Doc, ".") || strings.Contains(s.Doc, ". ") {
			t.Errorf("%s is described by %q, which is not one sentence", s.Env, s.Doc)
		}
		if strings.Contains(s.Doc, "](") {
			t.Errorf("%s is described with a link, which the help of commands cannot show", s.Env)
		}
	}
	if first := Groups()[0].Settings; len(first) != 5 {
		t.Errorf("the first group has %d settings", len(first))
	}
}
