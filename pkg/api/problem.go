package api

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
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// codeMethod is the one code that only HTTP knows.
const codeMethod domain.Code = "METHOD_NOT_ALLOWED"

// statuses maps each code to its HTTP status and its title.
var statuses = map[domain.Code]struct {
	status int
	title  string
}{
	domain.CodeInvalid:      {http.StatusBadRequest, "Invalid request"},
	domain.CodeUsageLimit:   {http.StatusPaymentRequired, "Usage limit reached"},
	domain.CodeUnauthorized: {http.StatusForbidden, "Unauthorized"},
	domain.CodeNotFound:     {http.StatusNotFound, "Not found"},
	codeMethod:              {http.StatusMethodNotAllowed, "Method not allowed"},
	domain.CodeConflict:     {http.StatusConflict, "Conflict"},
	domain.CodeTooLarge:     {http.StatusRequestEntityTooLarge, "Too large"},
	domain.CodeUnsupported:  {http.StatusUnsupportedMediaType, "Unsupported type"},
	domain.CodeRateLimit:    {http.StatusTooManyRequests, "Too many requests"},
	domain.CodeUnavailable:  {http.StatusServiceUnavailable, "Unavailable"},
	domain.CodeInternal:     {http.StatusInternalServerError, "Internal error"},
}

// What callers are told to wait when an error does not say.
const (
	retryAfterRate = time.Second
	retryAfterDown = 5 * time.Second
)

// fail answers the request with the error, if nothing has been answered yet, and ends it.
func (s *server) fail(c *gin.Context, err error) {
	c.Abort()
	if hasLeft(c.Request.Context(), err) {
		s.log.Debug("client left", "request", requestID(c.Request.Context()))
		c.Status(statusClientLeft)
		return
	}
	e := s.explain(c.Request.Context(), err)
	if c.Writer.Written() {
		return
	}
	retryAfter(c.Writer.Header(), e)
	c.Header("Cache-Control", "no-store")
	defer linger(c)()
	switch formOf(c) {
	case formOpenAI:
		writeOpenAIError(c.Writer, e)
	case formRPC:
		s.failRPC(c, e)
	default:
		writeProblem(c.Writer, requestID(c.Request.Context()), e)
	}
}

// hasLeft reports whether the error is but the consequence of the client's leaving, however the engine that was stopped
// by it puts that. A fault of the request is none: the server ends the context of a client that is too slow, too, and
// that one is there to read why.
func hasLeft(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		return false
	}
	code := domain.CodeOf(err)
	return errors.Is(err, context.Canceled) || code == domain.CodeInternal || code == domain.CodeUnavailable
}

// statusClientLeft is what metrics show of a request whose client did not wait for the answer.
const statusClientLeft = 499

// explain turns any error into one that may be shown, and logs what may not.
func (s *server) explain(ctx context.Context, err error) *domain.Error {
	var e *domain.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &e):
	case errors.As(err, &tooLarge):
		e = tooLargeBody(tooLarge.Limit)
	case errors.Is(err, context.DeadlineExceeded):
		e = &domain.Error{Code: domain.CodeUnavailable, Message: "the service did not finish in time; try again", Err: err}
	default:
		e = &domain.Error{Code: domain.CodeInternal, Err: err}
	}
	if _, known := statuses[e.Code]; !known {
		e = &domain.Error{Code: domain.CodeInternal, Err: err}
	}
	switch e.Code {
	case domain.CodeInternal:
		s.log.Error("request failed", "request", requestID(ctx), "error", err)
		e = &domain.Error{Code: domain.CodeInternal, Message: fmt.Sprintf(
			"the service failed; its log has the cause under request %s", requestID(ctx))}
	case domain.CodeUnavailable:
		s.log.Warn("engine unavailable", "request", requestID(ctx), slog.Any("error", err))
	}
	return discreet(e)
}

// discreet returns the error without keys: callers send them in the place of an id, and messages say what was sent.
func discreet(e *domain.Error) *domain.Error {
	shown := *e
	shown.Message = domain.HideKeys(e.Message)
	shown.Fields = slices.Clone(e.Fields)
	for i, f := range shown.Fields {
		shown.Fields[i] = domain.FieldError{Field: domain.HideKeys(f.Field), Message: domain.HideKeys(f.Message)}
	}
	return &shown
}

// retryAfter tells the caller how long to wait, of an error that passes.
func retryAfter(h http.Header, e *domain.Error) {
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

func writeProblem(w http.ResponseWriter, instance string, e *domain.Error) {
	st := statuses[e.Code]
	p := Problem{Type: "about:blank", Title: st.title, Status: st.status, Detail: e.Message, Instance: instance, Error: ProblemError(e.Code)}
	if len(e.Fields) > 0 {
		faults := make([]FieldError, len(e.Fields))
		for i, f := range e.Fields {
			faults[i] = FieldError{Field: f.Field, Message: f.Message}
		}
		p.Errors = &faults
	}
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers always encode
		body = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(st.status)
	_, _ = w.Write(body) // a client that left needs no answer
}

// invalid joins the faults of a request into one error; nil when there are none. What is shown is bounded.
func invalid(faults []domain.FieldError) error {
	const shown = 100
	if len(faults) == 0 {
		return nil
	}
	message := faults[0].Field + ": " + faults[0].Message
	if n := len(faults); n > 1 {
		message = fmt.Sprintf("%s (and %d more, see errors)", message, n-1)
	}
	if len(faults) > shown {
		more := domain.FieldError{Field: "body", Message: fmt.Sprintf("has %d more faults, not listed", len(faults)-shown)}
		faults = append(faults[:shown:shown], more)
	}
	return &domain.Error{Code: domain.CodeInvalid, Message: message, Fields: faults}
}

func tooLargeBody(limit int64) *domain.Error {
	return domain.Errorf(domain.CodeTooLarge, "the body is larger than the limit of %s; send less at once", byteSize(limit))
}

// byteSize writes a limit the way people configure it.
func byteSize(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
