package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluice/sluice/pkg/domain"
)

// Attribute is a span attribute.
type Attribute = attribute.KeyValue

// Text returns an attribute with a text value.
func Text(name, value string) Attribute { return attribute.String(name, value) }

// Number returns an attribute with a numeric value.
func Number[N int | int64 | uint64](name string, value N) Attribute {
	return attribute.Int64(name, int64(value))
}

// Span is a unit of work in a trace. A nil Span is valid and records nothing.
type Span struct{ span trace.Span }

// Start starts a child of the context's span. If the context has no span, Start returns a nil Span, and nothing is
// traced.
func Start(ctx context.Context, name string, attributes ...Attribute) (context.Context, *Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	return begin(ctx, parent.TracerProvider().Tracer(scope), trace.SpanKindInternal, name, attributes)
}

func begin(ctx context.Context, tracer trace.Tracer, kind trace.SpanKind, name string, attributes []Attribute) (context.Context, *Span) {
	ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return ctx, &Span{span}
}

// Set adds attributes to the span.
func (s *Span) Set(attributes ...Attribute) {
	if s != nil {
		s.span.SetAttributes(attributes...)
	}
}

// End ends the span. If err is not nil, the span is marked as failed. The span then contains the kind of error but not
// its message.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if cause := Cause(err); cause != "" {
		s.span.SetAttributes(attribute.String("error.type", cause))
		s.span.SetStatus(codes.Error, cause)
	}
	s.span.End()
}

// Causes of failures, in addition to package domain's error codes in lower case.
const (
	CauseCanceled = "canceled" // the caller has disconnected, or the process is stopping
	CauseTimeout  = "timeout"
)

// Cause classifies an error for metrics and traces. It returns "" if err is nil.
func Cause(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return CauseCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return CauseTimeout
	}
	if cause, known := causes[domain.CodeOf(err)]; known {
		return cause
	}
	return causes[domain.CodeInternal]
}

var causes = map[domain.Code]string{
	domain.CodeInvalid: "invalid", domain.CodeUsageLimit: "usage_limit", domain.CodeUnauthorized: "unauthorized",
	domain.CodeNotFound: "not_found", domain.CodeConflict: "conflict", domain.CodeTooLarge: "too_large",
	domain.CodeUnsupported: "unsupported", domain.CodeRateLimit: "rate_limit", domain.CodeUnavailable: "unavailable",
	domain.CodeInternal: "internal",
}
