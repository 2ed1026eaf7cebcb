package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// lookUp is a tool that chat completions offer to the model.
var lookUp = object{"type": "function", "function": object{"name": "look_up", "description": "d", "parameters": object{"type": "object"}, "strict": true}}

func calls(ids ...string) object {
	var list []any
	for _, id := range ids {
		list = append(list, object{"id": id, "type": "function", "function": object{"name": "look_up", "arguments": `{"a":1}`}})
	}
	return object{"role": "assistant", "content": nil, "tool_calls": list}
}

func TestToolsAreOfferedAndTheirResultsPassedOn(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.chatted()
	s.chat(s.newAgent(), object{
		"tools": []any{lookUp}, "tool_choice": object{"type": "function", "function": object{"name": "look_up"}},
		"messages": []any{
			says("user", "Earlier?"), calls("0"), object{"role": "tool", "tool_call_id": "0", "content": "old"}, says("assistant", "Yes."),
			says("user", "How long?"), calls("1", "2"),
			object{"role": "tool", "tool_call_id": "2", "content": "two"},
			object{"role": "tool", "tool_call_id": "1", "content": []any{object{"type": "text", "text": "one"}}},
		},
	}).want(200)
	got.Agent = domain.Agent{}
	call := func(id string) chat.ToolCall { return chat.ToolCall{ID: id, Name: "look_up", Arguments: `{"a":1}`} }
	want := answer.Request{
		Query: "How long?", Ephemeral: true,
		History: []domain.Message{{Role: domain.RoleUser, Text: "Earlier?"}, {Role: domain.RoleAssistant, Text: "Yes."}},
		Tools:   []chat.Tool{{Name: "look_up", Description: "d", Parameters: []byte(`{"type":"object"}`), Strict: new(true)}}, ToolChoice: chat.ToolChoice{Name: "look_up"},
		Continuation: []chat.Turn{
			{Role: domain.RoleAssistant, Calls: []chat.ToolCall{call("1"), call("2")}},
			{Role: domain.RoleUser, Text: "two", ResultOf: "2"},
			{Role: domain.RoleUser, Text: "one", ResultOf: "1"},
		},
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestToolCallsHaveTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	said := ""
	s.answerer.answer = func(_ context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		a := answer.Answer{Text: said, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "look_up", Arguments: `{"a":1}`}, {ID: "c2", Name: "look_up", Arguments: "{}"}}}
		if emit == nil {
			return a, nil
		}
		if said != "" {
			must(t, emit(said))
		}
		for _, piece := range []chat.CallDelta{
			{ID: "c1", Name: "look_up"}, {Arguments: `{"a"`}, {Arguments: ":1}"}, {Index: 1, ID: "c2", Name: "look_up"}, {Index: 1, Arguments: "{}"},
		} {
			must(t, r.OnCall(piece))
		}
		return a, nil
	}
	type call struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct{ Name, Arguments string }
	}
	type body struct {
		Choices []struct {
			Message, Delta struct {
				Content   *string
				ToolCalls []call `json:"tool_calls"`
			}
			FinishReason *string `json:"finish_reason"`
		}
	}
	for _, said = range []string{"", "Let me look."} {
		var whole body
		must(t, json.Unmarshal(s.chat(agent, object{"tools": []any{lookUp}}).want(200).body, &whole))
		choice := whole.Choices[0]
		if c := choice.Message.Content; said == "" && c != nil || said != "" && (c == nil || *c != said) {
			t.Errorf("with text %q: the content is %v", said, c)
		}
		if list := choice.Message.ToolCalls; *choice.FinishReason != "tool_calls" || len(list) != 2 || list[0].ID != "c1" || list[0].Type != "function" ||
			list[0].Function.Name != "look_up" || list[0].Function.Arguments != `{"a":1}` || list[0].Index != nil {
			t.Errorf("the choice is %+v", choice)
		}
		var finish []string
		var joined []chat.ToolCall
		for line := range strings.Lines(string(s.chat(agent, object{"stream": true, "tools": []any{lookUp}}).want(200).body)) {
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: {")
			if !ok {
				continue
			}
			var chunk body
			must(t, json.Unmarshal([]byte("{"+data), &chunk))
			for _, c := range chunk.Choices[0].Delta.ToolCalls { // assembled the way OpenAI's clients do it
				if c.Index == nil || *c.Index > len(joined) {
					t.Fatalf("the delta is %+v", c)
				}
				if *c.Index == len(joined) {
					if joined = append(joined, chat.ToolCall{}); c.Type != "function" {
						t.Errorf("the first piece of a call is %+v", c)
					}
				} else if c.ID != "" || c.Type != "" || c.Function.Name != "" {
					t.Errorf("a later piece of a call is %+v", c)
				}
				call := &joined[*c.Index]
				call.ID, call.Name, call.Arguments = call.ID+c.ID, call.Name+c.Function.Name, call.Arguments+c.Function.Arguments
			}
			if r := chunk.Choices[0].FinishReason; r != nil {
				finish = append(finish, *r)
			}
		}
		want := []chat.ToolCall{{ID: "c1", Name: "look_up", Arguments: `{"a":1}`}, {ID: "c2", Name: "look_up", Arguments: "{}"}}
		if diff := cmp.Diff(want, joined); diff != "" || len(finish) != 1 || finish[0] != "tool_calls" {
			t.Errorf("the stream ends with %q (-want +got):\n%s", finish, diff)
		}
	}
}
