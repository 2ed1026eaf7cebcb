// Package retrieve turns a query into fragments: it searches the spaces of the datastores asked, drops rows of
// generations that readers must not see, and ranks the rest by lexical and dense evidence together.
//
// Both scores of every candidate are exact, whichever leg found it, and are summed with weights, each leg divided by
// its spread over the candidates. On collections with known answers this beats fusing ranks by far when the dense
// model is the weaker leg, as the built-in one is.
//
// The words' leg looks at a chunk and at the stretch of its document around it alike, so that articles, of which no chunk
// holds every word of a query, rank as they would uncut, and passages of books by what surrounds them.
package retrieve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
)

// Bounds of a request.
const (
	DefaultTopK        = 5
	MaxTopK            = 100
	MaxQueryCharacters = 8000
	MaxDatastores      = 64
)

// Indexes finds the index that an engine's datastores are kept in.
type Indexes interface {
	// Index fails with domain.CodeUnavailable when the engine is not configured.
	Index(engine domain.Engine) (Searcher, error)
}

// Searcher is the part of an index that answers queries.
type Searcher interface {
	Search(ctx context.Context, space index.Space, q index.Query) (index.Result, error)
	Fill(ctx context.Context, space index.Space, hits []*index.Hit) error
}

// Embedders finds the embedder for a model id.
type Embedders interface {
	Embedder(model string) (embed.Embedder, error)
}

// Catalog says what readers may see. Its answers are not older than the question: rows of a place that a datastore has
// left, and of generations that are no longer active, are removed at once.
type Catalog interface {
	// ActiveOf tells of each of the datasources, nil of one that does not exist. What it returns is others' too.
	ActiveOf(ctx context.Context, datasourceIDs []string) ([]*domain.ActiveDatasource, error)
	// ServingPlace says where a datastore's rows are read. It fails with domain.CodeNotFound when there is none.
	ServingPlace(ctx context.Context, datastoreID string) (domain.Place, error)
	// ResolveFilters returns the ids that the filter's custom ids and datasource ids select, pages of a selected site
	// included; nil when the filter names neither, empty when nothing matches.
	ResolveFilters(ctx context.Context, datastoreIDs []string, f domain.Filters) ([]string, error)
}

// Deps are what a Retriever works with. All are needed but the Reranker.
type Deps struct {
	Indexes   Indexes
	Embedders Embedders
	Catalog   Catalog
	Reranker  Reranker // nil: there is no second stage
}

// Options tune a Retriever. The zero value takes the defaults.
type Options struct {
	Timeout time.Duration // of one Retrieve; default 15 s

	// Weights holds the weight of the dense leg by embedding model id, 0 to 1; the lexical leg has the rest. A model
	// that is missing has DefaultDenseWeight, the built-in one BuiltinDenseWeight.
	Weights map[string]float64

	// LexicalFallback lets a query go on with its words alone when its embedding model cannot be reached. By default
	// it fails with domain.CodeUnavailable, because results that change with a server's health surprise.
	LexicalFallback bool
}

// Weights of the dense leg. For a real model both legs weigh the same; the built-in static vectors are a help to the
// words, not their equal.
const (
	DefaultDenseWeight = 0.5
	BuiltinDenseWeight = 0.3
	builtinPrefix      = "builtin-"
)

// Request asks for fragments. The caller has checked that the datastores may be read.
type Request struct {
	WorkspaceID string // every datastore must belong to it
	Datastores  []domain.Datastore
	Query       string // 1 to MaxQueryCharacters characters
	TopK        int    // 1 to MaxTopK; 0 means DefaultTopK
	Filters     domain.Filters
	Mode        domain.SearchMode // "" means hybrid
	Rerank      *bool             // nil: where there is a Reranker, going on without it when it fails; true: it must answer
	Explain     bool              // fill Result.Explanation

	// MaxPerDatasource is how many fragments may be of one datasource, 1 to MaxTopK; 0 means any number.
	MaxPerDatasource int
}

// Result is what a query found.
type Result struct {
	// Fragments are sorted by Score, best first, at most TopK. Score tells relevance beyond this response: 1 would be a
	// fragment that holds every word of the query often and means the same, and a query that the content has nothing on
	// scores low at best. Of a reranked result it is the reranker's score; behind the MaxReranked best, which alone are
	// reranked, the lowest of these times the fragment's own.
	//
	// Each says something else: chunks that stand side by side are one fragment, and of texts that are much the same
	// only the best is there.
	Fragments []domain.Fragment
	// FirstScores has, of a reranked result, the first stage's score of each of the Fragments; nil of any other.
	FirstScores []float64
	// TermWeights holds the inverse document frequency of each analysed query term, the largest of the spaces searched.
	TermWeights map[string]float64
	// Candidates is how many chunks were ranked; of a small datastore all.
	Candidates int
	// Degraded says in words what the result lacks, "" when nothing: set when LexicalFallback was needed, when a model
	// knows no word of a query that was to be compared by meaning alone, and when a Reranker has failed.
	Degraded string
	// Explanation is nil unless asked for.
	Explanation *domain.Explanation
}

