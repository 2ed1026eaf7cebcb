// Package admit decides which requests are served now: it bounds how many of each class are worked on at once, and
// refuses the rest before they cost anything. It knows requests by their methods and paths alone; pkg/api may import
// it.
package admit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

// The classes of requests that are bounded apart, so that a rush of one leaves the others alone.
const (
	classSearch = "search" // queries of datastores
	classAnswer = "answer" // questions to agents
	classUpload = "upload" // content
	classOther  = "other"
	classAlways = "" // health and metrics, which matter most when the process is busy
)

// Options say how many requests are served at once. A request counts from its beginning until its answer begins, so
// that a stream that is open counts no more; MaxOpen counts those. The zero value has no limits.
type Options struct {
	// The gates of the classes: what datastores are asked, what agents are asked, content, and everything else. nil: no
	// limit.
	Searches, Answers, Uploads, Others *admission.Gate

	MaxOpen int // answers that have begun and not ended, beyond which nothing more is let in; 0: no limit

	// CheckStorage says whether there is room for more content: an error refuses uploads, with what it says. It is
	// asked for each of them. nil: there always is.
	CheckStorage func(ctx context.Context) error
}

// Server is what New needs of the server around it.
type Server struct {
	ReadTimeout time.Duration  // for the body of a request that is refused
	Secrets     domain.Secrets // which no answer shows
	NewID       func() string  // makes the id of a request
	Metrics     prometheus.Registerer
}

const (
	slowBodyTime = 50 * time.Millisecond // a place is not kept for longer while a client is being waited for
	retryMin     = 1                     // seconds; between both at random, so that not all come back at once
	retryMax     = 3
)

// handler lets requests in.
type handler struct {
	server    Server
	next      http.Handler
	of        map[string]*admission.Gate
	opts      Options
	open      atomic.Int64 // answers that have begun and not ended
	lingering transfer.Lingerer
	refused   *prometheus.CounterVec
}

// Why requests are refused.
const (
	refusedBusy    = "busy" // too many of the class at once
	refusedOpen    = "open" // too many open streams
	refusedStorage = "room" // no room for more content
)

// New returns a handler that lets requests through to next.
func New(o Options, s Server, next http.Handler) (http.Handler, error) {
	g := &handler{server: s, next: next, opts: o, of: map[string]*admission.Gate{
		classSearch: o.Searches, classAnswer: o.Answers, classUpload: o.Uploads, classOther: o.Others,
	}, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_http_refused_total", Help: "Requests rejected before any work was done, by class and cause.",
	}, []string{"class", "cause"})}
	if err := s.Metrics.Register(g.refused); err != nil {
		return nil, fmt.Errorf("registering the metric of rejected requests: %w", err)
	}
	for class := range g.of {
		g.refused.WithLabelValues(class, refusedBusy)
	}
	g.refused.WithLabelValues(classUpload, refusedStorage)
	return g, nil
}

// classOf sorts a request by nothing but its method and path.
func classOf(method, path string) string {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/api"), "/")
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case rest == "" && (first == "healthz" || first == "readyz" || first == "metrics"):
		return classAlways
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete || method == http.MethodOptions:
		return classOther
	case strings.HasPrefix(rest, "query/"), strings.HasSuffix(rest, "/query"):
		if first == "agents" {
			return classAnswer
		}
		return classSearch
	case path == problem.MCPPath, strings.HasPrefix(path, problem.OpenAIPath):
		return classAnswer
	case first == "datasources" && rest == "", first == "datastores" && (strings.HasPrefix(rest, "upsert/") || strings.HasPrefix(rest, "update/")):
		return classUpload
	default:
		return classOther
	}
}

