// Package retrieve answers a query with fragments. It searches the datastores, drops rows of inactive generations and
// ranks the remaining rows by combining their lexical and dense scores.
//
// Every candidate has exact scores from both legs, whichever leg found it. Each of the two scores is divided by its
// standard deviation over the candidates, and their weighted sum is the candidate's score. If one leg is much weaker,
// as the built-in dense model is, this ranks much better on test collections than rank fusion.
//
// The lexical score covers a chunk and the part of its document around it. A short article therefore ranks as if it had
// not been split into chunks, and a passage in a book ranks by its own text and the text near it.
package retrieve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/boost"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/question"
)

// Limits on a request.
const (
	DefaultTopK        = 5
	MaxTopK            = 100
	MaxQueryCharacters = 8000
	MaxDatastores      = 64
)

// Indexes provides each engine's index.
type Indexes interface {
	// Index fails with domain.CodeUnavailable if the engine is not configured.
	Index(engine domain.Engine) (Searcher, error)
}

// Searcher is the part of an index used by queries.
type Searcher interface {
	Search(ctx context.Context, space index.Space, q index.Query) (index.Result, error)
	CountValues(ctx context.Context, space index.Space, q index.CountQuery) (index.Counts, error)
	Rows(ctx context.Context, space index.Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]index.Row, error)
	Fill(ctx context.Context, space index.Space, hits []*index.Hit) error
}

// Embedders provides each model's embedder.
type Embedders interface {
	Embedder(model string) (embed.Embedder, error)
}

// Catalog provides the current state of datasources and datastores. Its answers must be up to date: rows are removed,
// and become unreadable, as soon as their generation is inactive or their datastore has moved away from their place.
type Catalog interface {
	// ActiveOf returns the datasources' active states, nil for those that don't exist. The results are shared and must not
	// be changed.
	ActiveOf(ctx context.Context, datasourceIDs []string) ([]*domain.ActiveDatasource, error)
	// ServingPlace returns the engine and the embedding model that serve a datastore. It fails with domain.CodeNotFound
	// if there is no such datastore.
	ServingPlace(ctx context.Context, datastoreID string) (domain.Place, error)
	// ResolveFilters returns the ids of the datasources that the filter selects by custom id or datasource id, including
	// the pages of a selected site. It returns nil if the filter contains no ids of either kind, and an empty slice if
	// nothing matches.
	ResolveFilters(ctx context.Context, datastoreIDs []string, f domain.Filters) ([]string, error)
}

// Deps are a Retriever's dependencies. All but the Reranker, Settings and Permits are required.
type Deps struct {
	Indexes   Indexes
	Embedders Embedders
	Catalog   Catalog
	Reranker  Reranker       // nil disables reranking
	Settings  SettingsReader // nil if datastores have no search settings
	Permits   Permits        // for searching a query's parts concurrently; nil means no limit
}

// Options configure a Retriever. The zero value uses the defaults.
type Options struct {
	Timeout time.Duration // for one call to Retrieve; default 15 s

	// Weights maps embedding model ids to the dense leg's weight, from 0 to 1. The lexical leg gets the rest. Unlisted
	// models have DefaultDenseWeight or, if they are built in, BuiltinDenseWeight.
	Weights map[string]float64

	Now func() time.Time // for the age of boosted documents; default time.Now

	// RerankBudget is the maximum time a query spends on reranking. Candidates scored by then are reordered, and the
	// others follow in their previous order. 0 means no limit.
	RerankBudget time.Duration

	// LexicalFallback lets a hybrid search continue with words alone if its embedding model is unreachable. By default,
	// the search fails with domain.CodeUnavailable: results shouldn't depend on a server's health.
	LexicalFallback bool
}

// Default weights for the dense leg. A transformer model's vectors weigh as much as the lexical leg; the built-in
// static vectors weigh less.
const (
	DefaultDenseWeight = 0.5
	BuiltinDenseWeight = 0.3
	builtinPrefix      = "builtin-en-" // of the static models
)

// Request is a query. The caller must have checked that the user may read the datastores.
type Request struct {
	WorkspaceID string // all datastores must belong to it
	Datastores  []domain.Datastore
	// Query has 1 to MaxQueryCharacters characters, also after normalisation (see analysis.NormalLength). It may be
	// empty if Mode is dense and Vector is set.
	Query string
	// Vector is the query's embedding, if the caller has computed it with the datastores' model. The model is then not
	// called for Query, and Query is not split into parts: only the given Parts are searched. Vector can't be combined
	// with Mode lexical.
	Vector []float32

	// Parts are the questions contained in Query, at most question.MaxParts. They are searched in addition to Query, and
	// all these searches together return at most TopK fragments. If Parts is nil, question.Parts finds them; if it's
	// empty, Query is searched as one question.
	Parts []string

	TopK    int // 1 to MaxTopK; 0 means DefaultTopK
	Filters domain.Filters
	Where   *filter.Filter    // in addition to Filters; nil matches everything
	Mode    domain.SearchMode // "" means hybrid
	Rerank  *bool             // nil: rerank if possible; true: fail if impossible; false: don't rerank
	Explain bool              // fill Result.Explanation

	// Boosts are at most boost.MaxBoosts rules that change documents' scores. If nil, the boosts in each datastore's
	// settings apply; an empty list means no boosts.
	Boosts []boost.Boost

	// MaxPerDatasource is the maximum number of fragments per datasource, up to MaxTopK; 0 means no limit.
	MaxPerDatasource int

	// Facets are the metadata keys to count values for, at most MaxFacetKeys. Only documents with a ranked candidate
	// count.
	Facets []string

	control control
}

