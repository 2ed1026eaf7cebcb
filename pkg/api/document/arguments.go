package document

import (
	"encoding/json"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/mcp"
)

// Arguments returns a function that validates a tool's arguments against the schema, with the same rules and messages
// as request bodies: null counts as absent, and numbers like 1.0 become integers.
func Arguments(schema json.RawMessage) (mcp.Arguments, error) {
	op := Operation{body: &openapi3.Schema{}}
	if err := op.body.UnmarshalJSON(schema); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return func(arguments json.RawMessage) (json.RawMessage, error) {
		if len(arguments) == 0 || string(arguments) == "null" {
			arguments = json.RawMessage("{}")
		}
		value, faults := jsonbody.Parse(arguments)
		if value != nil {
			faults = append(faults, op.CheckBody(value)...)
		}
		if len(faults) > 0 {
			return nil, &domain.Error{Code: domain.CodeInvalid, Message: problem.JoinFaults(faults)}
		}
		return json.Marshal(value)
	}, nil
}
