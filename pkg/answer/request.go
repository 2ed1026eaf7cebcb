package answer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Limits on a request.
const (
	MaxVisitorIDCharacters = 200
	MaxPromptCharacters    = 32_000   // per prompt or template
	MaxInstructionBytes    = 64 << 10 // for the caller's instructions
	MaxAnswerTokens        = 128_000  // largest value of maxTokens
	MaxStops               = 4        // stop sequences
	MaxStopBytes           = 1000     // per stop sequence
)

// Request is a question to an agent. A nil override means that the agent's setting is used.
type Request struct {
	Agent          domain.Agent
	Query          string // 1 to retrieve.MaxQueryCharacters characters
	ConversationID string // "" means a new conversation
	CallerID       string // conversation id chosen by the caller, if it is not a UUID
	VisitorID      string // "" means the conversation's visitor, or a new one
	Filters        domain.Filters
	Where          *filter.Filter // in addition to Filters; nil matches everything
	Explain        bool           // whether to fill Answer.Explanation

	Fragments int               // number of fragments to retrieve, at most retrieve.MaxTopK; 0 means Options.Fragments
	MinScore  *float64          // minimum fragment score, in addition to Options.MinScore
	Mode      domain.SearchMode // "" means hybrid

	NewConversationID string // id for a new conversation; "" means a generated id

	// History contains the earlier messages, oldest first, if the caller stores the conversation itself. ConversationID
	// must then be empty, because a stored conversation's messages come from the catalog.
	History []domain.Message
	// HistoryTokens is the maximum number of History tokens in a prompt. 0 means Options.HistoryTokens.
	HistoryTokens int
	// Whole rejects the request if the model's context window is too small for all of History.
	Whole bool
	// Ephemeral keeps the question and the answer out of the catalog. ConversationID must be empty.
	Ephemeral bool
	// Instructions are added verbatim after the system prompt, without replacing placeholders.
	Instructions string

	// Ignored, if not nil, is called before the answer's first text with the names of any request parameters that were
	// changed or not passed on to the model.
	Ignored func(names []string)

	// OnSearch, if not nil, is called after the search and before the answer's first text. It receives the search query
	// and the fragments found, best first, including irrelevant ones. If there is no search, it is not called.
	OnSearch func(query string, found []domain.Fragment) error

	// OnCall, if not nil, receives the tool calls as the model writes them. Joined together, the deltas are
	// Answer.ToolCalls.
	OnCall func(chat.CallDelta) error

	Temperature      *float64
	ModelName        *string
	MaxTokens        *int
	PresencePenalty  *float64
	FrequencyPenalty *float64
	TopP             *float64
	ResponseFormat   json.RawMessage // as in chat.Params; needs a chat model
	Stop             []string        // up to MaxStops sequences that end the answer
	Tools            []chat.Tool     // the client's functions; need a chat model
	ToolChoice       chat.ToolChoice
	Continuation     []chat.Turn // the model's tool calls after the question, and their results
	SystemPrompt     *string
	UserPrompt       *string
	PromptType       *domain.PromptType // deprecated
	PromptTemplate   *string            // deprecated
}

