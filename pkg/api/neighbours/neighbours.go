// Package neighbours implements small APIs from other projects, so that those projects can use Sluice without an
// adapter: Dify's external knowledge API, Open WebUI's external document loader, and the text endpoints of Apache
// Tika's server. Their own documentation describes these endpoints, so the OpenAPI document does not.
package neighbours

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// Limits on concurrent conversions. A workspace gets at most half of the slots. A file counts from the moment its first
// byte arrives, because it takes up disk space until it has been converted.
const (
	maxConversions = 8
	maxWaiting     = 64
	maxWait        = 30 * time.Second // how long a request waits for a slot
	convertTimeout = 10 * time.Minute // time limit for receiving and converting a file
	retryAfter     = 3 * time.Second  // how long rejected clients should wait
)

// File is a file to convert.
type File struct {
	Workspace string // files from different workspaces are converted in turn
	Content   io.Reader
	Name      string // "" if unknown
	Declared  string // media type declared by the sender; "" if unknown
}

// Converter converts files to text in unprivileged processes.
type Converter interface {
	// Convert reads the file and returns its text in blocks, or a *format.Error if the file cannot be read.
	Convert(ctx context.Context, f File) (*domain.Document, error)
}

// Query is a search in one datastore.
type Query struct {
	Text  string
	TopK  int
	Where *filter.Filter // nil means no filter
}

// Deps are a Handler's dependencies. All fields are required.
type Deps struct {
	Converter Converter
	// Search returns a datastore's best fragments, or domain.CodeNotFound if the datastore does not exist or the caller
	// in ctx may not query it.
	Search func(ctx context.Context, datastoreID string, q Query) ([]domain.Fragment, error)

	Version     string // service version
	MaxBytes    int64  // maximum file size
	ReadTimeout time.Duration
	// WriteTimeout is the time limit for each write of a response.
	WriteTimeout time.Duration
}

// Handler serves the APIs. It is safe for concurrent use.
type Handler struct {
	Deps
	conversions *admission.Gate
}

// New returns a handler.
func New(d Deps) *Handler {
	return &Handler{Deps: d, conversions: admission.New(admission.Options{Limit: maxConversions, Waiting: maxWaiting, Share: 1})}
}

// Endpoints returns the handler's endpoints.
func (h *Handler) Endpoints() []openai.Endpoint {
	endpoint := func(id, method, path string, body openai.Body, serve func(*gin.Context) error) openai.Endpoint {
		return openai.Endpoint{ID: id, Method: method, Path: path, Scope: domain.ScopeRead, Body: body, Serve: serve}
	}
	return []openai.Endpoint{
		endpoint("DifyRetrieval", http.MethodPost, "/retrieval", openai.JSON, h.retrieval),
		endpoint("OpenWebUIProcess", http.MethodPut, "/process", openai.NoBody, h.process),
		endpoint("TikaHello", http.MethodGet, "/tika", openai.NoBody, h.tikaHello),
		endpoint("TikaVersion", http.MethodGet, "/version", openai.NoBody, h.tikaVersion),
		endpoint("Tika", http.MethodPut, "/tika", openai.NoBody, h.tika),
		endpoint("TikaText", http.MethodPut, "/tika/text", openai.NoBody, h.tikaText),
		endpoint("TikaForm", http.MethodPost, "/tika/form", openai.Multipart, h.tika),
		endpoint("TikaFormText", http.MethodPost, "/tika/form/text", openai.Multipart, h.tikaText),
		endpoint("TikaRecursive", http.MethodPut, "/rmeta", openai.NoBody, h.tikaRecursive),
		endpoint("TikaRecursiveText", http.MethodPut, "/rmeta/text", openai.NoBody, h.tikaRecursive),
		endpoint("TikaRecursiveFormText", http.MethodPost, "/rmeta/form/text", openai.Multipart, h.tikaRecursive),
	}
}

// enter waits for a slot to convert a file. The caller must call Leave on the slot.
func (h *Handler) enter(ctx context.Context, flow string) (*admission.Slot, error) {
	timed, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	slot, ok := h.conversions.Enter(timed, flow)
	switch {
	case ok:
		return slot, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &domain.Error{Code: domain.CodeRateLimit, RetryAfter: retryAfter, Message: "the converter is busy with other files; try again in a moment"}
}

// errTimeout is the cause of a failure after convertTimeout.
var errTimeout = errors.New("converting the file took too long")
