package api

import (
	"context"
	"io"
	"net/http"
	"time"
)

// pacedBody reads an upload: each piece must arrive within the time-out, and all of them within the limit of size. How
// long the whole takes is the client's business.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	timeout time.Duration
}

// newPacedBody takes over the request's body.
func newPacedBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) *pacedBody {
	return &pacedBody{ReadCloser: http.MaxBytesReader(w, r.Body, limit), control: http.NewResponseController(w), timeout: timeout}
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	// Where deadlines are not supported, in tests without a connection, there is nobody to be slow.
	_ = b.control.SetReadDeadline(time.Now().Add(b.timeout))
	return b.ReadCloser.Read(p)
}

// received lifts the deadline: the connection waits for the answer now.
func received(ctx context.Context) {
	if b, ok := ctx.Value(pacedKey).(*pacedBody); ok {
		_ = b.control.SetReadDeadline(time.Time{})
	}
}
