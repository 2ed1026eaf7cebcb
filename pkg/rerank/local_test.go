package rerank

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// scorerFunc is a Scorer that calls a function.
type scorerFunc func(ctx context.Context, query string, passages []string, until time.Time) (map[int]float32, error)

func (f scorerFunc) Score(ctx context.Context, query string, passages []string, until time.Time) (map[int]float32, error) {
	return f(ctx, query, passages, until)
}

func TestALocalModelOrdersWhatItHasScored(t *testing.T) {
	t.Parallel()
	deadline := time.Now().Add(time.Hour)
	l := NewLocal("cross", scorerFunc(func(_ context.Context, query string, passages []string, until time.Time) (map[int]float32, error) {
		if len(query) != MaxQueryBytes || len(passages[3]) != MaxPassageBytes || until != deadline {
			t.Errorf("scored a query of %d bytes and a passage of %d until %v", len(query), len(passages[3]), until)
		}
		return map[int]float32{0: -12, 1: 3, 3: 3, 4: 0}, nil
	}), time.Now)
	got, err := l.Rerank(t.Context(), strings.Repeat("q", MaxQueryBytes+5), []string{"a", "b", "c", strings.Repeat("p", MaxPassageBytes+5), "e"}, deadline)
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{{1, 1 / (1 + math.Exp(-3))}, {3, 1 / (1 + math.Exp(-3))}, {4, 0.5}, {0, 1 / (1 + math.Exp(12))}}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i].Index != want[i].Index || math.Abs(got[i].Score-want[i].Score) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, got[i], want[i])
		}
	}
	if got, err := l.Rerank(t.Context(), "q", nil, deadline); got != nil || err != nil {
		t.Errorf("without passages: %v, %v", got, err)
	}
	if _, err := l.Rerank(t.Context(), "q", make([]string, MaxPassages+1), deadline); err == nil {
		t.Error("too many passages are accepted")
	}
}

func TestALocalModelThatHasNoTimePauses(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	scores, calls := map[int]float32{}, 0
	l := NewLocal("cross", scorerFunc(func(context.Context, string, []string, time.Time) (map[int]float32, error) {
		calls++
		return scores, nil
	}), func() time.Time { return now })
	for range maxFailures {
		var failure *Error
		if _, err := l.Rerank(t.Context(), "q", []string{"a"}, now); !errors.As(err, &failure) || !strings.Contains(err.Error(), "in time") {
			t.Fatalf("error %v", err)
		}
	}
	if _, err := l.Rerank(t.Context(), "q", []string{"a"}, now); !errors.Is(err, ErrPaused) || calls != maxFailures {
		t.Errorf("after %d failures, %d calls: %v", maxFailures, calls, err)
	}
	now = now.Add(minPause + time.Second)
	scores[0] = 1
	for range 2 {
		if _, err := l.Rerank(t.Context(), "q", []string{"a"}, now); err != nil {
			t.Errorf("after the pause: %v", err)
		}
	}
}

func TestALocalModelEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := NewLocal("cross", scorerFunc(func(ctx context.Context, _ string, _ []string, _ time.Time) (map[int]float32, error) {
		cancel()
		return nil, ctx.Err()
	}), time.Now)
	for range maxFailures + 1 { // a cancelled call is not a failure
		if _, err := l.Rerank(ctx, "q", []string{"a"}, time.Time{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	broken := NewLocal("cross", scorerFunc(func(context.Context, string, []string, time.Time) (map[int]float32, error) {
		return nil, errors.New("damaged")
	}), time.Now)
	if _, err := broken.Rerank(t.Context(), "q", []string{"a"}, time.Time{}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error %v", err)
	}
}
