package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header is the name of the header that carries a trace in HTTP requests and NATS messages (W3C Trace Context).
const Header = "traceparent"

// carriers is the propagation format. The baggage header of callers is not passed on.
var carriers = propagation.TraceContext{}

// Inject returns the context's trace in text form so that another process can continue it, or "" if there is none.
func Inject(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carried := propagation.MapCarrier{}
	carriers.Inject(ctx, carried)
	return carried[Header]
}

// Extract returns a context in the carried trace, so that later spans become part of it.
func Extract(ctx context.Context, carried string) context.Context {
	if carried == "" {
		return ctx
	}
	return carriers.Extract(ctx, propagation.MapCarrier{Header: carried})
}

// IDs returns the ids of the context's trace and span for logs, or "" if there are none.
func IDs(ctx context.Context) (traceID, spanID string) {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return "", ""
	}
	return sc.TraceID().String(), sc.SpanID().String()
}
