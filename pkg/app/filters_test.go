package app

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	local "github.com/sluice/sluice/tools/local/engines"
)

// filtered holds texts with metadata to filter by. All of them contain the words in the question.
var filtered = []map[string]any{
	{"text": "The pump of hall one runs at night.", "name": "one", "metadata": map[string]any{"custom_id": "c-1", "team": "red", "year": 2024, "draft": false, "tags": []string{"hall", "north"}}},
	{"text": "The pump of hall two runs by day.", "name": "two", "metadata": map[string]any{"custom_id": "c-2", "team": "blue", "year": 2025.0, "draft": true, "tags": []string{"hall", "south"}}},
	{"text": "The pump of the yard stands still at night.", "name": "three", "metadata": map[string]any{"custom_id": "c-3", "team": `"; drop`, "year": "2025", "note": nil, "place": map[string]any{"floor": 2}}},
	{"text": "The pump of the roof has no team at night.", "name": "four"},
}

func TestFiltersSelectMatchingDocuments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		engine  string
		environ func(*testing.T) []string
	}{
		"embedded": {"embedded", func(*testing.T) []string { return nil }},
		"milvus":   {"milvus", func(t *testing.T) []string { return []string{"MILVUS_ADDR=" + local.MilvusLiteForTest(t)} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, c.environ(t)...)
			p.start()
			var store struct{ ID string }
			p.must(p.post("/datastores", map[string]any{"name": "filters", "type": c.engine}, &store))
			defer func() { p.must(p.delete("/datastores/" + store.ID)) }()
			p.must(p.post("/datastores/upsert/"+store.ID, map[string]any{"documents": filtered}, nil))
			ids := make(map[string]string)
			for _, s := range p.settled(store.ID, time.Minute) {
				ids[s.Name] = s.ID
			}
			for name, c := range map[string]struct {
				filters map[string]any
				want    []string
			}{
				"none":                         {nil, []string{"four", "one", "three", "two"}},
				"empty lists do not filter":    {map[string]any{"custom_ids": []string{}, "datasource_ids": []string{}}, []string{"four", "one", "three", "two"}},
				"custom ids":                   {map[string]any{"custom_ids": []string{"c-1", "c-3", "c-9"}}, []string{"one", "three"}},
				"datasource ids":               {map[string]any{"datasource_ids": []string{ids["four"]}}, []string{"four"}},
				"both must match":              {map[string]any{"datasource_ids": []string{ids["one"], ids["two"]}, "custom_ids": []string{"c-2", "c-3"}}, []string{"two"}},
				"an id that nothing has":       {map[string]any{"custom_ids": []string{"absent"}}, nil},
				"a text":                       {map[string]any{"metadata": map[string]any{"team": "red"}}, []string{"one"}},
				"a text with quotes":           {map[string]any{"metadata": map[string]any{"team": `"; drop`}}, []string{"three"}},
				"a number, not its text":       {map[string]any{"metadata": map[string]any{"year": 2025}}, []string{"two"}},
				"a text, not its number":       {map[string]any{"metadata": map[string]any{"year": "2025"}}, []string{"three"}},
				"false":                        {map[string]any{"metadata": map[string]any{"draft": false}}, []string{"one"}},
				"alternatives":                 {map[string]any{"metadata": map[string]any{"year": []any{2024, "2025"}}}, []string{"one", "three"}},
				"an item of a list":            {map[string]any{"metadata": map[string]any{"tags": "hall"}}, []string{"one", "two"}},
				"several fields":               {map[string]any{"custom_ids": []string{"c-1", "c-2"}, "metadata": map[string]any{"tags": "hall", "draft": true}}, []string{"two"}},
				"what an object holds":         {map[string]any{"metadata": map[string]any{"place.floor": 2}}, []string{"three"}},
				"a key that no document has":   {map[string]any{"metadata": map[string]any{"absent": "red"}}, nil},
				"a value that no document has": {map[string]any{"metadata": map[string]any{"team": "Red"}}, nil},
				"fields that exclude others":   {map[string]any{"metadata": map[string]any{"team": "red", "draft": true}}, nil},
				"a prefix":                     {map[string]any{"type": "prefix", "key": "team", "value": "r"}, []string{"one"}},
				"a negation":                   {map[string]any{"type": "ne", "key": "team", "value": "red"}, []string{"four", "three", "two"}},
				"a key that exists":            {map[string]any{"type": "exists", "key": "place.floor"}, []string{"three"}},
				"a property":                   {map[string]any{"type": "eq", "key": "datasource.custom_id", "value": "c-2"}, []string{"two"}},
				"a date":                       {map[string]any{"type": "gte", "key": "datasource.created_at", "value": "2020-01-01T00:00:00+01:00"}, []string{"four", "one", "three", "two"}},
				"an earlier date":              {map[string]any{"type": "lt", "key": "datasource.changed_at", "value": "2020-01-01"}, nil},
				"a condition and the old form": {map[string]any{"metadata": map[string]any{"tags": "hall"}, "type": "contains", "key": "tags", "value": []string{"hall", "north"}}, []string{"one"}},
			} {
				var found []struct {
					Name string `json:"datasource_name"`
				}
				p.must(p.post("/datastores/"+store.ID+"/query", map[string]any{"query": "Which pump runs?", "topK": 20, "filters": c.filters}, &found))
				got := make(map[string]bool)
				for _, f := range found {
					got[f.Name] = true
				}
				if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(got))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			err := p.post("/datastores/"+store.ID+"/query", map[string]any{"query": "pump", "filters": map[string]any{"metadata": map[string]any{"year": nil}}}, nil)
			if !refusedWith(err, 400) || !strings.Contains(err.Error(), "filters.metadata.year") || !strings.Contains(err.Error(), "null") {
				t.Errorf("a filter by null: %v, want a refusal that names field and value", err)
			}
			err = p.post("/datastores/"+store.ID+"/query", map[string]any{"query": "pump", "filters": map[string]any{"type": "gt", "key": "year", "value": 2024}}, nil)
			if !refusedWith(err, 400) || !strings.Contains(err.Error(), `\"year\" has values of several types`) {
				t.Errorf("a key of mixed types: %v, want a refusal that names it", err)
			}
			type counts struct {
				Documents int
				Facets    []struct {
					Key    string
					Values []struct {
						Value any
						Count int
					}
				}
			}
			var all counts
			p.must(p.get("/datastores/"+store.ID+"/facets?keys=tags,datasource.type&filters="+url.QueryEscape(`{"type":"exists","key":"team"}`), &all))
			if got := fmt.Sprint(all); got != "{3 [{tags [{hall 2} {north 1} {south 1}]} {datasource.type [{text 3}]}]}" {
				t.Errorf("facets under a filter: %s", got)
			}
			var found struct {
				Fragments []fragment
				Facets    counts
			}
			p.must(p.post("/datastores/"+store.ID+"/query", map[string]any{"query": "hall", "mode": "lexical", "facets": []string{"draft"}}, &found))
			if got := fmt.Sprint(found.Facets); name == "embedded" && (got != "{2 [{draft [{false 1} {true 1}]}]}" || len(found.Fragments) == 0) {
				t.Errorf("facets under a query: %s, with %d fragments", got, len(found.Fragments))
			}
		})
	}
}

func TestAFragmentHasTheMetadataOfItsDocument(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	p.must(p.upload(store, "manual.md", "", []byte("---\ntitle: Manual\nauthor: Ada\n---\nThe pump runs at night, when the hall is empty and nobody waits for it."), nil))
	p.settled(store, time.Minute)
	var found []struct {
		Metadata map[string]map[string]string
	}
	p.must(p.post("/datastores/"+store+"/query", map[string]any{"query": "pump", "filters": map[string]any{"metadata": map[string]any{"document.author": "Ada"}}}, &found))
	if len(found) != 1 || found[0].Metadata["document"]["author"] != "Ada" || found[0].Metadata["document"]["title"] != "Manual" {
		t.Errorf("found %+v, want one fragment with the document's author and title", found)
	}
}
