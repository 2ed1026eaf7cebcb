package api_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

func TestFiltersOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.asked()
	for _, path := range queryPaths(s.newDatastore()) {
		for name, c := range map[string]struct {
			filters object
			where   string
			want    domain.Filters
		}{
			"none":        {nil, "null", domain.Filters{}},
			"empty":       {object{}, "null", domain.Filters{}},
			"a condition": {object{"type": "gte", "key": "year", "value": 2025}, `{"type":"gte","key":"year","value":2025}`, domain.Filters{}},
			"a combination": {
				object{"type": "and", "filters": []object{
					{"type": "in", "key": "team", "value": []string{"a", "b"}},
					{"type": "not", "filter": object{"type": "exists", "key": "draft"}},
				}},
				`{"type":"and","filters":[{"type":"in","key":"team","value":["a","b"]},{"type":"not","filter":{"type":"exists","key":"draft","value":true}}]}`,
				domain.Filters{},
			},
			"with the old form": {
				object{"custom_ids": []string{"c"}, "metadata": object{"team": "a"}, "type": "eq", "key": "draft", "value": false},
				`{"type":"eq","key":"draft","value":false}`, domain.Filters{CustomIDs: []string{"c"}, Metadata: map[string]any{"team": "a"}},
			},
		} {
			s.call("POST", path, object{"query": "trial", "filters": c.filters}).want(200)
			if diff := cmp.Diff(c.want, got.Filters); diff != "" || got.Where.String() != c.where {
				t.Errorf("%s, %s: the filter is %s, want %s %s", path, name, got.Where, c.where, diff)
			}
		}
		for field, c := range map[string]struct {
			filters object
			want    string
		}{
			"filters.value":             {object{"type": "eq", "key": "k", "value": []int{1}}, "is an array, but eq takes a single value; use in for several values"},
			"filters.filters[0].key":    {object{"type": "and", "filters": []object{{"type": "eq", "value": 1}}}, "is missing; it must be the name of a metadata key, such as team or document.language"},
			"filters.filters[0].extra":  {object{"type": "and", "filters": []object{{"type": "eq", "key": "k", "value": 1, "extra": 1}}}, "is unknown; filters of the type eq have the fields type, key, value"},
			"filters.type":              {object{"key": "k", "value": 1}, "is missing; it must be one of eq, ne, gt, gte, lt, lte, in, nin, exists, prefix, contains, and, or, not"},
			"filters.filters[0].filter": {object{"type": "or", "filters": []object{{"type": "not"}}}, "is missing or null; it must be an object"},
		} {
			if fault := s.call("POST", path, object{"query": "trial", "filters": c.filters}).want(400).fault(field); !strings.HasPrefix(fault, c.want) {
				t.Errorf("%s: %s is said to be %q, want %q", path, field, fault, c.want)
			}
		}
	}
}

func counted() domain.Facets {
	return domain.Facets{Documents: 3, Facets: []domain.Facet{{Key: "team", Distinct: 2, Values: []domain.FacetValue{{Value: "docs", Count: 2}, {Value: 1.5, Count: 1}}}}}
}

const renderedCounts = `{"documents":3,"facets":[{"distinct":2,"key":"team","values":[{"count":2,"value":"docs"},{"count":1,"value":1.5}]}]}`

func TestFacetsOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var got retrieve.Request
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		got = r
		found := retrieve.Result{Fragments: []domain.Fragment{fragment}}
		if r.Facets != nil {
			facets := counted()
			found.Facets = &facets
		}
		if r.Explain {
			found.Explanation = explanation()
		}
		return found, nil
	}
	path := "/datastores/" + s.newDatastore() + "/query"
	for query, c := range map[string]struct{ contentType, schema string }{
		"":              {"application/vnd.sluice.faceted+json", "FacetedFragments"},
		"?explain=true": {"application/vnd.sluice.explained+json", "ExplainedFragments"},
	} {
		a := s.call("POST", path+query, object{"query": "trial", "facets": []string{"team"}}).want(200)
		s.valid(a, c.schema)
		if a.header.Get("Content-Type") != c.contentType || !cmp.Equal(got.Facets, []string{"team"}) {
			t.Errorf("%q: %s, asked for %v", query, a.header.Get("Content-Type"), got.Facets)
		}
		var body struct {
			Facets    any
			Fragments []any
		}
		must(t, json.Unmarshal(a.body, &body))
		if len(body.Fragments) != 1 || !cmp.Equal(body.Facets, fromJSON(t, renderedCounts)) {
			t.Errorf("%q: %s", query, a.body)
		}
	}
	if a := s.call("POST", path, object{"query": "trial"}).want(200); a.body[0] != '[' {
		t.Errorf("without facets: %s", a.body)
	}
	a := s.call("POST", strings.TrimSuffix(strings.Replace(path, "/datastores/", "/datastores/query/", 1), "/query"), object{"query": "trial", "facets": []string{"team"}}).want(200)
	s.valid(a, "RetrieverResults")
	if !strings.Contains(string(a.body), `"facets"`) {
		t.Errorf("the older path: %s", a.body)
	}
	s.call("POST", path, object{"query": "trial", "facets": []string{""}}).want(400).fault("facets[0]")
}

func fromJSON(t *testing.T, text string) (v any) {
	t.Helper()
	must(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestCountingFacets(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var got retrieve.FacetRequest
	s.retriever.facets = func(_ context.Context, r retrieve.FacetRequest) (domain.Facets, error) {
		got = r
		return counted(), nil
	}
	store := s.newDatastore()
	path := "/datastores/" + store + "/facets?"
	a := s.call("GET", path+"keys=team,year&limit=7&filters="+url.QueryEscape(`{"metadata":{"a":1},"type":"lt","key":"n","value":5}`), nil).want(200)
	s.valid(a, "FacetCounts")
	if !cmp.Equal(fromJSON(t, string(a.body)), fromJSON(t, renderedCounts)) {
		t.Errorf("%s", a.body)
	}
	if !cmp.Equal(got.Keys, []string{"team", "year"}) || got.Limit != 7 || got.Where.String() != `{"type":"lt","key":"n","value":5}` ||
		got.Filters.Metadata["a"] != 1.0 || got.Datastore.ID != store {
		t.Errorf("asked for %+v with %s", got, got.Where)
	}
	for query, c := range map[string]struct{ field, want string }{
		"":                 {"keys", "is required"},
		"keys=a&limit=0":   {"limit", "0 is below the minimum of 1"},
		"keys=a&filters=x": {"filters", ""},
		"keys=a&filters=" + url.QueryEscape("[]"):                      {"filters", "is an array; it must be an object"},
		"keys=a&filters=" + url.QueryEscape(`{"type":"eq","key":"k"}`): {"filters.value", "is missing or null"},
		"keys=a&filters=" + url.QueryEscape(`{"metdata":{}}`):          {"filters.metdata", ""},
	} {
		if fault := s.call("GET", path+query, nil).want(400).fault(c.field); fault == "" || !strings.Contains(fault, c.want) {
			t.Errorf("%s: %s is said to be %q", query, c.field, fault)
		}
	}
	s.call("GET", "/datastores/absent/facets?keys=a", nil).want(404)
}
