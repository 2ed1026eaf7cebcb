// Package admit limits concurrent requests per class as well as open streams. Workspaces share each limit fairly.
// Excess requests are rejected before they cost anything, so a request's class depends only on its method and path.
// pkg/api may import this package.
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
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

// Request classes. Each has its own limit, so that many requests in one class don't block the others.
const (
	classSearch = "search" // datastore queries
	classAnswer = "answer" // questions to agents
	classUpload = "upload" // content uploads
	classOther  = "other"
	classAlways = "" // health checks and metrics: never limited, because they matter most when the process is busy
)

// Options limit concurrent requests. A request counts towards its class until its response begins, so open streams
// don't count; MaxOpen limits those. The zero value has no limits.
type Options struct {
	// One gate per class: datastore queries, questions to agents, uploads, and everything else. A nil gate means no
	// limit.
	Searches, Answers, Uploads, Others *admission.Gate

	MaxOpen int // maximum number of open streams, also used by unfinishedGate; 0 means no limit

	// CheckStorage is called for each upload. If it returns an error because there is no room for more content, the
	// upload is rejected. It may be nil.
	CheckStorage func(ctx context.Context) error
}

// Server holds settings of the HTTP server that runs the handler.
type Server struct {
	ReadTimeout time.Duration // time limit for reading the body of a rejected request
	// WriteTimeout is the time limit for sending a response, or for one write to a stream.
	WriteTimeout time.Duration
	Secrets      domain.Secrets               // removed from responses
	NewID        func() string                // generates request ids
	FlowOf       func(r *http.Request) string // returns a request's flow; see access.Flows
	Metrics      prometheus.Registerer
}

const (
	slowBodyTime = 50 * time.Millisecond // how long a request may wait for the client's body before it loses its slot
	retryMin     = 1                     // minimum Retry-After in seconds; random up to retryMax, so that clients don't all return at once
	retryMax     = 3
)

type handler struct {
	server    Server
	next      http.Handler
	gates     map[string]*admission.Gate
	opts      Options
	streams   *streams
	requests  *admission.Gate // counts all unfinished requests except streams; nil means no limit
	lingering transfer.Lingerer
	refused   *prometheus.CounterVec
}

// Reasons for rejecting requests, used as values for a metric's label.
const (
	refusedBusy    = "busy" // too many concurrent requests in the class
	refusedOpen    = "open" // too many open streams, or clients that don't read their responses
	refusedStorage = "room" // no storage for more content
)

// New returns a handler that passes admitted requests to `next`.
func New(o Options, s Server, next http.Handler) (http.Handler, error) {
	g := &handler{server: s, next: next, opts: o, gates: map[string]*admission.Gate{
		classSearch: o.Searches, classAnswer: o.Answers, classUpload: o.Uploads, classOther: o.Others,
	}, streams: newStreams(o.MaxOpen), refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_http_refused_total", Help: "Requests rejected before any work was done, by class and cause.",
	}, []string{"class", "cause"})}
	if err := s.Metrics.Register(g.refused); err != nil {
		return nil, fmt.Errorf("registering the metric of rejected requests: %w", err)
	}
	for class := range g.gates {
		g.refused.WithLabelValues(class, refusedBusy)
	}
	g.refused.WithLabelValues(classUpload, refusedStorage)
	g.requests = g.unfinishedGate()
	return g, nil
}

// unfinishedGate limits each workspace's unfinished requests across all classes. It returns nil if there is no limit.
// The class gates release a request when its response begins. Without this gate, a client that never reads its
// responses could therefore fill up the memory.
func (g *handler) unfinishedGate() *admission.Gate {
	limit := g.opts.MaxOpen
	for _, gate := range g.gates {
		capacity := gate.Capacity()
		if capacity < 0 || limit == 0 {
			return nil
		}
		limit += capacity
	}
	return admission.New(admission.Options{Limit: limit, Share: shareOfWorkspace})
}

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
	case path == problem.RetrievalPath:
		return classSearch
	case path == "/v1/embeddings", problem.FormOf(path) == problem.FormRerank: // the handler has its own gate
		return classOther
	case strings.HasPrefix(path, problem.OpenAIPath):
		return classOfOpenAI(path)
	case path == problem.MCPPath:
		return classAnswer
	case first == "datasources" && (rest == "" || rest == "upload" || strings.HasSuffix(rest, "/original")),
		first == "datastores" && (strings.HasPrefix(rest, "upsert/") || strings.HasPrefix(rest, "update/")):
		return classUpload
	default:
		return classOther
	}
}

// classOfOpenAI returns the class of a request to OpenAI's API other than GET and DELETE. Embedding and ranking can be
// as expensive as answers, so they are in the same class.
func classOfOpenAI(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, problem.OpenAIPath), "/")
	last := segments[len(segments)-1]
	switch {
	case segments[0] == "files", segments[0] == "uploads" && (last == "parts" || last == "complete"):
		return classUpload
	case segments[0] == "vector_stores" && last == "search":
		return classSearch
	case segments[0] == "vector_stores" && (last == "files" || last == "file_batches"):
		return classUpload
	case segments[0] == "uploads", segments[0] == "vector_stores":
		return classOther
	default:
		return classAnswer
	}
}