// Relevance is the larger of the scores that the stages gave fragment i: what no stage takes for relevant is low.
func (r Result) Relevance(i int) float64 {
	if r.FirstScores == nil {
		return r.Fragments[i].Score
	}
	return max(r.Fragments[i].Score, r.FirstScores[i])
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
	return &Retriever{deps: deps, opts: opts}
}

// Retrieve returns the best fragments for a query.
//
// It fails with domain.CodeInvalid when the request is out of bounds (every fault named), domain.CodeNotFound when a
// datastore belongs to another workspace, and domain.CodeUnavailable when an index or an embedding model cannot be
// reached in time. Cancellation by the caller is returned as it is.
func (r *Retriever) Retrieve(ctx context.Context, req Request) (Result, error) {
	req, err := r.checked(req)
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
			Message: fmt.Sprintf("the search took longer than %s; try again, or ask fewer datastores at once", r.opts.Timeout),
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
		return res, nil
	}
	q := r.newQuery(ctx, req, filter)
	for tries := 1; ; tries++ {
		found, err := q.search(ctx)
		if err != nil {
			return Result{}, err
		}
		res, err := r.rank(ctx, found, req, selected)
		for i := range found {
			found[i].release()
		}
		if again := (unread{}); tries == maxPlaces || ctx.Err() != nil || !errors.As(err, &again) {
			return res, err
		}
	}
}

// checked applies defaults and names every fault of the request.
func (r *Retriever) checked(req Request) (Request, error) {
	var faults []domain.FieldError
	req.Query = strings.TrimSpace(req.Query)
	switch n := utf8.RuneCountInString(req.Query); {
	case n == 0:
		faults = append(faults, domain.FieldError{Field: "query", Message: "must not be empty"})
	case n > MaxQueryCharacters:
		faults = append(faults, domain.FieldError{Field: "query", Message: fmt.Sprintf("has %d characters, the most is %d", n, MaxQueryCharacters)})
	}
	if req.TopK == 0 {
		req.TopK = DefaultTopK
	}
	if req.TopK < 1 || req.TopK > MaxTopK {
		faults = append(faults, domain.FieldError{Field: "topK", Message: fmt.Sprintf("is %d, must be 1 to %d", req.TopK, MaxTopK)})
	}
	if req.Mode == "" {
		req.Mode = domain.SearchHybrid
	}
	switch req.Mode {
	case domain.SearchHybrid, domain.SearchLexical, domain.SearchDense:
	default:
		faults = append(faults, domain.FieldError{Field: "mode", Message: fmt.Sprintf("is %.40q, must be one of %s, %s, %s", req.Mode, domain.SearchHybrid, domain.SearchLexical, domain.SearchDense)})
	}
	if req.MaxPerDatasource < 0 || req.MaxPerDatasource > MaxTopK {
		faults = append(faults, domain.FieldError{Field: "maxPerDatasource", Message: fmt.Sprintf("is %d, must be 1 to %d", req.MaxPerDatasource, MaxTopK)})
	}
	if req.Rerank != nil && *req.Rerank && r.deps.Reranker == nil {
		faults = append(faults, domain.FieldError{Field: "rerank", Message: "is true, and no reranker is configured; set RERANK_URL, or leave it out"})
	}
	if n := len(req.Datastores); n > MaxDatastores {
		faults = append(faults, domain.FieldError{Field: "datastoreIds", Message: fmt.Sprintf("names %d datastores, the most is %d", n, MaxDatastores)})
	}
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
	parts := make([]string, len(faults))
	for i, f := range faults {
		parts[i] = f.Field + ": " + f.Message
	}
	return &domain.Error{Code: domain.CodeInvalid, Message: strings.Join(parts, "; "), Fields: faults}
}

// filter makes the index filter; none reports that nothing can match.
func (r *Retriever) filter(ctx context.Context, req Request) (f index.Filter, none bool, err error) {
	f.Metadata = req.Filters.Metadata
	if len(req.Filters.CustomIDs) == 0 && len(req.Filters.DatasourceIDs) == 0 {
		return f, false, nil
	}
	ids := make([]string, len(req.Datastores))
	for i, ds := range req.Datastores {
		ids[i] = ds.ID
	}
	f.DatasourceIDs, err = r.deps.Catalog.ResolveFilters(ctx, ids, req.Filters)
	if err != nil {
		return f, false, fmt.Errorf("resolving the filters: %w", err)
	}
	return f, len(f.DatasourceIDs) == 0, nil
}
