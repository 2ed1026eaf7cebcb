package openai

import (
	"encoding/json"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/domain"
)

type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Calls      []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireTool struct {
	Type     string         `json:"type"`
	Function wireDefinition `json:"function"`
}

type wireDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// typeFunction is the type of every tool and tool call.
const typeFunction = "function"

func wireTurn(t chat.Turn) wireMessage {
	switch {
	case t.ResultOf != "":
		return wireMessage{Role: "tool", Content: t.Text, ToolCallID: t.ResultOf}
	case t.Role == domain.RoleAssistant:
		m := wireMessage{Role: "assistant", Content: t.Text}
		for _, c := range t.Calls {
			m.Calls = append(m.Calls, wireCall{c.ID, typeFunction, wireFunction{c.Name, c.Arguments}})
		}
		return m
	default:
		return wireMessage{Role: "user", Content: t.Text}
	}
}

// isToolTurn reports whether a turn calls tools or is a call's result.
func isToolTurn(t chat.Turn) bool { return len(t.Calls) > 0 || t.ResultOf != "" }

func setTools(body map[string]any, p chat.Params) {
	if len(p.Tools) == 0 {
		return
	}
	tools := make([]wireTool, len(p.Tools))
	for i, t := range p.Tools {
		tools[i] = wireTool{typeFunction, wireDefinition{t.Name, t.Description, t.Parameters, t.Strict}}
	}
	body["tools"] = tools
	switch {
	case p.ToolChoice.Name != "":
		body["tool_choice"] = map[string]any{"type": typeFunction, "function": map[string]any{"name": p.ToolChoice.Name}}
	case p.ToolChoice.Mode != "":
		body["tool_choice"] = p.ToolChoice.Mode
	}
}

// callPiece is a tool call delta in a response.
type callPiece struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string      `json:"name"`
		Arguments remote.Text `json:"arguments"`
	} `json:"function"`
}

// call passes tool call deltas to r.
func (s *answerWriter) call(pieces []callPiece, r *remote.Reply) error {
	for _, c := range pieces {
		joined := s.arguments[c.Index]
		if joined == nil {
			if s.arguments == nil {
				s.arguments = make(map[int]*remote.Joiner)
			}
			joined = &remote.Joiner{}
			s.arguments[c.Index] = joined
		}
		if err := r.Call(c.Index, c.ID, c.Function.Name, joined.Next(c.Function.Arguments)); err != nil {
			return err
		}
	}
	return nil
}