// ServeHTTP implements http.Handler. It runs before any expensive work, so rejecting a request costs no more than
// reading its header and sending a short response.
func (g *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	class := classOf(r.Method, r.URL.Path)
	limitWrites(w, g.server.WriteTimeout)
	if class == classAlways {
		g.next.ServeHTTP(w, r)
		return
	}
	flow := g.server.FlowOf(r)
	unfinished, ok := g.requests.Enter(r.Context(), flow)
	if !ok {
		g.refuse(w, r, class, refusedOpen, fmt.Sprintf("this workspace already has %d open requests, its share of SLUICE_LIMIT_OPEN; "+
			"finish reading some of the responses, then try again", g.requests.Held(flow)))
		return
	}
	gate := g.gates[class]
	slot, ok := gate.Enter(r.Context(), flow)
	if !ok {
		unfinished.Leave()
		g.refuse(w, r, class, refusedBusy, busyMessage)
		return
	}
	p := &permit{ResponseWriter: w, server: g, gate: gate, flow: flow, class: class, slot: slot, held: true, unfinished: unfinished}
	defer p.end()
	r = r.WithContext(context.WithValue(r.Context(), permitKey{}, p))
	if class == classUpload && g.opts.CheckStorage != nil {
		if err := g.opts.CheckStorage(r.Context()); err != nil {
			g.refuse(w, r, class, refusedStorage, err.Error())
			return
		}
	}
	if class == classSearch || class == classAnswer {
		// Yield to goroutines that are rejecting a request or writing a response. On a busy CPU, their clients would
		// otherwise wait tens of milliseconds longer.
		runtime.Gosched()
	}
	if class != classUpload && r.Body != nil && r.Body != http.NoBody {
		r.Body = &releasingBody{ReadCloser: r.Body, permit: p, ctx: r.Context()}
	}
	g.next.ServeHTTP(p, r)
}

const busyMessage = "the service is at capacity; try again in a moment"

// refuse rejects a request with an error in its protocol's format.
func (g *handler) refuse(w http.ResponseWriter, r *http.Request, class, cause, message string) {
	g.refused.WithLabelValues(class, cause).Inc()
	e := &domain.Error{Code: domain.CodeUnavailable, Message: message, RetryAfter: time.Duration(retryMin+rand.IntN(retryMax-retryMin+1)) * time.Second}
	id := problem.RequestIDOf(r, g.server.Secrets, g.server.NewID)
	h := w.Header()
	h.Set(problem.RequestIDHeader, id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if r.Header.Get("Origin") != "" { // any page may read the error, because it contains nothing private
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", access.ExposedHeaders)
	}
	problem.SetRetryAfter(h, e)
	if r.ContentLength != 0 { // the server reads some of the body before responding
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.server.ReadTimeout))
	}
	defer g.lingering.Linger(w, r)()
	problem.Write(w, problem.FormOf(r.URL.Path), id, e)
}

// limitWrites sets a time limit, starting now, for the client to read its response. A client that exceeds it is
// disconnected. Streams set a new limit for each write.
func limitWrites(w http.ResponseWriter, limit time.Duration) {
	if limit > 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // fails in tests without a connection
	}
}

// permit holds an admitted request's slots. The class gate's slot is released when the response begins, and also while
// the server waits for a slow body. Only the request's goroutine and the slow-body timer use a permit.
type permit struct {
	http.ResponseWriter
	server     *handler
	gate       *admission.Gate
	flow       string
	class      string
	slot       *admission.Slot // slot in the class's gate
	held       bool            // whether `slot` is held
	begun      bool            // whether the response has begun
	unfinished *admission.Slot
	streams    []*admission.Slot // slots held by an open stream
}

func (p *permit) begin() {
	if !p.begun {
		p.begun = true
		limitWrites(p.ResponseWriter, p.server.server.WriteTimeout)
		p.release()
	}
}

func (p *permit) release() {
	if p.held {
		p.held = false
		p.slot.Leave()
	}
}

// end releases the remaining slots once the request has been served.
func (p *permit) end() {
	p.release()
	p.unfinished.Leave()
	for _, s := range p.streams {
		s.Leave()
	}
}

// Write implements http.ResponseWriter.
func (p *permit) Write(b []byte) (int, error) {
	p.begin()
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, because Gin requires it.
func (p *permit) Flush() {
	p.begin()
	if f, ok := p.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (p *permit) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// releasingBody is an admitted request's body. While the handler waits for a slow client's data, the request gives up
// its slot and must get a new one before it continues. Otherwise a few slow clients could block everyone else.
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
	timer := time.AfterFunc(slowBodyTime, b.permit.slot.Leave)
	n, err := b.ReadCloser.Read(p)
	if timer.Stop() {
		return n, err
	}
	b.permit.held = false // the timer is releasing the slot or has already done so
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	slot, ok := b.permit.gate.Enter(b.ctx, b.permit.flow)
	if !ok {
		b.permit.server.refused.WithLabelValues(b.permit.class, refusedBusy).Inc()
		return n, &domain.Error{Code: domain.CodeUnavailable, Message: busyMessage, RetryAfter: retryMin * time.Second}
	}
	b.permit.slot, b.permit.held = slot, true
	return n, err
}