// Result is the answer to a query.
type Result struct {
	// Fragments holds at most TopK fragments, sorted by Score, best first. Adjacent chunks are merged into one fragment.
	// Only the best of several near-duplicates is returned.
	//
	// Scores are comparable between responses. 1 means that a fragment contains every query word many times and has the
	// same meaning. If there is no relevant content, all scores are low.
	//
	// In a reranked result, Score is the reranker's score. Only the best MaxReranked candidates are reranked. Another
	// fragment's Score is its first score times the lowest score of the reranked candidates.
	Fragments []domain.Fragment
	// Relevances holds the fragments' relevances: the larger of the scores before and after reranking, both without
	// boosts. A pinned fragment's relevance is 1. Nil means that the relevances are the scores.
	Relevances []float64
	// PartScores has one element per fragment: the fragment's scores in the searches for the query's parts, in the parts'
	// order. PartRelevances holds the corresponding relevances. Both are nil if the query was searched as one question.
	PartScores, PartRelevances [][]float64
	// TermWeights maps each analysed query word to its weight (see index.Result), the highest one if several spaces were
	// searched.
	TermWeights map[string]float64
	// Candidates is the number of ranked chunks. In a small datastore, all chunks are ranked.
	Candidates int
	// Degraded is "" unless something is missing from the result. Then it says what happened: LexicalFallback was used,
	// the reranker failed, or the mode is dense and a model knows none of the query's words.
	Degraded string
	// Explanation is nil unless Request.Explain is set.
	Explanation *domain.Explanation
	// Facets is nil unless Request.Facets is set.
	Facets *domain.Facets
	// Rules holds the datastores' synonyms and stop words, or nil.
	Rules *analysis.Rules
}

// Relevance returns the relevance of fragment i; see Relevances.
func (r Result) Relevance(i int) float64 {
	if r.Relevances == nil {
		return r.Fragments[i].Score
	}
	return r.Relevances[i]
}

// Retriever answers queries. It is safe for concurrent use.
type Retriever struct {
	deps Deps
	opts Options
}

// New returns a Retriever.
func New(deps Deps, opts Options) *Retriever {
	if opts.Timeout <= 0 {
		opts.Timeout = 15 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Retriever{deps: deps, opts: opts}
}

// Retrieve returns the best fragments for a query.
//
// It returns domain.CodeInvalid with all errors if the request is invalid, domain.CodeNotFound if a datastore belongs
// to another workspace, and domain.CodeUnavailable if an index or an embedding model doesn't answer in time. If the
// caller cancels ctx, it returns that error.
func (r *Retriever) Retrieve(ctx context.Context, req Request) (Result, error) {
	req, err := r.validate(req)
	if err != nil || len(req.Datastores) == 0 {
		return Result{}, err
	}
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, r.opts.Timeout, errTimeout)
	defer cancel()

	res, err := r.retrieve(ctx, req)
	if err != nil && outer.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return Result{}, &domain.Error{
			Code:    domain.CodeUnavailable,
			Message: fmt.Sprintf("the search took longer than %s; try again, or search fewer datastores", r.opts.Timeout),
			Err:     err,
		}
	}
	return res, err
}

var errTimeout = errors.New("the search's own time-out")

func (r *Retriever) retrieve(ctx context.Context, req Request) (Result, error) {
	filter, none, err := r.filter(ctx, req)
	if err != nil {
		return Result{}, err
	}
	var selected *int
	if filter.DatasourceIDs != nil {
		n := len(filter.DatasourceIDs)
		selected = &n
	}
	if none {
		res := Result{}
		if req.Explain {
			res.Explanation = explainQuery(req, selected)
		}
		res.Facets = emptyFacets(req.Facets)
		return res, nil
	}
	if req.control, err = r.controlOf(ctx, req); err != nil {
		return Result{}, err
	}
	if req.Parts == nil && req.Vector == nil {
		for _, p := range question.Parts(req.Query) {
			req.Parts = append(req.Parts, p.Query)
		}
	}
	deep := false
	for tries := 1; ; tries++ {
		legs, err := r.searchLegs(ctx, req, filter, deep)
		if err != nil {
			return Result{}, err
		}
		res, err := r.rank(ctx, legs, req, filter, selected)
		if err == nil && len(req.Facets) > 0 {
			res.Facets, err = r.facetsOf(ctx, legs, req, filter)
		}
		tooFew := err == nil && len(res.Fragments) < req.TopK && isShallow(legs)
		release(legs)
		if tooFew && !deep {
			deep = true
			continue
		}
		if again := (unreadRowsError{}); tries == maxPlaces || ctx.Err() != nil || !errors.As(err, &again) {
			return res, err
		}
	}
}

