package completions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func TestPromptsBecomeQuestions(t *testing.T) {
	t.Parallel()
	for _, prompt := range []any{"How long?", []any{"How long?"}} {
		got, unknown, faults := Translate(map[string]any{
			"model": "m", "prompt": prompt, "max_tokens": 16.0, "stop": []any{"\n"}, "echo": false, "best_of": 1.0, "suffix": nil, "logprobs": nil, "seed": 3.0,
		})
		want := map[string]any{
			"model": "m", "max_tokens": 16.0, "stop": []any{"\n"}, "messages": []any{map[string]any{"role": "user", "content": "How long?"}},
		}
		if diff := cmp.Diff(want, got); diff != "" || len(faults) > 0 || !slices.Equal(unknown, []string{"seed"}) {
			t.Errorf("chat completion (-want +got):\n%s\nunknown %v, faults %v", diff, unknown, faults)
		}
	}
}

func TestFieldsThatWouldChangeTheAnswerAreRejected(t *testing.T) {
	t.Parallel()
	_, _, faults := Translate(map[string]any{"prompt": []any{"a", "b"}, "echo": true, "suffix": "end", "best_of": 2.0, "logprobs": 5.0})
	want := []domain.FieldError{
		{Field: "best_of", Message: "is 2, which is not supported; leave it out"},
		{Field: "echo", Message: "is true, which is not supported; leave it out"},
		{Field: "logprobs", Message: "is 5, which is not supported; leave it out"},
		{Field: "suffix", Message: `is "end", which is not supported; leave it out`},
		{Field: "prompt", Message: "has 2 items; send one prompt per request, as a string"},
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for _, prompt := range []any{nil, 5.0, []any{}, []any{1.0}, []any{[]any{1.0}}, map[string]any{}} {
		if _, _, faults := Translate(map[string]any{"prompt": prompt}); len(faults) != 1 || faults[0].Field != "prompt" {
			t.Errorf("prompt %v: faults %v", prompt, faults)
		}
	}
}
