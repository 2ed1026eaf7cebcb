// Package openai answers through any server that speaks OpenAI's chat completions API: OpenAI itself, Azure, Ollama,
// vLLM, llama.cpp, LiteLLM and others.
package openai

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Options say which server and models answer.
type Options struct {
	BaseURL string // with the version path, as "https://api.openai.com/v1"; default: OpenAI's
	APIKey  string // "" for servers that need none

	DefaultModel string            // the server's model; needed
	Models       map[string]string // the interface's name (llm_4) → the server's model; a name that is missing takes DefaultModel

	FirstToken time.Duration // how long the server may take for the first piece of an answer; default 60 s
	NextToken  time.Duration // and for each further one; default 30 s
	Attempts   int           // how often a question is put until the first piece comes; default 3

	HTTPClient *http.Client // default: one of its own, with the environment's proxies
}

// Provider is an answer.Provider. It is safe for concurrent use.
type Provider struct {
	chat    sdk.ChatCompletionService
	opts    Options
	newer   bool        // the server takes max_completion_tokens in place of max_tokens
	noUsage atomic.Bool // the server refuses stream_options
	wait    func(ctx context.Context, d time.Duration) error
}

// New returns a Provider. It fails when DefaultModel is missing or BaseURL is no HTTP address. It does not call the
// server.
func New(opts Options) (*Provider, error) {
	if opts.DefaultModel == "" {
		return nil, errors.New("a chat model must be named for the OpenAI-compatible server")
	}
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.openai.com/v1"
	}
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the base address of the OpenAI-compatible server must begin with http:// or https:// and name a host")
	}
	if opts.FirstToken <= 0 {
		opts.FirstToken = time.Minute
	}
	if opts.NextToken <= 0 {
		opts.NextToken = 30 * time.Second
	}
	if opts.Attempts <= 0 {
		opts.Attempts = 3
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	p := &Provider{opts: opts, newer: base.Hostname() == "api.openai.com", wait: wait}
	request := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(opts.BaseURL, "/") + "/"),
		option.WithHTTPClient(opts.HTTPClient),
		option.WithMaxRetries(0), // ours know whether anything has been passed on
	}
	if opts.APIKey != "" {
		request = append(request, option.WithAPIKey(opts.APIKey))
	} else {
		request = append(request, option.WithHeaderDel("Authorization"))
	}
	p.chat = sdk.NewChatCompletionService(request...) // unlike a whole client it reads no environment
	return p, nil
}

// Complete implements answer.Provider. An attempt that fails before the first piece in a way that may pass by itself
// (connection, time-out, 408, 409, 429, 5xx) is made again after a growing wait, or the one that the server asks for.
func (p *Provider) Complete(ctx context.Context, prompt answer.Prompt, emit func(string) error) (answer.Completion, error) {
	body := p.body(prompt)
	for attempt := 1; ; attempt++ {
		r := reply{limit: p.opts, emit: emit}
		var err error
		if prompt.Stream {
			err = p.stream(ctx, body, &r)
		} else {
			err = p.whole(ctx, body, &r)
		}
		if err == nil {
			return r.completion(body.Model, prompt), nil
		}
		if r.emitErr != nil {
			return r.completion(body.Model, prompt), r.emitErr
		}
		if ctx.Err() != nil {
			return r.completion(body.Model, prompt), ctx.Err()
		}
		if !r.begun && p.refusesUsage(err) {
			attempt-- // the server lacks a feature that is not needed: asking again costs no attempt
			continue
		}
		delay, again := retryDelay(err, attempt)
		if r.begun || !again || attempt >= p.opts.Attempts {
			return r.completion(body.Model, prompt), p.explain(err, r.begun)
		}
		if err := p.wait(ctx, delay); err != nil {
			return answer.Completion{}, err
		}
	}
}

