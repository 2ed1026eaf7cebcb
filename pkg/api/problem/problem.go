// Package problem converts errors to responses in the format of the endpoint's protocol (RFC 9457, OpenAI, or
// JSON-RPC), with a code, a status and a message without secrets. It does not depend on routes or handlers; pkg/api and
// the packages below it may import it.
package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// CodeMethod means that the path does not allow the method. It is the only code specific to HTTP.
const CodeMethod domain.Code = "METHOD_NOT_ALLOWED"

// statuses maps each code to its HTTP status and title.
var statuses = map[domain.Code]struct {
	status int
	title  string
}{
	domain.CodeInvalid:      {http.StatusBadRequest, "Invalid request"},
	domain.CodeUsageLimit:   {http.StatusPaymentRequired, "Usage limit reached"},
	domain.CodeUnauthorized: {http.StatusForbidden, "Unauthorized"},
	domain.CodeNotFound:     {http.StatusNotFound, "Not found"},
	CodeMethod:              {http.StatusMethodNotAllowed, "Method not allowed"},
	domain.CodeConflict:     {http.StatusConflict, "Conflict"},
	domain.CodeTooLarge:     {http.StatusRequestEntityTooLarge, "Too large"},
	domain.CodeUnsupported:  {http.StatusUnsupportedMediaType, "Unsupported type"},
	domain.CodeRateLimit:    {http.StatusTooManyRequests, "Too many requests"},
	domain.CodeUnavailable:  {http.StatusServiceUnavailable, "Unavailable"},
	domain.CodeInternal:     {http.StatusInternalServerError, "Internal error"},
}

// Default Retry-After values, for errors that do not set RetryAfter.
const (
	retryAfterRate = time.Second
	retryAfterDown = 5 * time.Second
)

// ErrForbidden is wrapped by errors for a valid key without permission. Clients of OpenAI's API and of the Model
// Context Protocol get 403 for these and 401 for a missing key, whereas this API uses 403 for both.
var ErrForbidden = errors.New("the API key does not have the required permission")

// ErrNoPreviousResponse is wrapped by errors for a nonexistent previous response. OpenAI's clients recognise the code
// and send the whole conversation again.
var ErrNoPreviousResponse = errors.New("there is no such previous response")

// ErrNoKey is wrapped by errors for requests without an API key in a known format.
var ErrNoKey = errors.New("the request has no API key")

// Forbidden returns the error for a valid key without permission.
func Forbidden(format string, args ...any) *domain.Error {
	return &domain.Error{Code: domain.CodeUnauthorized, Message: fmt.Sprintf(format, args...), Err: ErrForbidden}
}

// MissingKey returns the error for a request without a key.
func MissingKey() error {
	return &domain.Error{Code: domain.CodeUnauthorized, Message: "no API key; send the header Authorization: Bearer <key>", Err: ErrNoKey}
}

// IsClientGone reports whether the error occurred only because the client disconnected. Once ctx is done, that includes
// internal errors and unavailability, because engines return various errors when cancelled. It excludes errors that
// blame the request: the server also cancels ctx when a client is too slow, and such a client must be told the reason.
func IsClientGone(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	code := domain.CodeOf(err)
	return errors.Is(err, context.Canceled) || code == domain.CodeInternal || code == domain.CodeUnavailable
}

// StatusClientClosed is the status recorded in metrics if the client disconnects before the response.
const StatusClientClosed = 499

// Explain converts any error to one that clients may see, without secrets or internal causes, and logs anything it
// hides.
func Explain(ctx context.Context, log *slog.Logger, secrets domain.Secrets, err error) *domain.Error {
	var e *domain.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &e):
	case errors.As(err, &tooLarge):
		e = TooLarge(tooLarge.Limit)
	case errors.Is(err, context.DeadlineExceeded):
		e = &domain.Error{Code: domain.CodeUnavailable, Message: "the request took too long; try again", Err: err}
	default:
		e = &domain.Error{Code: domain.CodeInternal, Err: err}
	}
	if _, known := statuses[e.Code]; !known {
		e = &domain.Error{Code: domain.CodeInternal, Err: err}
	}
	switch e.Code {
	case domain.CodeInternal:
		log.Error("request failed", "request", RequestID(ctx), "error", err)
		e = &domain.Error{Code: domain.CodeInternal, Message: fmt.Sprintf(
			"internal error; the service's log has the cause under request %s", RequestID(ctx))}
	case domain.CodeUnavailable:
		log.Warn("dependency unavailable", "request", RequestID(ctx), slog.Any("error", err))
	}
	return redacted(e, secrets)
}

