package transfer

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Limits on draining a rejected request's body.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 20
	serverDrain = 256 << 10 // body bytes that net/http's server reads even without Linger

	// Limits for a client with a valid key, which may need minutes to send a file. No pause may be longer than
	// patientPause, and the body must arrive at MinRate.
	patientTime  = 2 * time.Minute
	patientPause = 5 * time.Second

	maxLingering = 64 // maximum number of clients that a Lingerer serves at once
)

// Linger lets a client that is still sending a large body read the response to its rejected request. Many clients send
// everything before they read, and they lose the response if the connection is closed earlier. Call Linger first, then
// write the response, then call the returned function, which drains the body for a limited time. For a client with a
// valid key, `limit` is the maximum body size, and Linger drains up to twice that. Otherwise `limit` is 0.
func Linger(w http.ResponseWriter, r *http.Request, limit int64) (after func()) {
	sent, ok := r.Context().Value(sentKey).(*sentBody)
	if !ok {
		return func() {}
	}
	return lingerOn(w, r, sent, limit)
}

// Lingerer limits the number of clients that linger at the same time. Use it for requests rejected before their body is
// read. The zero value is ready for use.
type Lingerer struct{ clients atomic.Int64 }

// Linger is like the Linger function. If too many clients are already lingering, it makes the server close the
// connection at once, and the returned function does nothing.
func (l *Lingerer) Linger(w http.ResponseWriter, r *http.Request) (after func()) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength >= 0 && r.ContentLength <= serverDrain {
		return func() {}
	}
	if l.clients.Add(1) > maxLingering {
		l.clients.Add(-1)
		w.Header().Set("Connection", "close")
		return func() {}
	}
	read := lingerOn(w, r, &sentBody{ReadCloser: r.Body}, 0)
	return func() { read(); l.clients.Add(-1) }
}

func lingerOn(w http.ResponseWriter, r *http.Request, sent *sentBody, limit int64) (after func()) {
	nothing := func() {}
	length := r.ContentLength
	if sent.ended || length >= 0 && length <= serverDrain || r.ProtoMajor != 1 || r.Header.Get("Expect") != "" { // after sending Expect, a client has not begun the body yet
		return nothing
	}
	control := http.NewResponseController(w)
	if control.EnableFullDuplex() != nil { // otherwise the server would read the body before responding
		return nothing
	}
	w.Header().Set("Connection", "close")
	bytes, limits := int64(lingerBytes), pace{timeout: lingerTime, total: lingerTime}
	if length <= 2*limit { // a longer body would be cut off anyway
		bytes, limits = max(bytes, 2*limit-sent.received), pace{timeout: patientPause, total: patientTime}
	}
	return func() {
		if control.Flush() != nil {
			return
		}
		limits.began = time.Now()
		rest := &sentBody{ReadCloser: sent.ReadCloser, control: control, pace: limits}
		_, _ = io.CopyN(io.Discard, rest, bytes) // ignore errors, because the connection is closed anyway
	}
}
