// Package transfer moves bodies over a connection within limits of size and time: the bodies of requests, piece by
// piece where they are uploads, and the pieces of long answers. It does not read their content; pkg/api and the
// packages below it may import it.
package transfer

import (
	"context"
	"errors"
	"fmt"
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
	pacedKey
)

// IsMultipart reports whether the body is a form with files.
func IsMultipart(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data")
}

// Checked is a JSON body that was found valid. The generated server takes its value instead of decoding the text again,
// because decoding would match names in any case: Query for query.
type Checked struct {
	io.Reader
	Value any
	Raw   []byte // as sent
}

// Close implements io.Closer; the request's own body has been read and is closed by the server.
func (b *Checked) Close() error { return nil }

// ValidatedValue returns the body as maps, slices and plain values.
func (b *Checked) ValidatedValue() any { return b.Value }

// Read reads a JSON body within its limits of size and time: timeout is the one that ExpectBody was given.
func Read(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, error) {
	if err := RefuseEncoded(r); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, problem.TooLarge(limit)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		w.Header().Set("Connection", "close") // or the server would wait for the rest before it answers
		return nil, ReadError(err, timeout)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return raw, nil
}

// RefuseEncoded refuses a body that is compressed or encoded otherwise: the limits bound the encoded size alone.
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

// ExpectBody sets the time in which a request's body must arrive, and watches how far it was read. It is lifted once
// the body is there; when a request is refused before, it bounds how long the server waits for the rest.
func ExpectBody(w http.ResponseWriter, r *http.Request, timeout time.Duration) *http.Request {
	if r.ContentLength == 0 {
		return r
	}
	// Where deadlines are not supported, in tests without a connection, no client can be slow.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
	body := &sentBody{ReadCloser: r.Body}
	r = r.WithContext(context.WithValue(r.Context(), sentKey, body))
	r.Body = body
	return r
}

// ReadError tells a client's faults in sending a body from ours.
func ReadError(err error, timeout time.Duration) error {
	var tooLarge *http.MaxBytesError
	var ours *domain.Error
	switch {
	case err == nil, errors.As(err, &tooLarge), errors.As(err, &ours):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &domain.Error{Code: domain.CodeInvalid, Message: fmt.Sprintf("the body did not arrive within %s", timeout), Err: err}
	default:
		return &domain.Error{Code: domain.CodeInvalid, Message: "the body ended before it was complete", Err: err}
	}
}

// TimedWriter returns a writer that gives each piece its time to reach the client, however long the whole takes.
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
	_ = t.control.SetWriteDeadline(time.Now().Add(t.timeout)) // recorders in tests have none to set
	return t.w.Write(p)
}
