package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

// Limits on facets.
const (
	MaxFacetKeys       = 20
	DefaultFacetValues = 20
	MaxFacetValues     = 1000
)

// FacetRequest asks for metadata values in one datastore. The caller must have checked that the user may read it.
type FacetRequest struct {
	Datastore domain.Datastore
	Filters   domain.Filters
	Where     *filter.Filter // in addition to Filters; nil matches everything
	Keys      []string       // 1 to MaxFacetKeys
	Limit     int            // values per key, 1 to MaxFacetValues; 0 means DefaultFacetValues
}

// Facets counts the documents that match a filter, grouped by their values for metadata keys. It returns the same
// errors as Retrieve.
func (r *Retriever) Facets(ctx context.Context, req FacetRequest) (domain.Facets, error) {
	faults := facetFaults("keys", req.Keys)
	if len(req.Keys) == 0 {
		faults = append(faults, domain.FieldError{Field: "keys", Message: "is missing; list metadata keys, such as keys=team,year"})
	}
	limit := cmp.Or(req.Limit, DefaultFacetValues)
	if limit < 1 || limit > MaxFacetValues {
		faults = append(faults, domain.FieldError{Field: "limit", Message: fmt.Sprintf("is %d; it must be between 1 and %d", req.Limit, MaxFacetValues)})
	}
	if len(faults) > 0 {
		return domain.Facets{}, invalid(faults)
	}
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, r.opts.Timeout, errTimeout)
	defer cancel()
	f, none, err := r.filter(ctx, Request{Datastores: []domain.Datastore{req.Datastore}, Filters: req.Filters, Where: req.Where})
	if err != nil {
		return domain.Facets{}, err
	}
	if none {
		return *emptyFacets(req.Keys), nil
	}
	counts, err := r.count(ctx, req.Datastore, f, req.Keys)
	if err != nil && outer.Err() == nil && ctx.Err() != nil {
		return domain.Facets{}, &domain.Error{
			Code: domain.CodeUnavailable, Message: fmt.Sprintf("counting took longer than %s; try again, or use a narrower filter", r.opts.Timeout), Err: err,
		}
	}
	if err != nil {
		return domain.Facets{}, err
	}
	return *facets(counts, req.Keys, limit), nil
}

// facetFaults returns the errors in a list of metadata keys.
func facetFaults(field string, keys []string) (faults []domain.FieldError) {
	if len(keys) > MaxFacetKeys {
		faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf("has %d keys; the maximum is %d", len(keys), MaxFacetKeys)})
	}
	for i, key := range keys {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case key == "":
			faults = append(faults, domain.FieldError{Field: at, Message: "is empty; it must be the name of a metadata key, such as team"})
		case len(key) > filter.MaxKeyBytes:
			faults = append(faults, domain.FieldError{Field: at, Message: fmt.Sprintf("has %d bytes; the limit is %d", len(key), filter.MaxKeyBytes)})
		case slices.Contains(keys[:i], key):
			faults = append(faults, domain.FieldError{Field: at, Message: fmt.Sprintf("is %q, which is already in the list; remove the duplicate", key)})
		case strings.HasPrefix(key, filter.PropertyPrefix) && !filter.IsProperty(key):
			faults = append(faults, domain.FieldError{Field: at, Message: fmt.Sprintf("is %q, which is not a datasource property; use one of %s", key, strings.Join(filter.Properties, ", "))})
		}
	}
	return faults
}

// facetsOf counts the values of the requested metadata keys in documents with at least one ranked chunk.
func (r *Retriever) facetsOf(ctx context.Context, legs []leg, req Request, f index.Filter) (*domain.Facets, error) {
	found := make(map[string]bool)
	stores := make(map[string]domain.Datastore)
	sources := make(map[string][]string) // by datastore
	for _, l := range legs {
		for _, c := range l.ranked {
			if id := c.source.ID; !found[id] {
				found[id] = true
				stores[c.ds.ID] = *c.ds
				sources[c.ds.ID] = append(sources[c.ds.ID], id)
			}
		}
	}
	all := index.Counts{ByKey: make(map[string]map[filter.Value]int)}
	for _, id := range slices.Sorted(maps.Keys(sources)) {
		f.DatasourceIDs = sources[id]
		counts, err := r.count(ctx, stores[id], f, req.Facets)
		if err != nil {
			return nil, err
		}
		all.Documents += counts.Documents
		for key, values := range counts.ByKey {
			if all.ByKey[key] == nil {
				all.ByKey[key] = make(map[filter.Value]int)
			}
			for value, n := range values {
				all.ByKey[key][value] += n
			}
		}
	}
	return facets(all, req.Facets, DefaultFacetValues), nil
}

