package chat

import "encoding/json"

// Tool is one of the client's functions, which a model may ask the client to call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema; nil means no parameters
	Strict      *bool           // nil means the model's default
}

// ToolChoice determines whether a model calls tools.
type ToolChoice struct {
	Mode string // ToolAuto, ToolNone, ToolRequired, or "" for the model's default
	Name string // tool that must be called; Mode is then ""
}

// ToolChoice modes, as named in OpenAI's API.
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

// CallDelta is part of a tool call as the model writes it. A call's first delta has the ID and Name.
type CallDelta struct {
	Index     int // number of the call within the answer, from 0
	ID        string
	Name      string
	Arguments string // appended to the arguments in earlier deltas
}
