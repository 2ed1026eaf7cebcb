package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/sluice/sluice/pkg/domain"
)

// What a server does wrong without an HTTP status.
var (
	errStalled = errors.New("the model server stopped sending")
	errCut     = errors.New("the model server ended the stream before the answer was complete")
	errEmpty   = errors.New("the model server answered nothing")
)

// Waits between attempts.
const (
	firstWait = 500 * time.Millisecond
	longest   = 10 * time.Second // also of what the server asks for: a reader waits meanwhile
)

// retryDelay says whether an attempt may succeed later, and after which wait.
func retryDelay(err error, attempt int) (time.Duration, bool) {
	delay := min(firstWait<<min(attempt-1, 10), longest)
	var status *sdk.Error
	if !errors.As(err, &status) {
		return delay, true
	}
	switch code := status.StatusCode; {
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code >= 500:
	case code == http.StatusTooManyRequests && status.Code != "insufficient_quota":
	default:
		return 0, false
	}
	if asked, ok := retryAfter(status); ok {
		return asked, asked <= longest
	}
	return delay, true
}

// retryAfter reads the wait that a response asks for, in seconds.
func retryAfter(err *sdk.Error) (time.Duration, bool) {
	if err.Response == nil {
		return 0, false
	}
	seconds, parse := strconv.ParseFloat(err.Response.Header.Get("Retry-After"), 64)
	if parse != nil || !(seconds >= 0 && seconds < 86_400) {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// refusesUsage reports whether the server refused stream_options, and remembers it.
func (p *Provider) refusesUsage(err error) bool {
	var status *sdk.Error
	if !errors.As(err, &status) || status.StatusCode != http.StatusBadRequest && status.StatusCode != http.StatusUnprocessableEntity {
		return false
	}
	if !strings.Contains(status.RawJSON()+status.Message, "stream_options") {
		return false
	}
	return !p.noUsage.Swap(true)
}

// explain makes an error that callers may be shown. What the server said goes into the wrapped error, for the log, with
// the key taken out: servers quote the key that they refuse.
func (p *Provider) explain(err error, begun bool) error {
	out := &domain.Error{Code: domain.CodeUnavailable, Err: p.redacted(err)}
	var status *sdk.Error
	var sent *ssestream.StreamError
	switch {
	case errors.As(err, &status):
		out.Message, out.RetryAfter = p.explainStatus(status)
	case errors.As(err, &sent):
		out.Message = "the model server reported an error while it answered; try again"
	case errors.Is(err, errStalled) && begun:
		out.Message = fmt.Sprintf("the model server sent nothing for %s in the middle of the answer; try again", p.opts.NextToken)
	case errors.Is(err, errStalled):
		out.Message = fmt.Sprintf("the model server did not begin to answer within %s; try again", p.opts.FirstToken)
	case errors.Is(err, errEmpty):
		out.Message = "the model answered nothing; ask in other words"
	case begun:
		out.Message = "the connection to the model server broke in the middle of the answer; try again"
	default:
		out.Message = "the model server cannot be reached; try again later"
	}
	return out
}

func (p *Provider) explainStatus(status *sdk.Error) (message string, after time.Duration) {
	after, _ = retryAfter(status)
	switch code := status.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Sprintf("the model server refused the configured key (HTTP %d): the operator must check OPENAI_API_KEY and OPENAI_BASE_URL", code), 0
	case code == http.StatusNotFound:
		return "the model server does not know the configured model or address (HTTP 404): the operator must check OPENAI_BASE_URL and the model names", 0
	case code == http.StatusTooManyRequests && status.Code == "insufficient_quota":
		return "the model server's quota is used up (HTTP 429): the operator must check the account", 0
	case code == http.StatusTooManyRequests:
		return "the model server is asked too much at the moment (HTTP 429); try again later", after
	case code >= 500:
		return fmt.Sprintf("the model server failed (HTTP %d); try again later", code), after
	default:
		return fmt.Sprintf("the model server refused the request (HTTP %d): the question with its documents may be too long for the model, or a parameter is not supported", code), 0
	}
}

// redacted keeps the text of an error without the key, and nothing else of it: the SDK's errors hold the request.
func (p *Provider) redacted(err error) error {
	text := err.Error()
	var status *sdk.Error
	if errors.As(err, &status) {
		text += ": " + status.Message
	}
	if p.opts.APIKey != "" { // before the text is cut, which could leave half a key
		text = strings.ReplaceAll(text, p.opts.APIKey, "[key]")
	}
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "") + "…"
	}
	return errors.New(text)
}

// wait sleeps within ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
