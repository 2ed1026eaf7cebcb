package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/oapi-codegen/runtime"

	"github.com/sluice/sluice/pkg/api/jsonbody"
)

// FuzzFilters reads any body as a datastore query. What passes arrives whole: each filter of the body narrows the search,
// with no value more or less, and of types that metadata can be compared with.
func FuzzFilters(f *testing.F) {
	for _, body := range []string{
		`{"query":"q","filters":{"custom_ids":["a"],"datasource_ids":["b"],"metadata":{"year":[2025,2026],"team":"docs","draft":false}}}`,
		`{"query":"q","filters":{}}`, `{"query":"q","filters":null}`, `{"query":"q","filters":{"metadata":{"a":null}}}`,
		`{"query":"q","filters":{"metadata":{"a":[]}}}`, `{"query":"q","filters":{"metadata":{"a":[[1]],"":{"b":1}}}}`,
		`{"query":"q","filters":{"custom_ids":[]}}`, `{"query":"q","filters":{"customIds":["a"]}}`, `{"query":"q","filters":{"metadata":{"a.b":1e308,"A":"\ud800"}}}`,
	} {
		f.Add([]byte(body))
	}
	doc, err := loadSpec(Options{}.withDefaults())
	if err != nil {
		f.Fatal(err)
	}
	op := doc.operation("POST", "/datastores/:id/query")
	f.Fuzz(func(t *testing.T, body []byte) {
		value, faults := jsonbody.Parse(body)
		if value != nil {
			faults = append(faults, op.faults(value)...)
		}
		if len(faults) > 0 || value == nil {
			return
		}
		var request DatastoreQuery
		if err := runtime.BindJSONValue(value, &request); err != nil {
			t.Fatalf("a valid body cannot be decoded: %v", err)
		}
		got := filtersOf(request.Filters)
		sent, _ := value.(map[string]any)["filters"].(map[string]any)
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

// FuzzFingerprint tells requests apart by which an Idempotency-Key is bound: the same request has one fingerprint under
// both bases, and a request with another path, query or body has another.
func FuzzFingerprint(f *testing.F) {
	f.Add("agents", "", `{"name":"a"}`, "datastores", "", `{"name":"a"}`)
	f.Add("agents", "explain=true", "{}", "agents", "", "explain=true{}")
	f.Add("a?b", "c", "", "a", "b?c", "")
	f.Add("api/agents", "", "x", "agents", "", "x")
	f.Fuzz(func(t *testing.T, path, query, body, path2, query2, body2 string) {
		of := func(base, path, query, body string) string {
			c, _ := gin.CreateTestContext(httptest.NewRecorder())
			c.Request = httptest.NewRequest(http.MethodPost, "/", nil)
			c.Request.URL.Path, c.Request.URL.RawQuery = base+"/"+path, query
			c.Request.Body = &checkedBody{Reader: strings.NewReader(body), raw: []byte(body)}
			return fingerprint(c)
		}
		for _, p := range []string{path, path2} {
			if strings.HasPrefix(p, "api") || strings.ContainsAny(p, "?\n") { // no path of an operation
				return
			}
		}
		if strings.Contains(query+query2, "\n") { // it is written anew before
			return
		}
		first := of("", path, query, body)
		if under := of("/api", path, query, body); under != first {
			t.Errorf("the bases make a difference: %s, %s", first, under)
		}
		same := path == path2 && query == query2 && body == body2
		if other := of("", path2, query2, body2); (other == first) != same {
			encoded, _ := json.Marshal([]string{path, query, body, path2, query2, body2})
			t.Errorf("%s: equal %v, want %v", encoded, other == first, same)
		}
	})
}
