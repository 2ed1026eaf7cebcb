package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

const (
	maxResponse = 64 << 20 // maximum size of a successful response, in bytes
	maxRefusal  = 64 << 10 // maximum number of bytes to read from an error response's body
	maxMessage  = 500      // maximum number of bytes to keep of the provider's message
)

// responseError returns an *embed.Error for an unsuccessful response.
func (e *Embedder) responseError(response *http.Response) error {
	body, err := bounded.ReadAll(response.Body, maxRefusal)
	if errors.Is(err, bounded.ErrTooLarge) {
		err = nil // the beginning is enough
	}
	message := cmp.Or(e.redact(messageOf(body)), "the server gave no reason")
	return &embed.Error{
		Kind:       kindOf(response.StatusCode),
		Model:      e.id,
		Status:     response.StatusCode,
		Message:    message,
		RetryAfter: retryDelay(response.StatusCode, response.Header, time.Now()),
		Err:        err,
	}
}

// kindOf returns the kind of failure for an HTTP status. Timeouts, conflicts, rate limits and server errors are
// transient.
func kindOf(status int) embed.Kind {
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= 500 && status != http.StatusNotImplemented:
		return embed.Transient
	}
	return embed.Permanent
}

// classify turns an error from send into an *embed.Error. It returns errors from responseError unchanged. If the caller
// cancelled ctx, the error says so. If the response is too large, the error is permanent. Anything else means that the
// connection failed, broke or timed out.
func (e *Embedder) classify(ctx context.Context, err error) error {
	if failure, ok := errors.AsType[*embed.Error](err); ok {
		return failure
	}
	kind, message := embed.Unavailable, "the connection failed"
	if errors.Is(err, context.DeadlineExceeded) {
		message = "it did not answer in time"
	}
	if errors.Is(err, bounded.ErrTooLarge) {
		kind, message = embed.Permanent, fmt.Sprintf("its response is longer than %d bytes", maxResponse)
	}
	if ctxErr := ctx.Err(); errors.Is(ctxErr, context.Canceled) {
		return fmt.Errorf("embedding with %q: %w", e.id, ctxErr)
	}
	return &embed.Error{Kind: kind, Model: e.id, Message: message, Err: err}
}

// messageOf returns the message in an error response: {"error": {"message": …}} (OpenAI), {"error": "…"} (Ollama, TEI),
// {"message": …} or {"detail": …} (older vLLM, FastAPI). For any other format, it returns the whole body.
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

// redact truncates a message and removes the API key, because some servers quote the key in their messages.
func (e *Embedder) redact(message string) string {
	if e.config.APIKey != "" {
		message = strings.ReplaceAll(message, e.config.APIKey, "[key]")
	}
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	return strings.ToValidUTF8(message, "")
}

var lengthError = lazyregexp.New(`(?i)length|too (long|large|many)|token|exceed|maximum|batch size`)

// isTooLong reports whether the server rejected the input as too long, which only the message reveals.
func isTooLong(err error) bool {
	var failure *embed.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return lengthError().MatchString(failure.Message)
	}
	return false
}

var dimensionsError = lazyregexp.New(`(?i)dimension|matryoshka`)

// rejectsDimensions reports whether the server rejected the "dimensions" field, which only the message reveals. Either
// the model can't shorten its vectors, or the server doesn't know the field.
func rejectsDimensions(err error) bool {
	var failure *embed.Error
	return errors.As(err, &failure) && (failure.Status == http.StatusBadRequest || failure.Status == http.StatusUnprocessableEntity) &&
		dimensionsError().MatchString(failure.Message)
}