// count counts values in a datastore's serving place (engine and embedding model). If the datastore moves in the
// meantime, it counts again in the new place.
func (r *Retriever) count(ctx context.Context, ds domain.Datastore, f index.Filter, keys []string) (index.Counts, error) {
	for places := 1; ; places++ {
		counts, err := r.countIn(ctx, ds, f, keys)
		now, askErr := r.deps.Catalog.ServingPlace(ctx, ds.ID)
		switch {
		case domain.CodeOf(askErr) == domain.CodeNotFound, err != nil && now == ds.Serving():
			return counts, err
		case askErr != nil:
			return counts, fmt.Errorf("looking up the place of datastore %q: %w", ds.ID, askErr)
		case now == ds.Serving():
			return counts, nil
		case places == maxPlaces:
			return counts, domain.Errorf(domain.CodeUnavailable, "datastore %q is being moved; try again later", ds.ID)
		}
		ds.Type, ds.EmbeddingModel = now.Engine, now.Model
	}
}

// countIn counts a datastore's values in the place that ds.Type and ds.EmbeddingModel identify.
func (r *Retriever) countIn(ctx context.Context, ds domain.Datastore, f index.Filter, keys []string) (index.Counts, error) {
	engine, err := r.deps.Indexes.Index(ds.Type)
	if err != nil {
		return index.Counts{}, fmt.Errorf("finding the index of datastore %q: %w", ds.ID, err)
	}
	space, err := r.spaceOf(ctx, ds)
	if err != nil {
		return index.Counts{}, err
	}
	counts, err := engine.CountValues(ctx, space, index.CountQuery{Filter: f, Keys: keys, Active: func(ctx context.Context, documents []index.Document) ([]bool, error) {
		ids := make([]string, len(documents))
		for i, d := range documents {
			ids[i] = d.DatasourceID
		}
		active, err := r.deps.Catalog.ActiveOf(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("looking up the active generations: %w", err)
		}
		out := make([]bool, len(documents))
		for i, src := range active {
			out[i] = src != nil && src.ActiveGeneration == documents[i].Generation && src.DatastoreID == ds.ID && src.Place == ds.Serving()
		}
		return out, nil
	}})
	if err != nil {
		return index.Counts{}, unavailable(filterFault(fmt.Errorf("counting values in datastore %q: %w", ds.ID, err)),
			"the index of datastore %q cannot be read at the moment; try again later", ds.ID)
	}
	return counts, nil
}

// spaceOf returns the space with a datastore's rows.
func (r *Retriever) spaceOf(ctx context.Context, ds domain.Datastore) (space index.Space, err error) {
	space = index.Space{DatastoreID: ds.ID, Model: ds.EmbeddingModel}
	if ds.EmbeddingModel != "" {
		space.Dimensions, err = r.dimensions(ctx, ds.EmbeddingModel)
	}
	return space, err
}

// filterFault turns a filter.Error into a domain.Error: CodeConflict if content must be re-indexed, otherwise
// CodeInvalid. Other errors are returned unchanged.
func filterFault(err error) error {
	fault := filter.AsError(err)
	switch {
	case fault == nil:
		return err
	case fault.Stale:
		return &domain.Error{Code: domain.CodeConflict, Message: fault.Message, Err: err}
	}
	return &domain.Error{Code: domain.CodeInvalid, Message: "filters: " + fault.Message, Fields: []domain.FieldError{{Field: "filters", Message: fault.Message}}, Err: err}
}

// emptyFacets returns facets without any values for the given keys, or nil if there are no keys.
func emptyFacets(keys []string) *domain.Facets {
	if len(keys) == 0 {
		return nil
	}
	return facets(index.Counts{}, keys, 1)
}

// facets returns each key's most frequent values, up to `limit`. Values with equal counts are sorted by value.
func facets(counts index.Counts, keys []string, limit int) *domain.Facets {
	out := &domain.Facets{Documents: counts.Documents, Facets: make([]domain.Facet, 0, len(keys))}
	for _, key := range keys {
		byValue := counts.ByKey[key]
		values := slices.SortedFunc(maps.Keys(byValue), func(a, b filter.Value) int {
			return cmp.Or(cmp.Compare(byValue[b], byValue[a]), filter.Compare(a, b))
		})
		facet := domain.Facet{Key: key, Distinct: len(values), Values: make([]domain.FacetValue, 0, min(len(values), limit))}
		for _, v := range values[:min(len(values), limit)] {
			facet.Values = append(facet.Values, domain.FacetValue{Value: v.Any(), Count: byValue[v]})
		}
		out.Facets = append(out.Facets, facet)
	}
	return out
}
