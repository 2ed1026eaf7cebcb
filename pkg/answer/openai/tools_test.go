package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func callDelta(pieces string) string {
	return `{"id":"x","object":"chat.completion.chunk","model":"large-2026","choices":[{"index":0,"delta":{"tool_calls":[` + pieces + `]},"finish_reason":null}]}`
}

const toolCallsEnd = `{"id":"x","object":"chat.completion.chunk","model":"large-2026","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

func withTools() chat.Prompt {
	strict := true
	return chat.Prompt{
		Model: "large", System: "s",
		Messages: []chat.Turn{
			{Role: domain.RoleUser, Text: "How long?"},
			{Role: domain.RoleAssistant, Text: "I look.", Calls: []chat.ToolCall{{ID: "a", Name: "look_up", Arguments: `{"q":1}`}, {ID: "b", Name: "look_up", Arguments: "{}"}}},
			{Role: domain.RoleUser, Text: "seven", ResultOf: "a"},
			{Role: domain.RoleUser, Text: "years", ResultOf: "b"},
		},
		Params: chat.Params{
			Tools:      []chat.Tool{{Name: "look_up", Description: "d", Parameters: []byte(`{"type":"object"}`), Strict: &strict}, {Name: "bare"}},
			ToolChoice: chat.ToolChoice{Mode: chat.ToolRequired},
		},
	}
}

func TestToolsAndTheirResultsAreSent(t *testing.T) {
	t.Parallel()
	p, s, _ := started(t, nil, events(delta("7 years"), stop, "[DONE]"))
	prompt := withTools()
	if _, err := p.Complete(t.Context(), prompt, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	prompt.Params.ToolChoice = chat.ToolChoice{Name: "bare"}
	if _, err := p.Complete(t.Context(), prompt, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	first := s.requests()[0]
	call := func(id, arguments string) any {
		return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "look_up", "arguments": arguments}}
	}
	want := map[string]any{
		"messages": []any{
			map[string]any{"role": "system", "content": "s"},
			map[string]any{"role": "user", "content": "How long?"},
			map[string]any{"role": "assistant", "content": "I look.", "tool_calls": []any{call("a", `{"q":1}`), call("b", "{}")}},
			map[string]any{"role": "tool", "content": "seven", "tool_call_id": "a"},
			map[string]any{"role": "tool", "content": "years", "tool_call_id": "b"},
		},
		"tools": []any{
			map[string]any{"type": "function", "function": map[string]any{"name": "look_up", "description": "d", "parameters": map[string]any{"type": "object"}, "strict": true}},
			map[string]any{"type": "function", "function": map[string]any{"name": "bare"}},
		},
		"tool_choice": "required",
	}
	for field, value := range want {
		if diff := cmp.Diff(value, first[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	if diff := cmp.Diff(any(map[string]any{"type": "function", "function": map[string]any{"name": "bare"}}), s.requests()[1]["tool_choice"]); diff != "" {
		t.Error(diff)
	}
}

func TestToolCallsAreRead(t *testing.T) {
	t.Parallel()
	two := []chat.ToolCall{{ID: "a", Name: "look_up", Arguments: `{"q":"größe 😀"}`}, {ID: "b", Name: "bare", Arguments: "{}"}}
	for name, test := range map[string]struct {
		step http.HandlerFunc
		want []chat.ToolCall
		text string
	}{
		"in pieces": {events(
			callDelta(`{"index":0,"id":"a","type":"function","function":{"name":"look_up","arguments":""}}`),
			callDelta(`{"index":0,"function":{"arguments":"{\"q\":\"gr"}}`),
			callDelta(`{"index":0,"function":{"arguments":"öße \ud83d"}}`),
			callDelta(`{"index":0,"function":{"arguments":"\ude00\"}"}}`),
			callDelta(`{"index":1,"id":"b","type":"function","function":{"name":"bare","arguments":"{}"}}`),
			toolCallsEnd, "[DONE]"), two, ""},
		"without an index": {events(
			callDelta(`{"id":"a","function":{"name":"look_up","arguments":"{\"q\":\"größe 😀\"}"}}`),
			callDelta(`{"id":"b","function":{"name":"bare","arguments":"{}"}}`), stop, "[DONE]"), two, ""},
		"after a text": {events(delta("I look."), callDelta(`{"index":0,"id":"a","function":{"name":"bare"}}`), toolCallsEnd, "[DONE]"),
			[]chat.ToolCall{{ID: "a", Name: "bare", Arguments: "{}"}}, "I look."},
		"without an id": {events(callDelta(`{"index":0,"function":{"name":"bare","arguments":"{}"}}`), toolCallsEnd, "[DONE]"),
			[]chat.ToolCall{{ID: "call_1", Name: "bare", Arguments: "{}"}}, ""},
		"in one piece": {status(200, `{"model":"large-2026","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look_up","arguments":"{\"q\":\"größe 😀\"}"}},{"index":1,"id":"b","type":"function","function":{"name":"bare","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`), two, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, _ := started(t, nil, test.step)
			var text strings.Builder
			prompt := withTools()
			begun := 0
			prompt.Begin = func([]string) { begun++ }
			var joined []chat.ToolCall
			prompt.OnCall = func(d chat.CallDelta) error {
				switch {
				case d.Index == len(joined):
					joined = append(joined, chat.ToolCall{ID: d.ID, Name: d.Name})
				case d.ID != "" || d.Name != "":
					t.Errorf("a later piece has an id or a name: %+v", d)
				}
				joined[d.Index].Arguments += d.Arguments
				return nil
			}
			got, err := p.Complete(t.Context(), prompt, func(s string) error { text.WriteString(s); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.ToolCalls); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, joined); diff != "" {
				t.Errorf("the pieces, joined (-want +got):\n%s", diff)
			}
			if text.String() != test.text || begun != 1 || got.PromptTokens == 0 {
				t.Errorf("text %q, begun %d times, completion %+v", text.String(), begun, got)
			}
		})
	}
}

