package api

import (
	"reflect"
	"testing"

	"github.com/oapi-codegen/runtime"

	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/jsonbody"
)

// FuzzFilters sends arbitrary bodies as datastore queries. If a body is accepted, the retriever must receive exactly
// the body's filters, with values of types that can be compared with metadata.
func FuzzFilters(f *testing.F) {
	for _, body := range []string{
		`{"query":"q","filters":{"custom_ids":["a"],"datasource_ids":["b"],"metadata":{"year":[2025,2026],"team":"docs","draft":false}}}`,
		`{"query":"q","filters":{}}`, `{"query":"q","filters":null}`, `{"query":"q","filters":{"metadata":{"a":null}}}`,
		`{"query":"q","filters":{"metadata":{"a":[]}}}`, `{"query":"q","filters":{"metadata":{"a":[[1]],"":{"b":1}}}}`,
		`{"query":"q","filters":{"custom_ids":[]}}`, `{"query":"q","filters":{"customIds":["a"]}}`, `{"query":"q","filters":{"metadata":{"a.b":1e308,"A":"\ud800"}}}`,
	} {
		f.Add([]byte(body))
	}
	doc, err := document.Load(openAPI, Options{}.withDefaults().documented())
	if err != nil {
		f.Fatal(err)
	}
	op := doc.Operation("POST", "/datastores/:id/query")
	f.Fuzz(func(t *testing.T, body []byte) {
		value, faults := jsonbody.Parse(body)
		if value != nil {
			faults = append(faults, op.CheckBody(value)...)
		}
		if len(faults) > 0 || value == nil {
			return
		}
		var request DatastoreQuery
		if err := runtime.BindJSONValue(value, &request); err != nil {
			t.Fatalf("a valid body cannot be decoded: %v", err)
		}
		got, where, err := filtersOf(request.Filters)
		if err != nil {
			t.Fatalf("valid filters cannot be decoded: %v", err)
		}
		sent, _ := value.(map[string]any)["filters"].(map[string]any)
		if want, _ := jsonbody.Where(sent, "filters"); want.String() != where.String() {
			t.Errorf("the filter %s arrives as %s", want, where)
		}
		if want, _ := sent["metadata"].(map[string]any); len(want) != len(got.Metadata) || len(want) > 0 && !reflect.DeepEqual(want, got.Metadata) {
			t.Errorf("metadata %v arrives as %v", want, got.Metadata)
		}
		for field, ids := range map[string][]string{"custom_ids": got.CustomIDs, "datasource_ids": got.DatasourceIDs} {
			want, _ := sent[field].([]any)
			if len(want) != len(ids) {
				t.Errorf("%s %v arrive as %v", field, want, ids)
			}
			for i := range want {
				if want[i] != ids[i] {
					t.Errorf("%s %v arrive as %v", field, want, ids)
				}
			}
		}
		for name, v := range got.Metadata {
			if list, isList := v.([]any); isList && len(list) == 0 {
				t.Errorf("%s is to be one of nothing", name)
			} else if !isList && !jsonbody.Filterable(v) {
				t.Errorf("%s is to be %v, which nothing can be", name, v)
			}
		}
	})
}
