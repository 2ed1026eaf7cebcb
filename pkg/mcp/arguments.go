package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Arguments validates a tool call's arguments and returns them in the form the tool expects. The error is shown to the
// caller, so it must say what to send instead. The function must be safe for concurrent use.
type Arguments func(arguments json.RawMessage) (json.RawMessage, error)

// ArgumentsOf returns the Arguments function for a tool whose arguments have the given JSON schema.
type ArgumentsOf func(schema json.RawMessage) (Arguments, error)

// checkArguments validates arguments before a tool is called. The SDK does too, but its messages are for schema
// authors, not for models.
func checkArguments(checks map[string]Arguments) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || checks[call.Params.Name] == nil {
				return next(ctx, method, req)
			}
			arguments, err := checks[call.Params.Name](call.Params.Arguments)
			if err != nil {
				return errorResult(err, isMarked(call.Params.Meta)), nil
			}
			call.Params.Arguments = arguments
			return next(ctx, method, req)
		}
	}
}

// toolRegistry registers a server's tools and collects the functions that validate their arguments.
type toolRegistry struct {
	server *sdk.Server
	check  ArgumentsOf // nil: only the SDK validates arguments
	checks map[string]Arguments
}

// addTool adds a tool. The schema of its arguments is derived from the type In. `bound` then adds limits to the
// schema's fields that struct tags can't express.
func addTool[In, Out any](box *toolRegistry, tool *sdk.Tool, bound func(fields map[string]*jsonschema.Schema), handler sdk.ToolHandlerFor[In, Out]) {
	schema, err := schemaOf[In](bound)
	if err == nil && box.check != nil {
		box.checks[tool.Name], err = newCheck(box.check, schema)
	}
	if err != nil {
		panic(fmt.Errorf("describing the arguments of %s: %w", tool.Name, err)) // cannot happen: the types belong to this package
	}
	tool.InputSchema = schema
	sdk.AddTool(box.server, tool, handler)
}

func newCheck(check ArgumentsOf, schema *jsonschema.Schema) (Arguments, error) {
	encoded, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	return check(encoded)
}

// schemaOf returns the schema of a tool's arguments. Optional lists have only the type array, without null, because
// some clients don't support fields with several types.
func schemaOf[In any](bound func(fields map[string]*jsonschema.Schema)) (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	removeNull(schema)
	bound(schema.Properties)
	return schema, nil
}

// removeNull removes null from the types of a schema's fields, including fields in nested objects.
func removeNull(schema *jsonschema.Schema) {
	for _, field := range schema.Properties {
		if types := slices.DeleteFunc(slices.Clone(field.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
			field.Type, field.Types = types[0], nil
		}
		removeNull(field)
	}
}

// text limits a string argument to 1 to `limit` characters.
func text(schema *jsonschema.Schema, limit int) {
	schema.MinLength, schema.MaxLength = new(1), &limit
}
