package retrieve

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Depths of a search, in candidates per leg. The first depth is enough when nearly all rows are of active generations;
// while an index holds many others (a resync of everything, a sweep that is behind) the search goes deeper.
const (
	firstDepth  = 200
	deeperBy    = 5
	deepest     = 10_000 // index.Query.Limit's bound
	depthPerTop = 4      // candidates per fragment asked for
)

// candidate is a hit of a generation that readers may see.
type candidate struct {
	hit    index.Hit
	ds     domain.Datastore
	source domain.ActiveDatasource

	lexical float64 // Lexical/MaxLexical, 0 to 1
	score   float64 // fused; see fuse.go
	final   float64 // score with the neighbours' share
}

// spaceResult is what one datastore's space gave.
type spaceResult struct {
	candidates  []candidate
	vector      queryVector
	termWeights map[string]float64
	dropped     int // hits of generations that are not active, or of datasources that are gone
	// overtaken says that a datasource has hits of older generations and none of the active one: it may have become
	// active after the index was read, and then neither version is among the candidates.
	overtaken bool
	depth     int // candidates per leg that were needed
}

// searchSpace searches one datastore, deeper as long as too many of the hits had to be dropped, and once more when a
// datasource was overtaken: rows of an active generation are all there before it becomes active.
func (r *Retriever) searchSpace(ctx context.Context, ds domain.Datastore, qv queryVector, filter index.Filter, req Request) (spaceResult, error) {
	engine, err := r.deps.Indexes.Index(ds.Type)
	if err != nil {
		return spaceResult{}, fmt.Errorf("finding the index of datastore %q: %w", ds.ID, err)
	}
	space := index.Space{DatastoreID: ds.ID, Model: ds.EmbeddingModel, Dimensions: qv.dimensions}
	depth, repeated := max(firstDepth, depthPerTop*req.TopK), false
	for {
		found, err := engine.Search(ctx, space, index.Query{Text: req.Query, Vector: qv.vector, Limit: depth, Filter: filter})
		if err != nil {
			return spaceResult{}, unavailable(fmt.Errorf("searching datastore %q: %w", ds.ID, err),
				"the index of datastore %q cannot be searched at the moment; try again later", ds.ID)
		}
		res, err := r.visible(ctx, ds, found)
		if err != nil {
			return spaceResult{}, err
		}
		res.vector, res.depth = qv, depth
		if res.overtaken && !repeated {
			repeated = true
			continue
		}
		exhausted := len(found.Hits) < depth || depth >= deepest
		if exhausted || len(res.candidates) >= depth/2 {
			return res, nil
		}
		depth = min(depth*deeperBy, deepest)
	}
}

// visible keeps the hits of active generations of the datastore's datasources.
func (r *Retriever) visible(ctx context.Context, ds domain.Datastore, found index.Result) (spaceResult, error) {
	res := spaceResult{termWeights: found.TermWeights}
	seen := make(map[string]bool)
	var ids []string
	for _, h := range found.Hits {
		if !seen[h.DatasourceID] {
			seen[h.DatasourceID] = true
			ids = append(ids, h.DatasourceID)
		}
	}
	if len(ids) == 0 {
		return res, nil
	}
	active, err := r.deps.Catalog.Active(ctx, ids)
	if err != nil {
		return res, fmt.Errorf("asking which generations are active: %w", err)
	}
	current := make(map[string]bool, len(active)) // datasources with hits of their active generation
	for _, h := range found.Hits {
		current[h.DatasourceID] = current[h.DatasourceID] || h.Generation == active[h.DatasourceID].ActiveGeneration
	}
	for _, h := range found.Hits {
		src, ok := active[h.DatasourceID]
		if !ok || src.ActiveGeneration == 0 || src.ActiveGeneration != h.Generation || src.DatastoreID != ds.ID {
			res.dropped++
			res.overtaken = res.overtaken || (h.Generation < src.ActiveGeneration && !current[h.DatasourceID])
			continue
		}
		c := candidate{hit: h, ds: ds, source: src}
		if found.MaxLexical > 0 {
			c.lexical = min(max(h.Lexical/found.MaxLexical, 0), 1)
		}
		res.candidates = append(res.candidates, c)
	}
	return res, nil
}
