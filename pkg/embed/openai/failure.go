package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/embed"
)

const (
	maxResponse = 64 << 20 // bytes of a good answer
	maxRefusal  = 64 << 10 // bytes of an error's body that are read
	maxMessage  = 500      // bytes of the provider's message that are kept
)

// refusalOf makes an *embed.Error of a response that is not a success.
func (e *Embedder) refusalOf(response *http.Response) error {
	body, err := bounded.ReadAll(response.Body, maxRefusal)
	if errors.Is(err, bounded.ErrTooLarge) {
		err = nil // its beginning says enough
	}
	message := e.redact(messageOf(body))
	if message == "" {
		message = "the server gave no reason"
	}
	return &embed.Error{
		Kind:       kindOf(response.StatusCode),
		Model:      e.id,
		Status:     response.StatusCode,
		Message:    message,
		RetryAfter: waitOf(response.StatusCode, response.Header, time.Now()),
		Err:        err,
	}
}

// kindOf a status: time-outs, conflicts, rate limits and everything of the server's own making pass by themselves.
func kindOf(status int) embed.Kind {
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= 500 && status != http.StatusNotImplemented:
		return embed.Transient
	}
	return embed.Permanent
}

// failureOf classifies what send returned: what refusalOf made stays; the end of the caller's ctx is returned as such;
// an answer without end would be so again; the rest is a connection that could not be made, broke or took too long.
func (e *Embedder) failureOf(ctx context.Context, err error) error {
	var failure *embed.Error
	if errors.As(err, &failure) {
		return failure
	}
	kind, message := embed.Unavailable, "the connection failed"
	if errors.Is(err, context.DeadlineExceeded) {
		message = "it did not answer in time"
	}
	if errors.Is(err, bounded.ErrTooLarge) {
		kind, message = embed.Permanent, fmt.Sprintf("its answer is longer than %d bytes", maxResponse)
	}
	if ctxErr := ctx.Err(); errors.Is(ctxErr, context.Canceled) {
		return fmt.Errorf("embedding with %q: %w", e.id, ctxErr)
	}
	return &embed.Error{Kind: kind, Model: e.id, Message: message, Err: err}
}

// messageOf finds the message in an error's body: {"error": {"message": …}} (OpenAI), {"error": "…"} (Ollama, TEI),
// {"message": …} or {"detail": …} (older vLLM, FastAPI), else the text itself.
func messageOf(body []byte) string {
	var parsed struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &parsed) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		var text string
		for _, part := range []json.RawMessage{parsed.Error, parsed.Message, parsed.Detail} {
			if json.Unmarshal(part, &inner) == nil && inner.Message != "" {
				return inner.Message
			}
			if json.Unmarshal(part, &text) == nil && text != "" {
				return text
			}
		}
	}
	return strings.TrimSpace(string(body))
}

// redact cuts a message to size and takes the key out of it, which some servers repeat.
func (e *Embedder) redact(message string) string {
	if e.config.APIKey != "" {
		message = strings.ReplaceAll(message, e.config.APIKey, "[key]")
	}
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	return strings.ToValidUTF8(message, "")
}

var aboutLength = regexp.MustCompile(`(?i)length|too (long|large|many)|token|exceed|maximum|batch size`)

// isTooLong reports whether err is a refusal of the input's size, which servers tell by their message only.
func isTooLong(err error) bool {
	var failure *embed.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return aboutLength.MatchString(failure.Message)
	}
	return false
}

var aboutDimensions = regexp.MustCompile(`(?i)dimension|matryoshka`)

// refusesDimensions reports whether err is a refusal of the field dimensions, which servers tell by their message only: of
// a model that cannot shorten its vectors, or because the server does not know the field.
func refusesDimensions(err error) bool {
	var failure *embed.Error
	return errors.As(err, &failure) && (failure.Status == http.StatusBadRequest || failure.Status == http.StatusUnprocessableEntity) &&
		aboutDimensions.MatchString(failure.Message)
}
