package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/domain"
)

// place is a location in a request that accepts arbitrary text and could therefore contain an id. The rest of the
// request is valid and uses only the tenant's own resources.
type place struct {
	operation string
	method    string
	where     string // such as "path id", "query datastoreId" or "body filters.custom_ids[0]"
	scope     domain.Scope
	base      string              // the valid request's path
	request   func(v string) call // returns the request with v in this place
}

// call is a request that is ready to be sent.
type call struct {
	method, path string
	body         any
	headers      []string
}

func (p place) String() string { return p.operation + ", " + p.where }

// inPath reports whether the place is in the path, where its id selects the resource.
func (p place) inPath() bool { return strings.HasPrefix(p.where, "path ") }

// openAPI returns the OpenAPI document. It is shared by all tests, which must not change it.
func openAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := readOpenAPI()
	must(t, err)
	return doc
}

var readOpenAPI = sync.OnceValues(func() (*openapi3.T, error) {
	raw, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(raw)
})

// operations calls f for every operation in the OpenAPI document that needs a key, read-only ones first.
func operations(t *testing.T, doc *openapi3.T, f func(method, path string, item *openapi3.PathItem, op *openapi3.Operation)) {
	t.Helper()
	type entry struct {
		method, path string
		item         *openapi3.PathItem
		op           *openapi3.Operation
	}
	var all []entry
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Extensions["x-scope"] != "none" {
				all = append(all, entry{method, path, item, op})
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		if reads := a.method == http.MethodGet; reads != (b.method == http.MethodGet) {
			if reads {
				return -1
			}
			return 1
		}
		return strings.Compare(a.op.OperationID, b.op.OperationID)
	})
	for _, e := range all {
		f(e.method, e.path, e.item, e.op)
	}
}

// places returns every place in every operation. It fails the test if an operation has no entry in endpoints.
func (s *scene) places(doc *openapi3.T) (all []place) {
	s.Helper()
	operations(s.T, doc, func(method, path string, item *openapi3.PathItem, op *openapi3.Operation) {
		e, ok := endpoints[op.OperationID]
		if !ok {
			s.Errorf("%s %s (%s) cannot be tried: the table of endpoints lacks it", method, path, op.OperationID)
			return
		}
		good, err := url.Parse(s.fill(orElse(e.good.path, path)))
		must(s.T, err)
		scope, _ := op.Extensions["x-scope"].(string)
		body := s.fillBody(e.good.body)
		add := func(where string, request func(v string) call) {
			all = append(all, place{op.OperationID, method, where, domain.Scope(scope), good.String(), request})
		}
		inPath := 0
		for i, segment := range strings.Split(path, "/") {
			if name, isParameter := strings.CutPrefix(segment, "{"); isParameter {
				inPath++
				add("path "+strings.TrimSuffix(name, "}"), func(v string) call {
					segments := strings.Split(good.Path, "/")
					segments[i] = url.PathEscape(v)
					return call{method, (&url.URL{Path: strings.Join(segments, "/"), RawQuery: good.RawQuery}).String(), body, nil}
				})
			}
		}
		if inPath == 0 { // so that no operation is left out
			add("as it is", func(string) call { return call{method, good.String(), body, nil} })
		}
		for _, p := range append(slices.Clone(item.Parameters), op.Parameters...) {
			switch {
			case p.Value.In == openapi3.ParameterInQuery && takesAnyText(p.Value.Schema.Value):
				add("query "+p.Value.Name, func(v string) call {
					query := good.Query()
					query.Set(p.Value.Name, v)
					return call{method, good.Path + "?" + query.Encode(), body, nil}
				})
			case p.Value.In == openapi3.ParameterInHeader:
				add("header "+p.Value.Name, func(v string) call { return call{method, good.String(), body, []string{p.Value.Name, v}} })
			}
		}
		if op.RequestBody == nil {
			return
		}
		content := op.RequestBody.Value.Content
		if json := content["application/json"]; json != nil {
			to := good.String()
			if method == http.MethodDelete { // use an unused id, or the first request would delete the resource
				to = uuidPattern.ReplaceAllString(to, unusedID)
			}
			for _, way := range textPlaces(json.Schema.Value, nil) {
				add("body "+responseFunc(way), func(v string) call { return call{method, to, put(s.T, body, way, v), nil} })
			}
		}
		if parts := content["multipart/form-data"]; parts != nil {
			for _, name := range slices.Sorted(maps.Keys(parts.Schema.Value.Properties)) {
				if property := parts.Schema.Value.Properties[name].Value; !takesAnyText(property) {
					continue
				}
				add("part "+name, func(v string) call {
					if name == "metadata" {
						v = `{"datasource_id":"` + v + `"}`
					}
					fields := map[string]string{"datastoreId": s.datastore, name: v}
					parts := []part{{"file", "note.txt", "The trial lasts 30 days."}}
					for _, field := range slices.Sorted(maps.Keys(fields)) {
						parts = append(parts, part{name: field, text: fields[field]})
					}
					text, contentType := form(parts...)
					return call{method, good.String(), text, []string{"Content-Type", contentType}}
				})
			}
		}
	})
	return all
}

// takesAnyText reports whether a schema accepts arbitrary text.
func takesAnyText(schema *openapi3.Schema) bool {
	return schema.Type.Is("string") && len(schema.Enum) == 0 && schema.Format == ""
}

// textPlaces returns the path to each string in a schema. A path consists of field names and, for an array's first
// item, 0.
func textPlaces(schema *openapi3.Schema, way []any) (all [][]any) {
	const deepest = 8
	if len(way) > deepest {
		return nil
	}
	further := func(step any) []any { return append(slices.Clone(way), step) }
	for _, alternative := range slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf) {
		all = append(all, textPlaces(alternative.Value, way)...)
	}
	switch {
	case takesAnyText(schema):
		all = append(all, way)
	case schema.Items != nil:
		all = append(all, textPlaces(schema.Items.Value, further(0))...)
	case schema.Type.Is("object"):
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			all = append(all, textPlaces(schema.Properties[name].Value, further(name))...)
		}
		if more := schema.AdditionalProperties; more.Schema != nil || more.Has != nil && *more.Has {
			all = append(all, further("datasource_id"))
		}
	}
	return all
}

// responseFunc formats a path in the notation used in error messages.
func responseFunc(way []any) string {
	var b strings.Builder
	for i, step := range way {
		if name, isName := step.(string); isName {
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(name)
		} else {
			b.WriteString("[0]")
		}
	}
	return b.String()
}

// put returns a copy of the body with v at the path.
func put(t *testing.T, body any, way []any, v string) any {
	t.Helper()
	encoded, err := json.Marshal(body)
	must(t, err)
	var whole any
	must(t, json.Unmarshal(encoded, &whole))
	return putInto(whole, way, v)
}

func putInto(at any, way []any, v string) any {
	if len(way) == 0 {
		return v
	}
	name, isName := way[0].(string)
	if !isName {
		list, _ := at.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = putInto(list[0], way[1:], v)
		return list
	}
	fields, ok := at.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields[name] = putInto(fields[name], way[1:], v)
	return fields
}
