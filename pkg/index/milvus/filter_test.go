package milvus

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter index.Filter
		want   string
		none   bool
	}{
		"nothing is filtered":                     {index.Filter{}, `datastore == "store"`, false},
		"datasources are alternatives":            {index.Filter{DatasourceIDs: []string{"a", "b"}}, `datastore == "store" && datasource in ["a","b"]`, false},
		"an id that no row can have is left out":  {index.Filter{DatasourceIDs: []string{`a" or "1"=="1`, "b"}}, `datastore == "store" && datasource in ["b"]`, false},
		"only ids that no row can have":           {index.Filter{DatasourceIDs: []string{`"`}}, `datastore == "store" && datasource in []`, true},
		"an empty list matches nothing":           {index.Filter{CustomIDs: []string{}}, `datastore == "store" && array_contains_any(facets, [])`, true},
		"no row has the empty custom id":          {index.Filter{CustomIDs: []string{""}}, `datastore == "store" && array_contains_any(facets, [])`, true},
		"an empty list of values matches nothing": {index.Filter{Metadata: map[string]any{"a": []any{}}}, `datastore == "store" && array_contains_any(facets, [])`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, none, err := conditions("store", c.filter)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want || none != c.none {
				t.Errorf("%s, %v; want %s, %v", got, none, c.want, c.none)
			}
		})
	}
}

func TestConditions_refuse_values_that_cannot_be_compared(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"an object": map[string]any{}, "nothing": nil, "a list with an object": []any{"a", map[string]any{}}} {
		if _, _, err := conditions("store", index.Filter{Metadata: map[string]any{"key": value}}); !errors.Is(err, index.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

func TestFacets_tell_types_keys_and_kinds_apart(t *testing.T) {
	t.Parallel()
	rows := map[string]index.Row{
		"the string 1":       {Metadata: map[string]any{"a": "1"}},
		"the number 1":       {Metadata: map[string]any{"a": 1}},
		"the string true":    {Metadata: map[string]any{"a": "true"}},
		"true":               {Metadata: map[string]any{"a": true}},
		"another key":        {Metadata: map[string]any{"b": 1}},
		"key and value glue": {Metadata: map[string]any{"a1": ""}},
		"the custom id":      {CustomID: "1"},
	}
	seen := make(map[int64]string)
	for name, r := range rows {
		f := mustFacets(t, r)
		if len(f) != 1 {
			t.Fatalf("%s: %d facets, want one", name, len(f))
		}
		if other, ok := seen[f[0]]; ok || f[0] < 0 {
			t.Errorf("%s has the facet %d, as has %q", name, f[0], other)
		}
		seen[f[0]] = name
	}
	same := [][]int64{mustFacets(t, index.Row{Metadata: map[string]any{"a": 1}}), mustFacets(t, index.Row{Metadata: map[string]any{"a": 1.0}}), mustFacets(t, index.Row{Metadata: map[string]any{"a": uint8(1)}})}
	if !cmp.Equal(same[0], same[1]) || !cmp.Equal(same[0], same[2]) {
		t.Errorf("the same number in different types has the facets %v", same)
	}
	if f := mustFacets(t, index.Row{Metadata: map[string]any{"list": []any{}, "none": nil, "object": map[string]any{"deep": map[string]any{"a": 1}}}}); len(f) != 0 {
		t.Errorf("%d facets of what cannot be filtered", len(f))
	}
}

func mustFacets(t *testing.T, r index.Row) []int64 {
	t.Helper()
	f, err := facets(&r)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// FuzzQuote checks that any string, once quoted, ends where it should.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", `"`, `\`, `\"`, "a\nb\x00", "слово", `" or "1"=="1`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := quote(s)
		inner := q[1 : len(q)-1]
		if q[0] != '"' || q[len(q)-1] != '"' {
			t.Fatalf("%q is not quoted", q)
		}
		for i := 0; i < len(inner); i++ {
			switch {
			case inner[i] == '\\':
				if i++; i == len(inner) {
					t.Fatalf("the quote at the end of %q is escaped", q)
				}
			case inner[i] == '"' || inner[i] < ' ':
				t.Fatalf("%q holds a bare %q", q, inner[i])
			}
		}
		if strings.Count(inner, `\`) == 0 && strings.ToValidUTF8(s, "\uFFFD") != inner && !strings.ContainsRune(inner, '\uFFFD') {
			t.Fatalf("%q became %q", s, inner)
		}
	})
}
