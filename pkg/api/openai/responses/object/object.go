// Package object defines the Responses API's objects in their JSON form.
package object

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/answer/evidence"
	"github.com/sluice/sluice/pkg/domain"
)

// Response is a Responses API object: the answer to a request, along with the settings used. The fields after Metadata
// are Sluice's own; OpenAI's clients ignore them.
type Response struct {
	ID                 string                `json:"id"`
	Object             string                `json:"object"` // always "response"
	CreatedAt          int64                 `json:"created_at"`
	CompletedAt        *int64                `json:"completed_at"`
	Status             domain.ResponseStatus `json:"status"`
	Background         bool                  `json:"background"`
	Error              *Error                `json:"error"`
	IncompleteDetails  *IncompleteDetails    `json:"incomplete_details"`
	Instructions       *string               `json:"instructions"`
	MaxOutputTokens    *int                  `json:"max_output_tokens"`
	MaxToolCalls       *int                  `json:"max_tool_calls"`
	Model              string                `json:"model"`
	Output             []Item                `json:"output"`
	ParallelToolCalls  bool                  `json:"parallel_tool_calls"`
	PreviousResponseID *string               `json:"previous_response_id"`
	Conversation       *Reference            `json:"conversation"`
	PromptCacheKey     *string               `json:"prompt_cache_key"`
	Reasoning          Reasoning             `json:"reasoning"`
	SafetyIdentifier   *string               `json:"safety_identifier"`
	ServiceTier        string                `json:"service_tier"` // always "default"
	Store              bool                  `json:"store"`
	Temperature        float64               `json:"temperature"`
	TopP               float64               `json:"top_p"`
	PresencePenalty    float64               `json:"presence_penalty"`
	FrequencyPenalty   float64               `json:"frequency_penalty"`
	TopLogprobs        int                   `json:"top_logprobs"` // always 0
	Text               json.RawMessage       `json:"text"`
	ToolChoice         json.RawMessage       `json:"tool_choice"`
	Tools              []json.RawMessage     `json:"tools"`
	Truncation         string                `json:"truncation"`
	Usage              *Usage                `json:"usage"`
	User               *string               `json:"user"`
	Metadata           map[string]string     `json:"metadata"`

	Sources   json.RawMessage     `json:"sources,omitempty"`
	Sentences []evidence.Sentence `json:"sentences,omitempty"`
	Grounded  *bool               `json:"grounded,omitempty"`
}

// Error says why a response failed.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// IncompleteDetails says why a response is incomplete.
type IncompleteDetails struct {
	Reason string `json:"reason"`
}

// Reference names another object.
type Reference struct {
	ID string `json:"id"`
}

// Reasoning holds a request's reasoning parameters.
type Reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// Usage counts a response's tokens.
type Usage struct {
	InputTokens        int64         `json:"input_tokens"`
	InputTokensDetails InputDetails  `json:"input_tokens_details"`
	OutputTokens       int64         `json:"output_tokens"`
	OutputDetails      OutputDetails `json:"output_tokens_details"`
	TotalTokens        int64         `json:"total_tokens"`
}

