package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Traces starts spans that have no parent in this process. A nil Traces is valid and traces nothing.
type Traces struct{ provider trace.TracerProvider }

// scope is the instrumentation scope for all spans.
const scope = "github.com/sluice/sluice"

// Time limit for the last export when a process stops.
const closeTimeout = 3 * time.Second

// Open starts exporting traces over HTTP if OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT names a
// destination. The other standard variables configure samplers, batches, headers, certificates and attributes. The
// returned `stop` function exports the remaining spans, which takes at most three seconds. If no destination is set,
// Open returns nil Traces, and `stop` does nothing. `process` is the default for OTEL_SERVICE_NAME.
func Open(ctx context.Context, process, version string, getenv func(string) string, log *slog.Logger) (t *Traces, stop func(), err error) {
	on, err := isEnabled(getenv)
	if err != nil || !on {
		return nil, func() {}, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("creating the trace exporter: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.namespace", "sluice"), attribute.String("service.name", "sluice-"+process), attribute.String("service.version", version),
	), resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("describing this process for traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("cannot send traces", "error", err) }))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return NewTraces(provider), func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("cannot send the last traces", "error", err)
		}
	}, nil
}

// NewTraces returns Traces that use the given provider.
func NewTraces(provider trace.TracerProvider) *Traces { return &Traces{provider} }

// isEnabled reports whether the standard variables turn traces on. It rejects unsupported exporters and protocols.
func isEnabled(getenv func(string) string) (bool, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "", "otlp":
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q; it must be otlp or none", exporter)
	}
	endpoint := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") + getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return false, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := getenv(name); protocol != "" && protocol != "http/protobuf" {
			return false, fmt.Errorf("%s is %q; only http/protobuf is supported", name, protocol)
		}
	}
	return true, nil
}

func (t *Traces) tracer() trace.Tracer {
	if t == nil {
		return noop.Tracer{}
	}
	return t.provider.Tracer(scope)
}

// Request starts the span for an HTTP request, as a child of the caller's span if the header names one.
func (t *Traces) Request(ctx context.Context, header http.Header, name string, attributes ...Attribute) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx = carriers.Extract(ctx, propagation.HeaderCarrier(header))
	return begin(ctx, t.tracer(), trace.SpanKindServer, name, attributes)
}

// Continue starts a span in the trace described by `carried`, the text returned by Inject. If `carried` is "", the span
// starts a new trace.
func (t *Traces) Continue(ctx context.Context, carried, name string, attributes ...Attribute) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return begin(Extract(ctx, carried), t.tracer(), trace.SpanKindConsumer, name, attributes)
}
