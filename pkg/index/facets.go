package index

import (
	"fmt"
	"reflect"
)

// MaxFacets is the maximum number of filterable metadata values per row. Each item in a list counts as one.
const MaxFacets = 4000

// Facet is a filterable value of a row's metadata.
type Facet struct {
	Key   string // a top-level key, or "object.key" for a key in an object
	Value string // identity of the value, see Scalar
}

// Facets returns the filterable values of a row's metadata, unordered and without duplicates. Strings, numbers and
// booleans are filterable, and so are lists of them. The key of a value in a top-level object is "key.inner". Deeper
// values and nulls are not filterable. It fails with ErrInvalid if there are more than MaxFacets values.
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
		return nil, fmt.Errorf("%w: the metadata has %d values that can be filtered, more than %d", ErrInvalid, len(out), MaxFacets)
	}
	return out, nil
}
