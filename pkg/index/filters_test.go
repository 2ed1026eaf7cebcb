package index_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// FuzzFilters compares filtering by identity, as engines do, with filtering by value. A JSON filter on `key` must
// either be rejected as invalid or match metadata exactly when one of the filter's values is stored under `key`.
func FuzzFilters(f *testing.F) {
	f.Add([]byte(`{"team":"docs","year":2025,"tags":["a",1,true,null,["x"]],"place":{"floor":2,"wing":["n","s"],"deep":{"floor":2}}}`), "place.wing", []byte(`["s","t"]`))
	f.Add([]byte(`{"a.b":1,"a":{"b":2}}`), "a.b", []byte(`2.0`))
	f.Add([]byte(`{"n":-0,"m":1e21,"k":"1e21","t":true,"u":"true"}`), "n", []byte(`0`))
	f.Add([]byte(`{"":{"":""},"é":"e\u0301"}`), ".", []byte(`""`))
	f.Add([]byte(`{"a":[]}`), "a", []byte(`[[1],{}]`))
	f.Fuzz(func(t *testing.T, metadata []byte, key string, filter []byte) {
		var row map[string]any
		var asked any
		if json.Unmarshal(metadata, &row) != nil || json.Unmarshal(filter, &asked) != nil {
			return
		}
		alternatives, err := index.Alternatives(key, asked)
		wanted, comparable := scalars(asked)
		if comparable != (err == nil) || err != nil && !errors.Is(err, index.ErrInvalid) {
			t.Fatalf("the filter %s: error %v", filter, err)
		}
		facets, err2 := index.Facets(row)
		if err != nil || err2 != nil {
			return
		}
		found := slices.ContainsFunc(alternatives, func(v string) bool { return slices.Contains(facets, index.Facet{Key: key, Value: v}) })
		want := slices.ContainsFunc(under(row, key), func(v any) bool { return slices.Contains(wanted, v) })
		if found != want {
			t.Errorf("%s under %q finds %s: %v, want %v", filter, key, metadata, found, want)
		}
	})
}

// scalars returns a JSON filter's values, or false if one of them is not comparable.
func scalars(v any) ([]any, bool) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, item := range list {
		switch item.(type) {
		case string, float64, bool:
		default:
			return nil, false
		}
	}
	return list, true
}

// under walks the metadata and returns the values under a key.
func under(row map[string]any, key string) []any {
	var out []any
	add := func(v any) {
		if list, isList := v.([]any); isList {
			out = append(out, list...)
		} else {
			out = append(out, v)
		}
	}
	for name, v := range row {
		if name == key {
			add(v)
		}
		object, _ := v.(map[string]any)
		for inner, v := range object {
			if name+"."+inner == key {
				add(v)
			}
		}
	}
	return slices.DeleteFunc(out, func(v any) bool {
		switch v.(type) {
		case string, float64, bool:
			return false
		}
		return true // unreachable: Go cannot compare lists and maps
	})
}
