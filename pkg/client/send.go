package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	firstWait  = 250 * time.Millisecond // pause before the second attempt; doubles with each attempt
	maxWait    = 30 * time.Second       // maximum pause between attempts, regardless of what the service asks for
	maxProblem = 64 << 10               // maximum size of an error response in bytes
)

// ErrIdleTimeout means that a request transferred no data for the time set by [WithIdleTimeout].
var ErrIdleTimeout = errors.New("timed out waiting for data from the service")

// errContent means that an upload's content could not be read, or could not be read again for a retry.
var errContent = errors.New("reading the content to upload")

// sender sends the generated code's requests. It adds the key, retries failed requests, and turns error responses into
// errors.
type sender struct {
	http             *http.Client
	base, key, agent string
	attempts         int
	idleTimeout      time.Duration
	maxBody          int64
	wait             func(context.Context, time.Duration) error
}

// Do implements HttpRequestDoer.
func (s *sender) Do(req *http.Request) (*http.Response, error) {
	opts, _ := req.Context().Value(optionsContext).(requestOptions)
	s.dress(req, opts)
	isLost := false // whether an earlier attempt's response was lost, so the service may have processed the request
	for attempt := 1; ; attempt++ {
		resp, err := s.attempt(req, opts)
		if err == nil {
			return resp, nil
		}
		refused, answered := errors.AsType[*Error](err)
		if answered && isLost && req.Method == http.MethodDelete && refused.Status == http.StatusNotFound {
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: req}, nil
		}
		isLost = isLost || answered && refused.Status >= 500 || !answered && !isUnsent(err)
		if attempt >= s.attempts || req.Context().Err() != nil || !isRetryable(err, !opts.noRetry) {
			return nil, err
		}
		delay := backoff(attempt)
		if answered && refused.RetryAfter > 0 {
			delay = refused.RetryAfter
		}
		if end, limited := req.Context().Deadline(); delay > maxWait || limited && time.Until(end) < delay {
			return nil, err
		}
		if s.wait(req.Context(), delay) != nil {
			return nil, err // more informative than the context's error
		}
		if req.Body != nil && req.Body != http.NoBody {
			if req.GetBody == nil {
				return nil, err
			}
			body, again := req.GetBody()
			if again != nil {
				return nil, errors.Join(err, again)
			}
			req.Body = body
		}
	}
}

// dress adds the headers common to all requests.
func (s *sender) dress(req *http.Request, opts requestOptions) {
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	req.Header.Set("User-Agent", s.agent)
	if req.Method != http.MethodPost || opts.noRetry || req.Header.Get("Idempotency-Key") != "" {
		return
	}
	key, given := req.Context().Value(idempotencyContext).(string)
	if !given {
		if s.attempts == 1 || opts.read {
			// A request that is never retried doesn't need a key. Neither does a search, because it changes nothing:
			// the service doesn't have to recognise its retries, and storing a key takes two commits, which cost more
			// than the search.
			return
		}
		key = uuid.NewString()
	}
	req.Header.Set("Idempotency-Key", key)
}

