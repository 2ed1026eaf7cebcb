package crawltest

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// Request is a request answered by the site.
type Request struct {
	Path        string // including the query, as requested
	Foreign     bool   // sent to the foreign host name
	Conditional bool   // with a validator
	Status      int    // 0 if the connection was cut
	UserAgent   string
	Start       time.Time
	End         time.Time
}

// Requests returns the requests answered so far, in the order in which they were completed.
func (s *Site) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Answered returns the number of recorded requests.
func (s *Site) Answered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log)
}

// Forget clears the record of requests.
func (s *Site) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.peak = nil, s.now
}

// Peak returns the maximum number of concurrent requests.
func (s *Site) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Times returns how often each path was requested, excluding requests to the foreign host name.
func (s *Site) Times() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := make(map[string]int)
	for _, r := range s.log {
		if !r.Foreign {
			n[r.Path]++
		}
	}
	return n
}

// begin records the start of a request, and the function it returns records the end.
func (s *Site) begin(r *http.Request) (*statusRecorder, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	s.peak = max(s.peak, s.now)
	n := &statusRecorder{Request: Request{
		Path: r.RequestURI, Foreign: "http://"+r.Host != s.base, UserAgent: r.UserAgent(), Start: time.Now(),
		Conditional: r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "",
	}}
	return n, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
		n.End = time.Now()
		s.log = append(s.log, n.Request)
	}
}

type statusRecorder struct {
	Request
	http.ResponseWriter
}

// WriteHeader implements http.ResponseWriter.
func (n *statusRecorder) WriteHeader(status int) {
	n.Status = status
	n.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (n *statusRecorder) Write(p []byte) (int, error) {
	n.Status = cmp.Or(n.Status, http.StatusOK)
	return n.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController access to the connection.
func (n *statusRecorder) Unwrap() http.ResponseWriter { return n.ResponseWriter }
