package answer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestAFirstQuestionThatFailsLeavesNoConversation(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Request){
		"under an id of the caller's": in(someConversation, "anna"),
		"under none":                  func(*Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(fragments()...)
			w.complete = func(context.Context, chat.Prompt, func(string) error) (chat.Completion, error) {
				return chat.Completion{}, errors.New("no model")
			}
			if _, err := w.answerer(Options{}).Answer(t.Context(), ask(change), nil); err == nil {
				t.Fatal("answered")
			}
			if len(w.conversations) != 0 || len(w.messages) != 0 || len(w.holders) != 0 {
				t.Errorf("left behind: %v, %v, %v", w.conversations, w.messages, w.holders)
			}
		})
	}
}

func TestTheFirstAnswerOfTwoProcessesCreatesTheConversation(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	var asked atomic.Int64
	w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
		switch n := asked.Add(1); {
		case n == 1:
			return chat.Completion{}, errors.New("no model")
		case len(p.Messages) != int(2*n-3):
			t.Errorf("question %d was given %d messages", n, len(p.Messages))
		}
		return chat.Completion{}, emit("At six [1].")
	}
	processes := []*Answerer{w.answerer(Options{HistoryTokens: 10_000}), w.answerer(Options{HistoryTokens: 10_000})}
	var failed atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if _, err := processes[i%2].Answer(t.Context(), ask(in(someConversation, "")), nil); err != nil {
				failed.Add(1)
			}
		})
	}
	wg.Wait()
	if failed.Load() != 1 || len(w.conversations) != 1 || len(w.messages[someConversation]) != 10 {
		t.Errorf("%d failed; stored: %v, %d messages", failed.Load(), w.conversations, len(w.messages[someConversation]))
	}
}

func TestAnotherVisitorDoesNotWaitForTheLockOfAConversation(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.conversations[someConversation] = domain.Conversation{ID: someConversation, WorkspaceID: "ws", AgentID: "ag", VisitorID: "anna"}
	w.holders[someConversation] = "anna's process"
	_, err := w.answerer(Options{}).Answer(t.Context(), ask(in(someConversation, "bert")), nil)
	if domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

func TestAConversationDeletedDuringAnAnswerIsNotCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.conversations[someConversation] = domain.Conversation{ID: someConversation, WorkspaceID: "ws", AgentID: "ag", VisitorID: "anna"}
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		w.mu.Lock()
		delete(w.conversations, someConversation)
		w.mu.Unlock()
		return chat.Completion{}, emit("At six [1].")
	}
	if _, err := w.answerer(Options{}).Answer(t.Context(), ask(in(someConversation, "anna")), nil); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("got %v", err)
	}
	if len(w.conversations) != 0 {
		t.Errorf("begun anew: %v", w.conversations)
	}
}