// body makes the request of a prompt.
func (p *Provider) body(prompt answer.Prompt) sdk.ChatCompletionNewParams {
	model := p.opts.Models[prompt.Model]
	if model == "" {
		model = p.opts.DefaultModel
	}
	body := sdk.ChatCompletionNewParams{Model: model}
	if prompt.System != "" {
		body.Messages = append(body.Messages, sdk.SystemMessage(prompt.System))
	}
	for _, t := range prompt.Messages {
		if t.Role == domain.RoleAssistant {
			body.Messages = append(body.Messages, sdk.AssistantMessage(t.Text))
		} else {
			body.Messages = append(body.Messages, sdk.UserMessage(t.Text))
		}
	}
	if v := prompt.Params.Temperature; v != nil {
		body.Temperature = sdk.Float(*v)
	}
	if v := prompt.Params.TopP; v != nil {
		body.TopP = sdk.Float(*v)
	}
	if v := prompt.Params.PresencePenalty; v != nil {
		body.PresencePenalty = sdk.Float(*v)
	}
	if v := prompt.Params.FrequencyPenalty; v != nil {
		body.FrequencyPenalty = sdk.Float(*v)
	}
	if v := prompt.Params.MaxTokens; v != nil {
		if p.newer {
			body.MaxCompletionTokens = sdk.Int(int64(*v))
		} else {
			body.MaxTokens = sdk.Int(int64(*v))
		}
	}
	return body
}

// reply gathers what the server answers.
type reply struct {
	limit   Options
	emit    func(string) error
	emitErr error
	begun   bool // something has been passed on
	cut     bool // the server ended the answer for its length
	tokens  int64
	model   string
	usage   sdk.CompletionUsage
}

// finishLength is how servers say that an answer has come to the limit of its tokens.
const finishLength = "length"

func (r *reply) pass(text string) error {
	if text == "" {
		return nil
	}
	r.begun = true
	r.tokens += int64(chunk.Tokens(text))
	r.emitErr = r.emit(text)
	return r.emitErr
}

// completion counts what the server said it used, or an estimate where it did not say.
func (r *reply) completion(model string, prompt answer.Prompt) answer.Completion {
	c := answer.Completion{Model: r.model, PromptTokens: r.usage.PromptTokens, CompletionTokens: r.usage.CompletionTokens, Cut: r.cut}
	if c.Model == "" {
		c.Model = model
	}
	if c.PromptTokens == 0 {
		c.PromptTokens = int64(chunk.Tokens(prompt.System))
		for _, t := range prompt.Messages {
			c.PromptTokens += int64(chunk.Tokens(t.Text))
		}
	}
	if c.CompletionTokens == 0 {
		c.CompletionTokens = r.tokens
	}
	return c
}

// whole asks for the answer in one piece.
func (p *Provider) whole(ctx context.Context, body sdk.ChatCompletionNewParams, r *reply) error {
	got, err := p.chat.New(ctx, body)
	if err != nil {
		return err
	}
	r.model, r.usage = got.Model, got.Usage
	if len(got.Choices) == 0 || got.Choices[0].Message.Content == "" {
		return errEmpty
	}
	r.cut = got.Choices[0].FinishReason == finishLength
	return r.pass(got.Choices[0].Message.Content)
}

// stream asks for the answer piece by piece. A server that stops sending is given up after the time-outs.
func (p *Provider) stream(ctx context.Context, body sdk.ChatCompletionNewParams, r *reply) error {
	if !p.noUsage.Load() {
		body.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(r.limit.FirstToken, func() { cancel(errStalled) })
	defer watch.Stop()

	stream := p.chat.NewStreaming(ctx, body)
	defer stream.Close()
	ended := false
	for stream.Next() {
		watch.Reset(r.limit.NextToken)
		part := stream.Current()
		if part.Model != "" {
			r.model = part.Model
		}
		if part.Usage.TotalTokens > 0 {
			r.usage = part.Usage
		}
		if len(part.Choices) == 0 {
			continue
		}
		ended = ended || part.Choices[0].FinishReason != ""
		r.cut = r.cut || part.Choices[0].FinishReason == finishLength
		watch.Stop() // a slow reader is not the server's fault
		if err := r.pass(part.Choices[0].Delta.Content); err != nil {
			return err
		}
		watch.Reset(r.limit.NextToken)
	}
	switch err := stream.Err(); {
	case errors.Is(context.Cause(ctx), errStalled):
		return errStalled
	case err != nil:
		return err
	case !ended:
		return errCut
	case !r.begun:
		return errEmpty
	}
	return nil
}
