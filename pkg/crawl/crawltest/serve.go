package crawltest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/sleep"
)

type exchange struct {
	site *Site
	page *page
	w    *statusRecorder
	r    *http.Request
	try  int    // number of requests for the address so far, including this one
	body string // the page as HTML
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, end := s.begin(r)
	defer end()
	n.ResponseWriter = w
	x, down := s.find(n, r)
	switch {
	case down:
		http.Error(n, "down for maintenance", http.StatusServiceUnavailable)
	case n.Foreign:
		_, _ = io.WriteString(n, "<!doctype html><title>Elsewhere</title><p>This is another site.")
	case r.URL.Path == "/robots.txt":
		s.robots(n)
	case strings.HasPrefix(r.URL.Path, "/maps/"):
		s.sitemap(n, r)
	case x == nil:
		http.NotFound(n, r)
	case x.page.gone:
		n.WriteHeader(http.StatusGone)
	case x.page.answer != nil:
		x.page.answer(x)
	default:
		x.send("text/html; charset=utf-8", []byte(x.body))
	}
}

// find returns the page for a request, creating it if the address belongs to an endless series. `down` is true during
// an outage.
func (s *Site) find(n *statusRecorder, r *http.Request) (x *exchange, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address := r.RequestURI
	p := s.pages[address]
	if p == nil {
		p = endless(r.URL)
	}
	if p == nil {
		return nil, s.down
	}
	c := *p // a copy, because the page may change while being sent
	if !s.down {
		s.tries[address]++
	}
	return &exchange{site: s, page: &c, w: n, r: r, try: s.tries[address], body: s.render(&c)}, s.down
}

// send responds with a body and its validators, or with 304 if the crawler's copy is current.
func (x *exchange) send(mediaType string, body []byte) {
	h := x.w.Header()
	for k, v := range x.page.header {
		h.Set(k, v)
	}
	if mediaType != "" {
		h.Set("Content-Type", mediaType)
	} else {
		h["Content-Type"] = nil
	}
	tag, modified := x.validators(body)
	if tag != "" {
		h.Set("ETag", tag)
	}
	if !modified.IsZero() {
		h.Set("Last-Modified", modified.Format(http.TimeFormat))
	}
	if x.fresh(tag, modified) {
		x.w.WriteHeader(http.StatusNotModified)
		return
	}
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(body)
}

// validators returns a body's validators. Depending on the page's address, they are a strong or weak ETag, a time, or
// both.
func (x *exchange) validators(body []byte) (tag string, modified time.Time) {
	sum := sha256.Sum256(body)
	strong := `"` + hex.EncodeToString(sum[:8]) + `"`
	modified = x.site.modBase.Add(time.Duration(x.page.version) * time.Hour)
	switch x.site.hash("validators", x.page.address) % 4 {
	case 0:
		return strong, modified
	case 1:
		return strong, time.Time{}
	case 2:
		return "W/" + strong, time.Time{}
	default:
		return "", modified
	}
}

// fresh reports whether the crawler's copy is current (RFC 9110, section 13.2.2).
func (x *exchange) fresh(tag string, modified time.Time) bool {
	if match := x.r.Header.Get("If-None-Match"); match != "" {
		return tag != "" && strings.TrimPrefix(match, "W/") == strings.TrimPrefix(tag, "W/")
	}
	since, err := http.ParseTime(x.r.Header.Get("If-Modified-Since"))
	return err == nil && !modified.IsZero() && !modified.After(since)
}

// status returns a handler that responds with a status code and its text.
func status(code int) func(*exchange) {
	return func(x *exchange) { http.Error(x.w, http.StatusText(code), code) }
}

func redirect(code int, to string) func(*exchange) {
	return func(x *exchange) {
		x.site.mu.Lock()
		at := x.site.fill(to)
		x.site.mu.Unlock()
		x.w.Header().Set("Location", at)
		x.w.WriteHeader(code)
	}
}

// cut closes the connection without responding.
func cut(x *exchange) {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // send RST instead of FIN
	}
	_ = conn.Close()
}

// torn responds with half of the announced body.
func torn(x *exchange) {
	x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.w.Header().Set("Content-Length", fmt.Sprint(len(x.body)))
	_, _ = io.WriteString(x.w, x.body[:len(x.body)/2])
}

// first returns a handler that responds to the first n requests with `bad` and to all others with the page.
func first(n int, bad func(*exchange)) func(*exchange) {
	return func(x *exchange) {
		if x.try <= n {
			bad(x)
			return
		}
		x.send("text/html; charset=utf-8", []byte(x.body))
	}
}

func slow(x *exchange) {
	if sleep.For(x.r.Context(), x.site.opts.Slow) == nil {
		x.send("text/html; charset=utf-8", []byte(x.body))
	}
}

// packed returns a handler that responds with the page compressed by `pack` and declares this encoding.
func packed(encoding string, pack func([]byte) []byte) func(*exchange) {
	return func(x *exchange) {
		x.w.Header().Set("Content-Encoding", encoding)
		x.send("text/html; charset=utf-8", pack([]byte(x.body)))
	}
}

func deflated(b []byte) []byte {
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	_, _ = w.Write(b)
	_ = w.Close()
	return buf.Bytes()
}

// makeBomb returns n compressed zero bytes. For speed, it repeats one compressed megabyte.
func makeBomb(n int64) []byte {
	mega := Gzip(make([]byte, 1<<20))
	return bytes.Repeat(mega, int((n+1<<20-1)>>20))
}
