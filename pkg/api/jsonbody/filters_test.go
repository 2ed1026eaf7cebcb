package jsonbody

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/index"
)

// FuzzFilters reads arbitrary bodies as datastore queries. If a body is accepted, its filters must be valid for every
// index: lists of ids, and values that can be compared with metadata.
func FuzzFilters(f *testing.F) {
	for _, body := range []string{
		`{"query":"q","filters":{"custom_ids":["a"],"datasource_ids":["b"],"metadata":{"year":[2025,2026],"team":"docs","draft":false}}}`,
		`{"query":"q","filters":{}}`, `{}`, `{"query":"q","filters":null}`, `{"query":"q","filters":{"metadata":{"a":null}}}`,
		`{"query":"q","filters":{"metadata":{"a":[]}}}`, `{"query":"q","filters":{"metadata":{"a":[[1]],"":{"b":1}}}}`,
		`{"query":"q","filters":{"type":"and","filters":[{"type":"gte","key":"year","value":2025},{"type":"not","filter":{"type":"exists","key":"a"}}]}}`,
		`{"query":"q","filters":{"type":"in","key":"a","value":[1,null]}}`, `{"query":"q","filters":{"value":null}}`,
		`{"query":"q","filters":{"custom_ids":[]}}`, `{"query":"q","filters":{"customIds":["a"]}}`, `{"query":"q","filters":{"metadata":{"a.b":1e308,"A":"\ud800"}}}`,
	} {
		f.Add([]byte(body))
	}
	doc, err := openapi3.NewLoader().LoadFromFile("../openapi.yaml")
	if err != nil {
		f.Fatal(err)
	}
	schema := doc.Components.Schemas["DatastoreQuery"].Value
	f.Fuzz(func(t *testing.T, body []byte) {
		value, faults := Parse(body)
		if value == nil || len(faults) > 0 {
			return
		}
		faults = Check(schema, value)
		query, isObject := value.(map[string]any)
		if isObject {
			faults = append(faults, FilterFaults(query)...)
		}
		for _, fault := range faults {
			if fault.Field == "" || fault.Message == "" {
				t.Errorf("an empty fault: %+v", fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		given, has := query["filters"]
		if !has {
			return
		}
		for field, value := range given.(map[string]any) {
			switch field {
			case "custom_ids", "datasource_ids":
				for _, id := range value.([]any) {
					if _, isText := id.(string); !isText {
						t.Errorf("%s has %#v", field, id)
					}
				}
			case "metadata":
				for key, value := range value.(map[string]any) {
					if values, err := index.Alternatives(key, value); err != nil || len(values) == 0 {
						t.Errorf("no index takes %q: %#v, error %v", key, value, err)
					}
				}
			case "type", "key", "value", "filters", "filter":
				if where, faults := Where(given.(map[string]any), "filters"); where == nil || len(faults) > 0 {
					t.Errorf("%v passes with the faults %v", given, faults)
				}
			default:
				t.Errorf("the filter %q passes", field)
			}
		}
	})
}
