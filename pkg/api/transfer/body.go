// Package transfer reads request bodies and writes long responses within size and time limits. Bodies must arrive at a
// minimum rate. For responses, the time limit applies to each write. The package doesn't depend on the content; pkg/api
// and the packages below it may import it.
package transfer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

type contextKey int

const (
	sentKey contextKey = iota
	uploadKey
)

// IsMultipart reports whether the body is multipart/form-data.
func IsMultipart(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data")
}

// Checked is a validated JSON body. The generated server uses its value instead of decoding the text again, because
// encoding/json ignores case in field names and would accept Query for query.
type Checked struct {
	io.Reader
	Value any
	Raw   []byte          // the body as sent
	Items []jsonbody.Item // results for a batch's items; rejected ones are removed from Value
}

// Close implements io.Closer. It does nothing, because the server closes the original body.
func (b *Checked) Close() error { return nil }

// ValidatedValue returns the body as maps, slices and basic values.
func (b *Checked) ValidatedValue() any { return b.Value }

// Read reads a JSON body of at most `limit` bytes. `timeout` must be the time-out passed to ExpectBody; it appears in
// error messages.
func Read(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, error) {
	if err := RefuseEncoded(r); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, problem.TooLarge(limit)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		w.Header().Set("Connection", "close") // otherwise the server would first read the whole body
		return nil, ReadError(err, timeout)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return raw, nil
}

// RefuseEncoded rejects compressed or otherwise encoded bodies, because the limits would apply only to the encoded
// size.
func RefuseEncoded(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return domain.Errorf(domain.CodeUnsupported, "the body has the Content-Encoding %s, which is not supported; send the body unencoded and without that header", jsonbody.Describe(coding))
		}
	}
	return nil
}

// ExpectBody sets the deadline for reading the request's body. No pause may be longer than timeout, and n bytes may
// take at most timeout plus n/MinRate seconds. The returned request removes the deadline once its body has been read to
// the end. If the request is rejected earlier, the deadline limits how long the server waits for the remaining body.
func ExpectBody(w http.ResponseWriter, r *http.Request, timeout time.Duration) *http.Request {
	if r.ContentLength == 0 {
		return r
	}
	now := time.Now()
	body := &sentBody{ReadCloser: r.Body, control: http.NewResponseController(w), pace: pace{began: now, timeout: timeout}}
	_ = body.control.SetReadDeadline(body.pace.deadline(now, 0)) // ignore the error, as Read does
	r = r.WithContext(context.WithValue(r.Context(), sentKey, body))
	r.Body = body
	return r
}

// ReadError converts an error from reading a body, distinguishing client errors from service errors.
func ReadError(err error, timeout time.Duration) error {
	var tooLarge *http.MaxBytesError
	var ours *domain.Error
	switch {
	case err == nil, errors.As(err, &tooLarge), errors.As(err, &ours):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &domain.Error{Code: domain.CodeInvalid, Message: pace{timeout: timeout}.String(), Err: err}
	default:
		return &domain.Error{Code: domain.CodeInvalid, Message: "the body ended before it was complete", Err: err}
	}
}

// TimedWriter returns a writer that applies the time-out to each write. There is no limit on the whole response.
func TimedWriter(w http.ResponseWriter, timeout time.Duration) io.Writer {
	return deadlineWriter{w, http.NewResponseController(w), timeout}
}

type deadlineWriter struct {
	w       io.Writer
	control *http.ResponseController
	timeout time.Duration
}

// Write implements io.Writer.
func (t deadlineWriter) Write(p []byte) (int, error) {
	_ = t.control.SetWriteDeadline(time.Now().Add(t.timeout)) // fails for test recorders, which have no deadline
	return t.w.Write(p)
}
