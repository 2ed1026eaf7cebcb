package retrieve

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// candidate is a hit in an active generation.
type candidate struct {
	hit    *index.Hit
	from   *origin
	ds     *domain.Datastore
	source *domain.ActiveDatasource
	number int // its datasource's number among those with hits in the space

	numbers []int // the hit's terms as indexes of query terms; see numberWords

	lexical  float64          // Lexical/MaxLexical, 0 to 1
	document float64          // lexical score of its window, 0 to 1; see document.go
	score    float64          // fused score; see fuse
	final    float64          // score plus neighbours' share, minus deduction for link lists, plus boosts
	taken    float64          // deduction for a link list
	boost    *boostedDocument // nil if not boosted
	boosted  float64          // what the boosts added to the final score

	second       int         // the reranker's rank, from 1; 0 if not reranked
	reranked     float64     // the reranker's score, 0 to 1
	displayScore float64     // score shown to callers, 0 to 1; never increases from rank to rank
	relevance    float64     // larger of the scores before and after reranking, both without boosts
	parts        []partScore // in the searches for the query's parts; nil if there are none
	pinned       bool        // shown first because of a pin
	compared     bool        // duplicateOf has been determined
	duplicateOf  *candidate  // a better candidate with nearly the same text, or nil
}

// partScore is a candidate's displayScore and relevance in the search for a part of the query.
type partScore struct{ score, relevance float64 }

// datastoreResult is the result of searching one datastore.
type datastoreResult struct {
	candidates  []candidate
	vector      queryVector
	evidence    *evidence // nil if the vectors' weight was not adjusted
	degraded    string
	words       bool // the engine compared the query's words
	nearest     bool // mode dense: only the distance to the query's vector counts
	termWeights map[string]float64
	blocked     int // hits from documents hidden by a pin
	dropped     int // hits from inactive generations or deleted datasources
	// outdated reports whether a datasource has only hits from older generations. Its new generation may have become
	// active just after the index was read, so none of its rows are candidates.
	outdated bool
	// confirmed is true if there were hits and the catalog still says that the searched place (engine and model) serves
	// the datastore. If the catalog says that another place serves it, servedFrom is that place.
	confirmed  bool
	servedFrom domain.Place
	ds         domain.Datastore // the datastore, with the place searched
	depth      int              // depth of the last search, in candidates per leg
	shallow    bool             // a deeper vector leg may find more candidates
	unseen     cosineSample     // estimated cosines that a deeper leg would find
	buffer     *buffer          // the candidates' memory; nil if there are none
}

// origin is the index in which hits were found and which holds their rows.
type origin struct {
	engine Searcher
	space  index.Space
	rarest string // the query term with the largest weight
}

// query is a search in several datastores.
type query struct {
	*Retriever
	Request
	filter index.Filter
	deep   bool                                  // all legs have the full depth
	embed  func(model string) (embedding, error) // returns the query's vector, computed once per model
}

func (q *query) search(ctx context.Context) ([]datastoreResult, error) {
	found := make([]datastoreResult, len(q.Datastores))
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

// Maximum number of places (pairs of engine and embedding model) to try if a datastore moves during the search.
const maxPlaces = 4

// datastore searches a datastore in its current place, i.e. with the engine and embedding model that serve it. If the
// datastore moves during the search, the old place is emptied. So after the search, datastore looks up the place in the
// catalog again. If it has changed, the result is discarded and the new place is searched. The same applies to a failed
// search, because the datastore may have moved away from a failing engine or model.
func (q *query) datastore(ctx context.Context, ds domain.Datastore) (datastoreResult, error) {
	for places := 1; ; places++ {
		res, err := q.place(ctx, ds)
		to, askErr := q.serving(ctx, ds, res, err)
		switch {
		case to == ds.Serving() && err == nil && askErr != nil:
			return res, askErr // if the datastore may have moved, an empty result proves nothing
		case to == ds.Serving():
			return res, err
		case places == maxPlaces:
			return res, domain.Errorf(domain.CodeUnavailable, "datastore %q is being moved; try again later", ds.ID)
		}
		ds.Type, ds.EmbeddingModel = to.Engine, to.Model
	}
}

// serving returns the place that serves the datastore after the search. It queries the catalog only if the search
// itself didn't determine the place.
func (q *query) serving(ctx context.Context, ds domain.Datastore, res datastoreResult, err error) (domain.Place, error) {
	switch {
	case !res.servedFrom.IsZero():
		return res.servedFrom, nil
	case err == nil && res.confirmed, ctx.Err() != nil:
		return ds.Serving(), nil
	}
	now, err := q.deps.Catalog.ServingPlace(ctx, ds.ID)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound: // deleted, so it has no content
		return ds.Serving(), nil
	case err != nil:
		return ds.Serving(), fmt.Errorf("looking up the place of datastore %q: %w", ds.ID, err)
	}
	return now, nil
}