// validate returns the request with defaults filled in, or an error that lists everything wrong with it.
func (r *Retriever) validate(req Request) (Request, error) {
	var faults []domain.FieldError
	req.Query, req.Mode = strings.TrimSpace(req.Query), cmp.Or(req.Mode, domain.SearchHybrid)
	switch n := utf8.RuneCountInString(req.Query); {
	case n == 0 && (req.Vector == nil || req.Mode != domain.SearchDense):
		faults = append(faults, domain.FieldError{Field: "query", Message: "must not be empty"})
	case n > MaxQueryCharacters:
		faults = append(faults, domain.FieldError{Field: "query", Message: fmt.Sprintf("has %d characters; the maximum is %d", n, MaxQueryCharacters)})
	case analysis.NormalLength(req.Query, MaxQueryCharacters) > MaxQueryCharacters:
		faults = append(faults, domain.FieldError{Field: "query", Message: fmt.Sprintf("has more than the maximum of %d characters after Unicode normalisation (NFKC); shorten it", MaxQueryCharacters)})
	}
	req.TopK = cmp.Or(req.TopK, DefaultTopK)
	if req.TopK < 1 || req.TopK > MaxTopK {
		faults = append(faults, domain.FieldError{Field: "topK", Message: fmt.Sprintf("is %d; it must be between 1 and %d", req.TopK, MaxTopK)})
	}
	switch req.Mode {
	case domain.SearchHybrid, domain.SearchLexical, domain.SearchDense:
	default:
		faults = append(faults, domain.FieldError{Field: "mode", Message: fmt.Sprintf("is %.40q; it must be one of %s, %s, %s", req.Mode, domain.SearchHybrid, domain.SearchLexical, domain.SearchDense)})
	}
	faults = append(faults, vectorFaults(req)...)
	if req.MaxPerDatasource < 0 || req.MaxPerDatasource > MaxTopK {
		faults = append(faults, domain.FieldError{Field: "maxPerDatasource", Message: fmt.Sprintf("is %d; it must be between 1 and %d", req.MaxPerDatasource, MaxTopK)})
	}
	if req.Rerank != nil && *req.Rerank && r.deps.Reranker == nil {
		faults = append(faults, domain.FieldError{Field: "rerank", Message: "is true, but no reranker is configured; set RERANK_URL or RERANK_MODEL, or omit the field"})
	}
	if req.Rerank != nil && *req.Rerank && req.Query == "" {
		faults = append(faults, domain.FieldError{Field: "rerank", Message: "is true, but there is no query for the reranker to read; send query or omit the field"})
	}
	if n := len(req.Datastores); n > MaxDatastores {
		faults = append(faults, domain.FieldError{Field: "datastoreIds", Message: fmt.Sprintf("has %d datastores; the maximum is %d", n, MaxDatastores)})
	}
	if n := len(req.Parts); n > question.MaxParts {
		faults = append(faults, domain.FieldError{Field: "parts", Message: fmt.Sprintf("has %d entries; the maximum is %d", n, question.MaxParts)})
	}
	if n := len(req.Boosts); n > boost.MaxBoosts {
		faults = append(faults, domain.FieldError{Field: "boosts", Message: fmt.Sprintf("has %d boosts; the limit is %d", n, boost.MaxBoosts)})
	}
	faults = append(faults, facetFaults("facets", req.Facets)...)
	if len(faults) > 0 {
		return req, invalid(faults)
	}
	for _, ds := range req.Datastores {
		if ds.WorkspaceID != req.WorkspaceID {
			return req, domain.NotFound("datastore", ds.ID)
		}
	}
	return req, nil
}

func invalid(faults []domain.FieldError) error {
	parts := lists.Map(faults, func(f domain.FieldError) string { return f.Field + ": " + f.Message })
	return &domain.Error{Code: domain.CodeInvalid, Message: strings.Join(parts, "; "), Fields: faults}
}

// filter returns the index filter. `none` is true if it can't match any row.
func (r *Retriever) filter(ctx context.Context, req Request) (f index.Filter, none bool, err error) {
	f.Metadata, f.Where = req.Filters.Metadata, req.Where
	if len(req.Filters.CustomIDs) == 0 && len(req.Filters.DatasourceIDs) == 0 {
		return f, false, nil
	}
	ids := lists.Map(req.Datastores, func(ds domain.Datastore) string { return ds.ID })
	f.DatasourceIDs, err = r.deps.Catalog.ResolveFilters(ctx, ids, req.Filters)
	if err != nil {
		return f, false, fmt.Errorf("resolving the filters: %w", err)
	}
	return f, len(f.DatasourceIDs) == 0, nil
}
