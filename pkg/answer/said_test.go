package answer

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// saidBefore is the history sent by a caller that stores the conversation itself.
var saidBefore = []domain.Message{
	{Role: domain.RoleUser, Text: "Which gate is the oldest?"},
	{Role: domain.RoleAssistant, Text: "The Aurora gate [1]."},
}

func TestACallerMayStoreTheConversationItself(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	got, err := w.answerer(Options{}).Answer(t.Context(), ask(func(r *Request) {
		r.Query, r.History, r.Ephemeral, r.VisitorID = "When does it open?", saidBefore, true, "v"
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the model sees what was said, without citations", func(t *testing.T) {
		want := []chat.Turn{{Role: domain.RoleUser, Text: "Which gate is the oldest?"}, {Role: domain.RoleAssistant, Text: "The Aurora gate."}, {Role: domain.RoleUser, Text: "When does it open?"}}
		if diff := cmp.Diff(want, w.prompts[0].Messages); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a follow-up is searched for with what it is about", func(t *testing.T) {
		if queries := w.queries(); !slices.ContainsFunc(queries, func(q string) bool { return strings.Contains(q, "gate") }) {
			t.Errorf("searched for %q", queries)
		}
	})
	t.Run("nothing is stored", func(t *testing.T) {
		if len(w.conversations) != 0 || len(w.messages) != 0 || got.ConversationID != "" || got.VisitorID != "v" {
			t.Errorf("stored %v and %v, got %+v", w.conversations, w.messages, got)
		}
	})
}

func TestHistoryIsCutToTheBudget(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	long := append([]domain.Message{{Role: domain.RoleUser, Text: strings.Repeat("word ", 100)}}, saidBefore...)
	if _, err := w.answerer(Options{HistoryTokens: 50}).Answer(t.Context(), ask(func(r *Request) { r.History = long }), nil); err != nil {
		t.Fatal(err)
	}
	if n := len(w.prompts[0].Messages); n != 3 {
		t.Errorf("the prompt has %d messages, want the two newest and the question", n)
	}
}

func TestALastExchangeLongerThanTheBudgetIsTruncated(t *testing.T) {
	t.Parallel()
	exchange := func(question, answer int) []domain.Message {
		return []domain.Message{
			{Role: domain.RoleUser, Text: "Which gate? " + strings.Repeat("word ", question)},
			{Role: domain.RoleAssistant, Text: "The Aurora gate [1]. " + strings.Repeat("語", answer)},
		}
	}
	for name, c := range map[string]struct {
		messages []domain.Message
		budget   int
		want     int
	}{
		"a long answer":           {exchange(0, 500), 100, 2},
		"a long question":         {exchange(500, 0), 100, 2},
		"both, behind others":     {append(exchange(0, 0), exchange(500, 500)...), 100, 4},
		"a short one, and others": {append(exchange(500, 0), exchange(0, 0)...), 100, 2},
		"no budget at all":        {exchange(0, 0), -1, 0},
		"a budget for nothing":    {exchange(500, 500), 1, 0},
		"an answer of nothing":    {append(exchange(0, 0), domain.Message{Role: domain.RoleUser, Text: "And?"}, domain.Message{Role: domain.RoleAssistant, Text: "[1]"}), 100, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := recentTurns(c.messages, c.budget)
			tokens := 0
			for _, turn := range got {
				tokens += chunk.Tokens(turn.Text)
			}
			if len(got) != c.want || tokens > max(0, c.budget) {
				t.Errorf("%d turns of %d tokens: %+v", len(got), tokens, got)
			}
			if c.want > 0 && !strings.HasPrefix(got[0].Text, "Which gate?") {
				t.Errorf("begins with %q", got[0].Text)
			}
		})
	}
}

func TestHistoryExcludesAStoredConversation(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Request){
		"history":    func(r *Request) { r.History = saidBefore },
		"no storing": func(r *Request) { r.Ephemeral = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newFixture().answerer(Options{}).Answer(t.Context(), ask(in(someConversation, ""), change), nil)
			if domain.CodeOf(err) != domain.CodeInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInstructionsFollowTheSystemPrompt(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	_, err := w.answerer(Options{}).Answer(t.Context(), ask(func(r *Request) {
		r.Agent.SystemPrompt, r.Instructions = "You guard the gate.", "Be brief about {query}."
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	system := w.prompts[0].System
	if !strings.Contains(system, "You guard the gate.") || !strings.HasSuffix(system, "\n\nBe brief about {query}.") {
		t.Errorf("the system prompt is %q", system)
	}
}

func TestATruncatedAnswerIsMarked(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		return chat.Completion{Cut: true}, emit("At si")
	}
	if got, err := w.answerer(Options{}).Answer(t.Context(), ask(), nil); err != nil || !got.Cut {
		t.Errorf("got %+v, %v", got, err)
	}
}