// check returns an error listing all invalid fields.
func (r Request) check() error {
	var faults []domain.FieldError
	fault := func(field, format string, args ...any) {
		faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	switch n := utf8.RuneCountInString(r.Query); {
	case strings.TrimSpace(r.Query) == "":
		fault("query", "must not be empty")
	case n > retrieve.MaxQueryCharacters:
		fault("query", "has %d characters; the limit is %d", n, retrieve.MaxQueryCharacters)
	}
	if r.ConversationID != "" && !domain.ValidConversationID(r.ConversationID) {
		fault("conversationId", "is %.40q, which is not the id of a conversation; leave it out to start a new one", r.ConversationID)
	}
	if r.ConversationID != "" && (len(r.History) > 0 || r.Ephemeral) {
		fault("conversationId", "refers to a stored conversation; do not send its earlier messages again")
	}
	if r.Fragments < 0 || r.Fragments > retrieve.MaxTopK {
		fault("fragments", "is %d; it must be between 0 and %d", r.Fragments, retrieve.MaxTopK)
	}
	if len(r.Instructions) > MaxInstructionBytes {
		fault("instructions", "has %d bytes; the limit is %d", len(r.Instructions), MaxInstructionBytes)
	}
	if utf8.RuneCountInString(r.VisitorID) > MaxVisitorIDCharacters || !utf8.ValidString(r.VisitorID) || strings.ContainsRune(r.VisitorID, 0) {
		fault("visitorId", "must be text of at most %d characters", MaxVisitorIDCharacters)
	}
	between := func(field string, v *float64, low, high float64) {
		if v != nil && !(*v >= low && *v <= high) { // also rejects NaN
			fault(field, "is %g; it must be between %.1f and %.1f", *v, low, high)
		}
	}
	between("temperature", r.Temperature, 0, 1)
	between("presencePenalty", r.PresencePenalty, -2, 2)
	between("frequencyPenalty", r.FrequencyPenalty, -2, 2)
	between("topP", r.TopP, 0, 1)
	if r.MaxTokens != nil && (*r.MaxTokens < 1 || *r.MaxTokens > MaxAnswerTokens) {
		fault("maxTokens", "is %d; it must be between 1 and %d", *r.MaxTokens, MaxAnswerTokens)
	}
	if len(r.Stop) > MaxStops {
		fault("stop", "has %d sequences; the limit is %d", len(r.Stop), MaxStops)
	}
	for _, s := range r.Stop {
		if s == "" || len(s) > MaxStopBytes {
			fault("stop", "contains a sequence of %d bytes; each sequence must have 1 to %d bytes", len(s), MaxStopBytes)
		}
	}
	if r.ModelName != nil && !slices.Contains(domain.ModelNames, *r.ModelName) {
		fault("modelName", "is %.40q; it must be one of %s", *r.ModelName, strings.Join(domain.ModelNames, ", "))
	}
	if t := r.PromptType; t != nil && *t != domain.PromptRaw && *t != domain.PromptCustomerSupport {
		fault("promptType", "is %.40q; it must be %s or %s", *t, domain.PromptRaw, domain.PromptCustomerSupport)
	}
	for _, p := range []struct {
		field string
		text  *string
		has   string // the agent's own setting, used if text is nil
	}{
		{"systemPrompt", r.SystemPrompt, r.Agent.SystemPrompt},
		{"userPrompt", r.UserPrompt, r.Agent.UserPrompt},
		{"promptTemplate", r.PromptTemplate, r.Agent.PromptTemplate},
	} {
		if n := domain.Placeholders(orDefault(p.text, p.has)); n > domain.MaxPlaceholders {
			fault(p.field, "has %d placeholders; the limit is %d", n, domain.MaxPlaceholders)
		}
		if p.text == nil {
			continue
		}
		if n := utf8.RuneCountInString(*p.text); n > MaxPromptCharacters {
			fault(p.field, "has %d characters; the limit is %d", n, MaxPromptCharacters)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	parts := make([]string, len(faults))
	for i, f := range faults {
		parts[i] = f.Field + ": " + f.Message
	}
	return &domain.Error{Code: domain.CodeInvalid, Message: strings.Join(parts, "; "), Fields: faults}
}

// checkModel returns an error if the request needs a chat model. It matters only if none is configured.
func (r Request) checkModel() error {
	const why = "this service has no chat model; leave %s out, or ask the operator to set SLUICE_CHAT_MODEL"
	switch {
	case r.ResponseFormat != nil:
		return domain.Invalid("response_format", why, "it")
	case len(r.Tools) > 0:
		return domain.Invalid("tools", why, "them")
	case len(r.Continuation) > 0:
		return domain.Invalid("messages", why, "tool calls and their results")
	}
	return nil
}

// model returns the API's name for the model that will answer.
func (r Request) model() string {
	switch {
	case r.ModelName != nil:
		return *r.ModelName
	case r.Agent.ModelName != "":
		return r.Agent.ModelName
	default:
		return domain.DefaultModelName
	}
}

// reportIgnored calls r.Ignored with those ignored parameters that were set by the request itself, not by the agent.
func (r Request) reportIgnored(names []string) {
	set := map[string]bool{
		"temperature": r.Temperature != nil, "topP": r.TopP != nil, "maxTokens": r.MaxTokens != nil,
		"presencePenalty": r.PresencePenalty != nil, "frequencyPenalty": r.FrequencyPenalty != nil,
		"responseFormat": r.ResponseFormat != nil,
	}
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !set[name] })
	if len(own) > 0 && r.Ignored != nil {
		r.Ignored(own)
	}
}

// modelParameters are the API names of parameters that have no effect without a language model.
var modelParameters = []string{"temperature", "topP", "presencePenalty", "frequencyPenalty", "maxTokens"}

func (r Request) params() chat.Params {
	p := chat.Params{
		Temperature:      r.Temperature,
		TopP:             r.TopP,
		PresencePenalty:  r.PresencePenalty,
		FrequencyPenalty: r.FrequencyPenalty,
		MaxTokens:        r.MaxTokens,
		ResponseFormat:   r.ResponseFormat,
		Stop:             r.Stop,
		Tools:            r.Tools,
		ToolChoice:       r.ToolChoice,
	}
	if p.Temperature == nil && p.TopP == nil { // providers advise against setting both
		p.Temperature = &r.Agent.Temperature
	}
	return p
}
