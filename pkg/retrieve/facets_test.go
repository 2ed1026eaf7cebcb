package retrieve

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
)

func condition(t *testing.T, text string) *filter.Filter {
	t.Helper()
	f, faults := filter.ParseJSON([]byte(text), "filters")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return f
}

func TestFacetsCountTheDocumentsWithACandidate(t *testing.T) {
	t.Parallel()
	w := newFixture(index.Hit{Row: index.Row{DatasourceID: "a"}, Lexical: 3}, index.Hit{Row: index.Row{DatasourceID: "b"}, Lexical: 2})
	var asked index.CountQuery
	w.count = func(ctx context.Context, space index.Space, q index.CountQuery) (index.Counts, error) {
		asked = q
		if want := (index.Space{DatastoreID: "ds", Model: "openai:x", Dimensions: 2}); space != want {
			t.Errorf("counted in %+v", space)
		}
		active, err := q.Active(ctx, []index.Document{{DatasourceID: "a", Generation: 1}, {DatasourceID: "b", Generation: 2}, {DatasourceID: "c", Generation: 1}})
		if err != nil || !cmp.Equal(active, []bool{true, false, false}) {
			t.Errorf("active documents: %v, %v", active, err)
		}
		return index.Counts{Documents: 2, ByKey: map[string]map[filter.Value]int{
			"team": {filter.TextOf("docs"): 1, filter.TextOf("ops"): 1, filter.NumberOf(3): 1, filter.TextOf("most"): 2}, "empty": {},
		}}, nil
	}
	where := condition(t, `{"type":"exists","key":"team"}`)
	res, err := New(Deps{Indexes: w, Embedders: w, Catalog: w}, Options{}).Retrieve(t.Context(), Request{
		WorkspaceID: "ws", Datastores: []domain.Datastore{store}, Query: "gate", Facets: []string{"team", "empty"}, Where: where,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &domain.Facets{Documents: 2, Facets: []domain.Facet{
		{Key: "team", Distinct: 4, Values: []domain.FacetValue{{Value: "most", Count: 2}, {Value: 3.0, Count: 1}, {Value: "docs", Count: 1}, {Value: "ops", Count: 1}}},
		{Key: "empty", Values: []domain.FacetValue{}},
	}}
	if diff := cmp.Diff(want, res.Facets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, asked.Filter.DatasourceIDs); diff != "" || asked.Filter.Where != where {
		t.Errorf("counted with the filter %+v", asked.Filter)
	}
}

func TestFacetsOfADatastore(t *testing.T) {
	t.Parallel()
	w := newFixture()
	counts := index.Counts{Documents: 3, ByKey: map[string]map[filter.Value]int{"team": {filter.TextOf("a"): 1, filter.TextOf("b"): 2}}}
	w.count = func(context.Context, index.Space, index.CountQuery) (index.Counts, error) { return counts, nil }
	r := New(Deps{Indexes: w, Embedders: w, Catalog: w}, Options{})
	got, err := r.Facets(t.Context(), FacetRequest{Datastore: store, Keys: []string{"team"}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := domain.Facets{Documents: 3, Facets: []domain.Facet{{Key: "team", Distinct: 2, Values: []domain.FacetValue{{Value: "b", Count: 2}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, c := range map[string]struct {
		req  FacetRequest
		want string
	}{
		"no keys":             {FacetRequest{Datastore: store}, "keys: is missing"},
		"an empty key":        {FacetRequest{Datastore: store, Keys: []string{"a", ""}}, "keys[1]: is empty"},
		"a key twice":         {FacetRequest{Datastore: store, Keys: []string{"a", "a"}}, `keys[1]: is "a", which is already in the list`},
		"an unknown property": {FacetRequest{Datastore: store, Keys: []string{"datasource.x"}}, "which is not a datasource property; use one of"},
		"too many keys":       {FacetRequest{Datastore: store, Keys: strings.Split(strings.Repeat("x,", MaxFacetKeys+1), ",")}, "has 22 keys; the maximum is 20"},
		"too many values":     {FacetRequest{Datastore: store, Keys: []string{"a"}, Limit: MaxFacetValues + 1}, "limit: is 1001"},
	} {
		if _, err := r.Facets(t.Context(), c.req); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilterErrorsNameTheKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault error
		code  domain.Code
	}{
		"mixed types": {&filter.Error{Key: "year", Message: `the key "year" has values of several types`}, domain.CodeInvalid},
		"old content": {filter.Stale("year", "ds"), domain.CodeConflict},
		"other":       {errors.New("the server is down"), domain.CodeUnavailable},
	} {
		w := newFixture()
		w.search = func(context.Context, index.Space, index.Query) (index.Result, error) { return index.Result{}, c.fault }
		w.count = func(context.Context, index.Space, index.CountQuery) (index.Counts, error) {
			return index.Counts{}, c.fault
		}
		r := New(Deps{Indexes: w, Embedders: w, Catalog: w}, Options{})
		_, searched := r.Retrieve(t.Context(), Request{WorkspaceID: "ws", Datastores: []domain.Datastore{store}, Query: "gate", Where: condition(t, `{"type":"gt","key":"year","value":1}`)})
		_, counted := r.Facets(t.Context(), FacetRequest{Datastore: store, Keys: []string{"team"}})
		for _, err := range []error{searched, counted} {
			var typed *domain.Error
			if !errors.As(err, &typed) || typed.Code != c.code || c.code != domain.CodeUnavailable && !strings.Contains(typed.Message, `"year"`) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
