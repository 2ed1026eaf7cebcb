package api_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestLinksOfResponsesNameOperations follows every link in the OpenAPI document. The link's target operation must exist
// and have the parameter or body field that the link sets. The value for it must come from the response or the
// request's path.
func TestLinksOfResponsesNameOperations(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	takes := map[string]map[string]bool{} // parameters by operation; body fields start with a slash
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			takes[op.OperationID] = map[string]bool{}
			for _, p := range append(item.Parameters, op.Parameters...) {
				takes[op.OperationID][p.Value.Name] = true
			}
			if op.RequestBody != nil {
				if body := op.RequestBody.Value.Content.Get("application/json"); body != nil {
					for field := range fieldsOf(body.Schema.Value) {
						takes[op.OperationID]["/"+field] = true
					}
				}
			}
		}
	}
	links := 0
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				for name, link := range response.Value.Links {
					links++
					given := maps.Clone(link.Value.Parameters)
					if given == nil {
						given = map[string]any{}
					}
					// Generators can't handle links that set a body field, so the document describes these in prose;
					// see TestTheDocumentSuitsGenerators.
					described := inBackticks.FindStringSubmatch(link.Value.Description)
					if described != nil && !takes[link.Value.OperationID]["/"+described[1]] {
						t.Errorf("%s, %s: the link %s leads to no operation with %s in its body", op.OperationID, status, name, described[1])
					}
					if len(given) == 0 && described == nil {
						t.Errorf("%s, %s: the link %s takes nothing from the answer", op.OperationID, status, name)
					}
					for parameter, expression := range given {
						if !takes[link.Value.OperationID][parameter] {
							t.Errorf("%s, %s: the link %s leads to no operation with %s", op.OperationID, status, name, parameter)
						}
						ofPath, isOfPath := strings.CutPrefix(fmt.Sprint(expression), "$request.path.")
						if isOfPath && takes[op.OperationID][ofPath] {
							continue
						}
						if !hasAt(response.Value.Content.Get("application/json").Schema.Value, expression) {
							t.Errorf("%s, %s: the answer has nothing at %v of the link %s", op.OperationID, status, expression, name)
						}
					}
				}
			}
		}
	}
	if links < 33 {
		t.Errorf("the document has %d links", links)
	}
}

var inBackticks = regexp.MustCompile("`(\\w+)`")

func fieldsOf(schema *openapi3.Schema) openapi3.Schemas {
	all := openapi3.Schemas{}
	maps.Copy(all, schema.Properties)
	for _, part := range slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf) {
		maps.Copy(all, fieldsOf(part.Value))
	}
	return all
}

// hasAt reports whether a response with this schema has the value that the expression refers to.
func hasAt(schema *openapi3.Schema, expression any) bool {
	text, _ := expression.(string)
	path, isBody := strings.CutPrefix(text, "$response.body#/")
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case schema.Properties[name] != nil:
			schema = schema.Properties[name].Value
		case schema.Items != nil && name == "0":
			schema = schema.Items.Value
		default:
			return false
		}
	}
	return isBody
}