// place searches a datastore with one engine and embedding model. If too many hits are dropped, it searches deeper. If
// the result is outdated, place repeats the search once. The second search finds the new rows, because a generation's
// rows are all written before it becomes active.
func (q *query) place(ctx context.Context, ds domain.Datastore) (datastoreResult, error) {
	engine, err := q.deps.Indexes.Index(ds.Type)
	if err != nil {
		return datastoreResult{}, fmt.Errorf("finding the index of datastore %q: %w", ds.ID, err)
	}
	if ds.EmbeddingModel == "" && q.Mode == domain.SearchDense {
		return datastoreResult{}, domain.Invalid("mode", "is %q, but datastore %q has no vectors; use %q or %q", q.Mode, ds.ID, domain.SearchLexical, domain.SearchHybrid)
	}
	full, vectors := q.depths(len(q.boosts(&ds)) > 0)
	depth, repeated := full, false
	if q.Mode == domain.SearchDense {
		depth = vectors
	}
	made, words, err := q.vectorFor(ctx, engine, ds, index.Query{Text: q.Query, Rules: q.rules(&ds), Limit: depth, Filter: q.filter})
	if err != nil {
		return datastoreResult{}, fmt.Errorf("embedding the query for datastore %q: %w", ds.ID, err)
	}
	text := q.Query
	if q.Mode == domain.SearchDense {
		if text = ""; made.vector == nil { // nothing to compare; the caller still checks that the datastore exists
			return datastoreResult{ds: ds, vector: made.queryVector, degraded: made.degraded}, nil
		}
	}
	space := index.Space{DatastoreID: ds.ID, Model: ds.EmbeddingModel, Dimensions: made.dimensions}
	for {
		found, err := engine.Search(ctx, space, index.Query{Text: text, Rules: q.rules(&ds), Vector: made.vector, Limit: depth, VectorLimit: vectors, Filter: q.filter, Prepared: words})
		if err != nil {
			return datastoreResult{}, unavailable(filterFault(fmt.Errorf("searching datastore %q: %w", ds.ID, err)),
				"the index of datastore %q cannot be searched at the moment; try again later", ds.ID)
		}
		if made.vector == nil && made.unfiltered != nil && (found.MaxLexical == 0 || len(found.Hits) == 0) {
			// Either the engine returned no lexical scores, or no row contains any of the query's words. Only the vector is
			// left, so use it even if the model hardly knows the query.
			made.vector, made.weight = made.unfiltered, 1
			continue
		}
		res, err := q.activeHits(ctx, ds, found, &origin{engine, space, rarestTerm(found.TermWeights)}, &q.control)
		if err != nil {
			return datastoreResult{}, err
		}
		res.vector, res.degraded, res.depth, res.nearest = made.queryVector, made.degraded, depth, q.Mode == domain.SearchDense
		if !res.servedFrom.IsZero() {
			return res, nil
		}
		if res.outdated && !repeated {
			repeated = true
			res.release()
			continue
		}
		res.shallow = found.VectorLimit > 0 && found.VectorLimit < full && len(found.Hits) >= found.VectorLimit
		if res.shallow && res.dropped+res.blocked > maxInactive {
			depth, vectors = full, full
			res.release()
			continue
		}
		if res.shallow {
			res.unseen = unseenCosines(res.candidates, found.VectorLimit, full)
		}
		exhausted := len(found.Hits) < depth || depth >= maxDepth
		if exhausted || len(res.candidates) >= depth/2 {
			return res, nil
		}
		depth = min(depth*depthFactor, maxDepth)
		vectors = depth
		res.release()
	}
}

// activeHits keeps the hits from active generations of the datastore's datasources.
func (r *Retriever) activeHits(ctx context.Context, ds domain.Datastore, found index.Result, from *origin, control *control) (datastoreResult, error) {
	res := datastoreResult{ds: ds, termWeights: found.TermWeights, words: found.MaxLexical > 0}
	if len(found.Hits) == 0 {
		return res, nil
	}
	owned := datasourceSetPool.Get().(*datasourceSet)
	defer owned.release()
	owned.find(found.Hits)
	of, owners := owned.of, owned.owners
	active, err := r.deps.Catalog.ActiveOf(ctx, owned.ids)
	if err != nil {
		return res, fmt.Errorf("looking up the active generations: %w", err)
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
			res.servedFrom = src.Place
		}
	}
	for i, n := range of {
		o := &owners[n]
		o.current = o.current || found.Hits[i].Generation == o.ActiveGeneration
	}
	res.buffer = newBuffer(found)
	res.candidates = res.buffer.candidates
	for i, n := range of {
		h, o := &found.Hits[i], &owners[n]
		if o.ActiveGeneration == 0 || o.ActiveGeneration != h.Generation || o.DatastoreID != ds.ID {
			res.dropped++
			res.outdated = res.outdated || (h.Generation < o.ActiveGeneration && !o.current)
			continue
		}
		if control.isBlocked(o.ActiveDatasource) {
			res.blocked++
			continue
		}
		h.Lexical, h.Dense = finiteOrZero(h.Lexical), min(max(finiteOrZero(h.Dense), -1), 1)
		c := candidate{hit: h, from: from, ds: &ds, source: o.ActiveDatasource, number: n}
		if found.MaxLexical > 0 {
			c.lexical = min(max(c.hit.Lexical/found.MaxLexical, 0), 1)
		}
		res.candidates = append(res.candidates, c)
	}
	return res, nil
}

// finiteOrZero returns the score, or 0 if it is not finite: NaN would spread to all scores, and JSON cannot represent
// it.
func finiteOrZero(score float64) float64 {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return 0
	}
	return score
}
