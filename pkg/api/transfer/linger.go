package transfer

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Bounds for reading on from a body that is refused.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 20
	serverDrain = 256 << 10 // which the server of net/http reads anyway

	maxLingering = 64 // refused uploads that are read on, so that their clients see why
)

// sentBody is a request's body as it comes. It belongs to the request's goroutine.
type sentBody struct {
	io.ReadCloser
	ended bool // there is nothing more to read
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

// Linger lets a client that is still sending a large body read why it is refused: most read no answer before they have
// sent all, and lose it if the connection is closed before. The caller calls after once the answer is written; it reads
// on for a little.
func Linger(w http.ResponseWriter, r *http.Request) (after func()) {
	sent, ok := r.Context().Value(sentKey).(*sentBody)
	if !ok {
		return func() {}
	}
	return lingerOn(w, r, sent)
}

// Lingerer bounds the number of clients that are read on at once, of requests that are refused before anything is read.
// The zero value is ready.
type Lingerer struct{ clients atomic.Int64 }

// Linger is Linger for one of them.
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
	if sent.ended || length >= 0 && length <= serverDrain || r.ProtoMajor != 1 || r.Header.Get("Expect") != "" { // who waits to be told has not begun
		return nothing
	}
	control := http.NewResponseController(w)
	if control.EnableFullDuplex() != nil { // else the server would read before it answers
		return nothing
	}
	w.Header().Set("Connection", "close")
	return func() {
		if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, sent, lingerBytes) // the connection is closed in any case
	}
}