// ServeHTTP implements http.Handler. It stands before all that costs something: who is refused costs the reading of a
// header and the writing of a short answer.
func (g *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	class := classOf(r.Method, r.URL.Path)
	if class == classAlways {
		g.next.ServeHTTP(w, r)
		return
	}
	if g.opts.MaxOpen > 0 && g.open.Load() >= int64(g.opts.MaxOpen) {
		g.refuse(w, r, class, refusedOpen, "the limit of open streams is reached; try again in a moment")
		return
	}
	gate := g.of[class]
	if !gate.Enter(r.Context()) {
		g.refuse(w, r, class, refusedBusy, busy)
		return
	}
	p := &permit{ResponseWriter: w, server: g, gate: gate, class: class, held: true}
	defer p.end()
	if class == classUpload && g.opts.CheckStorage != nil {
		if err := g.opts.CheckStorage(r.Context()); err != nil {
			g.refuse(w, r, class, refusedStorage, err.Error())
			return
		}
	}
	if class == classSearch || class == classAnswer {
		// Goroutines that refuse a request or write an answer run first: on a busy processor, a connection is otherwise
		// found ready tens of milliseconds late.
		runtime.Gosched()
	}
	if class != classUpload && r.Body != nil && r.Body != http.NoBody {
		r.Body = &releasingBody{ReadCloser: r.Body, permit: p, ctx: r.Context()}
	}
	g.next.ServeHTTP(p, r)
}

const busy = "the service is at capacity; try again in a moment"

// refuse answers a request that is not let in, in the form of its errors.
func (g *handler) refuse(w http.ResponseWriter, r *http.Request, class, cause, message string) {
	g.refused.WithLabelValues(class, cause).Inc()
	e := &domain.Error{Code: domain.CodeUnavailable, Message: message, RetryAfter: time.Duration(retryMin+rand.IntN(retryMax-retryMin+1)) * time.Second}
	id := problem.RequestIDOf(r, g.server.Secrets, g.server.NewID)
	h := w.Header()
	h.Set(problem.RequestIDHeader, id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if r.Header.Get("Origin") != "" { // pages may know: it says nothing that is anybody's
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", access.ExposedHeaders)
	}
	problem.SetRetryAfter(h, e)
	if r.ContentLength != 0 { // of which the server reads some before it answers
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.server.ReadTimeout))
	}
	defer g.lingering.Linger(w, r)()
	problem.Write(w, problem.FormOf(r.URL.Path), id, e)
}

// permit is the permit of a request that was let in, given up when the answer begins. It belongs to the goroutine of
// the request, except for the timer of a slow body.
type permit struct {
	http.ResponseWriter
	server *handler
	gate   *admission.Gate
	class  string
	held   bool
	begun  bool
}

// begin says that the answer begins.
func (p *permit) begin() {
	if p.begun {
		return
	}
	p.begun = true
	p.server.open.Add(1)
	p.release()
}

func (p *permit) release() {
	if p.held {
		p.held = false
		p.gate.Leave()
	}
}

// end says that the request has been served.
func (p *permit) end() {
	p.release()
	if p.begun {
		p.server.open.Add(-1)
	}
}

// Write implements http.ResponseWriter.
func (p *permit) Write(b []byte) (int, error) {
	p.begin()
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, which Gin asks for.
func (p *permit) Flush() {
	p.begin()
	if f, ok := p.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (p *permit) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// releasingBody is the body of a request that was let in. A client that takes its time to send it loses the place, and
// must get another when it goes on: else a few such clients would keep everybody out.
type releasingBody struct {
	io.ReadCloser
	permit *permit
	ctx    context.Context
}

// Read implements io.Reader.
func (b *releasingBody) Read(p []byte) (int, error) {
	if !b.permit.held {
		return b.ReadCloser.Read(p)
	}
	timer := time.AfterFunc(slowBodyTime, b.permit.gate.Leave)
	n, err := b.ReadCloser.Read(p)
	if timer.Stop() {
		return n, err
	}
	b.permit.held = false // the timer gives it up, if it has not yet
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	if !b.permit.gate.Enter(b.ctx) {
		b.permit.server.refused.WithLabelValues(b.permit.class, refusedBusy).Inc()
		return n, &domain.Error{Code: domain.CodeUnavailable, Message: busy, RetryAfter: retryMin * time.Second}
	}
	b.permit.held = true
	return n, err
}
