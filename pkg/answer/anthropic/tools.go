package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// typeToolUse is the type of a content block that calls a tool. It is also the stop reason of a response that ends with
// such a block.
const typeToolUse = "tool_use"

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

func toolsOf(p chat.Params) ([]tool, *toolChoice) {
	if len(p.Tools) == 0 {
		return nil, nil
	}
	var tools []tool
	for _, t := range p.Tools {
		schema := t.Parameters
		if schema == nil {
			schema = json.RawMessage(`{"type":"object","properties":{}}`) // the API requires a schema
		}
		tools = append(tools, tool{t.Name, t.Description, schema})
	}
	switch {
	case p.ToolChoice.Name != "":
		return tools, &toolChoice{"tool", p.ToolChoice.Name}
	case p.ToolChoice.Mode == chat.ToolRequired:
		return tools, &toolChoice{Type: "any"}
	case p.ToolChoice.Mode != "":
		return tools, &toolChoice{Type: p.ToolChoice.Mode}
	}
	return tools, nil
}

// addToolTurn adds a turn that calls tools or contains a call's result. If one message calls several tools, the API
// requires that all results are in one message, too.
func addToolTurn(messages []message, t chat.Turn) []message {
	if t.ResultOf != "" {
		result := contentBlock{Type: "tool_result", ToolUseID: t.ResultOf, Content: t.Text}
		if last := len(messages) - 1; last >= 0 && messages[last].Content[0].Type == result.Type {
			messages[last].Content = append(messages[last].Content, result)
			return messages
		}
		return append(messages, message{"user", []contentBlock{result}})
	}
	var blocks []contentBlock
	if strings.TrimSpace(t.Text) != "" {
		blocks = textBlock(t.Text)
	}
	for _, c := range t.Calls {
		blocks = append(blocks, contentBlock{Type: typeToolUse, ID: c.ID, Name: c.Name, Input: inputOf(c.Arguments)})
	}
	return append(messages, message{string(domain.RoleAssistant), blocks})
}

// inputOf returns a call's arguments as a JSON object, as required by the API.
func inputOf(arguments string) json.RawMessage {
	raw := bytes.TrimSpace([]byte(arguments))
	if json.Valid(raw) && raw[0] == '{' {
		return raw
	}
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	encoded, err := json.Marshal(map[string]string{"arguments": arguments})
	if err != nil { // cannot happen, because a string can always be encoded
		return json.RawMessage("{}")
	}
	return encoded
}
