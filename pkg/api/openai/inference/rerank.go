package inference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/retrieve"
)

// rerankRequest is the body of a rerank request. It has the fields from Jina's API and from versions 1 and 2 of
// Cohere's.
type rerankRequest struct {
	Model           string    `json:"model"` // "" means the reranker or, if there is none, the default embedding model
	Query           string    `json:"query"`
	Documents       documents `json:"documents"`
	TopN            *int      `json:"top_n"`
	RankFields      []string  `json:"rank_fields"`
	ReturnDocuments *bool     `json:"return_documents"`
}

// check returns the documents' texts, or all faults in the request.
func (r *rerankRequest) check() ([]string, error) {
	var faults []domain.FieldError
	fault := func(field, format string, args ...any) {
		faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if strings.TrimSpace(r.Query) == "" {
		fault("query", "is required; it must contain text")
	}
	if len(r.Documents) == 0 {
		fault("documents", "is required; it must contain at least one document")
	}
	if r.TopN != nil && *r.TopN < 1 {
		fault("top_n", "is %d; it must be at least 1", *r.TopN)
	}
	texts, err := r.Documents.texts(r.RankFields)
	if err != nil {
		return nil, err
	}
	if i := blank(texts); i >= 0 {
		fault(fmt.Sprintf("documents[%d]", i), "is empty; it must contain text")
	}
	return texts, problem.Invalid(faults)
}

// rerankResponse has the fields from Cohere's and Jina's responses.
type rerankResponse struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"` // always "list"
	Model   string         `json:"model"`
	Results []rerankResult `json:"results"` // best first
	Usage   rerankUsage    `json:"usage"`
	Meta    rerankMeta     `json:"meta"`
}

type rerankResult struct {
	Index     int     `json:"index"`
	Relevance float64 `json:"relevance_score"`
	Document  any     `json:"document,omitempty"`
}

type rerankUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

type rerankMeta struct {
	APIVersion struct {
		Version string `json:"version"`
	} `json:"api_version"`
	Tokens struct {
		InputTokens int `json:"input_tokens"`
	} `json:"tokens"`
	Warnings []string `json:"warnings,omitempty"`
}

// rerankV1 serves POST /v1/rerank. As in Jina's and vLLM's APIs, the response contains the documents unless the client
// opts out.
func (h *Handler) rerankV1(c *gin.Context) error { return h.rerank(c, "1", true) }

// rerankV2 serves POST /v2/rerank, which only Cohere's API has. The response contains the documents only on request.
func (h *Handler) rerankV2(c *gin.Context) error { return h.rerank(c, "2", false) }

func (h *Handler) rerank(c *gin.Context, version string, returnsDocuments bool) error {
	ctx, caller := access.CallerOf(c)
	var r rerankRequest
	if err := openai.Decode(c, &r); err != nil {
		return err
	}
	texts, err := r.check()
	if err != nil {
		return err
	}
	rank, err := h.ranker(r.Model)
	if err != nil {
		return err
	}
	order, err := h.order(ctx, caller, rank, r.Query, texts)
	if err != nil {
		return err
	}
	out := rerankResponse{ID: h.NewID(), Object: "list", Model: rank.model, Results: []rerankResult{}}
	out.Meta.APIVersion.Version = version
	if rank.warning != "" {
		out.Meta.Warnings = []string{rank.warning}
	}
	for _, o := range order {
		if r.TopN != nil && len(out.Results) == *r.TopN {
			break
		}
		result := rerankResult{Index: o.Index, Relevance: o.Score}
		if r.ReturnDocuments == nil && returnsDocuments || r.ReturnDocuments != nil && *r.ReturnDocuments {
			result.Document = r.Documents[o.Index].echo()
		}
		out.Results = append(out.Results, result)
	}
	tokens := chunk.Tokens(r.Query)
	if rank.readsPairs {
		tokens *= len(texts)
	}
	for _, text := range texts {
		tokens += chunk.Tokens(text)
	}
	h.count(caller, tokens)
	out.Usage, out.Meta.Tokens.InputTokens = rerankUsage{tokens, tokens}, tokens
	return openai.Reply(c, out)
}

// order waits for a slot and ranks the texts.
func (h *Handler) order(ctx context.Context, caller access.Caller, rank ranker, query string, texts []string) ([]retrieve.Reranked, error) {
	flow := access.WorkspaceFlow(caller.Workspace())
	slot, err := h.enter(ctx, flow)
	if err != nil {
		return nil, err
	}
	defer slot.Leave()
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	return rank.rank(ctx, flow, query, texts)
}

// ranker ranks documents with one model.
type ranker struct {
	model      string
	readsPairs bool   // whether the model reads the query together with each document
	warning    string // warns clients that the model is not a reranker

	rank func(ctx context.Context, flow, query string, texts []string) ([]retrieve.Reranked, error)
}

// ranker returns the named ranker. Embedding models can rank too, so the endpoint works without a reranker; the
// response then contains a warning.
func (h *Handler) ranker(name string) (ranker, error) {
	if h.Reranker != nil && (name == "" || name == h.Reranker.Model()) {
		return ranker{model: h.Reranker.Model(), readsPairs: true, rank: h.rankByReranker}, nil
	}
	model, err := h.embedder(name)
	if err != nil {
		known := h.Models
		if h.Reranker != nil {
			known = append([]string{h.Reranker.Model()}, known...)
		}
		if domain.CodeOf(err) == domain.CodeNotFound {
			err = unknownModel(name, known)
		}
		return ranker{}, err
	}
	id := model.Model().ID
	return ranker{
		model: id, warning: id + " is an embedding model, not a reranker: scores are cosine similarities between query and document",
		rank: func(ctx context.Context, flow, query string, texts []string) ([]retrieve.Reranked, error) {
			return h.rankByVectors(ctx, flow, model, query, texts)
		},
	}, nil
}

func (h *Handler) rankByReranker(ctx context.Context, _, query string, texts []string) ([]retrieve.Reranked, error) {
	order, err := h.Reranker.Rerank(ctx, query, texts, time.Time{})
	if err != nil && ctx.Err() == nil {
		return nil, &domain.Error{
			Code: domain.CodeUnavailable, Err: err, Message: "the reranker is unavailable; try again later, or set model to an embedding model",
		}
	}
	return order, err
}

// rankByVectors ranks by the cosine similarity of query and document. Negative values count as 0.
func (h *Handler) rankByVectors(ctx context.Context, flow string, model embed.Embedder, query string, texts []string) ([]retrieve.Reranked, error) {
	asked, err := h.embedTexts(ctx, flow, model, []string{query}, embed.Query)
	if err != nil {
		return nil, err
	}
	vectors, err := h.embedTexts(ctx, flow, model, texts, embed.Passage)
	if err != nil {
		return nil, err
	}
	if len(asked) != 1 || len(vectors) != len(texts) {
		return nil, errors.New("the embedding model did not return one vector per text")
	}
	order := make([]retrieve.Reranked, len(texts))
	for i, vector := range vectors {
		order[i] = retrieve.Reranked{Index: i, Score: cosine(asked[0], vector)}
	}
	slices.SortStableFunc(order, func(a, b retrieve.Reranked) int { return cmp.Compare(b.Score, a.Score) })
	return order, nil
}

// cosine returns the cosine similarity of two unit vectors, with negative values as 0.
func cosine(a, b []float32) float64 {
	var sum float64
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return min(max(sum, 0), 1)
}
