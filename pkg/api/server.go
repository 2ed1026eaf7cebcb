package api

import (
	_ "embed" // for the embedded OpenAPI document
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/cleanpath"
	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/inference"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/api/upload"
	"github.com/sluice/sluice/pkg/console"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/manual"
	"github.com/sluice/sluice/pkg/mcp"
)

// server implements the operations in the OpenAPI document, with one file per subject.
type server struct {
	Deps
	options     Options
	document    *document.Document
	served      func() (document.Served, error) // the OpenAPI document as sent to clients
	log         *slog.Logger
	keyring     access.Keyring
	flows       *access.Flows
	cors        access.CORS
	audit       *access.Audit
	limits      *access.RateLimits
	claims      idempotency.Responses
	uploads     upload.Options
	openai      []openai.Endpoint              // endpoints missing from the document
	undescribed map[string]*document.Operation // these endpoints' operations, by method and Gin route
	inference   *inference.Handler
	metrics     *metrics
	mcp         func() *mcp.Handler
	reference   console.Page
	plans       chan struct{} // one token per plan in progress
	drawings    *admission.Gate
}

var _ StrictServerInterface = (*server)(nil)

//go:embed openapi.yaml
var openAPI []byte

// init disables Gin's struct tag validation. Bodies are validated against the OpenAPI document, so the generated types
// have no tags.
func init() { binding.Validator = nil }

// New returns the handler for all endpoints.
func New(o Options, d Deps) (http.Handler, error) {
	o = o.withDefaults()
	d, err := d.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(o.EmbeddingModels) == 0 {
		return nil, errors.New("creating the API: no embedding model")
	}
	doc, err := document.Load(openAPI, o.documented())
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(d.Metrics)
	if err != nil {
		return nil, err
	}
	limits := access.NewRateLimits(o.RatePerSecond, o.VisitorPerMinute, d.Now)
	s := &server{
		Deps: d, options: o, document: doc, log: d.Log, metrics: m,
		// Encode the document lazily: it's slow, and few processes ever serve it.
		served: sync.OnceValues(func() (document.Served, error) {
			return document.Serve(openAPI, o.documented(), o.Engines, o.EmbeddingModels)
		}),
		keyring:   access.Keyring{Keys: d.KeyFinder, Now: d.Now, Log: d.Log},
		flows:     access.NewFlows(),
		cors:      access.CORS{Origins: o.CORSOrigins, RateLimits: limits, Agents: d.Agents},
		audit:     access.NewAudit(d.Audit, d.Now),
		limits:    limits,
		claims:    idempotency.Responses{Store: d.Claims, Heartbeat: o.ClaimHeartbeat, ReadTimeout: o.ReadTimeout, Log: d.Log},
		uploads:   upload.Options{TempDir: o.TempDir, MaxBytes: o.MaxUploadBytes, Setting: upload.LimitSetting, ReadTimeout: o.ReadTimeout},
		reference: console.NewPage(docsHTML),
		drawings:  newDrawings(),
		plans:     make(chan struct{}, maxPlans),
	}
	s.mcp = sync.OnceValue(s.newMCP) // on demand, because deriving the tools' schemas takes milliseconds
	s.inference = inference.New(inference.Deps{
		Embedders: d.Embedders, Models: o.EmbeddingModels, Chat: slices.Sorted(maps.Keys(d.ChatModels)), Reranker: d.Reranker, Usage: d.Usage, NewID: d.NewID, WriteTimeout: o.WriteTimeout,
	})
	s.openai = s.openAIEndpoints()
	s.undescribed = operationsOf(s.openai)
	g, err := admit.New(o.Admission, admit.Server{ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, Secrets: d.Secrets, NewID: d.NewID, FlowOf: s.flows.Of, Metrics: d.Metrics}, headAsGet(s.routes()))
	if err != nil {
		return nil, err
	}
	return cleanpath.Handler(g), nil
}

