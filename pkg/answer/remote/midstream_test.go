package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
)

var prompt = chat.Prompt{Model: "asked-for", System: "Be brief.", Messages: []chat.Turn{{Role: domain.RoleUser, Text: "When does it open?"}}}

func TestAFailureAfterTheFirstPieceIsNotRetriedAndItsTokensCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails error
		code  domain.Code
		says  string
	}{
		"a stream that is cut":                {ErrCut, domain.CodeUnavailable, "broke in the middle"},
		"a connection that breaks":            {errors.New("unexpected EOF"), domain.CodeUnavailable, "broke in the middle"},
		"an error that the server sends":      {&Status{HTTP: sentInStream, Message: "boom"}, domain.CodeUnavailable, "reported an error"},
		"one that is called temporary":        {&Status{HTTP: 503, HasWait: true}, domain.CodeUnavailable, "HTTP 503"},
		"a content filter":                    {ErrFiltered, domain.CodeInvalid, "content filter"},
		"a line that is too long":             {fmt.Errorf("reading: %w", bounded.ErrTooLarge), domain.CodeUnavailable, "too large"},
		"a parameter that is refused late":    {ErrAdjusted, domain.CodeUnavailable, "broke in the middle"},
		"a window that is full in the middle": {&Status{HTTP: sentInStream, Code: "context_length_exceeded"}, domain.CodeInvalid, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			var got strings.Builder
			completion, err := caller(Limits{}).Complete(t.Context(), prompt, func(s string) error { got.WriteString(s); return nil },
				func(_ context.Context, r *Reply) error {
					asked++
					if err := errors.Join(r.Pass("It opens "), r.Pass("at six.")); err != nil {
						return err
					}
					return c.fails
				})
			if asked != 1 || got.String() != "It opens at six." {
				t.Errorf("asked %d times, passed on %q", asked, got.String())
			}
			if domain.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			want := chat.Completion{Model: "asked-for", PromptTokens: int64(prompt.Tokens()), CompletionTokens: 5, Estimated: true}
			if diff := cmp.Diff(want, completion); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTokensCountedByTheServerArePreferredToAnEstimate(t *testing.T) {
	t.Parallel()
	got, err := caller(Limits{}).Complete(t.Context(), prompt, discard, func(_ context.Context, r *Reply) error {
		r.Model, r.PromptTokens, r.CompletionTokens = "answered", 70, 2
		return errors.Join(r.Pass("It opens"), ErrCut)
	})
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(chat.Completion{Model: "answered", PromptTokens: 70, CompletionTokens: 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAnswerThatReachesItsLimitIsMarkedAsCut(t *testing.T) {
	t.Parallel()
	got, err := caller(Limits{}).Complete(t.Context(), prompt, discard, func(_ context.Context, r *Reply) error {
		r.Cut = true
		return r.Pass("It opens")
	})
	if err != nil || !got.Cut {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAFailedWriteEndsTheCall(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	asked, pieces := 0, 0
	got, err := caller(Limits{}).Complete(t.Context(), prompt, func(string) error {
		if pieces++; pieces == 2 {
			return full
		}
		return nil
	}, func(_ context.Context, r *Reply) error {
		asked++
		for {
			if err := r.Pass("word "); err != nil {
				return fmt.Errorf("passing on: %w", err)
			}
		}
	})
	//nolint:errorlint // the error is to come back as it is
	if err != full || asked != 1 || pieces != 2 {
		t.Errorf("got %v after %d pieces, asked %d times", err, pieces, asked)
	}
	if got.CompletionTokens != 2 {
		t.Errorf("%d tokens are counted, want those of what was made", got.CompletionTokens)
	}
}

func TestAStalledStreamIsEndedDespiteKeepAlives(t *testing.T) {
	t.Parallel()
	const timeout = 30 * time.Second
	for name, c := range map[string]struct {
		sign  func(*Reply)
		bears bool
	}{
		"silence":                   {func(*Reply) {}, false},
		"events that hold no piece": {(*Reply).Event, true},
		"thoughts":                  {(*Reply).Thought, true},
		"pieces":                    {func(r *Reply) { _ = r.Pass("x") }, true},
		"pieces without any letter": {func(r *Reply) { _ = r.Pass("") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // in the bubble, time advances only while all goroutines are blocked
				_, err := caller(Limits{NextToken: timeout}).Complete(t.Context(), prompt, discard, func(ctx context.Context, r *Reply) error {
					if err := r.Pass("It opens"); err != nil {
						return err
					}
					for range 10 {
						if err := wait(ctx, timeout-time.Second); err != nil {
							return err
						}
						c.sign(r)
					}
					return nil
				})
				if c.bears != (err == nil) || err != nil && !strings.Contains(err.Error(), "sent nothing for 30s in the middle") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
