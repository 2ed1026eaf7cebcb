package lexical

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/lists"
)

// Filter terms are indexed and looked up like words. Each starts with a control character and a letter for the field.
// Analysed text contains no control characters, so a filter term never equals a word, and filters are exact.
//
// The term for a metadata value consists of metadataFacet, the key's length, the key and the value's identity, so the
// terms for all values of a key share a prefix. If the value is too long, the term contains its hash instead. For
// ordered and prefix comparisons, the value then has a second term: longFacet with the start of the value. A row with
// hashed values has the term longMark, unless it was written by a version without longFacet.
const (
	facetMark       = "\x01"
	datasourceFacet = facetMark + "d"
	customIDFacet   = facetMark + "c"
	metadataFacet   = facetMark + "m"
	longFacet       = facetMark + "l="
	longMark        = facetMark + "r"
)

// Maximum length in bytes of a value in a filter term. Longer values are replaced by their SHA-256.
const maxFacetBytes = 120

// Maximum length in bytes of an identity in a longFacet. It exceeds the length of any string in an ordered or prefix
// comparison, so truncation never changes a result.
const maxLongIdentity = len("s") + filter.MaxOrderBytes + 1

func facet(kind, value string) string {
	if len(value) <= maxFacetBytes {
		return kind + "=" + value
	}
	sum := sha256.Sum256([]byte(value))
	return kind + "#" + string(sum[:])
}

// Facets returns a row's filter terms. It returns index.ErrInvalid if the metadata cannot be indexed.
func Facets(r *index.Row) ([]string, error) {
	metadata, err := index.Facets(r.Metadata)
	if err != nil {
		return nil, err
	}
	out := []string{facet(datasourceFacet, r.DatasourceID)}
	if r.CustomID != "" {
		out = append(out, facet(customIDFacet, r.CustomID))
	}
	long := false
	for _, f := range metadata {
		out = append(out, metadataTerm(f.Key, f.Value))
		if !isLong(f) {
			continue
		}
		long = true
		if len(f.Key) <= filter.MaxKeyBytes {
			out = append(out, longFacet+keyed(f.Key)+f.Value[:min(len(f.Value), maxLongIdentity)])
		}
	}
	if long {
		out = append(out, longMark)
	}
	return out, nil
}

// keyed returns the prefix shared by the terms for all values of a metadata key. It includes the key's length, which
// makes it unique to the key.
func keyed(key string) string { return strconv.Itoa(len(key)) + ":" + key }

// isLong reports whether the term of a metadata value contains a hash.
func isLong(f index.Facet) bool { return len(keyed(f.Key))+len(f.Value) > maxFacetBytes }

func metadataTerm(key, value string) string { return facet(metadataFacet, keyed(key)+value) }

// alternatives returns the filter terms that a metadata value matches: one, or one per item if it is a list.
func alternatives(key string, value any) ([]string, error) {
	terms, err := index.Alternatives(key, value)
	for i, v := range terms {
		terms[i] = metadataTerm(key, v)
	}
	return terms, err
}

// Filter is an index.Filter, prepared for a search.
type Filter struct {
	fields      [][]string // filter terms by field; one term per field must match
	where       *filter.Filter
	datastoreID string // for error messages
}

// NewFilter prepares a filter. It returns index.ErrInvalid if the filter is malformed.
func NewFilter(f index.Filter, datastoreID string) (Filter, error) {
	out := Filter{where: f.Where, datastoreID: datastoreID}
	for _, ids := range []struct {
		kind   string
		values []string
	}{{datasourceFacet, f.DatasourceIDs}, {customIDFacet, f.CustomIDs}} {
		if ids.values == nil {
			continue
		}
		terms := lists.Map(ids.values, func(v string) string { return facet(ids.kind, v) })
		out.fields = append(out.fields, terms)
	}
	for key, value := range f.Metadata {
		terms, err := alternatives(key, value)
		if err != nil {
			return Filter{}, err
		}
		out.fields = append(out.fields, terms)
	}
	return out, nil
}

// IsEmpty reports whether the filter matches every row.
func (f Filter) IsEmpty() bool { return len(f.fields) == 0 && f.where == nil }

// Equal reports whether the filters are the same. It may return false for equivalent filters that are written
// differently.
func (f Filter) Equal(g Filter) bool {
	return f.where == g.where && slices.EqualFunc(f.fields, g.fields, slices.Equal)
}

// Filter returns the slots that pass a filter, possibly including dead ones, or nil for an empty filter. It returns a
// filter.Error if the filter can't be evaluated; see index.Filter.
func (v Reader) Filter(ctx context.Context, f Filter) (bitmap.Set, error) {
	var all bitmap.Set
	for _, terms := range f.fields {
		field, err := v.having(ctx, terms)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = field
		} else {
			all.Intersect(field)
		}
	}
	if f.where == nil {
		return all, nil
	}
	matching, err := v.where(ctx, f.where, f.datastoreID)
	if err != nil {
		return nil, err
	}
	if all != nil {
		matching.Intersect(all)
	}
	return matching, nil
}

// having returns the slots of rows with any of the terms.
func (v Reader) having(ctx context.Context, terms []string) (bitmap.Set, error) {
	out := bitmap.NewSet(v.Slots)
	var buf []Posting
	for _, t := range terms {
		for _, seg := range v.Segments {
			var err error
			if buf, err = v.segmentPostings(ctx, seg, t, buf[:0]); err != nil {
				return nil, err
			}
			for _, p := range buf {
				out.Add(p.Slot)
			}
		}
	}
	return out, nil
}
