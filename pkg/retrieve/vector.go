package retrieve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lists"
)

// Bounds on the fraction of the query's text that the model knows. A mostly unknown query has a misleading vector, so
// the dense weight is 0 up to coverageNone. From there, it rises to its full value at coverageFull.
const (
	coverageNone = 0.5
	coverageFull = 0.9
)

// queryVector is a query's vector from one model.
type queryVector struct {
	dimensions int
	vector     []float32 // nil if only words are compared
	weight     float64   // the dense leg's weight
	unfiltered []float32 // the vector even if the model hardly knows the query; nil if it knows none of the words
	unseen     cosineSample
}

// embedding is one model's embedding of the query.
type embedding struct {
	queryVector
	degraded string // set if the search continues without an unreachable model
}

// embedLegs returns a function that returns the embedding of leg i's query by a given model. The first call for a model
// embeds all legs' queries together. All legs' contexts must end at the same time. If the request has a vector, that
// vector is the first leg's embedding.
func (r *Retriever) embedLegs(legs []leg, req Request) func(ctx context.Context, model string, i int) (embedding, error) {
	queries := lists.Map(legs, func(l leg) string { return l.query })
	if req.Vector != nil {
		queries = queries[1:]
	}
	var mu sync.Mutex
	models := make(map[string]func() ([]embedding, error))
	return func(ctx context.Context, model string, i int) (embedding, error) {
		mu.Lock()
		once := models[model]
		if once == nil {
			once = sync.OnceValues(func() ([]embedding, error) { return r.embedQueries(ctx, model, queries, req.Mode) })
			models[model] = once
		}
		mu.Unlock()
		if req.Vector != nil {
			if i == 0 {
				return r.givenVector(ctx, model, req)
			}
			i--
		}
		made, err := once()
		if err != nil {
			return embedding{}, err
		}
		return made[i], nil
	}
}

// vectorFaults returns the errors in the request's vector.
func vectorFaults(req Request) []domain.FieldError {
	switch {
	case req.Vector == nil:
	case req.Mode == domain.SearchLexical:
		return []domain.FieldError{{Field: "vector", Message: fmt.Sprintf("cannot be used with mode %s, which compares words; leave it out or use another mode", req.Mode)}}
	case slices.ContainsFunc(req.Vector, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }):
		return []domain.FieldError{{Field: "vector", Message: "has a component that is not a finite 32-bit number"}}
	case isZero(req.Vector):
		return []domain.FieldError{{Field: "vector", Message: "is empty or zero, so nothing can be compared with it"}}
	}
	return nil
}

// givenVector returns the request's vector as if `model` had computed it. The number of dimensions must be the model's.
func (r *Retriever) givenVector(ctx context.Context, model string, req Request) (embedding, error) {
	if model == "" {
		return embedding{}, domain.Invalid("vector", "cannot be used, because the datastore has no vectors; leave it out")
	}
	dimensions, err := r.dimensions(ctx, model)
	if err != nil {
		return embedding{}, err
	}
	if n := len(req.Vector); n != dimensions {
		return embedding{}, domain.Invalid("vector", "has %d numbers, but vectors from the datastore's embedding model %q have %d", n, model, dimensions)
	}
	qv := queryVector{dimensions: dimensions, vector: req.Vector, weight: r.weight(model), unfiltered: req.Vector}
	if qv.weight == 0 {
		qv.vector = nil
	}
	return qv.forMode(req.Mode, model), nil
}

// dimensions returns the number of dimensions of a model's vectors. If the model server hasn't reported it yet,
// dimensions embeds a word to find out.
func (r *Retriever) dimensions(ctx context.Context, model string) (int, error) {
	e, err := r.deps.Embedders.Embedder(model)
	if err != nil {
		return 0, fmt.Errorf("finding embedding model %q: %w", model, err)
	}
	if e.Model().Dimensions == 0 {
		if _, err := e.Embed(ctx, []string{"word"}, embed.Query); err != nil {
			return 0, unavailable(err, "the embedding model %q cannot be reached; try again later", model)
		}
	}
	return e.Model().Dimensions, nil
}

