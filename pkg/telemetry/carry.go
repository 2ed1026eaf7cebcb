package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header is the header that carries a trace, over HTTP and in NATS messages (W3C Trace Context).
const Header = "traceparent"

// carriers are how traces travel. What callers say beside, in the header baggage, is not passed on.
var carriers = propagation.TraceContext{}

// Carry writes down the context's trace so that the work can be continued elsewhere, "" when there is none.
func Carry(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carried := propagation.MapCarrier{}
	carriers.Inject(ctx, carried)
	return carried[Header]
}

// Within returns a context in the trace that was carried here, so that what follows from the work is part of it.
func Within(ctx context.Context, carried string) context.Context {
	if carried == "" {
		return ctx
	}
	return carriers.Extract(ctx, propagation.MapCarrier{Header: carried})
}

// IDs are the ids of the context's trace and span, for logs; "" when there are none.
func IDs(ctx context.Context) (traceID, spanID string) {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return "", ""
	}
	return sc.TraceID().String(), sc.SpanID().String()
}
