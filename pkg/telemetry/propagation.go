package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header is the name of the header with the trace context in HTTP requests and NATS messages (W3C Trace Context).
const Header = "traceparent"

// carriers reads and writes trace contexts in headers. It drops the caller's baggage header.
var carriers = propagation.TraceContext{}

// Inject returns the context's trace as text for another process to continue, or "" if there is none.
func Inject(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carried := propagation.MapCarrier{}
	carriers.Inject(ctx, carried)
	return carried[Header]
}

// Extract returns a context that continues a trace from another process. `carried` is the text that Inject returned
// there. Spans started with the context become part of the trace.
func Extract(ctx context.Context, carried string) context.Context {
	if carried == "" {
		return ctx
	}
	return carriers.Extract(ctx, propagation.MapCarrier{Header: carried})
}

// IDs returns the context's trace and span ids for logs, or empty strings if there are none.
func IDs(ctx context.Context) (traceID, spanID string) {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return "", ""
	}
	return sc.TraceID().String(), sc.SpanID().String()
}
