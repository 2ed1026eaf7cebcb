package api_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/telemetry"
)

// TestKeysAreNotDisclosed puts a key into every part of every operation's requests, and into HTTP headers and paths
// where clients put it by mistake. Nothing the service outputs may contain the key, apart from data that a caller
// deliberately stores.
func TestKeysAreNotDisclosed(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	for name, key := range map[string]func(*scene) string{
		"a good key":     func(s *scene) string { return s.service.key },
		"an unknown key": func(*scene) string { return domain.NewKey() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			metrics, log, spans := prometheus.NewRegistry(), &logBuffer{}, tracetest.NewSpanRecorder()
			s := newScene(t, func(_ *api.Options, d *api.Deps) {
				d.Traces = telemetry.NewTraces(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)))
				d.Metrics, d.Log = metrics, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			secret := key(s)
			caller := s.as(secret)
			for _, p := range s.places(doc) {
				c := p.request(secret)
				a := caller.send(c)
				if a.status >= 400 {
					hidden(t, secret, p.String(), string(a.body))
				}
				hidden(t, secret, p.String(), fmt.Sprint(a.header))
			}
			bare := s.as("")
			for _, c := range []call{
				{"GET", "/agents?api_key=" + secret, nil, nil},
				{"GET", "/agents?limit=" + secret, nil, nil},
				{"GET", "/" + secret, nil, nil},
				{"GET", "/v1/" + secret, nil, nil},
				{"POST", "/healthz/" + secret, nil, nil},
				{secret[:20], "/agents", nil, nil},
				{"GET", "/agents", nil, []string{"Authorization", "Basic " + secret}},
				{"GET", "/agents", nil, []string{"Authorization", secret}},
				{"GET", "/agents", nil, []string{"Authorization", "Bearer " + secret + "x"}},
				{"GET", "/agents", nil, []string{"X-Request-Id", secret}},
				{"GET", "/agents", nil, []string{"X-Api-Key", secret, "User-Agent", secret, "Referer", "http://x/" + secret, "Traceparent", secret}},
				{"POST", "/agents", object{secret: secret}, nil},
				{"POST", "/agents", object{"name": "a", "temperature": secret}, nil},
				{"POST", "/agents", `{"name":"a","x":` + secret + "}", nil},
				{"POST", "/mcp", `{"jsonrpc":"2.0","id":"` + secret + `","method":"` + secret + `"}`, nil},
				{"POST", "/datasources", "x", []string{"Content-Type", "multipart/form-data; boundary=" + secret}},
				{"POST", "/agents", object{"name": "a"}, []string{"Idempotency-Key", secret + "\xe9"}},
			} {
				for _, client := range []*service{bare, caller} {
					a := client.send(c)
					if a.status >= 400 && c.path != "/mcp" { // MCP errors echo the caller's message id
						hidden(t, secret, fmt.Sprint(c), string(a.body))
					}
					hidden(t, secret, fmt.Sprint(c), fmt.Sprint(a.header))
				}
			}
			hidden(t, secret, "the log", log.String())
			families, err := metrics.Gather()
			must(t, err)
			hidden(t, secret, "the metrics", fmt.Sprint(families))
			if len(spans.Ended()) < 100 {
				t.Errorf("%d spans", len(spans.Ended()))
			}
			for _, span := range spans.Ended() {
				hidden(t, secret, "a trace", fmt.Sprint(span.Name(), span.Attributes(), span.Status(), span.Events()))
			}
		})
	}
}

// hidden fails the test if the text contains the key or a revealing part of it.
func hidden(t *testing.T, secret, where, text string) {
	t.Helper()
	const telling = 12
	for _, form := range []string{secret[:telling], secret[len(secret)-telling:], domain.HashKey(secret)[:telling]} {
		if at := strings.Index(text, form); at >= 0 {
			t.Errorf("%s shows the key: …%s…", where, text[max(0, at-60):min(len(text), at+80)])
			return
		}
	}
}

// TestKeysAreNotStored searches the catalog's files after keys have been created and used.
func TestKeysAreNotStored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	made := s.call("POST", "/keys", object{"name": "website"}, "Idempotency-Key", "k").want(201).object().text("key")
	s.as(made).call("POST", "/agents/"+s.agent+"/query", object{"query": "q"}, "Idempotency-Key", "q").want(http.StatusOK)
	files, err := filepath.Glob(s.path + "*")
	must(t, err)
	found := false
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		found = found || strings.Contains(string(content), domain.HashKey(made))
		if strings.Contains(string(content), made[3:20]) {
			t.Errorf("%s holds the key", filepath.Base(file))
		}
	}
	if !found {
		t.Error("the files do not hold the key's hash: they are not what was to be read")
	}
}
