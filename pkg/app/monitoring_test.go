package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"
)

func (p *program) scrape() map[string]*dto.MetricFamily {
	p.t.Helper()
	res, err := http.Get("http://" + p.addr + "/metrics")
	p.must(err)
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	p.must(err)
	return families
}

// used matches the metrics in an expression, along with their label conditions.
var used = regexp.MustCompile(`\b((?:sluice|go|process)_[a-z0-9_]+)\b(\{[^}]*\})?`)

var labelsAsked = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)

// expressions returns the expressions in the dashboard and the alerts, by location.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	raw, err := os.ReadFile("../../deployments/grafana/sluice.json")
	if err == nil {
		err = json.Unmarshal(raw, &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all["panel "+panel.Title+": "+target.Expr] = target.Expr
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if raw, err = os.ReadFile("../../deployments/prometheus/alerts.yaml"); err == nil {
		err = yaml.Unmarshal(raw, &alerts)
	}
	if err != nil {
		t.Fatal(err)
	}
	documented, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			all["alert "+rule.Alert] = rule.Expr
			if !strings.Contains(string(documented), "`"+rule.Alert+"`") {
				t.Errorf("docs/monitoring.md does not say what to do about %s", rule.Alert)
			}
		}
	}
	if len(all) < 25 {
		t.Fatalf("only %d expressions were found", len(all))
	}
	return all
}

// TestDashboardAndAlertsUseExistingMetrics checks that a process exports every metric used by the dashboard and the
// alerts, and that all exported metrics are documented.
func TestDashboardAndAlertsUseExistingMetrics(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	families := p.scrape()
	for where, expression := range expressions(t) {
		found := used.FindAllStringSubmatch(expression, -1)
		if len(found) == 0 {
			t.Errorf("%s asks for nothing", where)
		}
		for _, use := range found {
			name := use[1]
			family := families[name]
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if of := families[strings.TrimSuffix(name, suffix)]; family == nil && of != nil && of.GetType() == dto.MetricType_HISTOGRAM {
					family = of
				}
			}
			if family == nil {
				t.Errorf("%s asks for %s, which there is not", where, name)
				continue
			}
			for _, label := range labelsAsked.FindAllStringSubmatch(use[2], -1) {
				if !slices.Contains([]string{"job", "instance", "le"}, label[1]) && !hasLabel(family, label[1]) {
					t.Errorf("%s asks for the label %s, which %s has not", where, label[1], name)
				}
			}
		}
	}
	documented, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range families {
		if strings.HasPrefix(name, "sluice_") && !strings.Contains(string(documented), "`"+name) {
			t.Errorf("docs/monitoring.md does not say what %s is", name)
		}
	}
}

func hasLabel(family *dto.MetricFamily, name string) bool {
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == name {
				return true
			}
		}
	}
	return false
}

// spans collects traces.
type spans struct {
	mu     sync.Mutex
	byName map[string][]string // span names by trace id
	more   chan struct{}
}

func (s *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a truncated body fails to decode
	var sent collector.ExportTraceServiceRequest
	if proto.Unmarshal(body, &sent) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range sent.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				trace := hex.EncodeToString(span.GetTraceId())
				s.byName[trace] = append(s.byName[trace], span.GetName())
			}
		}
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// wait waits until the trace contains all the named spans. If ctx ends first, it returns the missing names.
func (s *spans) wait(ctx context.Context, trace string, names ...string) (missing []string) {
	for {
		missing = nil
		s.mu.Lock()
		for _, name := range names {
			if !slices.Contains(s.byName[trace], name) {
				missing = append(missing, name)
			}
		}
		s.mu.Unlock()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return missing
		case <-s.more:
		}
	}
}

// TestATraceSpansARequestAndItsIndexing follows an upload and a query through the program by the caller's trace header.
func TestATraceSpansARequestAndItsIndexing(t *testing.T) {
	t.Parallel()
	sent := &spans{byName: map[string][]string{}, more: make(chan struct{}, 1)}
	server := httptest.NewServer(sent)
	t.Cleanup(server.Close)
	p := newProgram(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_BSP_SCHEDULE_DELAY=50")
	p.start()
	store := p.newDatastore()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const upload, query = "0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c"
	call := func(path, trace, body string) {
		t.Helper()
		p.must(p.callWith(ctx, http.MethodPost, path, "application/json", strings.NewReader(body), nil, "Traceparent", "00-"+trace+"-b7ad6b7169203331-01"))
	}
	call("/datastores/upsert/"+store, upload, `{"documents":[{"text":"The trial lasts thirty days, and secretword is in it."}]}`)
	if missing := sent.wait(ctx, upload, "POST /datastores/upsert/:datastoreId", "ingest", "read", "extract", "embed", "index", "apply synched"); missing != nil {
		t.Errorf("the trace of the upload lacks %v; it has %v", missing, sent.byName[upload])
	}
	call("/datastores/"+store+"/query", query, `{"query":"How long is the trial?"}`)
	if missing := sent.wait(ctx, query, "POST /datastores/:id/query", "retrieve", "embed query"); missing != nil {
		t.Errorf("the trace of the query lacks %v; it has %v", missing, sent.byName[query])
	}
	families := p.scrape()
	for _, stage := range []string{"read", "extract", "chunk", "embed", "index", "apply", "retrieve"} {
		if !observed(families["sluice_stage_duration_seconds"], stage) {
			t.Errorf("the stage %s was not timed", stage)
		}
	}
}

func observed(family *dto.MetricFamily, stage string) bool {
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetValue() == stage {
				return m.GetHistogram().GetSampleCount() > 0
			}
		}
	}
	return false
}
