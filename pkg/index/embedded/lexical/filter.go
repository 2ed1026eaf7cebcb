package lexical

import (
	"context"
	"crypto/sha256"
	"strconv"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/lists"
)

// Filter terms are indexed and looked up like words. Each starts with a control character and its field's letter.
// Analysed text contains no control characters, so a filter term never equals a word, and filters are exact.
const (
	facetMark       = "\x01"
	datasourceFacet = facetMark + "d"
	customIDFacet   = facetMark + "c"
	metadataFacet   = facetMark + "m"
)

// Maximum length in bytes of a value in a filter term. A longer value is replaced by its SHA-256.
const maxFacetBytes = 120

func facet(kind, value string) string {
	if len(value) <= maxFacetBytes {
		return kind + "=" + value
	}
	sum := sha256.Sum256([]byte(value))
	return kind + "#" + string(sum[:])
}

// Facets returns a row's filter terms. It fails with index.ErrInvalid if the metadata cannot be indexed.
func Facets(r *index.Row) ([]string, error) {
	metadata, err := index.Facets(r.Metadata)
	if err != nil {
		return nil, err
	}
	out := []string{facet(datasourceFacet, r.DatasourceID)}
	if r.CustomID != "" {
		out = append(out, facet(customIDFacet, r.CustomID))
	}
	for _, f := range metadata {
		out = append(out, metadataTerm(f.Key, f.Value))
	}
	return out, nil
}

func metadataTerm(key, value string) string {
	return facet(metadataFacet, strconv.Itoa(len(key))+":"+key+value)
}

// alternatives returns the filter terms for the value of a metadata field. If the value is a list, there is one term
// for each item.
func alternatives(key string, value any) ([]string, error) {
	terms, err := index.Alternatives(key, value)
	for i, v := range terms {
		terms[i] = metadataTerm(key, v)
	}
	return terms, err
}

// FilterTerms returns the fields of a filter, each as a list of alternative filter terms. It fails with
// index.ErrInvalid if the filter is malformed.
func FilterTerms(f index.Filter) ([][]string, error) {
	var fields [][]string
	for _, ids := range []struct {
		kind   string
		values []string
	}{{datasourceFacet, f.DatasourceIDs}, {customIDFacet, f.CustomIDs}} {
		if ids.values == nil {
			continue
		}
		terms := lists.Map(ids.values, func(v string) string { return facet(ids.kind, v) })
		fields = append(fields, terms)
	}
	for key, value := range f.Metadata {
		terms, err := alternatives(key, value)
		if err != nil {
			return nil, err
		}
		fields = append(fields, terms)
	}
	return fields, nil
}

// Filter returns the slots that pass a filter, including dead slots. `fields` is the result of FilterTerms. If it is
// empty, Filter returns nil.
func (v Reader) Filter(ctx context.Context, fields [][]string) (bitmap.Set, error) {
	var all bitmap.Set
	var buf []Posting
	for _, terms := range fields {
		field := bitmap.NewSet(v.Slots)
		for _, t := range terms {
			for _, seg := range v.Segments {
				var err error
				if buf, err = v.segmentPostings(ctx, seg, t, buf[:0]); err != nil {
					return nil, err
				}
				for _, p := range buf {
					field.Add(p.Slot)
				}
			}
		}
		if all == nil {
			all = field
		} else {
			all.Intersect(field)
		}
	}
	return all, nil
}
