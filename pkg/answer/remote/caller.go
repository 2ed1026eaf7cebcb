// Package remote contains code shared by the providers for model servers: it retries requests until the answer has
// begun, limits responses in time and size, counts tokens, and explains errors.
package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/modelhttp"
)

// Limits configures a server's timeouts and retries. Zero fields select the defaults.
type Limits struct {
	FirstToken time.Duration // time limit for an answer's first token, over all attempts; default 60 s
	NextToken  time.Duration // time limit between tokens; default 30 s
	Attempts   int           // maximum attempts until the first token; default 3

	Wait func(ctx context.Context, d time.Duration) error // waits between attempts; defaults to a timer
}

func (l Limits) orDefaults() Limits {
	if l.FirstToken <= 0 {
		l.FirstToken = time.Minute
	}
	if l.NextToken <= 0 {
		l.NextToken = 30 * time.Second
	}
	if l.Attempts <= 0 {
		l.Attempts = 3
	}
	if l.Wait == nil {
		l.Wait = wait
	}
	return l
}

// Server describes a model server for error messages: its name, and the settings that an operator can change.
type Server struct {
	Name           string // name within a sentence: "the model server"
	KeySetting     string
	AddressSetting string
	Secret         string // API key, removed from everything that is logged
}

// Caller sends questions to one server. It is safe for concurrent use.
type Caller struct {
	server Server
	limits Limits
}

// NewCaller returns a Caller.
func NewCaller(server Server, limits Limits) *Caller {
	return &Caller{server: server, limits: limits.orDefaults()}
}

// Client returns an HTTP client for model servers. It uses the environment's proxies and does not follow redirects.
func Client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // many concurrent requests go to one host
	return &http.Client{Transport: transport, CheckRedirect: modelhttp.NoRedirects}
}

// Errors that a provider's ask function returns if there is no complete answer; see Caller.Complete.
var (
	// ErrCut means that the stream ended before its last event.
	ErrCut = errors.New("the model server ended the stream before the answer was complete")
	// ErrFiltered means that the server's content filter withheld or truncated the answer.
	ErrFiltered = errors.New("the model server's content filter cut off the answer")
	// ErrTool means that the model called a tool instead of answering, although none was offered.
	ErrTool = errors.New("the model called a tool instead of answering")
	// ErrNoTools means that the server rejected the request because of its tools.
	ErrNoTools = errors.New("the model server does not support tools")
	// ErrAdjusted asks for an immediate retry, because the provider has learned what the server rejects in the request.
	ErrAdjusted = errors.New("the model server rejected the request")
	// ErrNoModel means that the response is not from a model server.
	ErrNoModel = errors.New("the server's response is not a chat completion")

	errStalled         = errors.New("the model server stopped sending")
	errEmpty           = errors.New("the model server sent an empty answer")
	errTokensExhausted = errors.New("the model used all its tokens before it began to answer")
)

// Maximum number of retries after ErrAdjusted. Usually, each of these retries omits one more parameter.
const maxAdjustments = 10

