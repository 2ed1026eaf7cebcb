package crawl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/crawl/guard"
)

// Error says why an address could not be fetched. If Permanent is set, a retry won't help until the cause is removed.
// Otherwise, a retry may succeed. The crawler returns errors of other types only if they come from the caller's context
// or emit function.
type Error struct {
	Permanent  bool
	Deferred   bool          // no request was sent, because the host has no free slot yet or (if Err is set) is failing
	RetryAfter time.Duration // minimum delay before a retry; 0 means any
	StatusCode int           // the response's status, or 0; 404 and 410 mean that the page does not exist
	URL        string        // the address being fetched
	Message    string        // for display; contains the address and the cause
	Err        error         // for logs; may be nil
}

// Error implements error. It returns the message for display.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Gone reports whether the server responded that the page does not exist (404 or 410).
func (e *Error) Gone() bool {
	return e.StatusCode == http.StatusNotFound || e.StatusCode == http.StatusGone
}

func permanent(u, format string, args ...any) *Error {
	return &Error{Permanent: true, URL: u, Message: fmt.Sprintf(format, args...)}
}

func transient(u, format string, args ...any) *Error {
	return &Error{URL: u, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) withCause(err error) *Error {
	e.Err = err
	return e
}

// checkURL checks an address with the address guard. Any error is a permanent *Error.
func checkURL(g guard.Guard, u *url.URL) error {
	if err := g.CheckURL(u); err != nil {
		return permanent(u.Redacted(), "%s", err).withCause(err)
	}
	return nil
}

// ErrNoText means that a file contains no text, for example because it is an image, so it wasn't downloaded.
var ErrNoText = errors.New("no text")

func noTextError(u, media string) *Error {
	return permanent(u, "%s contains no text: its type is %s", u, media).withCause(ErrNoText)
}

// isStatusWithoutPage reports whether a response with this 2xx status has no page, or only part of one.
func isStatusWithoutPage(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || status == http.StatusPartialContent
}

// statusError returns the error for a status without a page. RFC 9110, section 15, and RFC 6585 (429) define the
// statuses.
func statusError(u string, status int, h http.Header, now time.Time) *Error {
	answer := fmt.Sprintf("%d %s", status, http.StatusText(status))
	e := &Error{URL: u, StatusCode: status}
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		e.Permanent = true
		e.Message = fmt.Sprintf("%s does not exist: the server answered %s", u, answer)
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired:
		e.Permanent = true
		e.Message = fmt.Sprintf("access to %s was denied: the server answered %s", u, answer)
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		e.RetryAfter, _ = parseRetryAfter(h.Get("Retry-After"), now)
		e.Message = fmt.Sprintf("%s is temporarily unavailable: the server answered %s", u, answer)
	case status == http.StatusNoContent || status == http.StatusResetContent:
		e.Permanent = true
		e.Message = fmt.Sprintf("%s has no content: the server answered %s", u, answer)
	case status == http.StatusPartialContent || status == http.StatusNotModified:
		e.Message = fmt.Sprintf("%s could not be fetched: the server answered %s, which is not a valid response to the request", u, answer)
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusMisdirectedRequest:
		e.Message = fmt.Sprintf("%s could not be fetched: the server answered %s", u, answer)
	case status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported || status < 500:
		e.Permanent = true
		e.Message = fmt.Sprintf("%s cannot be fetched: the server answered %s", u, answer)
	default:
		e.Message = fmt.Sprintf("%s could not be fetched: the server failed with %s", u, answer)
	}
	return e
}

// describe describes the host's response, for the errors of fetches waiting for that host.
func (e *Error) describe(host string) string {
	return fmt.Sprintf("%s answered %d %s", host, e.StatusCode, http.StatusText(e.StatusCode))
}

// headersTooLarge is net/http's message for a response header larger than MaxResponseHeaderBytes, for which there is no
// error type.
const headersTooLarge = "server response headers exceeded"

// classify converts an error from fetching u to an *Error. If the caller's ctx is done, it returns ctx's cause instead.
func classify(ctx context.Context, u string, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fetching %s: %w", u, context.Cause(ctx))
	}
	var (
		refused *guard.RefusedError
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		timeout net.Error
		proxied errProxy
		op      *net.OpError
	)
	switch {
	case errors.As(err, &refused):
		return permanent(u, "%s was not fetched: %s", u, refused.Error()).withCause(err)
	case errors.As(err, &proxied) && proxied.isPermanent():
		return permanent(u, "%s could not be fetched: %s", u, proxied.Error()).withCause(err)
	case errors.As(err, &proxied):
		e := transient(u, "%s could not be fetched: %s", u, proxied.Error()).withCause(err)
		e.RetryAfter = proxied.retryAfter
		return e
	case errors.As(err, &op) && op.Op == opProxy:
		return transient(u, "%s could not be fetched: %s did not answer or could not connect (%s)", u, proxyName, rootCause(err)).withCause(err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return permanent(u, "%s cannot be reached: the host %q does not exist", u, dns.Name).withCause(err)
	case errors.As(err, &dns):
		return transient(u, "%s cannot be reached: the DNS lookup of %q failed", u, dns.Name).withCause(err)
	case errors.As(err, &cert):
		return permanent(u, "%s has an invalid TLS certificate: %v", u, cert.Err).withCause(err)
	case errors.As(err, &record):
		return permanent(u, "%s cannot be read: the server does not speak TLS on this port", u).withCause(err)
	case errors.As(err, &alert):
		return permanent(u, "%s cannot be read: the TLS connection to the server failed (%v)", u, alert).withCause(err)
	case strings.Contains(err.Error(), headersTooLarge):
		return permanent(u, "%s cannot be read: the response header is larger than %d bytes", u, maxHeaderBytes).withCause(err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return transient(u, "%s did not answer in time", u).withCause(err)
	default:
		return transient(u, "%s could not be fetched: %s", u, rootCause(err)).withCause(err)
	}
}

// rootCause returns the innermost error's message, such as "connection refused", without the chain of operations.
func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
