package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// renewals reports each attempt to lock a conversation on a channel.
type renewals struct {
	*fixture
	asked chan string // holders
}

func (r renewals) Lock(ctx context.Context, id, holder string, ttl time.Duration) (bool, error) {
	taken, err := r.fixture.Lock(ctx, id, holder, ttl)
	select {
	case r.asked <- holder:
	default:
	}
	return taken, err
}

func TestAProcessWaitsForTheLockOfAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.holders[someConversation] = "another process"
	r := renewals{w, make(chan string, 10)}
	a := w.answerer(Options{})
	a.deps.Conversations = r
	done := make(chan error, 1)
	go func() {
		_, err := a.Answer(t.Context(), ask(in(someConversation, "anna")), nil)
		done <- err
	}()
	<-r.asked
	<-r.asked // a second attempt shows that the caller is waiting
	select {
	case err := <-done:
		t.Fatalf("answered without the lock: %v", err)
	default:
	}
	if err := w.Unlock(t.Context(), someConversation, "another process"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(w.holders) != 0 {
		t.Errorf("locks left behind: %v", w.holders)
	}
}

func TestTheLockIsRenewedUntilTheAnswerEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	r := renewals{w, make(chan string, 1)}
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		for range 3 {
			<-r.asked
		}
		return chat.Completion{}, emit("At six [1].")
	}
	a := w.answerer(Options{lockTime: 30 * time.Millisecond})
	a.deps.Conversations = r
	if _, err := a.Answer(t.Context(), ask(in(someConversation, "anna")), nil); err != nil {
		t.Fatal(err)
	}
	if len(w.holders) != 0 {
		t.Errorf("locks left behind: %v", w.holders)
	}
}

func TestTheLockIsReleasedHoweverTheAnswerEnds(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	tests := map[string]func(w *fixture, a *Answerer, ctx context.Context) error{
		"when the model fails": func(w *fixture, a *Answerer, ctx context.Context) error {
			w.complete = func(context.Context, chat.Prompt, func(string) error) (chat.Completion, error) {
				return chat.Completion{}, gone
			}
			_, err := a.Answer(ctx, ask(in(someConversation, "anna")), nil)
			return err
		},
		"when the reader leaves": func(_ *fixture, a *Answerer, ctx context.Context) error {
			_, err := a.Answer(ctx, ask(in(someConversation, "anna")), func(string) error { return gone })
			return err
		},
		"when the reader leaves while it waits": func(w *fixture, a *Answerer, ctx context.Context) error {
			w.holders[someConversation] = "other"
			ctx, cancel := context.WithCancelCause(ctx)
			r := renewals{w, make(chan string, 1)}
			a.deps.Conversations = r
			go func() { <-r.asked; cancel(gone) }()
			_, err := a.Answer(ctx, ask(in(someConversation, "anna")), nil)
			delete(w.holders, someConversation)
			return errors.Join(err, context.Cause(ctx))
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(fragments()...)
			if err := test(w, w.answerer(Options{}), t.Context()); !errors.Is(err, gone) {
				t.Fatalf("got %v", err)
			}
			if len(w.holders) != 0 {
				t.Errorf("locks left behind: %v", w.holders)
			}
		})
	}
}

func TestConcurrentQuestionsOfTwoProcessesAreSerialised(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	var mu sync.Mutex
	said := 0
	w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
		mu.Lock()
		defer mu.Unlock()
		said++
		if n := len(p.Messages); n != 2*said-1 {
			t.Errorf("answer %d was given %d messages, want all before it", said, n)
		}
		return chat.Completion{}, emit(fmt.Sprintf("Answer %d [1].", said))
	}
	processes := []*Answerer{w.answerer(Options{HistoryTokens: 10_000}), w.answerer(Options{HistoryTokens: 10_000})}
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if _, err := processes[i%2].Answer(t.Context(), ask(in(someConversation, "anna")), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, m := range w.messages[someConversation] {
		if m.Role == domain.RoleAssistant && !strings.HasPrefix(m.Text, fmt.Sprintf("Answer %d ", i/2+1)) {
			t.Errorf("message %d is %q", i, m.Text)
		}
	}
}
