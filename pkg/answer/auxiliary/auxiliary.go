// Package auxiliary makes the short model calls that prepare an answer: rewriting a follow-up question, translating a
// question, and planning searches. A user is waiting, so time and tokens are limited.
package auxiliary

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// Task is one model call. All limits are required.
type Task struct {
	ModelName    string // used if the model has no name of its own
	Instructions string
	Question     string // the question the call is about
	Input        string // text for the model to process; defaults to the question

	Timeout   time.Duration
	MaxTokens int // maximum tokens in the output
	MaxBytes  int // maximum bytes in the output
}

// errTooMuch stops a model that exceeds Task.MaxBytes.
var errTooMuch = errors.New("the model's output is longer than the limit")

// Ask calls the model and returns its trimmed output, which is "" if the call fails, along with the usage. If the
// caller has cancelled ctx, it returns ctx's error.
func Ask(ctx context.Context, m chat.Model, t Task) (text string, used chat.Completion, err error) {
	within, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	zero := 0.0
	var out strings.Builder
	used, err = m.Provider.Complete(within, chat.Prompt{
		Model:    cmp.Or(m.Name, t.ModelName),
		Params:   chat.Params{Temperature: &zero, MaxTokens: &t.MaxTokens},
		System:   t.Instructions,
		Messages: []chat.Turn{{Role: domain.RoleUser, Text: cmp.Or(t.Input, t.Question)}},
		Question: t.Question,
		Search:   t.Question,
	}, func(piece string) error {
		if out.Len()+len(piece) > t.MaxBytes {
			return errTooMuch
		}
		out.WriteString(piece)
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return "", used, ctx.Err()
	case err != nil:
		return "", used, err
	}
	return strings.TrimSpace(out.String()), used, nil
}

// Add adds a call's usage to a total.
func Add(total *chat.Completion, used chat.Completion) {
	total.PromptTokens += used.PromptTokens
	total.CompletionTokens += used.CompletionTokens
}
