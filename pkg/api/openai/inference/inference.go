// Package inference gives clients direct access to this process's models: embeddings through OpenAI's API, and
// reranking through Cohere's and Jina's.
//
// Embedding a large request keeps CPUs busy for seconds. Requests therefore wait for slots shared fairly between
// workspaces, and the models give priority to queries from searches and questions (see package transformer).
package inference

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Limits on concurrent requests. A workspace gets at most half of the slots even if no other workspace uses any,
// because a request may hold its slot for many seconds.
const (
	maxRequests = 4
	maxWaiting  = 64

	maxWait    = 30 * time.Second // how long a request waits for a slot
	maxTime    = 5 * time.Minute  // how long a request may use a model, including waiting for a server
	retryAfter = 3 * time.Second  // how long rejected clients should wait
)

// Embedders provides the embedding models.
type Embedders interface {
	// Embedder returns the model with the id.
	Embedder(id string) (embed.Embedder, error)
}

// Usage counts the tokens read by models.
type Usage interface {
	CountDeferred(a domain.Account, uses map[domain.Metric]int64)
}

// Deps are a Handler's dependencies. All fields but Chat and Reranker are required.
type Deps struct {
	Embedders Embedders
	Models    []string          // embedding models, the default first
	Chat      []string          // names of the chat models, which are only listed
	Reranker  retrieve.Reranker // if nil, only embedding models rank documents
	Usage     Usage
	NewID     func() string
	// WriteTimeout is the time limit for each write of a response.
	WriteTimeout time.Duration
}

// Handler serves requests to the models. It is safe for concurrent use.
type Handler struct {
	Deps
	requests *admission.Gate
	queries  *admission.Gate // embeds queries one request at a time, because models prefer them to passages
}

// New returns a handler.
func New(d Deps) *Handler {
	return &Handler{
		Deps:     d,
		requests: admission.New(admission.Options{Limit: maxRequests, Waiting: maxWaiting, Share: 1}),
		queries:  admission.New(admission.Options{Limit: 1, Waiting: -1}),
	}
}

// Endpoints returns the handler's endpoints. They require a key that can read the workspace. A key for a single agent
// may be embedded in a web page, whose visitors must not be able to use the models.
func (h *Handler) Endpoints() []openai.Endpoint {
	endpoint := func(id, path string, serve func(*gin.Context) error) openai.Endpoint {
		return openai.Endpoint{ID: id, Method: http.MethodPost, Path: path, Scope: domain.ScopeRead, Body: openai.JSON, Serve: serve}
	}
	return []openai.Endpoint{
		endpoint("CreateEmbedding", "/v1/embeddings", h.createEmbedding),
		endpoint("Rerank", "/v1/rerank", h.rerankV1),
		endpoint("RerankV2", "/v2/rerank", h.rerankV2),
	}
}

// enter waits for a slot to use a model. The caller must call Leave on the slot.
func (h *Handler) enter(ctx context.Context, flow string) (*admission.Slot, error) {
	timed, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	slot, ok := h.requests.Enter(timed, flow)
	switch {
	case ok:
		return slot, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &domain.Error{
		Code: domain.CodeRateLimit, RetryAfter: retryAfter, Message: "the models are busy with other requests; try again in a moment, or send fewer texts at once",
	}
}

func (h *Handler) embedTexts(ctx context.Context, flow string, e embed.Embedder, texts []string, purpose embed.Purpose) ([][]float32, error) {
	if purpose != embed.Query {
		return e.Embed(ctx, texts, purpose)
	}
	// Models prioritise queries over passages. Embed a large list of queries in small groups, one request at a time, so
	// that searches wait for at most one group.
	vectors := make([][]float32, 0, len(texts))
	for piece := range pieces(texts, maxPiece) {
		slot, ok := h.queries.Enter(ctx, flow)
		if !ok {
			return nil, context.Cause(ctx)
		}
		some, err := e.Embed(ctx, piece, purpose)
		slot.Leave()
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, some...)
	}
	return vectors, nil
}

// Maximum total size of a group's texts in bytes. A single text may be larger. A transformer embeds such a group in one
// batch.
const maxPiece = 2 << 10

// pieces yields the texts in order, in groups of at most `size` bytes. A longer text forms a group of its own.
func pieces(texts []string, size int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for from := 0; from < len(texts); {
			to, total := from+1, len(texts[from])
			for to < len(texts) && total+len(texts[to]) <= size {
				total += len(texts[to])
				to++
			}
			if !yield(texts[from:to]) {
				return
			}
			from = to
		}
	}
}

func (h *Handler) count(caller access.Caller, tokens int) {
	h.Usage.CountDeferred(caller.Account(caller.Workspace()), map[domain.Metric]int64{domain.MetricEmbedTokens: int64(tokens)})
}
