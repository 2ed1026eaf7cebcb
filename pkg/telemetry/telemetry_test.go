package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sluice/sluice/pkg/domain"
)

func TestTracesAreOffUnlessTheyHaveSomewhereToGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		on   bool
		says string
	}{
		"nothing is set":              {nil, false, ""},
		"an endpoint":                 {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, true, ""},
		"an endpoint of traces":       {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, true, ""},
		"turned off as a whole":       {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"no exporter":                 {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"an exporter that is not had": {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER is "zipkin"; it must be otlp or none`},
		"a protocol that is not had":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "x:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "only http/protobuf is supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, err := isEnabled(func(name string) string { return c.env[name] })
			if on != c.on || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v", on, err)
			}
		})
	}
	traces, stop, err := Open(t.Context(), "api", "1", func(string) string { return "" }, slog.Default())
	if traces != nil || err != nil {
		t.Errorf("%v, %v", traces, err)
	}
	stop()
}

// TestATraceContinuesInAnotherProcess follows a request to a job and on to the job's event.
func TestATraceContinuesInAnotherProcess(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	traces := NewTraces(sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)))
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx, request := traces.Request(t.Context(), http.Header{"Traceparent": {caller}, "Baggage": {"secret=1"}}, "POST /datasources")
	carried := Inject(ctx)
	request.End(nil)

	elsewhere, job := traces.Continue(t.Context(), carried, "ingest", Text("sluice.datasource", "d"), Number("sluice.generation", uint64(7)))
	_, stage := Start(elsewhere, "extract")
	stage.Set(Number("bytes", 5))
	stage.End(fmt.Errorf("reading: %w", domain.Errorf(domain.CodeUnsupported, "the file %s", "secret.pdf")))
	job.End(nil)

	ended := recorder.Ended()
	if len(ended) != 3 {
		t.Fatalf("%d spans", len(ended))
	}
	parents := map[string]string{}
	for _, s := range ended {
		if got := s.SpanContext().TraceID().String(); got != caller[3:35] {
			t.Errorf("%s is in the trace %s", s.Name(), got)
		}
		parents[s.Name()] = s.Parent().SpanID().String()
		if strings.Contains(fmt.Sprint(s.Attributes(), s.Status(), s.Events()), "secret") {
			t.Errorf("%s shows %v %v", s.Name(), s.Attributes(), s.Status())
		}
	}
	if parents["POST /datasources"] != caller[36:52] || !strings.Contains(carried, parents["ingest"]) || parents["extract"] == parents["ingest"] {
		t.Errorf("the spans are within %v", parents)
	}
}

func TestDisabledTracesCostNothing(t *testing.T) {
	var traces *Traces
	if n := testing.AllocsPerRun(100, func() {
		ctx, span := traces.Request(context.Background(), nil, "GET /")
		ctx, job := traces.Continue(ctx, "", "ingest")
		ctx, inner := Start(ctx, "extract")
		inner.Set()
		inner.End(nil)
		job.End(nil)
		span.End(io.EOF)
		if Inject(ctx) != "" {
			t.Error("a context without a trace has a trace to carry")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestInvalidTraceContextsAreIgnored(t *testing.T) {
	t.Parallel()
	traces := NewTraces(sdk.NewTracerProvider())
	for _, carried := range []string{"", "nonsense", "00-00000000000000000000000000000000-0000000000000000-01", strings.Repeat("0", 10_000)} {
		ctx, span := traces.Continue(t.Context(), carried, "ingest")
		if id, _ := IDs(ctx); len(id) != 32 {
			t.Errorf("%.20q gives the trace %q", carried, id)
		}
		span.End(nil)
	}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"": nil, "internal": io.EOF, CauseCanceled: fmt.Errorf("x: %w", context.Canceled), CauseTimeout: context.DeadlineExceeded,
		"unavailable": domain.Errorf(domain.CodeUnavailable, "x"), "not_found": fmt.Errorf("x: %w", domain.NotFound("agent", "a")),
	} {
		if got := Cause(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}

func TestSpansAreSentToACollector(t *testing.T) {
	got := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // if reading fails, the checks below miss the content
		select {
		case got <- r.URL.Path + " " + string(body):
		default:
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}
	traces, stop, err := Open(t.Context(), "api", "v9", func(name string) string { return env[name] }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, span := traces.Continue(t.Context(), "", "the work", Text("sluice.datasource", "the-id"))
	span.End(nil)
	stop()
	sent := <-got
	for _, want := range []string{"/v1/traces ", "sluice-api", "v9", "the work", "the-id"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the exported spans lack %q", want)
		}
	}
}

func TestLogsHoldNoKeys(t *testing.T) {
	t.Parallel()
	key := domain.KeyPrefix + strings.Repeat("0af9", 16)
	var b bytes.Buffer
	log := slog.New(RedactingHandler(slog.NewTextHandler(&b, nil), domain.NewSecrets("correct horse battery"))).With("with", key).WithGroup("g")
	log.Info("message "+key, "text", key, "error", errors.New("refused "+key), slog.Group("in", slog.String("deep", key)), "of", "correct horse battery", "n", 7)
	if strings.Contains(b.String(), "horse") || !strings.Contains(b.String(), "of=…") || strings.Contains(b.String(), key[:12]) || strings.Count(b.String(), "sk_…") != 5 || !strings.Contains(b.String(), "g.n=7") {
		t.Error(b.String())
	}
}