func TestToolCallsArePassedOnWhileTheModelWritesThem(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	p, _, _ := started(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(data string) {
			fmt.Fprintf(w, "data: %s\n\n", data)
			_ = http.NewResponseController(w).Flush()
		}
		send(callDelta(`{"index":0,"id":"a","type":"function","function":{"name":"look_up","arguments":"{\"q\""}}`))
		<-next // wait until the first delta has been passed on
		send(callDelta(`{"index":0,"function":{"arguments":":1}"}}`))
		send(toolCallsEnd)
		send("[DONE]")
	})
	prompt := withTools()
	var pieces []chat.CallDelta
	prompt.OnCall = func(d chat.CallDelta) error {
		if pieces = append(pieces, d); len(pieces) == 1 {
			close(next)
		}
		return nil
	}
	if _, err := p.Complete(t.Context(), prompt, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	want := []chat.CallDelta{{ID: "a", Name: "look_up", Arguments: `{"q"`}, {Arguments: ":1}"}}
	if diff := cmp.Diff(want, pieces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAfterAPieceOfAToolCallThereIsNoRetry(t *testing.T) {
	t.Parallel()
	cut := events(callDelta(`{"index":0,"id":"a","type":"function","function":{"name":"look_up","arguments":"{"}}`))
	for name, onCall := range map[string]func(chat.CallDelta) error{"passed on": func(chat.CallDelta) error { return nil }, "collected": nil} {
		p, s, _ := started(t, nil, cut, events(delta("Seven years."), stop, "[DONE]"))
		prompt := withTools()
		prompt.OnCall = onCall
		_, err := p.Complete(t.Context(), prompt, func(string) error { return nil })
		if again := len(s.requests()) == 2; again != (onCall == nil) || (err == nil) != again {
			t.Errorf("%s: %d requests, the error is %v", name, len(s.requests()), err)
		}
	}
}

func TestToolCallsAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 200)
	for i := range 200 {
		many = append(many, callDelta(fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"bare"}}`, i, i)))
	}
	long := strings.Repeat("x", 600<<10)
	for name, step := range map[string]http.HandlerFunc{
		"too many": events(append(many, toolCallsEnd)...),
		"too long": events(callDelta(`{"index":0,"id":"a","function":{"name":"bare","arguments":"`+long+`"}}`), callDelta(`{"index":0,"function":{"arguments":"`+long+`"}}`), toolCallsEnd),
	} {
		p, s, _ := started(t, nil, step)
		_, err := p.Complete(t.Context(), withTools(), func(string) error { return nil })
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "too large; try again") || len(s.requests()) != 1 {
			t.Errorf("%s: %v after %d requests", name, err, len(s.requests()))
		}
	}
}

func TestAModelWithoutToolsIsNamed(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"registry.ollama.ai/library/gemma does not support tools":                                true,
		`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`: true,
		"This model does not support the temperature":                                            false,
	} {
		p, _, _ := started(t, nil, status(http.StatusBadRequest, `{"error":{"message":`+fmt.Sprintf("%q", message)+`}}`))
		_, err := p.Complete(t.Context(), withTools(), func(string) error { return nil })
		var typed *domain.Error
		if !errors.As(err, &typed) {
			t.Fatal(err)
		}
		if named := len(typed.Fields) == 1 && typed.Fields[0].Field == "tools" && typed.Code == domain.CodeInvalid; named != want {
			t.Errorf("%q: %+v", message, typed)
		}
	}
}
