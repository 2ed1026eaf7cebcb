package index_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

func TestFacets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		metadata map[string]any
		want     []index.Facet
	}{
		"nothing":                               {nil, nil},
		"scalars under their keys":              {map[string]any{"a": "x", "b": 2, "c": true}, []index.Facet{{"a", "sx"}, {"b", "n2"}, {"c", "btrue"}}},
		"an integer is the float of its value":  {map[string]any{"a": int64(2), "b": 2.0, "c": uint8(2)}, []index.Facet{{"a", "n2"}, {"b", "n2"}, {"c", "n2"}}},
		"each item of a list, once":             {map[string]any{"a": []any{"x", 1, "x", nil, []any{"y"}}}, []index.Facet{{"a", "n1"}, {"a", "sx"}}},
		"a list of strings":                     {map[string]any{"a": []string{"x", "y"}}, []index.Facet{{"a", "sx"}, {"a", "sy"}}},
		"what an object holds":                  {map[string]any{"a": map[string]any{"b": "x", "c": []any{1}, "d": map[string]any{"e": 1}}}, []index.Facet{{"a.b", "sx"}, {"a.c", "n1"}}},
		"no null, and nothing of an empty list": {map[string]any{"a": nil, "b": []any{}}, nil},
	} {
		got, err := index.Facets(c.metadata)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b index.Facet) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFacets_refuses_more_than_engines_hold(t *testing.T) {
	t.Parallel()
	many := make([]any, index.MaxFacets+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if _, err := index.Facets(map[string]any{"a": many[1:]}); err != nil {
		t.Errorf("%d values: %v", index.MaxFacets, err)
	}
	if _, err := index.Facets(map[string]any{"a": many}); !errors.Is(err, index.ErrInvalid) {
		t.Errorf("%d values: error %v, want ErrInvalid", len(many), err)
	}
}

func TestValuesOfOneKey(t *testing.T) {
	t.Parallel()
	metadata := map[string]any{
		"a": "x", "b": []any{1, "y", nil}, "c": map[string]any{"d": true, "e.f": []string{"z"}}, "c.d": 2, "g": nil, "h": map[string]any{"i": map[string]any{"j": 1}},
	}
	every := index.Values(metadata)
	for _, key := range []string{"a", "b", "c", "c.d", "c.e.f", "g", "h.i", "h.i.j", "", ".", "missing"} {
		want, got := every(key), index.ValuesOf(metadata, key)
		slices.SortFunc(want, filter.Compare)
		slices.SortFunc(got, filter.Compare)
		if !slices.Equal(want, got) {
			t.Errorf("%q has the values %v, want %v", key, got, want)
		}
	}
}
