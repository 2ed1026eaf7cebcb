package answer

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// Provider writes an answer to a prompt. It is safe for concurrent use.
type Provider interface {
	// Complete passes the answer's text to emit, in order: piece by piece as it is made when Prompt.Stream is set, else in
	// as few calls as it likes. It returns emit's error as it is when emit fails, and stops soon after ctx is done.
	//
	// It fails with a *domain.Error whose message may be shown to callers. What failed before the first piece may have
	// been tried again; after it nothing is, for pieces cannot be taken back.
	Complete(ctx context.Context, p Prompt, emit func(text string) error) (Completion, error)
}

// Prompt is all that a provider gets.
type Prompt struct {
	Model  string // one of domain.ModelNames
	Stream bool
	Params Params

	System   string // instructions, and the documents unless a template places them elsewhere
	Messages []Turn // oldest first; the last is the user's question

	// What the prompt was made of, for providers that are no language model.
	Question    string
	Search      string // the question as it was searched for: a follow-up has words of the question before
	Fragments   []domain.Fragment
	TermWeights map[string]float64

	NoDatastores bool // the agent has none to answer from
}

// Turn is one message of a prompt.
type Turn struct {
	Role domain.Role
	Text string
}

// Params steer a language model; nil leaves a parameter to the provider.
type Params struct {
	Temperature      *float64 // 0 to 1
	TopP             *float64 // 0 to 1
	PresencePenalty  *float64 // -2 to 2
	FrequencyPenalty *float64 // -2 to 2
	MaxTokens        *int     // of the answer, at least 1
}

// Completion is what an answer took. A provider without a model has no tokens to count.
type Completion struct {
	Model            string // as the provider names it
	PromptTokens     int64
	CompletionTokens int64
	Cut              bool // the answer ends where MaxTokens, or the model's own limit, ended it
	Unanswered       bool // the provider knows that the documents do not answer: the answer has no sources
}
