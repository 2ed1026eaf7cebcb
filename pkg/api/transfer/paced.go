package transfer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// MinRate is the minimum rate at which a body must arrive, in bytes per second. Even slow mobile networks reach it. A
// slower client could hold an upload slot for hours at hardly any cost.
const MinRate = 8 << 10

// pace limits how slowly a body may arrive. No pause may be longer than timeout, and n bytes may take at most timeout
// plus n/MinRate seconds. If total is not 0, it limits the time for the whole body.
type pace struct {
	began          time.Time
	timeout, total time.Duration
}

// deadline returns the time by which more of the body must arrive.
func (p pace) deadline(now time.Time, received int64) time.Time {
	deadline := now.Add(p.timeout)
	if slow := p.began.Add(p.timeout + time.Duration(float64(received)/MinRate*float64(time.Second))); slow.Before(deadline) {
		deadline = slow
	}
	if end := p.began.Add(p.total); p.total > 0 && end.Before(deadline) {
		deadline = end
	}
	return deadline
}

func (p pace) String() string {
	return fmt.Sprintf("the body arrived too slowly: send it without pauses longer than %[1]s and, after the first %[1]s, at an average of at least %[2]d KiB per second, or send less at once", p.timeout, MinRate>>10)
}

// sentBody is a request body that must arrive at a minimum rate. It records whether it has been read to its end. Only
// the request's goroutine uses it.
type sentBody struct {
	io.ReadCloser
	control  *http.ResponseController
	pace     pace
	received int64
	ended    bool // whether the body has been read to its end or reading has failed
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	// Ignore the error: without a connection, as in tests, there are no deadlines and no slow clients.
	_ = b.control.SetReadDeadline(b.pace.deadline(time.Now(), b.received))
	n, err := b.ReadCloser.Read(p)
	b.received += int64(n)
	b.ended = b.ended || err != nil
	return n, err
}

// upload is a body that is processed while it arrives.
type upload struct {
	control *http.ResponseController
	header  http.Header // response header
	digest  string      // see KeepDigest
}

// LimitUpload returns the request with its body limited to `limit` bytes, for handlers that read the body themselves.
func LimitUpload(w http.ResponseWriter, r *http.Request, limit int64) *http.Request {
	u := &upload{control: http.NewResponseController(w), header: w.Header()}
	body := http.MaxBytesReader(w, r.Body, limit)
	r = r.WithContext(context.WithValue(r.Context(), uploadKey, u))
	r.Body = body
	return r
}

// FinishUpload ends an upload. If it is complete, the client is now waiting for the response, so the read deadline is
// removed. Otherwise the connection is closed after the response.
func FinishUpload(ctx context.Context, complete bool) {
	u, ok := ctx.Value(uploadKey).(*upload)
	switch {
	case !ok:
	case complete:
		_ = u.control.SetReadDeadline(time.Time{})
	default:
		u.header.Set("Connection", "close")
	}
}
