package remote

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func caller(limits Limits) *Caller {
	if limits.Wait == nil {
		limits.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	return NewCaller(Server{Name: "the model server", KeySetting: "KEY", AddressSetting: "ADDRESS", Secret: "sk-very-secret"}, limits)
}

func discard(string) error { return nil }

func TestTheTimeToTheFirstPieceHoldsForAllAttemptsTogether(t *testing.T) {
	t.Parallel()
	t.Run("while one of them waits for the server", func(t *testing.T) {
		t.Parallel()
		asked := 0
		_, err := caller(Limits{FirstToken: 500 * time.Millisecond}).Complete(t.Context(), chat.Prompt{}, discard, func(ctx context.Context, _ *Reply) error {
			if asked++; asked == 1 {
				return &Status{HTTP: 500, HasWait: true}
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if asked != 2 || !strings.Contains(err.Error(), "did not start to answer within 500ms") {
			t.Fatalf("asked %d times: %v", asked, err)
		}
	})
	t.Run("and no attempt is made that would come too late", func(t *testing.T) {
		t.Parallel()
		asked := 0
		_, err := caller(Limits{FirstToken: 200 * time.Millisecond}).Complete(t.Context(), chat.Prompt{}, discard, func(context.Context, *Reply) error {
			asked++
			return &Status{HTTP: 503}
		})
		if asked != 1 || !strings.Contains(err.Error(), "HTTP 503") {
			t.Fatalf("asked %d times: %v", asked, err)
		}
	})
	t.Run("and not for what a model thinks", func(t *testing.T) {
		t.Parallel()
		_, err := caller(Limits{FirstToken: 500 * time.Millisecond, NextToken: time.Minute}).Complete(t.Context(), chat.Prompt{}, discard, func(ctx context.Context, r *Reply) error {
			r.Thought()
			timer := time.NewTimer(time.Second)
			defer timer.Stop()
			select {
			case <-timer.C:
				return r.Pass("Six.")
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestASlowReaderIsNotTheServersFault(t *testing.T) {
	t.Parallel()
	c := caller(Limits{NextToken: 500 * time.Millisecond})
	slow := func(string) error {
		timer := time.NewTimer(600 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		return nil
	}
	_, err := c.Complete(t.Context(), chat.Prompt{}, slow, func(ctx context.Context, r *Reply) error {
		for range 3 {
			if err := r.Pass("x"); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestADisconnectDuringABackoffEndsTheCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := caller(Limits{Wait: func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }})
	_, err := c.Complete(ctx, chat.Prompt{}, discard, func(context.Context, *Reply) error { return &Status{HTTP: 500} })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestRetriesWithOtherParametersAreBounded(t *testing.T) {
	t.Parallel()
	asked := 0
	_, err := caller(Limits{}).Complete(t.Context(), chat.Prompt{}, discard, func(context.Context, *Reply) error {
		asked++
		return ErrAdjusted
	})
	if domain.CodeOf(err) != domain.CodeUnavailable || asked != maxAdjustments+1 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
}

func TestTheKeyIsTakenOutOfAnErrorBeforeItsTextIsCut(t *testing.T) {
	t.Parallel()
	c := caller(Limits{})
	for before := 970; before <= 1010; before++ {
		text := c.redacted(errors.New(strings.Repeat("x", before) + c.server.Secret)).Error()
		if strings.Contains(text, c.server.Secret[:4]) {
			t.Fatalf("with %d characters before it, the key shows as %q", before, text[before:])
		}
	}
}
