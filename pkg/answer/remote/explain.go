package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Delays between attempts.
const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = 10 * time.Second // also limits the delay the server asks for, because a user is waiting
)

// statusOverloaded is Anthropic's status for an overloaded service.
const statusOverloaded = 529

// retryDelay returns how long to wait before a retry, or false if a retry would be pointless. attempt counts the failed
// attempts, from 1.
func retryDelay(err error, attempt int) (time.Duration, bool) {
	for _, final := range []error{errStalled, errTokensExhausted, ErrFiltered, ErrAdjusted, ErrNoModel, ErrNoTools, bounded.ErrTooLarge} {
		if errors.Is(err, final) {
			return 0, false
		}
	}
	delay := min(minBackoff<<min(attempt-1, 10), maxBackoff)
	var status *Status
	if !errors.As(err, &status) {
		return delay, true
	}
	switch {
	case status.HTTP == sentInStream && !status.TooLong(), status.HTTP == http.StatusRequestTimeout, status.HTTP == http.StatusConflict, status.HTTP >= 500 && !status.TooLong():
	case status.HTTP == http.StatusTooManyRequests && !status.outOfQuota():
	default:
		return 0, false
	}
	if status.HasWait {
		return status.After, status.After <= maxBackoff
	}
	return delay, true
}

func (s *Status) outOfQuota() bool { return s.Code == "insufficient_quota" }

// tooLong matches error messages about prompts that exceed the context window. Only OpenAI has an error code for it.
var tooLong = lazyregexp.New(`(?i)context[ _]length|context[ _]window|context[ _]size|prompt is too long|exceed\w* context|too many tokens|maximum number of tokens|must be <= \d+`)

// TooLong reports whether the request exceeded the model's context window.
func (s *Status) TooLong() bool {
	switch s.HTTP {
	case http.StatusRequestEntityTooLarge:
		return true
	case sentInStream, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return s.Code == "context_length_exceeded" || tooLong().MatchString(s.Message)
	}
	return false
}

// Filtered reports whether a content filter rejected the request.
func (s *Status) Filtered() bool {
	return s.HTTP == http.StatusBadRequest && (s.Code == "content_filter" || s.Code == "content_policy_violation")
}

// explain converts an error to one that callers may see. For the log, it wraps the server's message, without the API
// key, which servers quote when they reject it. begun means that the answer had begun.
func (c *Caller) explain(err error, begun bool) error {
	out := &domain.Error{Code: domain.CodeUnavailable, Err: c.redacted(err)}
	name := c.server.Name
	var status *Status
	switch {
	case errors.As(err, &status):
		c.explainStatus(status, out)
	case errors.Is(err, ErrFiltered):
		out.Code, out.Message = domain.CodeInvalid, "the model's content filter blocked the answer; rephrase the question"
	case errors.Is(err, errStalled) && begun:
		out.Message = fmt.Sprintf("%s sent nothing for %s in the middle of the answer; try again", name, c.limits.NextToken)
	case errors.Is(err, errStalled):
		out.Message = fmt.Sprintf("%s did not start to answer within %s; try again", name, c.limits.FirstToken)
	case errors.Is(err, errTokensExhausted):
		out.Code, out.Message = domain.CodeInvalid, "the model used up maxTokens before it began to answer; raise maxTokens"
	case errors.Is(err, errEmpty):
		out.Message = "the model sent an empty answer; rephrase the question"
	case errors.Is(err, ErrTool):
		out.Message = "the model called a tool instead of answering; rephrase the question, or ask the operator to choose another model"
	case errors.Is(err, ErrNoTools):
		out.Code, out.Message = domain.CodeInvalid, "tools: the agent's model does not support tools; leave them out, or choose another model"
		out.Fields = []domain.FieldError{{Field: "tools", Message: "are not supported by the agent's model; leave them out, or choose another model"}}
	case errors.Is(err, ErrNoModel):
		out.Message = fmt.Sprintf("%s sent a response that is not a chat completion: the operator must check %s", name, c.server.AddressSetting)
	case errors.Is(err, bounded.ErrTooLarge):
		out.Message = fmt.Sprintf("%s sent a message that is too large; try again", name)
	case isInvalidJSON(err):
		out.Message = fmt.Sprintf("%s sent an invalid response; try again", name)
	case errors.Is(err, ErrCut) && !begun:
		out.Message = fmt.Sprintf("%s ended the response without an answer; try again", name)
	case begun:
		out.Message = fmt.Sprintf("the connection to %s broke in the middle of the answer; try again", name)
	default:
		out.Message = fmt.Sprintf("%s cannot be reached; try again later", name)
	}
	return out
}

func isInvalidJSON(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind)
}

func (c *Caller) explainStatus(s *Status, out *domain.Error) {
	name := c.server.Name
	switch {
	case s.TooLong():
		out.Code = domain.CodeInvalid
		out.Message = "the question and its documents are too long for the model: shorten the prompts or the question, or lower maxTokens"
		out.Err = fmt.Errorf("%w: %w", chat.ErrTooLong, out.Err)
	case s.HTTP == sentInStream:
		out.Message = fmt.Sprintf("%s reported an error while answering; try again", name)
	case s.Filtered():
		out.Code, out.Message = domain.CodeInvalid, "the model's content filter rejected the question; rephrase it"
	case s.HTTP == http.StatusUnauthorized || s.HTTP == http.StatusForbidden:
		out.Message = fmt.Sprintf("%s rejected the configured key (HTTP %d): the operator must check %s and %s", name, s.HTTP, c.server.KeySetting, c.server.AddressSetting)
	case s.HTTP == http.StatusNotFound:
		out.Message = fmt.Sprintf("%s does not know the configured model or address (HTTP 404): the operator must check %s and the model names", name, c.server.AddressSetting)
	case s.outOfQuota():
		out.Message = fmt.Sprintf("the quota at %s is used up (HTTP %d): the operator must check the account", name, s.HTTP)
	case s.HTTP == http.StatusTooManyRequests || s.HTTP == statusOverloaded:
		out.Message, out.RetryAfter = fmt.Sprintf("%s is overloaded (HTTP %d); try again later", name, s.HTTP), s.After
	case s.HTTP >= 500:
		out.Message, out.RetryAfter = fmt.Sprintf("%s failed (HTTP %d); try again later", name, s.HTTP), s.After
	case s.HTTP < 400:
		out.Message = fmt.Sprintf("%s redirects requests (HTTP %d), but redirects are not followed: the operator must check %s", name, s.HTTP, c.server.AddressSetting)
	default:
		out.Message = fmt.Sprintf("%s rejected the request (HTTP %d), perhaps because it does not support a parameter; see the log for details", name, s.HTTP)
	}
}

// redacted returns err's text as a new error, without the API key. It doesn't wrap err, which may contain the request.
func (c *Caller) redacted(err error) error {
	text := err.Error()
	if c.server.Secret != "" { // before truncating, because that could leave some of the key
		text = strings.ReplaceAll(text, c.server.Secret, "[key]")
	}
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "") + "…"
	}
	return errors.New(text)
}
