package retrieve

import (
	"context"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Depths of a search, in candidates per leg. The first depth is enough when nearly all rows are of active generations;
// while an index holds many others (a resync of everything, a sweep that is behind) the search goes deeper.
const (
	firstDepth  = 100
	deeperBy    = 5
	deepest     = 10_000 // index.Query.Limit's bound
	depthPerTop = 4      // candidates per fragment asked for
)

// candidate is a hit of a generation that readers may see.
type candidate struct {
	hit    *index.Hit
	from   *origin
	ds     *domain.Datastore
	source *domain.ActiveDatasource
	number int // of its datasource, among those that the space has found

	numbers []int // of the hit's terms, among the query's words; see document.go

	lexical  float64 // Lexical/MaxLexical, 0 to 1
	document float64 // the same of all candidates of its datasource together; see document.go
	score    float64 // fused; see fuse.go
	final    float64 // score with the neighbours' share, less the deduction for lists of links
	taken    float64 // deduction from the final score for a list of links

	second   int        // rank that the reranker gives it, from 1; 0: none
	reranked float64    // what the reranker says, 0 to 1
	shown    float64    // what callers see, 0 to 1: in the order of ranks
	compared bool       // with the texts of better ones
	like     *candidate // of those, the one that says the same
}

// spaceResult is what one datastore's space gave.
type spaceResult struct {
	candidates  []candidate
	vector      queryVector
	degraded    string
	words       bool // the engine has compared the query's words
	nearest     bool // rows are asked for that are nearest to the query's vector, and nothing else counts
	termWeights map[string]float64
	dropped     int // hits of generations that are not active, or of datasources that are gone
	// overtaken says that a datasource has hits of older generations and none of the active one: it may have become
	// active after the index was read, and then neither version is among the candidates.
	overtaken bool
	// confirmed says that datasources with hits are served from the place that was searched, and moved from where one of
	// them is served instead.
	confirmed bool
	moved     domain.Place
	ds        domain.Datastore // as it was served
	depth     int              // candidates per leg that were needed
	room      *room            // what the candidates lie in; nil: none
}

// origin is where hits are from, and where their rows are read.
type origin struct {
	engine Searcher
	space  index.Space
}

// query is one search of several datastores.
type query struct {
	*Retriever
	Request
	filter index.Filter
	embed  func(model string) (embedding, error) // with each model once
}

// search searches all of the datastores.
func (q *query) search(ctx context.Context) ([]spaceResult, error) {
	found := make([]spaceResult, len(q.Datastores))
	if len(q.Datastores) == 1 {
		var err error
		found[0], err = q.datastore(ctx, q.Datastores[0])
		return found, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, ds := range q.Datastores {
		group.Go(func() error {
			var err error
			found[i], err = q.datastore(ctx, ds)
			return err
		})
	}
	return found, group.Wait()
}

func (r *Retriever) newQuery(ctx context.Context, req Request, filter index.Filter) *query {
	var mu sync.Mutex
	models := make(map[string]func() (embedding, error))
	return &query{Retriever: r, Request: req, filter: filter, embed: func(model string) (embedding, error) {
		mu.Lock()
		once := models[model]
		if once == nil {
			once = sync.OnceValues(func() (embedding, error) { return r.embedQuery(ctx, model, req.Query, req.Mode) })
			models[model] = once
		}
		mu.Unlock()
		return once()
	}}
}

// maxPlaces is how many places one search follows a datastore to.
const maxPlaces = 4

// datastore searches a datastore where it is served. That can change at any moment after it was read, and the place that
// it has left is emptied: so a result counts only when the catalog, asked after the search, names the same place. When it
// names another, that one has everything, and is searched instead. An engine or a model that fails is asked about in the
// same way: a datastore may have moved because of it.
func (q *query) datastore(ctx context.Context, ds domain.Datastore) (spaceResult, error) {
	for places := 1; ; places++ {
		res, err := q.place(ctx, ds)
		to, askErr := q.serving(ctx, ds, res, err)
		switch {
		case to == ds.Serving() && err == nil && askErr != nil:
			return res, askErr // an empty result of a place that may have been left says nothing
		case to == ds.Serving():
			return res, err
		case places == maxPlaces:
			return res, domain.Errorf(domain.CodeUnavailable, "datastore %q is being moved; try again later", ds.ID)
		}
		ds.Type, ds.EmbeddingModel = to.Engine, to.Model
	}
}

// serving says where the datastore is served from, as of after its search: from where it was searched, unless something
// else is known.
func (q *query) serving(ctx context.Context, ds domain.Datastore, res spaceResult, err error) (domain.Place, error) {
	switch {
	case !res.moved.IsZero():
		return res.moved, nil
	case err == nil && res.confirmed, ctx.Err() != nil:
		return ds.Serving(), nil
	}
	now, err := q.deps.Catalog.ServingPlace(ctx, ds.ID)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound: // it has been deleted, and has nothing any more
		return ds.Serving(), nil
	case err != nil:
		return ds.Serving(), fmt.Errorf("asking where datastore %q is served from: %w", ds.ID, err)
	}
	return now, nil
}

// place searches one place of a datastore, deeper as long as too many of the hits had to be dropped, and once more when a
// datasource was overtaken: rows of an active generation are all there before it becomes active.
func (q *query) place(ctx context.Context, ds domain.Datastore) (spaceResult, error) {
	engine, err := q.deps.Indexes.Index(ds.Type)
	if err != nil {
		return spaceResult{}, fmt.Errorf("finding the index of datastore %q: %w", ds.ID, err)
	}
	if ds.EmbeddingModel == "" && q.Mode == domain.SearchDense {
		return spaceResult{}, domain.Invalid("mode", "is %q, and datastore %q has no vectors; use %q or %q", q.Mode, ds.ID, domain.SearchLexical, domain.SearchHybrid)
	}
	depth, repeated := max(firstDepth, depthPerTop*q.TopK), false
	made, words, err := q.vectorFor(ctx, engine, ds, index.Query{Text: q.Query, Limit: depth, Filter: q.filter})
	if err != nil {
		return spaceResult{}, fmt.Errorf("embedding the query for datastore %q: %w", ds.ID, err)
	}
	text := q.Query
	if q.Mode == domain.SearchDense {
		if text = ""; made.vector == nil { // what matches cannot be told; whether the datastore is there still can
			return spaceResult{ds: ds, vector: made.queryVector, degraded: made.degraded}, nil
		}
	}
	space := index.Space{DatastoreID: ds.ID, Model: ds.EmbeddingModel, Dimensions: made.dimensions}
	for {
		found, err := engine.Search(ctx, space, index.Query{Text: text, Vector: made.vector, Limit: depth, Filter: q.filter, Prepared: words})
		if err != nil {
			return spaceResult{}, unavailable(fmt.Errorf("searching datastore %q: %w", ds.ID, err),
				"the index of datastore %q cannot be searched at the moment; try again later", ds.ID)
		}
		if made.vector == nil && made.whole != nil && (found.MaxLexical == 0 || len(found.Hits) == 0) {
			// An engine without words, or nothing that has one of them: what the model makes of the query is all there is.
			made.vector, made.weight = made.whole, 1
			continue
		}
		res, err := q.visible(ctx, ds, found, &origin{engine, space})
		if err != nil {
			return spaceResult{}, err
		}
		res.vector, res.degraded, res.depth, res.nearest = made.queryVector, made.degraded, depth, q.Mode == domain.SearchDense
		if !res.moved.IsZero() {
			return res, nil
		}
		if res.overtaken && !repeated {
			repeated = true
			res.release()
			continue
		}
		exhausted := len(found.Hits) < depth || depth >= deepest
		if exhausted || len(res.candidates) >= depth/2 {
			return res, nil
		}
		depth = min(depth*deeperBy, deepest)
		res.release()
	}
}

// visible keeps the hits of active generations of the datastore's datasources.
func (r *Retriever) visible(ctx context.Context, ds domain.Datastore, found index.Result, from *origin) (spaceResult, error) {
	res := spaceResult{ds: ds, termWeights: found.TermWeights, words: found.MaxLexical > 0}
	if len(found.Hits) == 0 {
		return res, nil
	}
	owned := owningPool.Get().(*owning)
	defer owned.release()
	owned.find(found.Hits)
	of, owners := owned.of, owned.owners
	active, err := r.deps.Catalog.ActiveOf(ctx, owned.ids)
	if err != nil {
		return res, fmt.Errorf("asking which generations are active: %w", err)
	}
	for i, src := range active {
		if src == nil {
			continue
		}
		owners[i].ActiveDatasource = src
		switch {
		case src.DatastoreID != ds.ID:
		case src.Place == ds.Serving():
			res.confirmed = true
		default:
			res.moved = src.Place
		}
	}
	for i, n := range of {
		o := &owners[n]
		o.current = o.current || found.Hits[i].Generation == o.ActiveGeneration
	}
	res.room = roomOf(found)
	res.candidates = res.room.candidates
	for i, n := range of {
		h, o := &found.Hits[i], &owners[n]
		if o.ActiveGeneration == 0 || o.ActiveGeneration != h.Generation || o.DatastoreID != ds.ID {
			res.dropped++
			res.overtaken = res.overtaken || (h.Generation < o.ActiveGeneration && !o.current)
			continue
		}
		h.Lexical, h.Dense = finite(h.Lexical), min(max(finite(h.Dense), -1), 1)
		c := candidate{hit: h, from: from, ds: &ds, source: o.ActiveDatasource, number: n}
		if found.MaxLexical > 0 {
			c.lexical = min(max(c.hit.Lexical/found.MaxLexical, 0), 1)
		}
		res.candidates = append(res.candidates, c)
	}
	return res, nil
}

// finite is the score, or 0 for what is no number: one would make all others of its kind none, and cannot be sent.
func finite(score float64) float64 {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return 0
	}
	return score
}
