package api_test

import (
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestLinksLeadFromAnswersToOperations follows every link of the document: the operation is there and takes the parameter, and the
// answer has what the link takes from it.
func TestLinksLeadFromAnswersToOperations(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("openapi.yaml")
	must(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	must(t, err)
	takes := map[string]map[string]bool{} // parameters by operation
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			takes[op.OperationID] = map[string]bool{}
			for _, p := range append(item.Parameters, op.Parameters...) {
				takes[op.OperationID][p.Value.Name] = true
			}
		}
	}
	links := 0
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				for name, link := range response.Value.Links {
					links++
					for parameter, expression := range link.Value.Parameters {
						if !takes[link.Value.OperationID][parameter] {
							t.Errorf("%s, %s: the link %s leads to no operation with %s", op.OperationID, status, name, parameter)
						}
						if !hasAt(response.Value.Content.Get("application/json").Schema.Value, expression) {
							t.Errorf("%s, %s: the answer has nothing at %v of the link %s", op.OperationID, status, expression, name)
						}
					}
				}
			}
		}
	}
	if links < 25 {
		t.Errorf("the document has %d links", links)
	}
}

// hasAt reports whether an answer of the schema has what the expression asks for.
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
