package problem

import (
	"context"
	"net/http"
	"regexp"

	"github.com/sluice/sluice/pkg/domain"
)

// RequestIDHeader carries the id of a request, in both directions.
const RequestIDHeader = "X-Request-Id"

// requestIDPattern is what of a caller's request id is taken over.
var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// RequestIDOf returns the id that the caller gave to the request, or a new one in place of an id that is none or has a
// secret in it.
func RequestIDOf(r *http.Request, secrets domain.Secrets, newID func() string) string {
	id := r.Header.Get(RequestIDHeader)
	if !requestIDPattern.MatchString(id) || secrets.Redact(id) != id {
		return newID()
	}
	return id
}

type requestIDKey struct{}

// WithRequestID returns a context in which errors are logged and answered under the id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id of the request, "" outside of one.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