// attempt performs one attempt. If it returns no error, the request has succeeded, and the response's body has been
// read unless it is a stream.
func (s *sender) attempt(req *http.Request, opts requestOptions) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	moving := &idleTimer{limit: s.idleTimeout, timer: time.AfterFunc(s.idleTimeout, func() { cancel(ErrIdleTimeout) })}
	end := func() {
		moving.timer.Stop()
		cancel(nil)
	}
	made := req.WithContext(ctx)
	if made.Body != nil && made.Body != http.NoBody {
		made.Body = &idleTimeoutBody{ReadCloser: req.Body, timer: moving, ended: true}
	}
	resp, err := s.http.Do(made)
	if err != nil {
		err = s.connectionError(ctx, err)
		end()
		return nil, err
	}
	resp.Body = &idleTimeoutBody{ReadCloser: resp.Body, timer: moving, ctx: ctx, end: end}
	isSuccess := resp.StatusCode/100 == 2 || resp.StatusCode == opts.accept
	if isSuccess && opts.stream {
		moving.timer.Stop()
		return resp, nil
	}
	limit := int64(maxProblem)
	if isSuccess {
		limit = s.maxBody
	}
	body, err := readAll(resp.Body, limit, isSuccess)
	switch {
	case err != nil && isSuccess:
		return nil, fmt.Errorf("reading the response from %s: %w", s.base, err)
	case !isSuccess: // even if the error answer is incomplete
		return nil, errorOf(resp, body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// connectionError returns the error for a request that got no response. It omits the URL's query, which may contain
// search terms.
func (s *sender) connectionError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return fmt.Errorf("contacting %s: %w", s.base, err)
}

// readAll reads and closes a body. If the body is longer than `limit` bytes, the result depends on `whole`: readAll
// fails if it is true and returns the first `limit` bytes if it is false.
func readAll(body io.ReadCloser, limit int64, whole bool) ([]byte, error) {
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, limit+1))
	if int64(len(b)) > limit {
		if whole {
			return nil, &tooLargeError{limit}
		}
		b = b[:limit]
	}
	return b, err
}

type tooLargeError struct{ limit int64 }

func (t *tooLargeError) Error() string {
	return fmt.Sprintf("it is longer than the limit of %d bytes; request less at once", t.limit)
}

// isUnsent reports whether a request failed before a connection was established, so the service never received it.
func isUnsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// isRetryable reports whether a retry is safe and may succeed. If isRepeatable is false, a retry is safe only if the
// service can't have processed the request.
func isRetryable(err error, isRepeatable bool) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable: // the service did not process the request
			return true
		case http.StatusBadGateway, http.StatusGatewayTimeout:
			return isRepeatable
		case http.StatusConflict: // an earlier attempt with the same Idempotency-Key is still being processed
			return isRepeatable && e.RetryAfter > 0
		default:
			return false
		}
	}
	if isUnsent(err) {
		dns, ok := errors.AsType[*net.DNSError](err)
		return !ok || !dns.IsNotFound
	}
	_, isLong := errors.AsType[*tooLargeError](err)
	_, isForeign := errors.AsType[*tls.CertificateVerificationError](err)
	_, isPlain := errors.AsType[tls.RecordHeaderError](err)
	isPlain = isPlain || strings.Contains(err.Error(), "HTTP response to HTTPS client")
	return isRepeatable && !isLong && !isForeign && !isPlain && !errors.Is(err, ErrIdleTimeout) && !errors.Is(err, errContent)
}

// backoff returns the pause after an attempt. The pause doubles with each attempt, minus a random amount of up to half,
// so that clients that failed together don't retry together.
func backoff(attempt int) time.Duration {
	d := min(firstWait<<min(attempt-1, 10), maxWait)
	return d - rand.N(d/2)
}

// idleTimer cancels a request when its timer expires. Every data transfer restarts the timer.
type idleTimer struct {
	limit time.Duration
	timer *time.Timer
}

// idleTimeoutBody is a body whose reads restart the idle timer. Between the reads of a request body, the timer keeps
// running, because data is being sent. Between the reads of a response body, the timer is stopped, because the caller
// is processing data.
type idleTimeoutBody struct {
	io.ReadCloser
	timer *idleTimer
	ended bool
	ctx   context.Context //nolint:containedctx // context of the request
	end   func()
}

// Read implements io.Reader.
func (b *idleTimeoutBody) Read(p []byte) (int, error) {
	b.timer.timer.Reset(b.timer.limit)
	n, err := b.ReadCloser.Read(p)
	switch {
	case b.ended:
		b.timer.timer.Reset(b.timer.limit)
	default:
		b.timer.timer.Stop()
		if err != nil && !errors.Is(err, io.EOF) {
			if cause := context.Cause(b.ctx); cause != nil {
				err = cause
			}
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *idleTimeoutBody) Close() error {
	err := b.ReadCloser.Close()
	if b.end != nil {
		b.end()
	}
	return err
}
