package rerank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/modelhttp"
)

// Retry limits.
const (
	tries        = 4
	firstPause   = 100 * time.Millisecond // doubles for each retry; up to half is added at random
	maxReason    = 300                    // bytes of a server's reason
	maxErrorBody = 64 << 10
)

// Error describes a failed reranking request.
type Error struct {
	Status  int    // HTTP status; 0 if there was no usable response
	Message string // without the API key
	Err     error

	retryable bool          // whether a retry may succeed
	after     time.Duration // delay requested by the server
}

func (e *Error) Error() string { return "reranking: " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// rejectsFormat reports whether an error could mean that the server doesn't support the request's wire format.
func rejectsFormat(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// sendWithRetries sends a request and fills in the scores. It retries after temporary errors as long as ctx allows.
func (c *Client) sendWithRetries(ctx context.Context, f form, query string, texts []string, scores []float64) error {
	body := f.request(c.config.Model, query, texts)
	pause := firstPause
	for try := 1; ; try++ {
		err := c.send(ctx, body, scores)
		var failure *Error
		if err == nil || !errors.As(err, &failure) || !failure.retryable || try == tries || ctx.Err() != nil {
			return err
		}
		d := max(failure.after, pause+rand.N(pause/2))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
			return err
		}
		if c.wait(ctx, d) != nil {
			return err
		}
		pause *= 2
	}
}

// send sends the request once.
func (c *Client) send(ctx context.Context, body any, scores []float64) error {
	answer, err := modelhttp.Post(ctx, c.http, c.address, modelhttp.Bearer(c.config.APIKey), body)
	if err != nil {
		return c.connectionError(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return c.statusError(answer)
	}
	text, err := bounded.ReadAll(answer.Body, maxResponseBytes)
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		return &Error{Message: fmt.Sprintf("the response is longer than %d bytes", maxResponseBytes)}
	case err != nil:
		return c.connectionError(ctx, err)
	}
	if err := decode(text, scores); err != nil {
		return &Error{Message: err.Error(), Err: err}
	}
	return nil
}

func (c *Client) connectionError(ctx context.Context, err error) error {
	message := "the connection failed"
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		message = "the server did not answer in time"
	}
	return &Error{Message: message, Err: err, retryable: true}
}

func (c *Client) statusError(answer *http.Response) error {
	text, err := bounded.ReadAll(answer.Body, maxErrorBody)
	if errors.Is(err, bounded.ErrTooLarge) {
		err = nil // the beginning will do
	}
	after, _ := modelhttp.RetryAfter(answer.Header, time.Now())
	status := answer.StatusCode
	message := fmt.Sprintf("the server answered %d", status)
	if reason := c.reason(text); err == nil && reason != "" {
		message += ": " + reason
	}
	return &Error{
		Status: status, Message: message, Err: err,
		retryable: status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented,
		after:     after,
	}
}

// reason extracts the server's reason from an error response: {"message": …} (Cohere), {"detail": …} (Jina), {"error":
// …} (TEI).
func (c *Client) reason(body []byte) string {
	var known map[string]json.RawMessage
	text := ""
	if json.Unmarshal(body, &known) == nil {
		for _, field := range []string{"message", "detail", "error"} {
			if json.Unmarshal(known[field], &text) == nil && text != "" {
				break
			}
		}
	}
	if c.config.APIKey != "" { // some servers echo the request
		text = strings.ReplaceAll(text, c.config.APIKey, "[key]")
	}
	return truncate(strings.Join(strings.Fields(text), " "), maxReason)
}
