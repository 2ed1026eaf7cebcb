package problem

import (
	"context"
	"net/http"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// RequestIDHeader carries the request's id in requests and responses.
const RequestIDHeader = "X-Request-Id"

// requestIDPattern matches the request ids accepted from callers.
var requestIDPattern = lazyregexp.New(`^[A-Za-z0-9._-]{1,100}$`)

// RequestIDOf returns the caller's request id, or a new one if it is missing, invalid or contains a secret.
func RequestIDOf(r *http.Request, secrets domain.Secrets, newID func() string) string {
	id := r.Header.Get(RequestIDHeader)
	if !requestIDPattern().MatchString(id) || secrets.Redact(id) != id {
		return newID()
	}
	return id
}

type requestIDKey struct{}

// WithRequestID returns a context with the request id. Logs and error responses include this id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the request id in the context, or "" if there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
