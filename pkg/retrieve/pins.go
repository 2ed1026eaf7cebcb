package retrieve

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/searchsettings"
)

// Pins apply after the ranking. A pinned document comes first, with a score of 1, even if the search didn't find it,
// but it must match the query's filters. Hidden documents are removed from each search's hits, so that other documents
// take their places.

// pinned is a document to show at the top.
type pinned struct {
	ds    *domain.Datastore
	id    string // of the datasource
	chunk *int   // chunk to show; nil means the best
}

// addPins adds the documents to pin and the documents to hide to c, based on the pins in the datastore's settings that
// match the query.
func (r *Retriever) addPins(ctx context.Context, c *control, ds *domain.Datastore, req Request) error {
	first, blocked := c.settings[ds.ID].Pinned(append([]string{req.Query}, req.Parts...)...)
	if len(first)+len(blocked) == 0 {
		return nil
	}
	ids, err := searchsettings.Resolve(ctx, r.deps.Catalog, ds.ID, slices.Concat(first, blocked))
	if err != nil {
		return fmt.Errorf("looking up the pinned documents of datastore %q: %w", ds.ID, err)
	}
	for i, d := range first {
		for _, id := range ids[i] {
			c.pinned = append(c.pinned, pinned{ds, id, d.Chunk})
		}
	}
	for i := range blocked {
		for _, id := range ids[len(first)+i] {
			if c.blocked == nil {
				c.blocked = make(map[string]bool)
			}
			c.blocked[id] = true
		}
	}
	return nil
}

// isBlocked reports whether a pin hides a datasource or its site.
func (c *control) isBlocked(d *domain.ActiveDatasource) bool {
	return len(c.blocked) > 0 && (c.blocked[d.ID] || c.blocked[d.GroupID])
}

// pin moves the pinned documents to the front. The others keep their order.
func (r *Retriever) pin(ctx context.Context, req Request, f index.Filter, ranked []*candidate) ([]*candidate, error) {
	if len(req.control.pinned) == 0 {
		return ranked, nil
	}
	var first []*candidate
	taken := make(map[*candidate]bool)
	seen := make(map[chunkPosition]bool)
	for _, p := range req.control.pinned {
		if len(first) == req.TopK {
			break
		}
		c, err := r.pinnedCandidate(ctx, req, f, p, ranked)
		if err != nil {
			return nil, err
		}
		if c == nil || seen[positionOf(c)] {
			continue
		}
		seen[positionOf(c)] = true
		c.pinned, c.displayScore, c.relevance = true, 1, 1
		if better := c.duplicateOf; better != nil { // now the better candidate repeats the pinned one
			c.duplicateOf = nil
			better.duplicateOf, better.compared = c, true
		}
		taken[c] = true
		first = append(first, c)
	}
	return append(first, slices.DeleteFunc(slices.Clone(ranked), func(c *candidate) bool { return taken[c] })...), nil
}

// pinnedCandidate returns the candidate to show for a pinned document: the pin's chunk or, if it names none, the
// document's best-ranked one. If the search didn't find it, the chunk (by default the first) is read from the index.
// The result is nil if there is no such chunk or the filter doesn't select the document.
func (r *Retriever) pinnedCandidate(ctx context.Context, req Request, f index.Filter, p pinned, ranked []*candidate) (*candidate, error) {
	for _, c := range ranked {
		if c.hit.DatasourceID == p.id && (p.chunk == nil || c.hit.Ordinal == *p.chunk) {
			return c, nil
		}
	}
	active, err := r.deps.Catalog.ActiveOf(ctx, []string{p.id})
	if err != nil {
		return nil, fmt.Errorf("looking up pinned documents: %w", err)
	}
	source := active[0]
	if source == nil || source.ActiveGeneration == 0 || source.DatastoreID != p.ds.ID || req.control.isBlocked(source) {
		return nil, nil
	}
	ds := *p.ds
	ds.Type, ds.EmbeddingModel = source.Place.Engine, source.Place.Model
	if selected, err := r.selects(ctx, ds, f, source); err != nil || !selected {
		return nil, err
	}
	engine, err := r.deps.Indexes.Index(ds.Type)
	if err != nil {
		return nil, fmt.Errorf("finding the index of datastore %q: %w", ds.ID, err)
	}
	space, err := r.spaceOf(ctx, ds)
	if err != nil {
		return nil, err
	}
	ordinal := 0
	if p.chunk != nil {
		ordinal = *p.chunk
	}
	rows, err := engine.Rows(ctx, space, p.id, source.ActiveGeneration, ordinal, 1)
	if err != nil {
		return nil, unavailable(fmt.Errorf("reading a pinned document of datastore %q: %w", ds.ID, err),
			"the index of datastore %q cannot be read at the moment; try again later", ds.ID)
	}
	if len(rows) == 0 || rows[0].Ordinal != ordinal { // no such chunk, or the content has just changed
		return nil, nil
	}
	row := rows[0]
	row.Vector, row.Metadata = nil, nil
	return &candidate{hit: &index.Hit{Row: row, Complete: true}, from: &origin{engine: engine, space: space}, ds: &ds, source: source}, nil
}

// selects reports whether a filter selects a datasource.
func (r *Retriever) selects(ctx context.Context, ds domain.Datastore, f index.Filter, source *domain.ActiveDatasource) (bool, error) {
	if f.DatasourceIDs != nil && !slices.Contains(f.DatasourceIDs, source.ID) {
		return false, nil
	}
	if len(f.Metadata) == 0 && f.Where == nil {
		return true, nil
	}
	f.DatasourceIDs = []string{source.ID}
	counts, err := r.count(ctx, ds, f, nil)
	return counts.Documents > 0, err
}
