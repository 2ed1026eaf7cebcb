package index

import (
	"context"
	"fmt"
	"reflect"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/filter"
)

// MaxFacets is the maximum number of filterable metadata values per row, counting each list item.
const MaxFacets = 4000

// Facet is a filterable value of a row's metadata.
type Facet struct {
	Key   string // a top-level key, or "object.key" for a key in an object
	Value string // the value's identity; see Scalar
}

// Facets returns the filterable values of a row's metadata, unordered and without duplicates. Strings, numbers and
// booleans are filterable, and so are lists of them. A value in a top-level object has the key "key.inner". Deeper
// values and nulls are not filterable. Facets fails with ErrInvalid if there are more than MaxFacets values.
func Facets(metadata map[string]any) ([]Facet, error) {
	var out []Facet
	seen := make(map[Facet]bool)
	scalar := func(key string, value any) bool {
		v, ok := Scalar(value)
		if f := (Facet{key, v}); ok && !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
		return ok
	}
	field := func(key string, value any) {
		if scalar(key, value) {
			return
		}
		if list := reflect.ValueOf(value); list.IsValid() && list.Kind() == reflect.Slice {
			for i := range list.Len() {
				scalar(key, list.Index(i).Interface())
			}
		}
	}
	for key, value := range metadata {
		field(key, value)
		if object, ok := value.(map[string]any); ok {
			for inner, value := range object {
				field(key+"."+inner, value)
			}
		}
	}
	if len(out) > MaxFacets {
		return nil, fmt.Errorf("%w: the metadata has %d values that can be filtered; the limit is %d", ErrInvalid, len(out), MaxFacets)
	}
	return out, nil
}

// ValuesOf returns the filterable values of one key, in no particular order. It's faster than Values, because it skips
// all other keys.
func ValuesOf(metadata map[string]any, key string) []filter.Value {
	var out []filter.Value
	add := func(value any) bool {
		v, ok := filter.ValueOf(value)
		if ok {
			out = append(out, v)
		}
		return ok
	}
	field := func(value any) {
		if list := reflect.ValueOf(value); !add(value) && list.IsValid() && list.Kind() == reflect.Slice {
			for i := range min(list.Len(), MaxFacets) {
				add(list.Index(i).Interface())
			}
		}
	}
	field(metadata[key])
	for i := range key {
		if key[i] != '.' {
			continue
		}
		if object, ok := metadata[key[:i]].(map[string]any); ok {
			field(object[key[i+1:]])
		}
	}
	return out
}

// Values returns a function that looks up a key's filterable values, for filter.Filter.Matches. If the metadata has more
// than MaxFacets values, that function always returns nil.
func Values(metadata map[string]any) func(key string) []filter.Value {
	facets, _ := Facets(metadata) // no engine stores rows with too many values
	byKey := make(map[string][]filter.Value)
	for _, f := range facets {
		if v, ok := filter.FromIdentity(f.Value); ok {
			byKey[f.Key] = append(byKey[f.Key], v)
		}
	}
	return func(key string) []filter.Value { return byKey[key] }
}

// CountQuery asks for the number of documents with each value of some metadata keys.
type CountQuery struct {
	Filter Filter
	Keys   []string
	// Active reports which documents to count. An engine calls it repeatedly, each time with different documents.
	Active func(ctx context.Context, documents []Document) ([]bool, error)
}

// Document is a generation of a datasource.
type Document struct {
	DatasourceID string
	Generation   uint64
}

// Counts is the result of a CountQuery.
type Counts struct {
	Documents int // documents that pass the filter and are active
	// ByKey maps each of the query's keys to the number of documents per value. Strings are truncated to MaxCountedText
	// bytes.
	ByKey map[string]map[filter.Value]int
}

// MaxCountedText is the maximum length in bytes of a string in Counts. Longer ones are truncated.
const MaxCountedText = filter.MaxOrderBytes

// Counted returns a value as Counts reports it, with strings truncated to MaxCountedText bytes.
func Counted(v filter.Value) filter.Value {
	if text := v.Text(); len(text) > MaxCountedText {
		return filter.TextOf(bounded.Prefix(text, MaxCountedText))
	}
	return v
}
