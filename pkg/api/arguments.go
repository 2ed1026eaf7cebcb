package api

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/mcp"
)

// argumentsOf holds the arguments of a tool against their schema as bodies are held against the document: with the same
// words for faults, null for what is not given, and whole numbers written as integers.
func argumentsOf(schema json.RawMessage) (mcp.Arguments, error) {
	op := operation{body: &openapi3.Schema{}}
	if err := op.body.UnmarshalJSON(schema); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return func(arguments json.RawMessage) (json.RawMessage, error) {
		if len(arguments) == 0 || string(arguments) == "null" {
			arguments = json.RawMessage("{}")
		}
		value, faults := jsonbody.Parse(arguments)
		if value != nil {
			faults = append(faults, op.faults(value)...)
		}
		if len(faults) > 0 {
			return nil, &domain.Error{Code: domain.CodeInvalid, Message: everyFault(faults)}
		}
		return json.Marshal(value)
	}, nil
}

// everyFault says in one text what is wrong with each field: a tool's error has no other place.
func everyFault(faults []domain.FieldError) string {
	const shown = 20
	lines := make([]string, 0, shown+1)
	for _, f := range faults[:min(len(faults), shown)] {
		if f.Field == "body" {
			f.Field = "arguments"
		}
		lines = append(lines, f.Field+": "+f.Message)
	}
	if n := len(faults) - shown; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}
