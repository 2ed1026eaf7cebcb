package transfer

import (
	"context"
	"io"
	"net/http"
	"time"
)

// pacedBody reads an upload. How long the whole takes is the client's business.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	header  http.Header // of the answer
	timeout time.Duration
}

// PaceUpload returns the request with a body that is an upload: each piece must arrive within the time-out, and all of
// them within the limit of size.
func PaceUpload(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) *http.Request {
	body := &pacedBody{ReadCloser: http.MaxBytesReader(w, r.Body, limit), control: http.NewResponseController(w), header: w.Header(), timeout: timeout}
	r = r.WithContext(context.WithValue(r.Context(), pacedKey, body))
	r.Body = body
	return r
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	// Where deadlines are not supported, in tests without a connection, no client can be slow.
	_ = b.control.SetReadDeadline(time.Now().Add(b.timeout))
	return b.ReadCloser.Read(p)
}

// FinishUpload lifts the deadline of an upload that is complete: the connection waits for the answer now. After an
// upload that is not, the connection is of no more use.
func FinishUpload(ctx context.Context, complete bool) {
	b, ok := ctx.Value(pacedKey).(*pacedBody)
	switch {
	case !ok:
	case complete:
		_ = b.control.SetReadDeadline(time.Time{})
	default:
		b.header.Set("Connection", "close")
	}
}
