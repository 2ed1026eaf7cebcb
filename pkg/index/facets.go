package index

import (
	"fmt"
	"reflect"
)

// MaxFacets bounds what of one row can be filtered: its metadata values, each item of a list counting as one.
const MaxFacets = 4000

// Facet is a value of a row's metadata that a filter can ask for.
type Facet struct {
	Key   string // a top-level key, or that of an object and one of its own with a dot between them
	Value string // its identity, see Scalar
}

// Facets lists what of a row's metadata can be filtered, in no order and nothing twice: strings, numbers and booleans
// under their key, each such item of a list under the list's key, and what an object holds of both under "key.inner".
// Deeper values and nulls cannot be filtered. It fails with ErrInvalid where there are more than MaxFacets.
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
