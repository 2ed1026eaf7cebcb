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

	maxLingering = 64 // maximum number of clients that a Lingerer serves at once
)

// Linger lets a client that is still sending a large body read the response to its rejected request. Most clients read
// the response only after they have sent everything, and lose it if the connection is closed earlier. Call Linger
// first, then write the response, then call the returned function, which drains the body for a limited time.
func Linger(w http.ResponseWriter, r *http.Request) (after func()) {
	sent, ok := r.Context().Value(sentKey).(*sentBody)
	if !ok {
		return func() {}
	}
	return lingerOn(w, r, sent)
}

// Lingerer calls Linger for a limited number of clients at a time. Use it for requests rejected before their body is
// read. The zero value is ready for use.
type Lingerer struct{ clients atomic.Int64 }

// Linger is like the Linger function, but for a limited number of clients at a time. Beyond that, the connection is
// closed at once, and the returned function does nothing.
func (l *Lingerer) Linger(w http.ResponseWriter, r *http.Request) (after func()) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength >= 0 && r.ContentLength <= serverDrain {
		return func() {}
	}
	if l.clients.Add(1) > maxLingering {
		l.clients.Add(-1)
		w.Header().Set("Connection", "close")
		return func() {}
	}
	read := lingerOn(w, r, &sentBody{ReadCloser: r.Body})
	return func() { read(); l.clients.Add(-1) }
}

func lingerOn(w http.ResponseWriter, r *http.Request, sent *sentBody) (after func()) {
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
	return func() {
		if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, sent.ReadCloser, lingerBytes) // no minimum rate here; ignore errors, because the connection is closed anyway
	}
}