// embedQueries embeds queries with a model. For a lexical search, it skips that if the number of dimensions is known.
func (r *Retriever) embedQueries(ctx context.Context, model string, queries []string, mode domain.SearchMode) ([]embedding, error) {
	made := make([]embedding, len(queries))
	if model == "" { // a space without vectors is only searchable by words
		return made, nil
	}
	e, err := r.deps.Embedders.Embedder(model)
	if err != nil {
		return nil, fmt.Errorf("finding embedding model %q: %w", model, err)
	}
	if known := e.Model().Dimensions; mode == domain.SearchLexical && known > 0 {
		for i := range made {
			made[i].dimensions = known
		}
		return made, nil
	}
	vectors, err := r.embedWith(ctx, e, model, queries)
	switch dimensions := e.Model().Dimensions; { // a model server reports them with its first answer
	case err == nil:
		for i, qv := range vectors {
			made[i] = qv.forMode(mode, model)
		}
		return made, nil
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return nil, err
	case r.opts.LexicalFallback && dimensions > 0 && mode == domain.SearchHybrid: // the dimensions identify the space
		for i := range made {
			made[i].dimensions = dimensions
			made[i].degraded = fmt.Sprintf("embedding model %q is unreachable; its datastores were searched only by words", model)
		}
		return made, nil
	default:
		return nil, unavailable(err, "the embedding model %q cannot be reached; try again later", model)
	}
}

// preparer is implemented by indexes that can search for the query's words before its vector is known.
type preparer interface {
	// Prepare searches for the words. Its result may be nil and is passed to Search in Query.Prepared. If Prepare fails,
	// Search would have failed as well.
	Prepare(ctx context.Context, space index.Space, q index.Query) (index.Prepared, error)
}

// vectorFor embeds the query for a datastore while the index is already searching for the query's words.
func (q *query) vectorFor(ctx context.Context, engine Searcher, ds domain.Datastore, request index.Query) (made embedding, words index.Prepared, err error) {
	ready, ok := engine.(preparer)
	if !ok || q.Mode != domain.SearchHybrid || ds.EmbeddingModel == "" || q.Vector != nil {
		made, err = q.embed(ds.EmbeddingModel)
		return made, nil, err
	}
	e, err := q.deps.Embedders.Embedder(ds.EmbeddingModel)
	if err != nil || e.Model().Dimensions == 0 || embed.IsCached(e, q.Query) {
		made, err = q.embed(ds.EmbeddingModel)
		return made, nil, err
	}
	space := index.Space{DatastoreID: ds.ID, Model: ds.EmbeddingModel, Dimensions: e.Model().Dimensions}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var atWork sync.WaitGroup
	atWork.Go(func() {
		if found, err := ready.Prepare(ctx, space, request); err == nil { // Search returns the same errors
			words = found
		}
	})
	made, err = q.embed(ds.EmbeddingModel)
	if err != nil {
		cancel()
	}
	atWork.Wait()
	return made, words, err
}

// forMode returns the embedding for a search mode. A lexical search has no vector. A dense search has one even if the
// model hardly knows the query.
func (qv queryVector) forMode(mode domain.SearchMode, model string) embedding {
	switch mode {
	case domain.SearchLexical:
		return embedding{queryVector: queryVector{dimensions: qv.dimensions}}
	case domain.SearchDense:
		qv.vector, qv.weight = qv.unfiltered, 1
		if qv.vector == nil {
			return embedding{qv, fmt.Sprintf("embedding model %q knows none of the words in the query, so its datastores cannot be searched by meaning", model)}
		}
	}
	return embedding{queryVector: qv}
}

func (r *Retriever) embedWith(ctx context.Context, e embed.Embedder, model string, queries []string) ([]queryVector, error) {
	got, err := e.Embed(ctx, queries, embed.Query)
	if err != nil {
		return nil, fmt.Errorf("embedding the query with %q: %w", model, err)
	}
	if len(got) != len(queries) {
		return nil, fmt.Errorf("embedding the query with %q: the model returned %d vectors for %d texts", model, len(got), len(queries))
	}
	vectors := make([]queryVector, len(queries))
	for i, query := range queries {
		qv := &vectors[i]
		qv.dimensions = e.Model().Dimensions
		if len(got[i]) != qv.dimensions {
			return nil, fmt.Errorf("embedding the query with %q: the model returned a vector with %d dimensions instead of %d", model, len(got[i]), qv.dimensions)
		}
		known := (embed.Coverage(e, query) - coverageNone) / (coverageFull - coverageNone)
		qv.weight = r.weight(model) * min(max(known, 0), 1)
		if !isZero(got[i]) {
			qv.unfiltered = got[i]
		}
		if qv.weight > 0 {
			qv.vector = qv.unfiltered
		}
	}
	return vectors, nil
}

// weight returns the dense leg's weight for a model.
func (r *Retriever) weight(model string) float64 {
	if w, ok := r.opts.Weights[model]; ok {
		return min(max(w, 0), 1)
	}
	if strings.HasPrefix(model, builtinPrefix) {
		return BuiltinDenseWeight
	}
	return DefaultDenseWeight
}

func isZero(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}

// unavailable wraps an error as domain.CodeUnavailable, unless it's a domain.Error or a context error.
func unavailable(err error, format string, args ...any) error {
	var typed *domain.Error
	if errors.As(err, &typed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &domain.Error{Code: domain.CodeUnavailable, Message: fmt.Sprintf(format, args...), Err: err}
}
