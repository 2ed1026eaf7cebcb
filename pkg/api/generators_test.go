package api_test

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestTheDocumentSuitsGenerators checks that the served document has nothing that client generators reject, drop or
// misinterpret. `make check-clients` runs five of them.
func TestTheDocumentSuitsGenerators(t *testing.T) {
	t.Parallel()
	s := newService(t)
	doc, err := openapi3.NewLoader().LoadFromData(s.call("GET", "/openapi.json", nil).want(200).body)
	must(t, err)
	names := map[string]string{}
	for name := range doc.Components.Schemas {
		names[strings.ToLower(name)] = name
	}
	for name, schema := range doc.Components.Schemas {
		clashes(t, names, name, schema.Value)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			at := method + " " + path
			if op.RequestBody != nil {
				for kind, content := range op.RequestBody.Value.Content {
					noDefaults(t, at+" "+kind, content.Schema.Value, map[*openapi3.Schema]bool{})
				}
			}
			for status, response := range op.Responses.Map() {
				for name, link := range response.Value.Links {
					if link.Value.RequestBody != nil {
						t.Errorf("%s, %s: the link %s has a requestBody, which openapi-generator takes for a string alone", at, status, name)
					}
				}
				if content := response.Value.Content["application/json"]; content != nil && len(content.Schema.Value.OneOf) > 0 {
					t.Errorf("%s, %s: the answer is one of several, so that generated clients have no type for it", at, status)
				}
			}
		}
	}
}

// clashes returns nested schemas whose generated names (schema name plus field name) are already taken.
func clashes(t *testing.T, names map[string]string, name string, schema *openapi3.Schema) {
	t.Helper()
	for field, property := range schema.Properties {
		inner := name + strings.ReplaceAll(field, "_", "")
		if property.Ref != "" || property.Value.Type == nil || property.Value.Type.Is("string") && property.Value.Enum == nil {
			continue
		}
		if other := names[strings.ToLower(inner)]; other != "" && (property.Value.Type.Is("object") || property.Value.Enum != nil) {
			t.Errorf("%s.%s and the schema %s have one name in generated clients", name, field, other)
		}
		clashes(t, names, inner, property.Value)
	}
}

// noDefaults returns request fields that have a default value. openapi-typescript makes these required, and other
// generators always send them.
func noDefaults(t *testing.T, at string, schema *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	t.Helper()
	if seen[schema] {
		return
	}
	seen[schema] = true
	if schema.Default != nil {
		t.Errorf("%s has the default %v", at, schema.Default)
	}
	for field, property := range schema.Properties {
		noDefaults(t, at+"."+field, property.Value, seen)
	}
	for _, inner := range append(append(append(openapi3.SchemaRefs{schema.Items}, schema.OneOf...), schema.AllOf...), schema.AnyOf...) {
		if inner != nil {
			noDefaults(t, at, inner.Value, seen)
		}
	}
}
