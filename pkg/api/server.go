package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/console"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/manual"
	"github.com/sluice/sluice/pkg/mcp"
	"github.com/sluice/sluice/pkg/telemetry"
)

// server implements the operations of the document. Its methods are in the files of their subjects.
type server struct {
	Deps
	opts      Options
	spec      *spec
	served    func() (servedSpec, error) // the document as it is sent
	log       *slog.Logger
	keys      keyring
	audit     *audit
	limits    *rateLimits
	metrics   *metrics
	mcp       *mcp.Handler
	reference page
	plans     chan struct{} // one token for each plan being made
}

var _ StrictServerInterface = (*server)(nil)

// init has the generated server not look for rules in the tags of its types: bodies are held against the document, and no type has
// any.
func init() { binding.Validator = nil }

// New makes the handler of all endpoints.
func New(o Options, d Deps) (http.Handler, error) {
	o = o.withDefaults()
	d, err := d.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(o.EmbeddingModels) == 0 {
		return nil, errors.New("making the API: no embedding model")
	}
	doc, err := specFor(o)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(d.Metrics)
	if err != nil {
		return nil, err
	}
	s := &server{
		Deps: d, opts: o, spec: doc, log: d.Log, metrics: m,
		// Making it ready takes long, and few processes are ever asked for the document.
		served:    sync.OnceValues(func() (servedSpec, error) { return servedDocument(o) }),
		keys:      keyring{d.KeyFinder, d.Now, d.Log},
		audit:     newAudit(d.Audit, d.Now),
		limits:    newRateLimits(o, d.Now),
		reference: newPage(docsHTML),
		plans:     make(chan struct{}, maxPlans),
	}
	s.mcp = s.newMCP()
	g, err := newGates(s, o.Admission, headAsGet(s.routes()))
	if err != nil {
		return nil, err
	}
	return cleanPath(g), nil
}

// routes puts every operation under every base.
func (s *server) routes() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.UseRawPath = true // see cleanPath
	r.ContextWithFallback = true
	r.Use(s.observe, s.recover, s.checkPage, s.expectBody, s.findOperation, s.authenticate, s.check, s.idempotent)
	r.NoRoute(s.noEndpoint)
	r.NoMethod(func(c *gin.Context) {
		if methods, isFixed := s.spec.fixed[c.Request.URL.Path]; isFixed { // Gin counts those in that would take it for an id
			c.Header("Allow", strings.Join(methods, ", "))
		}
		if allowed := c.Writer.Header().Get("Allow"); strings.Contains(allowed, http.MethodGet) {
			c.Header("Allow", allowed+", "+http.MethodHead) // see headAsGet
		}
		s.fail(c, domain.Errorf(codeMethod, "%s is not allowed on %s; allowed: %s", c.Request.Method, jsonbody.Shorten(c.Request.URL.Path), c.Writer.Header().Get("Allow")))
	})
	r.GET("/", s.serveConsole)
	r.GET(console.Prefix+"*file", s.serveConsole)
	r.GET(manual.Root+"/*page", s.serveManual)
	r.GET("/api"+manual.Root+"/*page", s.serveManual)
	r.GET(console.EmbedPath, s.serveConsole)
	strict := NewStrictHandlerWithOptions(s, nil, StrictGinServerOptions{
		RequestErrorHandlerFunc: func(c *gin.Context, err error) {
			s.fail(c, &domain.Error{Code: domain.CodeInvalid, Message: "the request cannot be read", Err: err})
		},
		HandlerErrorFunc:         s.fail,
		ResponseErrorHandlerFunc: s.fail,
	})
	for _, base := range bases {
		r.POST(base+mcpPath, s.serveMCP)
		RegisterHandlersWithOptions(r, strict, GinServerOptions{
			BaseURL:      base,
			ErrorHandler: func(c *gin.Context, err error, _ int) { s.fail(c, domain.Errorf(domain.CodeInvalid, "%v", err)) },
		})
	}
	return r
}

// noEndpoint answers what leads nowhere.
func (s *server) noEndpoint(c *gin.Context) {
	s.fail(c, domain.Errorf(domain.CodeNotFound, "there is no endpoint %s %s; /docs/api lists them", c.Request.Method, jsonbody.Shorten(c.Request.URL.Path)))
}

const operationKey = "sluice.operation"

// findOperation remembers what the document says about the route.
func (s *server) findOperation(c *gin.Context) {
	if op := s.spec.operation(c.Request.Method, c.FullPath()); op != nil {
		c.Set(operationKey, op)
	}
}

// operationOf returns the route's operation, nil for what the document does not describe.
func operationOf(c *gin.Context) *operation {
	op, _ := c.Value(operationKey).(*operation)
	return op
}

// recover answers a panic like any other internal error. What http.ErrAbortHandler asks for is done.
func (s *server) recover(c *gin.Context) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			panic(cause)
		default:
			s.log.Error("handler panicked", "request", requestID(c.Request.Context()), "stack", string(debug.Stack()))
			s.fail(c, fmt.Errorf("panic: %v", cause))
		}
	}()
	c.Next()
}

const requestIDHeader = "X-Request-Id"

// aRequestID is what of a caller's request id is taken over.
var aRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// requestIDOf is the id that the caller gave to the request, or a new one.
func (s *server) requestIDOf(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if !aRequestID.MatchString(id) || domain.HideKeys(id) != id {
		return s.NewID()
	}
	return id
}

// observe gives the request its id and measures it.
func (s *server) observe(c *gin.Context) {
	id := s.requestIDOf(c.Request)
	c.Header(requestIDHeader, id)
	c.Header("X-Content-Type-Options", "nosniff")
	ctx, span := s.startSpan(c, id)
	c.Request = c.Request.WithContext(telemetry.Note(context.WithValue(ctx, requestIDKey, id), slog.String("request", id)))

	begin := time.Now()
	s.metrics.inFlight.Inc()
	defer func() {
		s.metrics.inFlight.Dec()
		endSpan(span, c.Writer.Status())
		s.audit.serve(c)
		took := time.Since(begin)
		s.metrics.observe(c, took)
		s.log.Debug("request served", "request", id, "method", domain.HideKeys(c.Request.Method), "route", c.FullPath(), "status", c.Writer.Status(), "took", took)
	}()
	c.Next()
}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey).(string)
	return id
}
