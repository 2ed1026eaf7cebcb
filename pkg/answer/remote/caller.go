// Package remote holds what the providers of model servers have in common: time-outs and attempts until the first piece
// of an answer, bounds of what a server may send, the count of tokens, and failures in words.
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

// Limits say how long a server is waited for. The zero value takes the defaults.
type Limits struct {
	FirstToken time.Duration // until the first piece of an answer, all attempts together; default 60 s
	NextToken  time.Duration // between pieces; default 30 s
	Attempts   int           // how often a question is put until the first piece comes; default 3

	Wait func(ctx context.Context, d time.Duration) error // between attempts; default: by the clock
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

// Server is how messages name a server and what the operator is to look at.
type Server struct {
	Name           string // at the beginning of a sentence's middle: "the model server"
	KeySetting     string
	AddressSetting string
	Secret         string // taken out of all that is logged
}

// Caller puts questions to one server. It is safe for concurrent use.
type Caller struct {
	server Server
	limits Limits
}

// NewCaller returns a Caller.
func NewCaller(server Server, limits Limits) *Caller {
	return &Caller{server: server, limits: limits.orDefaults()}
}

// Client returns an HTTP client for model servers, with the environment's proxies and without redirects.
func Client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // answers come and go by the dozen, all to one host
	return &http.Client{Transport: transport, CheckRedirect: modelhttp.NoRedirects}
}

// What a provider's function returns when the server answered without saying anything.
var (
	// ErrCut is a stream that ended before its last event.
	ErrCut = errors.New("the model server ended the stream before the answer was complete")
	// ErrFiltered is an answer that the server's content filter withheld or broke off.
	ErrFiltered = errors.New("the model server's content filter ended the answer")
	// ErrTool means that the model called a tool instead of answering. Sluice offers no tools, but some models call one
	// anyway.
	ErrTool = errors.New("the model called a tool instead of answering")
	// ErrAdjusted asks for the question to be put again at once: the provider has learned what the server does not take.
	ErrAdjusted = errors.New("the model server does not take the request as it is")
	// ErrNoModel is an answer of something that is no model server.
	ErrNoModel = errors.New("the server answered with something other than a chat completion")

	errStalled = errors.New("the model server stopped sending")
	errEmpty   = errors.New("the model server answered nothing")
	errSpent   = errors.New("the model used up all tokens before it said anything")
)

// maxAdjustments bounds how often one question is put anew for ErrAdjusted: once for each parameter there is.
const maxAdjustments = 10

// Complete has ask put the question until a piece of the answer has come or there is no sense in trying again: failures
// that may pass by themselves (connection, 408, 409, 429, 5xx) are tried again after a growing wait, or the one that the
// server asks for. ask passes what it reads to the Reply and returns nil at the answer's proper end. The error is
// emit's or ctx's as it is, else a *domain.Error.
func (c *Caller) Complete(ctx context.Context, prompt chat.Prompt, emit func(string) error, ask func(context.Context, *Reply) error) (chat.Completion, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(c.limits.FirstToken, func() { cancel(errStalled) })
	defer watch.Stop()
	until := time.Now().Add(c.limits.FirstToken)

	adjusted := 0
	for attempt := 1; ; {
		r := &Reply{watch: watch, next: c.limits.NextToken, emit: emit}
		err := ask(ctx, r)
		if err == nil {
			err = r.missing()
		}
		if err == nil {
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

// Reply gathers what a server answers. It belongs to one attempt.
type Reply struct {
	// What the server says, as far as it does.
	Model            string
	PromptTokens     int64
	CompletionTokens int64
	Cut              bool // it stopped at the most tokens that it may write

	Ignored []string // the interface's parameters that were not passed on as they were

	watch     *time.Timer
	next      time.Duration
	emit      func(string) error
	emitErr   error
	begun     bool // a piece has been passed on
	estimated int64
}

// Event notes that the server has sent something: in the middle of an answer it shows that the server lives.
func (r *Reply) Event() {
	if r.begun {
		r.watch.Reset(r.next)
	}
}

// Thought notes that the server has sent something of what the model thinks, which counts as a piece for the time-outs.
func (r *Reply) Thought() { r.watch.Reset(r.next) }

// Begun reports whether a piece has been passed on.
func (r *Reply) Begun() bool { return r.begun }

// Pass passes a piece on. It fails with the reader's error, which the caller is to return.
func (r *Reply) Pass(text string) error {
	if text == "" {
		return nil
	}
	r.watch.Stop() // a slow reader is not the server's fault
	r.begun = true
	r.estimated += int64(chunk.Tokens(text))
	r.emitErr = r.emit(text)
	r.watch.Reset(r.next)
	return r.emitErr
}

// missing tells an answer that ended properly from none.
func (r *Reply) missing() error {
	switch {
	case r.begun:
		return nil
	case r.Cut:
		return errSpent
	default:
		return errEmpty
	}
}

// completion counts what the server says it used, or an estimate where it does not say. What failed before it began
// counts only what the server says: nobody charges for a refusal.
func (r *Reply) completion(prompt chat.Prompt) chat.Completion {
	c := chat.Completion{
		Model: r.Model, PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens, Cut: r.Cut, Ignored: r.Ignored,
	}
	if c.Model == "" {
		c.Model = prompt.Model
	}
	if !r.begun {
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
