package answer

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestToolCallsAreReturnedAndTheirResultsAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	call := chat.ToolCall{ID: "a", Name: "look_up", Arguments: "{}"}
	w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
		if p.Messages[len(p.Messages)-1].ResultOf == "" {
			return chat.Completion{Model: "m", ToolCalls: []chat.ToolCall{call}}, nil
		}
		return chat.Completion{Model: "m"}, emit("At six [2].")
	}
	a := w.answerer(Options{Composes: true})
	tools := func(r *Request) { r.Tools = []chat.Tool{{Name: "look_up"}} }
	first, err := a.Answer(t.Context(), ask(tools), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]chat.ToolCall{call}, first.ToolCalls); diff != "" || first.Text != "" || len(w.messages) != 0 {
		t.Errorf("answered %+v, stored %v", first, w.messages)
	}
	results := []chat.Turn{{Role: domain.RoleAssistant, Calls: []chat.ToolCall{call}}, {Role: domain.RoleUser, Text: "The gate is open.", ResultOf: "a"}}
	second, err := a.Answer(t.Context(), ask(tools, in(first.ConversationID, ""), func(r *Request) { r.Continuation = results }), nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.Text != "At six [1]." || len(w.messages[first.ConversationID]) != 2 {
		t.Errorf("answered %+v, stored %v", second, w.messages)
	}
	want := append([]chat.Turn{{Role: domain.RoleUser, Text: "When does the gate open?"}}, results...)
	if diff := cmp.Diff(want, w.prompts[len(w.prompts)-1].Messages); diff != "" {
		t.Errorf("the messages (-want +got):\n%s", diff)
	}
}

func TestAfterAPieceOfAToolCallNoOtherModelIsAsked(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(_ context.Context, p chat.Prompt, _ func(string) error) (chat.Completion, error) {
		return chat.Completion{}, errors.Join(p.OnCall(chat.CallDelta{ID: "a", Name: "look_up"}), errors.New("down"))
	}
	d := w.answerer(Options{}).deps
	d.Models = twoModels{chat.Model{Name: "first", Provider: w}, chat.Model{Name: "second", Provider: w}}
	var pieces []chat.CallDelta
	_, err := New(d, Options{Composes: true}).Answer(t.Context(), ask(func(r *Request) {
		r.Tools = []chat.Tool{{Name: "look_up"}}
		r.OnCall = func(piece chat.CallDelta) error { pieces = append(pieces, piece); return nil }
	}), func(string) error { return nil })
	if err == nil || len(w.prompts) != 1 || len(pieces) != 1 || pieces[0].Name != "look_up" {
		t.Errorf("%d models were asked, pieces %+v, error %v", len(w.prompts), pieces, err)
	}
}

type twoModels []chat.Model

func (m twoModels) Models(string) []chat.Model { return m }

func TestToolsNeedAModel(t *testing.T) {
	t.Parallel()
	for field, mod := range map[string]func(*Request){
		"tools":    func(r *Request) { r.Tools = []chat.Tool{{Name: "look_up"}} },
		"messages": func(r *Request) { r.Continuation = []chat.Turn{{Role: domain.RoleUser, ResultOf: "a"}} },
	} {
		w := newFixture(fragments()...)
		_, err := w.answerer(Options{}).Answer(t.Context(), ask(mod), nil)
		var typed *domain.Error
		if !errors.As(err, &typed) || typed.Code != domain.CodeInvalid || typed.Fields[0].Field != field || len(w.prompts) != 0 {
			t.Errorf("%s: %v", field, err)
		}
	}
}