// InputDetails breaks down the input tokens in Usage. The counts are 0, because this service has no prompt cache.
type InputDetails struct {
	CachedTokens     int64 `json:"cached_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
}

// OutputDetails breaks down the output tokens in Usage.
type OutputDetails struct {
	ReasoningTokens int64 `json:"reasoning_tokens"` // included in the output tokens; always 0, because providers do not report it
}

// NewUsage returns an answer's usage.
func NewUsage(input, output int64) *Usage {
	return &Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}
}

// Output item types.
const (
	TypeMessage        = "message"
	TypeFileSearchCall = "file_search_call"
	TypeFunctionCall   = "function_call"
	TypeFunctionOutput = "function_call_output"
	TypeReference      = "item_reference"
	TypeReasoning      = "reasoning"
)

// Item statuses.
const (
	ItemInProgress = "in_progress"
	ItemSearching  = "searching"
	ItemCompleted  = "completed"
	ItemIncomplete = "incomplete"
	ItemFailed     = "failed"
)

// prefixes maps item types to id prefixes.
var prefixes = map[string]string{TypeMessage: "msg_", TypeFileSearchCall: "fs_", TypeFunctionCall: "fc_", TypeFunctionOutput: "fco_", TypeReasoning: "rs_"}

// ItemID returns a new item's id. `unique` must differ for each item.
func ItemID(kind, unique string) string { return prefixes[kind] + unique }

// OutputID returns the id of an output item in a response. ResponseOf converts it back to the response's id.
func OutputID(kind, responseID string, index int) string {
	return ItemID(kind, strings.TrimPrefix(responseID, ResponsePrefix)+"_"+strconv.Itoa(index))
}

// InputID returns the id of an input item in a response.
func InputID(kind, responseID string, index int) string {
	return ItemID(kind, strings.TrimPrefix(responseID, ResponsePrefix)+"_"+inputMark+strconv.Itoa(index))
}

// inputMark precedes the index in an input item's id.
const inputMark = "i"

// ResponsePrefix is the prefix of response ids.
const ResponsePrefix = "resp_"

// ResponseOf returns the id of the response that an input or output item belongs to, or "" if itemID is not the id of
// such an item.
func ResponseOf(itemID string) string {
	_, rest, _ := strings.Cut(itemID, "_")
	id, index, ok := strings.Cut(rest, "_")
	if _, err := strconv.Atoi(strings.TrimPrefix(index, inputMark)); err != nil || !ok || !domain.ValidID(id) {
		return ""
	}
	return ResponsePrefix + id
}

// Item is an output item: a message, a file search or a function call. Its JSON contains only the fields for its type.
type Item struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`

	Content []Content `json:"content"` // message only

	Queries []string `json:"queries"` // file search only
	Results []Result `json:"results"` // nil if not requested

	CallID    string `json:"call_id"` // function call only
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// MarshalJSON implements json.Marshaler.
func (i Item) MarshalJSON() ([]byte, error) {
	switch i.Type {
	case TypeMessage:
		content := i.Content
		if content == nil {
			content = []Content{}
		}
		return json.Marshal(struct {
			ID      string    `json:"id"`
			Type    string    `json:"type"`
			Status  string    `json:"status"`
			Role    string    `json:"role"`
			Content []Content `json:"content"`
		}{i.ID, i.Type, i.Status, "assistant", content})
	case TypeFileSearchCall:
		return json.Marshal(struct {
			ID      string   `json:"id"`
			Type    string   `json:"type"`
			Status  string   `json:"status"`
			Queries []string `json:"queries"`
			Results []Result `json:"results"`
		}{i.ID, i.Type, i.Status, append([]string{}, i.Queries...), i.Results})
	default:
		return json.Marshal(struct {
			ID        string `json:"id"`
			Type      string `json:"type"`
			Status    string `json:"status"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}{i.ID, i.Type, i.Status, i.CallID, i.Name, i.Arguments})
	}
}

// Content is the text in a message.
type Content struct {
	Type        string       `json:"type"` // always "output_text"
	Text        string       `json:"text"`
	Annotations []Annotation `json:"annotations"`
	Logprobs    []string     `json:"logprobs"` // always empty
}

// Text returns message content with this text.
func Text(text string, annotations []Annotation) Content {
	if annotations == nil {
		annotations = []Annotation{}
	}
	return Content{Type: "output_text", Text: text, Annotations: annotations, Logprobs: []string{}}
}

// Annotation cites a file.
type Annotation struct {
	Type     string `json:"type"` // always "file_citation"
	Index    int    `json:"index"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
}

// Result is a file search result.
type Result struct {
	FileID     string         `json:"file_id"`
	Filename   string         `json:"filename"`
	Score      float64        `json:"score"`
	Text       string         `json:"text"`
	Attributes map[string]any `json:"attributes"`
	StoreID    string         `json:"vector_store_id,omitempty"`
}

// WithoutResults returns the response for clients that have not requested file search results.
func (r Response) WithoutResults() Response {
	r.Output = append([]Item{}, r.Output...)
	for i := range r.Output {
		r.Output[i].Results = nil
	}
	return r
}