// Complete calls ask until the answer begins to arrive or a retry is pointless. It retries temporary errors
// (connection, 408, 409, 429, 5xx) with backoff, or after the delay that the server asks for. ask passes the response
// to the Reply and returns nil when the answer ends normally. Complete returns errors from emit and ctx unchanged, and
// all other errors as *domain.Error.
func (c *Caller) Complete(ctx context.Context, prompt chat.Prompt, emit func(string) error, ask func(context.Context, *Reply) error) (chat.Completion, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(c.limits.FirstToken, func() { cancel(errStalled) })
	defer watch.Stop()
	until := time.Now().Add(c.limits.FirstToken)

	adjusted := 0
	for attempt := 1; ; {
		r := &Reply{stallTimer: watch, next: c.limits.NextToken, emit: emit, begin: prompt.Begin, onCall: prompt.OnCall, calls: toolCalls{offered: len(prompt.Params.Tools) > 0}}
		err := ask(ctx, r)
		if err == nil {
			err = r.finishCalls()
		}
		if err == nil {
			err = r.emptyError()
		}
		if err == nil {
			if !r.begun && r.begin != nil { // the response has only tool calls
				r.begin(r.Ignored)
			}
			return r.completion(prompt), nil
		}
		if r.emitErr != nil {
			return r.completion(prompt), r.emitErr
		}
		if outer.Err() != nil {
			return r.completion(prompt), outer.Err()
		}
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		if errors.Is(err, ErrAdjusted) && !r.begun && adjusted < maxAdjustments {
			adjusted++
			continue
		}
		delay, again := retryDelay(err, attempt)
		if r.begun || !again || attempt >= c.limits.Attempts || time.Now().Add(delay).After(until) {
			return r.completion(prompt), c.explain(err, r.begun)
		}
		if c.limits.Wait(ctx, delay) != nil {
			if outer.Err() != nil {
				return chat.Completion{}, outer.Err()
			}
			return chat.Completion{}, c.explain(err, false)
		}
		attempt++
	}
}

// Reply collects the response of one attempt.
type Reply struct {
	// Values reported by the server. Fields that it does not report are zero.
	Model            string
	PromptTokens     int64
	CompletionTokens int64
	Cut              bool // whether the answer ended at the token limit

	Ignored []string // the caller's parameters that were changed or not passed on

	calls toolCalls

	stallTimer *time.Timer
	next       time.Duration
	emit       func(string) error
	begin      func(ignored []string) // called before the first text; may be nil
	onCall     func(chat.CallDelta) error
	emitErr    error
	begun      bool // whether any of the answer has been passed on
	estimated  int64
}

// Event records a sign of life from the server, which restarts the timeout once the answer has begun.
func (r *Reply) Event() {
	if r.begun {
		r.stallTimer.Reset(r.next)
	}
}

// Thought records that the model is reasoning, which restarts the timeout, as text does.
func (r *Reply) Thought() { r.stallTimer.Reset(r.next) }

// Begun reports whether any part of the answer has reached the caller.
func (r *Reply) Begun() bool { return r.begun }

// Pass passes text to emit and returns emit's error, which the caller must return as well.
func (r *Reply) Pass(text string) error {
	if text == "" {
		return nil
	}
	return r.deliver(text, func() error { return r.emit(text) })
}

// deliver calls pass, which hands more of the answer to the caller. text is the model output to count for this delivery
// when estimating tokens. The stall timer is stopped while pass runs, so that the caller's time doesn't count as the
// server's.
func (r *Reply) deliver(text string, pass func() error) error {
	r.stallTimer.Stop()
	if !r.begun && r.begin != nil {
		r.begin(r.Ignored)
	}
	r.begun = true
	r.estimated += int64(chunk.Tokens(text))
	r.emitErr = pass()
	r.stallTimer.Reset(r.next)
	return r.emitErr
}

// emptyError returns an error if the response contains no answer.
func (r *Reply) emptyError() error {
	switch {
	case r.begun || r.Called():
		return nil
	case r.Cut:
		return errTokensExhausted
	default:
		return errEmpty
	}
}

// completion returns the result with the server's token counts, or estimates if it reported none. If no answer arrived,
// it estimates nothing, because servers don't charge for failed requests.
func (r *Reply) completion(prompt chat.Prompt) chat.Completion {
	c := chat.Completion{
		Model: r.Model, PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens, Cut: r.Cut, Ignored: r.Ignored,
	}
	if c.Model == "" {
		c.Model = prompt.Model
	}
	c.ToolCalls = r.calls.complete()
	if !r.begun && len(c.ToolCalls) == 0 {
		return c
	}
	if c.PromptTokens == 0 {
		c.PromptTokens, c.Estimated = int64(prompt.Tokens()), true
	}
	if c.CompletionTokens == 0 {
		c.CompletionTokens, c.Estimated = r.estimated, true
	}
	return c
}

// wait pauses for d, or returns an error if ctx is done first.
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