// releaseMode turns off Gin's debug output. It must run only once, because the mode is a global variable that Gin reads
// without synchronisation.
var releaseMode = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// routes registers every operation under every base path.
func (s *server) routes() http.Handler {
	releaseMode()
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.UseRawPath = true // see cleanPath
	r.ContextWithFallback = true
	r.Use(s.observe, s.recover, s.checkOrigin, s.limitBodyTime, s.findOperation, s.authenticate, s.check, s.idempotent)
	r.NoRoute(s.notFound)
	r.NoMethod(func(c *gin.Context) {
		if methods, isFixed := s.document.Methods(c.Request.URL.Path); isFixed { // Gin would also list methods of routes whose id parameter matches here
			c.Header("Allow", strings.Join(methods, ", "))
		}
		if allowed := c.Writer.Header().Get("Allow"); strings.Contains(allowed, http.MethodGet) {
			c.Header("Allow", allowed+", "+http.MethodHead) // see headAsGet
		}
		s.fail(c, domain.Errorf(problem.CodeMethod, "%s is not allowed on %s; allowed: %s", c.Request.Method, jsonbody.Shorten(c.Request.URL.Path), c.Writer.Header().Get("Allow")))
	})
	r.GET("/", s.serveConsole)
	r.GET(console.Prefix+"*file", s.serveConsole)
	r.GET(manual.Root+"/*page", s.serveManual)
	r.GET("/api"+manual.Root+"/*page", s.serveManual)
	r.GET(console.EmbedPath, s.serveConsole)
	strict := NewStrictHandlerWithOptions(s, nil, StrictGinServerOptions{
		RequestErrorHandlerFunc: func(c *gin.Context, err error) {
			s.fail(c, &domain.Error{Code: domain.CodeInvalid, Message: "the request is malformed", Err: err})
		},
		HandlerErrorFunc:         s.fail,
		ResponseErrorHandlerFunc: s.fail,
	})
	for _, base := range document.Bases {
		r.POST(base+problem.MCPPath, s.serveMCP)
		RegisterHandlersWithOptions(r, strict, GinServerOptions{
			BaseURL:      base,
			ErrorHandler: func(c *gin.Context, err error, _ int) { s.fail(c, domain.Errorf(domain.CodeInvalid, "%v", err)) },
		})
		s.mount(r, base)
	}
	return r
}

func (s *server) notFound(c *gin.Context) {
	s.fail(c, domain.Errorf(domain.CodeNotFound, "there is no endpoint %s %s; /docs/api lists them", c.Request.Method, jsonbody.Shorten(c.Request.URL.Path)))
}

// fail aborts the request. It responds with the error unless a response has already begun.
func (s *server) fail(c *gin.Context, err error) {
	c.Abort()
	ctx := c.Request.Context()
	if problem.IsClientGone(ctx, err) {
		s.log.Debug("client disconnected", "request", problem.RequestID(ctx))
		c.Status(problem.StatusClientClosed)
		return
	}
	e := problem.Explain(ctx, s.log, s.Secrets, err)
	if c.Writer.Written() {
		return
	}
	problem.SetRetryAfter(c.Writer.Header(), e)
	c.Header("Cache-Control", "no-store")
	defer transfer.Linger(c.Writer, c.Request, s.bodyLimit(c))()
	form := problem.FormOf(c.Request.URL.Path)
	if form == problem.FormRPC && e.Code == domain.CodeRateLimit && s.failCall(c, e) {
		return
	}
	problem.Write(c.Writer, form, problem.RequestID(ctx), e)
}

// bodyLimit returns the maximum size of the request's body, or 0 for a caller without a key.
func (s *server) bodyLimit(c *gin.Context) int64 {
	if _, caller := access.CallerOf(c); caller.Key.ID == "" {
		return 0
	}
	if transfer.IsMultipart(c.Request) {
		return s.uploads.MaxBody()
	}
	return s.options.MaxJSONBytes
}

// checkOrigin rejects requests from web pages that may not call the service.
func (s *server) checkOrigin(c *gin.Context) {
	if err := s.cors.Check(c); err != nil {
		s.fail(c, err)
	}
}

// limitBodyTime sets the deadline for reading the request's body.
func (s *server) limitBodyTime(c *gin.Context) {
	c.Request = transfer.ExpectBody(c.Writer, c.Request, s.options.ReadTimeout)
}

// idempotent replays the stored response if the Idempotency-Key was used before.
func (s *server) idempotent(c *gin.Context) {
	op := operationOf(c)
	if op == nil || !op.Idempotent {
		return
	}
	contentType := func(body string) string {
		if op.ID != "QueryDatastore" {
			return typeJSON
		}
		return fragmentsType(c, c.Request.URL.Query().Get("explain") == "true", strings.HasPrefix(body, "{"))
	}
	_, caller := access.CallerOf(c)
	if err := s.claims.Serve(c, caller, op.Secret, contentType); err != nil {
		s.fail(c, err)
	}
}

const operationKey = "sluice.operation"

// findOperation stores the route's operation in the context.
func (s *server) findOperation(c *gin.Context) {
	op := s.document.Operation(c.Request.Method, c.FullPath())
	if op == nil {
		op = s.undescribed[c.Request.Method+" "+c.FullPath()]
	}
	if op != nil {
		c.Set(operationKey, op)
	}
}

// operationOf returns the route's operation, or nil if the route has none, as for console pages.
func operationOf(c *gin.Context) *document.Operation {
	op, _ := c.Value(operationKey).(*document.Operation)
	return op
}

// recover answers a panic like any other internal error, but lets http.ErrAbortHandler through.
func (s *server) recover(c *gin.Context) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			panic(cause)
		default:
			s.log.Error("handler panicked", "request", problem.RequestID(c.Request.Context()), "stack", string(debug.Stack()))
			s.fail(c, fmt.Errorf("panic: %v", cause))
		}
	}()
	c.Next()
}

// headAsGet handles HEAD requests as GET; the http.Server drops the body.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.Clone(transfer.WithHead(r.Context()))
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}
