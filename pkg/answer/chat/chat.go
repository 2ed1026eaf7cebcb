// Package chat defines the contract between the answerer and its providers: prompt, turns, parameters and completion.
// The providers (extractive, openai, anthropic) and the code that composes prompts import it; it imports none of them.
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Provider writes an answer to a prompt. It is safe for concurrent use.
type Provider interface {
	// Complete passes the answer's text to emit, in order. If Prompt.Stream is set, it passes text on as it is
	// generated; otherwise the provider decides how to split it. Complete returns errors from emit unchanged and stops
	// soon after ctx is done.
	//
	// Other failures are a *domain.Error whose message may be shown to callers; it wraps ErrTooLong if the prompt
	// exceeds the model's context window. A provider may retry failed requests until it has emitted text, but not
	// afterwards, because emitted text cannot be taken back.
	Complete(ctx context.Context, p Prompt, emit func(text string) error) (Completion, error)
}

// ErrTooLong means that the prompt exceeds the model's context window.
var ErrTooLong = errors.New("the prompt is longer than the model's context window")

// Models maps model names to models.
type Models interface {
	// Models returns one or more models to try, in order, for the model name in an API request (see domain.ModelNames).
	// If a model fails without emitting text, the next one is called.
	Models(name string) []Model
}

// Model is a language model, along with the provider that calls it.
type Model struct {
	Name     string // the provider's name for the model; "" means the API's name
	Provider Provider
	Window   int // maximum tokens of prompt and answer together; 0 means unlimited
	Answer   int // tokens reserved for the answer if the request sets no limit
}

// SingleModel returns a Models that maps every name to the provider p.
func SingleModel(p Provider) Models { return singleModel{Model{Provider: p}} }

type singleModel struct{ model Model }

func (o singleModel) Models(string) []Model { return []Model{o.model} }

// Prompt is a provider's input.
type Prompt struct {
	Model  string // the provider's name for the model
	Stream bool
	Params Params

	System   string // instructions, plus the documents unless a template puts them elsewhere
	Messages []Turn // oldest first; the last one is the user's question, or the result of a tool call made for it

	// These fields repeat the prompt's content for providers without a language model.
	Question    string
	Search      string // the search query; for a follow-up question, includes words from earlier questions
	Earlier     []Turn // the conversation's earlier messages, oldest first
	Fragments   []domain.Fragment
	TermWeights map[string]float64

	Rules *analysis.Rules // synonyms and stop words of the datastores; nil means none

	Scores []FragmentScores // further scores of each fragment; nil means none

	Candidates int // number of chunks the fragments were selected from; 0 if unknown

	NoDatastores bool // whether the agent has no datastores

	// Begin, if not nil, is called before the answer's first text, with the API names of parameters that the model
	// rejected or changed. Providers without a language model don't call it.
	Begin func(ignored []string)

	// OnCall, if not nil, receives the tool calls as they arrive. Joined together, the deltas are Completion.ToolCalls.
	// After the first delta, the request is not retried. The provider returns errors from OnCall unchanged.
	OnCall func(CallDelta) error
}

// FragmentScores holds a fragment's scores other than the final one.
type FragmentScores struct {
	Relevance      float64   // score without boosts; see retrieve.Result
	Parts          []float64 // scores in the searches for the question's parts; nil if it was searched as a whole
	PartRelevances []float64 // relevances in the searches for the parts
}

// Estimated number of tokens in the markup around a message.
const tokensPerMessage = 4

// Tokens estimates the number of tokens in the prompt.
func (p Prompt) Tokens() int {
	n := chunk.Tokens(p.System) + tokensPerMessage
	for _, t := range p.Messages {
		n += chunk.Tokens(t.Text) + tokensPerMessage
		for _, c := range t.Calls {
			n += chunk.Tokens(c.Name) + chunk.Tokens(c.Arguments) + tokensPerMessage
		}
	}
	for _, t := range p.Params.Tools {
		n += chunk.Tokens(t.Name) + chunk.Tokens(t.Description) + chunk.Tokens(string(t.Parameters)) + tokensPerMessage
	}
	return n
}

// Turn is one message in a prompt.
type Turn struct {
	Role domain.Role
	Text string

	Calls    []ToolCall // the assistant's tool calls
	ResultOf string     // id of the tool call that produced this result; Role is then domain.RoleUser
}

// Params are a language model's parameters. nil means the provider's default.
type Params struct {
	Temperature      *float64 // 0 to 1
	TopP             *float64 // 0 to 1
	PresencePenalty  *float64 // -2 to 2
	FrequencyPenalty *float64 // -2 to 2
	MaxTokens        *int     // maximum tokens in the answer; at least 1

	// ResponseFormat is OpenAI's response_format as JSON: json_object, or json_schema with a schema. nil means text.
	ResponseFormat json.RawMessage

	// Stop lists sequences that end the answer. Providers may ignore them, because the caller also cuts the answer off.
	Stop []string

	Tools      []Tool
	ToolChoice ToolChoice
}

// Completion holds an answer's usage and outcome. A provider without a model reports no tokens.
type Completion struct {
	Model            string // the provider's name for the model
	PromptTokens     int64
	CompletionTokens int64
	Estimated        bool       // whether a count is an estimate, because the provider reported none
	Cut              bool       // whether the answer was truncated, at maxTokens or the model's own limit
	Ignored          []string   // API names of parameters that the provider or model rejected or changed
	ToolCalls        []ToolCall // calls to Params.Tools; the answer follows after their results
	NoAnswer         bool       // whether the provider found no answer in the documents, so there are no sources
}

// Transcript formats turns for a prompt, one per line, with the prefix "User: " or "Assistant: ".
func Transcript(history []Turn) string {
	var out strings.Builder
	for _, t := range history {
		role := "User"
		if t.Role == domain.RoleAssistant {
			role = "Assistant"
		}
		out.WriteString(role + ": " + t.Text + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}
