package chat

import "encoding/json"

// Tool is a function of the client that a model may ask the client to call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema; nil: no parameters
	Strict      *bool           // nil: the model's default
}

// ToolChoice says whether a model calls tools.
type ToolChoice struct {
	Mode string // ToolAuto, ToolNone, ToolRequired, or "" for the model's default
	Name string // tool that must be called; Mode is then ""
}

// Modes of ToolChoice, as OpenAI's API names them.
const (
	ToolAuto     = "auto"
	ToolNone     = "none"
	ToolRequired = "required"
)

// ToolCall is a model's call to a tool.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // as written by the model, usually a JSON object
}

// CallDelta is a piece of a tool call as the model writes it. A call's first piece has the ID and Name.
type CallDelta struct {
	Index     int // number of the call within the answer, from 0
	ID        string
	Name      string
	Arguments string // continues the earlier pieces' arguments
}
