// Package completions translates OpenAI's older text completions to chat completions and back, for clients that do not
// support chat completions. The prompt becomes the question.
package completions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/domain"
)

const promptField = "prompt"

// shared lists the fields that mean the same in completions and chat completions.
var shared = []string{
	"model", "max_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty", "stop", "stream", "stream_options", "user", "n", "logit_bias",
	"conversationId", "filters", "store",
}

// refused maps unsupported fields to the values that are accepted because they have no effect. Any other value would
// have to change the answer and is therefore rejected.
var refused = map[string][]any{
	"suffix": {""}, "echo": {false}, "best_of": {1.0}, "logprobs": {},
}

// Translate converts a completion's body to a chat completion's. It also returns the names of unknown fields and the
// faults in fields that only completions have. Fields shared with chat completions are checked later, as part of the
// chat completion.
func Translate(body map[string]any) (chat map[string]any, unknown []string, faults []domain.FieldError) {
	chat = map[string]any{}
	for _, name := range shared {
		if value, given := body[name]; given {
			chat[name] = value
		}
	}
	for name, harmless := range refused {
		if value := body[name]; value != nil && !slices.Contains(harmless, value) {
			faults = append(faults, domain.FieldError{Field: name, Message: fmt.Sprintf("is %s, which is not supported; leave it out", jsonbody.Describe(value))})
		}
	}
	for name := range body {
		if _, is := refused[name]; !is && name != promptField && !slices.Contains(shared, name) {
			unknown = append(unknown, name)
		}
	}
	slices.SortFunc(faults, func(a, b domain.FieldError) int { return strings.Compare(a.Field, b.Field) })
	prompt, fault := promptOf(body[promptField])
	if fault != "" {
		faults = append(faults, domain.FieldError{Field: promptField, Message: fault})
	}
	chat["messages"] = []any{map[string]any{"role": string(domain.RoleUser), "content": prompt}}
	return chat, unknown, faults
}

// promptOf returns a prompt's text, or the reason why it is invalid.
func promptOf(value any) (text, fault string) {
	const form = "it must be a string, or an array with one string"
	list, isList := value.([]any)
	switch {
	case isList && len(list) > 1:
		return "", fmt.Sprintf("has %d items; send one prompt per request, as a string", len(list))
	case isList && len(list) == 1:
		value = list[0]
	}
	switch value := value.(type) {
	case string:
		return value, ""
	case nil:
		return "", "is required; " + form
	default:
		return "", fmt.Sprintf("is %s; %s", jsonbody.Describe(value), form)
	}
}

// Rename returns a chat completion's faults under the completion's field names.
func Rename(faults []domain.FieldError) []domain.FieldError {
	renamed := slices.Clone(faults)
	for i, f := range renamed {
		if f.Field == "messages" || f.Field == "messages[0]" || f.Field == "messages[0].content" {
			renamed[i].Field = promptField
		}
	}
	return renamed
}

// Completion is a text completion in OpenAI's format.
type Completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"` // always "text_completion"
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
	Usage   *Usage   `json:"usage,omitempty"`
}

// Choice is a completion's text, or one chunk of it in a stream.
type Choice struct {
	Text     string  `json:"text"`
	Index    int     `json:"index"`
	Logprobs *string `json:"logprobs"`      // always null
	Finish   *string `json:"finish_reason"` // "stop" or "length"; null if more chunks follow
}

// Usage counts a completion's tokens.
type Usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// New returns a completion without choices.
func New(id, model string, created time.Time) Completion {
	return Completion{ID: "cmpl-" + id, Object: "text_completion", Created: created.Unix(), Model: model, Choices: []Choice{}}
}

// Whole returns the completion with the answer.
func (c Completion) Whole(a answer.Answer) Completion {
	c.Choices, c.Usage = []Choice{{Text: a.Text, Finish: finishOf(a)}}, usageOf(a)
	return c
}

func (c Completion) piece(choice Choice) Completion {
	c.Choices = []Choice{choice}
	return c
}

func finishOf(a answer.Answer) *string {
	reason := "stop"
	if a.Cut {
		reason = "length"
	}
	return &reason
}

func usageOf(a answer.Answer) *Usage {
	return &Usage{a.PromptTokens, a.CompletionTokens, a.PromptTokens + a.CompletionTokens}
}

// Streaming holds the settings for a streamed completion.
type Streaming struct {
	WriteTimeout, Heartbeat time.Duration
	Usage                   bool                                // whether the last chunk has the token counts
	Explain                 func(err error) problem.OpenAIError // converts an error for the client
	OnIgnored               func(set func(name, value string))  // registers a function that sets the header for ignored parameters
}

// Stream sends the completion in chunks. `answer` calls emit with the text as it arrives. Stream returns an error only
// if nothing has been sent yet or the client has disconnected.
func (c Completion) Stream(w http.ResponseWriter, s Streaming, answer func(emit func(string) error) (answer.Answer, error)) error {
	events := sse.New(w, s.WriteTimeout)
	stop := events.KeepAlive(s.Heartbeat)
	defer stop()
	s.OnIgnored(events.SetHeader)
	send := func(v any) error {
		encoded, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encoding a chunk of the completion: %w", err)
		}
		return events.Send("", string(encoded))
	}
	a, err := answer(func(text string) error { return send(c.piece(Choice{Text: text})) })
	if err == nil {
		err = send(c.piece(Choice{Finish: finishOf(a)}))
	}
	if err == nil && s.Usage {
		last := c
		last.Usage = usageOf(a)
		err = send(last)
	}
	if err == nil {
		return events.Send("", "[DONE]")
	}
	stop() // only this function writes from here on, so IsOpen can no longer change
	if !events.IsOpen() {
		return err
	}
	return send(s.Explain(err))
}