// redacted returns a copy of the error without secrets. Messages quote the request, and clients may send a key by
// mistake, for example as an id.
func redacted(e *domain.Error, secrets domain.Secrets) *domain.Error {
	shown := *e
	shown.Message = secrets.Redact(e.Message)
	shown.Fields = slices.Clone(e.Fields)
	for i, f := range shown.Fields {
		shown.Fields[i] = domain.FieldError{Field: secrets.Redact(f.Field), Message: secrets.Redact(f.Message)}
	}
	return &shown
}

// SetRetryAfter sets the Retry-After header if the error is temporary.
func SetRetryAfter(h http.Header, e *domain.Error) {
	wait := e.RetryAfter
	switch {
	case wait > 0:
	case e.Code == domain.CodeRateLimit:
		wait = retryAfterRate
	case e.Code == domain.CodeUnavailable:
		wait = retryAfterDown
	}
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}

// Problem is the body of an error (RFC 9457), as defined in the OpenAPI document.
type Problem struct {
	Detail   string              `json:"detail"`
	Error    domain.Code         `json:"error"`
	Errors   []domain.FieldError `json:"errors,omitempty"`
	Instance string              `json:"instance"`
	Status   int                 `json:"status"`
	Title    string              `json:"title"`
	Type     string              `json:"type"`
}

func writeProblem(w http.ResponseWriter, instance string, e *domain.Error) {
	st := statuses[e.Code]
	WriteAs(w, st.status, st.title, instance, e)
}

// WriteAs sends an error in this API's format, but with the given status and title instead of the code's own.
func WriteAs(w http.ResponseWriter, status int, title, instance string, e *domain.Error) {
	write(w, "application/problem+json", status, Problem{
		Type: "about:blank", Title: title, Status: status, Detail: e.Message, Instance: instance, Error: e.Code, Errors: e.Fields,
	})
}

func write(w http.ResponseWriter, kind string, status int, v any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false) // people read messages such as Bearer <key>
	_ = out.Encode(v)        // an error means that the client has disconnected
}

// Invalid combines a request's faults into one error that lists a limited number of them. It returns nil if there are
// none.
func Invalid(faults []domain.FieldError) error {
	const shown = 100
	if len(faults) == 0 {
		return nil
	}
	message := faults[0].Field + ": " + faults[0].Message
	if n := len(faults); n > 1 {
		message = fmt.Sprintf("%s (and %d more, see errors)", message, n-1)
	}
	if len(faults) > shown {
		more := domain.FieldError{Field: "body", Message: fmt.Sprintf("has %d more errors that are not listed", len(faults)-shown)}
		faults = append(faults[:shown:shown], more)
	}
	return &domain.Error{Code: domain.CodeInvalid, Message: message, Fields: faults}
}

// TooLarge returns the error for a body above the limit.
func TooLarge(limit int64) *domain.Error {
	return domain.Errorf(domain.CodeTooLarge, "the body is larger than the limit of %s; split the request", jsonbody.ByteSize(limit))
}

// JoinFaults returns the faults as a single text, for error formats without fields.
func JoinFaults(faults []domain.FieldError) string {
	const shown = 20
	lines := make([]string, 0, shown+1)
	for _, f := range faults[:min(len(faults), shown)] {
		if f.Field == "body" {
			f.Field = "arguments"
		}
		lines = append(lines, f.Field+": "+f.Message)
	}
	if n := len(faults) - shown; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}
