package anthropic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func toolStart(index, id, name string) string {
	return `content_block_start {"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}}`
}

func inputDelta(index, piece string) string {
	return `content_block_delta {"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + piece + `}}`
}

func TestToolsAreSentAndTheirCallsRead(t *testing.T) {
	t.Parallel()
	p, s := started(t, nil,
		events(start, block, delta("I look."), close,
			toolStart("1", "a", "look_up"), inputDelta("1", `""`), inputDelta("1", `"{\"q\":"`), ping, inputDelta("1", `"\"größe\"}"`), `content_block_stop {"type":"content_block_stop","index":1}`,
			toolStart("2", "b", "bare"), `content_block_stop {"type":"content_block_stop","index":2}`,
			ending("tool_use"), stop),
		events(start, block, delta("7 years"), close, ending("end_turn"), stop))
	prompt := chat.Prompt{
		Model:    "claude-x",
		Messages: []chat.Turn{{Role: domain.RoleUser, Text: "How long?"}},
		Params: chat.Params{
			Tools:      []chat.Tool{{Name: "look_up", Description: "d", Parameters: []byte(`{"type":"object","required":["q"]}`)}, {Name: "bare"}},
			ToolChoice: chat.ToolChoice{Mode: chat.ToolRequired},
		},
	}
	var text strings.Builder
	emit := func(piece string) error { text.WriteString(piece); return nil }
	got, err := p.Complete(t.Context(), prompt, emit)
	if err != nil {
		t.Fatal(err)
	}
	calls := []chat.ToolCall{{ID: "a", Name: "look_up", Arguments: `{"q":"größe"}`}, {ID: "b", Name: "bare", Arguments: "{}"}}
	if diff := cmp.Diff(calls, got.ToolCalls); diff != "" || text.String() != "I look." {
		t.Errorf("text %q, calls (-want +got):\n%s", text.String(), diff)
	}
	prompt.Params.ToolChoice = chat.ToolChoice{Name: "look_up"}
	prompt.Messages = append(prompt.Messages,
		chat.Turn{Role: domain.RoleAssistant, Text: "I look.", Calls: append(calls, chat.ToolCall{ID: "c", Name: "bare", Arguments: "oops"})},
		chat.Turn{Role: domain.RoleUser, Text: "seven", ResultOf: "a"}, chat.Turn{Role: domain.RoleUser, Text: "", ResultOf: "b"},
		chat.Turn{Role: domain.RoleUser, Text: "years", ResultOf: "c"})
	if _, err := p.Complete(t.Context(), prompt, emit); err != nil {
		t.Fatal(err)
	}
	use := func(id, name string, input any) any {
		return map[string]any{"type": "tool_use", "id": id, "name": name, "input": input}
	}
	want := map[string]any{
		"tools": []any{
			map[string]any{"name": "look_up", "description": "d", "input_schema": map[string]any{"type": "object", "required": []any{"q"}}},
			map[string]any{"name": "bare", "input_schema": map[string]any{"type": "object", "properties": map[string]any{}}},
		},
		"tool_choice": map[string]any{"type": "tool", "name": "look_up"},
		"messages": []any{
			map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "How long?"}}},
			map[string]any{"role": "assistant", "content": []any{
				map[string]any{"type": "text", "text": "I look."},
				use("a", "look_up", map[string]any{"q": "größe"}), use("b", "bare", map[string]any{}), use("c", "bare", map[string]any{"arguments": "oops"}),
			}},
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": "a", "content": "seven"},
				map[string]any{"type": "tool_result", "tool_use_id": "b"},
				map[string]any{"type": "tool_result", "tool_use_id": "c", "content": "years"},
			}},
		},
	}
	requests := s.requests()
	for field, value := range want {
		if diff := cmp.Diff(value, requests[1][field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	if diff := cmp.Diff(any(map[string]any{"type": "any"}), requests[0]["tool_choice"]); diff != "" {
		t.Error(diff)
	}
}

func TestACallOfAToolThatWasNotOfferedIsNoAnswer(t *testing.T) {
	t.Parallel()
	p, _ := started(t, nil, events(start, toolStart("0", "a", "x"), ending("tool_use"), stop))
	_, err := p.Complete(t.Context(), chat.Prompt{Model: "claude-x", Messages: []chat.Turn{{Role: domain.RoleUser, Text: "q"}}}, func(string) error { return nil })
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "called a tool") {
		t.Errorf("got %v", err)
	}
}
