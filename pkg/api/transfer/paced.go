package transfer

import (
	"context"
	"io"
	"net/http"
	"time"
)

// pacedBody is the body of an upload. The time-out applies to each piece, not to the whole upload.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	header  http.Header // header of the response
	timeout time.Duration
}

// PaceUpload returns the request with a body for uploads: each piece must arrive within timeout, and the whole body may
// have at most limit bytes.
func PaceUpload(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) *http.Request {
	body := &pacedBody{ReadCloser: http.MaxBytesReader(w, r.Body, limit), control: http.NewResponseController(w), header: w.Header(), timeout: timeout}
	r = r.WithContext(context.WithValue(r.Context(), pacedKey, body))
	r.Body = body
	return r
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	// Ignore the error: without a connection, as in tests, there are no deadlines and no slow clients.
	_ = b.control.SetReadDeadline(time.Now().Add(b.timeout))
	return b.ReadCloser.Read(p)
}

// FinishUpload removes the read deadline if the upload is complete, because the client is now waiting for the response.
// If the upload is incomplete, the connection is closed after the response.
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
