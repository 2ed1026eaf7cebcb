package api

import (
	"encoding/json"
	"fmt"

	answerchat "github.com/sluice/sluice/pkg/answer/chat"
)

// stopSequences returns the stop sequences in v. The schema ensures that v is a string, an array of strings, or nil.
func stopSequences(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		if v != "" {
			out = append(out, v)
		}
	case []any:
		for _, s := range v {
			if text, ok := s.(string); ok {
				out = append(out, text)
			}
		}
	}
	return out
}

// responseFormat returns the requested answer format as JSON, or nil for plain text.
func responseFormat(v any) (json.RawMessage, error) {
	format, _ := v.(map[string]any)
	if format == nil || format["type"] == "text" {
		return nil, nil
	}
	encoded, err := json.Marshal(format)
	if err != nil {
		return nil, fmt.Errorf("encoding the response format: %w", err)
	}
	return encoded, nil
}

func readTools(tools []ChatTool) ([]answerchat.Tool, error) {
	var out []answerchat.Tool
	for _, t := range tools {
		tool := answerchat.Tool{Name: t.Function.Name, Description: orZero(t.Function.Description), Strict: t.Function.Strict}
		if t.Function.Parameters != nil {
			encoded, err := json.Marshal(t.Function.Parameters)
			if err != nil {
				return nil, fmt.Errorf("encoding the parameters of a tool: %w", err)
			}
			tool.Parameters = encoded
		}
		out = append(out, tool)
	}
	return out, nil
}

// toolChoice converts v to a tool choice. The schema ensures that v is a mode, an object with a function name, or nil.
func toolChoice(v any) answerchat.ToolChoice {
	switch v := v.(type) {
	case string:
		return answerchat.ToolChoice{Mode: v}
	case map[string]any:
		function, _ := v["function"].(map[string]any)
		name, _ := function["name"].(string)
		return answerchat.ToolChoice{Name: name}
	default:
		return answerchat.ToolChoice{}
	}
}

func readCalls(calls []ChatToolCall) []answerchat.ToolCall {
	out := make([]answerchat.ToolCall, len(calls))
	for i, c := range calls {
		out[i] = answerchat.ToolCall{ID: c.Id, Name: c.Function.Name, Arguments: c.Function.Arguments}
	}
	return out
}

func renderCall(c answerchat.ToolCall) ChatToolCall {
	out := ChatToolCall{Id: c.ID, Type: ChatToolCallTypeFunction}
	out.Function.Name, out.Function.Arguments = c.Name, c.Arguments
	return out
}

// chunkCall is a tool call delta in a stream. Only a call's first delta has id, type and name.
type chunkCall struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function chunkFunction `json:"function"`
}

type chunkFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

func renderCallDelta(d answerchat.CallDelta) chunkCall {
	out := chunkCall{Index: d.Index, ID: d.ID, Function: chunkFunction{d.Name, d.Arguments}}
	if d.Name != "" {
		out.Type = string(ChatToolCallTypeFunction)
	}
	return out
}

// openAINames converts a parameter's name to the one used in chat completions.
func openAINames(name string) string {
	switch name {
	case "topP":
		return "top_p"
	case "maxTokens":
		return "max_tokens"
	case "presencePenalty":
		return "presence_penalty"
	case "responseFormat":
		return "response_format"
	case "frequencyPenalty":
		return "frequency_penalty"
	default:
		return name
	}
}
