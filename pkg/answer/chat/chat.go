// Package chat is the contract between the answerer and its providers: prompt, turns, parameters and completion. Providers (extractive,
// openai, anthropic) and what writes prompts import it; it knows none of them.
package chat

import (
	"context"
	"errors"
	"strings"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Provider writes an answer to a prompt. It is safe for concurrent use.
type Provider interface {
	// Complete passes the answer's text to emit, in order: piece by piece as it is made when Prompt.Stream is set, else in
	// as few calls as it likes. It returns emit's error as it is when emit fails, and stops soon after ctx is done.
	//
	// It fails with a *domain.Error whose message may be shown to callers, one that wraps ErrTooLong when the prompt is
	// more than the model's window holds. What failed before the first piece may have been tried again; after it nothing
	// is, for pieces cannot be taken back.
	Complete(ctx context.Context, p Prompt, emit func(text string) error) (Completion, error)
}

// ErrTooLong is a prompt that the model's window does not hold.
var ErrTooLong = errors.New("the prompt is longer than the model's window")

// Models knows who answers under which name.
type Models interface {
	// Models are those that answer under one of domain.ModelNames, in the order in which they are tried: the next one
	// when the one before has failed without saying anything. There is at least one.
	Models(name string) []Model
}

// Model is a model of a provider.
type Model struct {
	Name     string // as the provider names it; "": the interface's name
	Provider Provider
	Window   int // tokens of prompt and answer together; 0: no bound
	Answer   int // tokens kept free for the answer where a request does not say
}

// Only is the provider that answers under every name.
func Only(p Provider) Models { return only{Model{Provider: p}} }

type only struct{ model Model }

func (o only) Models(string) []Model { return []Model{o.model} }

// Prompt is all that a provider gets.
type Prompt struct {
	Model  string // as the provider names it
	Stream bool
	Params Params

	System   string // instructions, and the documents unless a template places them elsewhere
	Messages []Turn // oldest first; the last is the user's question

	// What the prompt was made of, for providers that are no language model.
	Question    string
	Search      string // the question as it was searched for: a follow-up has words of the question before
	Earlier     []Turn // what was said before in the conversation, oldest first
	Fragments   []domain.Fragment
	TermWeights map[string]float64

	Candidates int // chunks that the fragments are the best of; 0: not known

	NoDatastores bool // the agent has none to answer from
}

// tokensPerMessage is what the marks around a message take.
const tokensPerMessage = 4

// Tokens estimates how many tokens the prompt takes of a model's window.
func (p Prompt) Tokens() int {
	n := chunk.Tokens(p.System) + tokensPerMessage
	for _, t := range p.Messages {
		n += chunk.Tokens(t.Text) + tokensPerMessage
	}
	return n
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
	Estimated        bool     // one of them is an estimate: the provider did not say
	Cut              bool     // the answer ends where maxTokens, or the model's own limit, ended it
	Ignored          []string // the interface's names of the parameters that the provider or model does not take as they were given
	Unanswered       bool     // the provider knows that the documents do not answer: the answer has no sources
}

// Transcript writes turns out for a placeholder.
func Transcript(history []Turn) string {
	var out strings.Builder
	for _, t := range history {
		who := "User"
		if t.Role == domain.RoleAssistant {
			who = "Assistant"
		}
		out.WriteString(who + ": " + t.Text + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}
