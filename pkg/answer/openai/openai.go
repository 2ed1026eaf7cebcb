// Package openai answers through any server that speaks OpenAI's chat completions API: OpenAI itself, Azure OpenAI,
// Ollama, vLLM, llama.cpp, LiteLLM and others.
package openai

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/domain"
)

// Options say which server answers.
type Options struct {
	BaseURL string // with the version path, as "https://api.openai.com/v1"; default: OpenAI's
	APIKey  string // "" for servers that need none

	// Azure makes BaseURL the address of an Azure OpenAI resource ("https://name.openai.azure.com"), which takes the key in
	// a header of its own and calls models by the names of their deployments.
	Azure        bool
	AzureVersion string // api-version of the resource's dated interface; "" takes its v1 interface, which has none

	Limits     remote.Limits
	HTTPClient *http.Client // default: remote.Client()
}

// Provider is an answer.Provider. It is safe for concurrent use.
type Provider struct {
	chat    sdk.ChatCompletionService
	options Options
	caller  *remote.Caller
	quirks  remote.Quirks
	newer   bool // the server takes max_completion_tokens in place of max_tokens, unless it refuses it
}

// New returns a Provider. It fails when BaseURL is no HTTP address. It does not call the server.
func New(opts Options) (*Provider, error) {
	if opts.BaseURL == "" && !opts.Azure {
		opts.BaseURL = "https://api.openai.com/v1"
	}
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the base address of the OpenAI-compatible server must begin with http:// or https:// and name a host")
	}
	opts.BaseURL = strings.TrimSuffix(opts.BaseURL, "/") + "/"
	if opts.HTTPClient == nil {
		opts.HTTPClient = remote.Client()
	}
	server := remote.Server{Name: "the model server", KeySetting: "OPENAI_API_KEY", AddressSetting: "OPENAI_BASE_URL", Secret: opts.APIKey}
	if opts.Azure {
		server = remote.Server{Name: "Azure OpenAI", KeySetting: "AZURE_OPENAI_API_KEY", AddressSetting: "AZURE_OPENAI_ENDPOINT", Secret: opts.APIKey}
	}
	p := &Provider{options: opts, caller: remote.NewCaller(server, opts.Limits)}
	p.newer = base.Hostname() == "api.openai.com" || opts.Azure
	p.chat = sdk.NewChatCompletionService(p.requestOptions()...) // unlike a whole client it reads no environment
	return p, nil
}

func (p *Provider) requestOptions() []option.RequestOption {
	out := []option.RequestOption{
		option.WithHTTPClient(p.options.HTTPClient),
		option.WithMaxRetries(0), // ours know whether anything has been passed on
		option.WithMiddleware(remote.Guard),
	}
	switch {
	case p.options.Azure:
		out = append(out, option.WithHeaderDel("Authorization"), option.WithHeader("Api-Key", p.options.APIKey))
	case p.options.APIKey != "":
		out = append(out, option.WithAPIKey(p.options.APIKey))
	default:
		out = append(out, option.WithHeaderDel("Authorization"))
	}
	switch {
	case p.options.Azure && p.options.AzureVersion != "": // the address holds the model: see ask
		return append(out, option.WithQuery("api-version", p.options.AzureVersion))
	case p.options.Azure:
		return append(out, option.WithBaseURL(p.options.BaseURL+"openai/v1/"))
	default:
		return append(out, option.WithBaseURL(p.options.BaseURL))
	}
}

// Complete implements answer.Provider. The server always streams, whatever the prompt asks for: so it is known while it
// answers that it does.
func (p *Provider) Complete(ctx context.Context, prompt answer.Prompt, emit func(string) error) (answer.Completion, error) {
	return p.caller.Complete(ctx, prompt, emit, func(ctx context.Context, r *remote.Reply) error {
		body, sent := p.body(prompt)
		r.Ignored = ignored(prompt.Params, sent)
		err := p.ask(ctx, body, r)
		if status := (*remote.Status)(nil); errors.As(err, &status) && p.quirks.Learn(prompt.Model, status, sent) {
			return remote.ErrAdjusted
		}
		return err
	})
}

// body makes the request of a prompt, with what the model is not known to refuse.
func (p *Provider) body(prompt answer.Prompt) (sdk.ChatCompletionNewParams, remote.Parameters) {
	body := sdk.ChatCompletionNewParams{Model: prompt.Model}
	sent := p.allowed(prompt)
	instructions := prompt.System
	if _, takes := sent[remote.SystemRole]; takes {
		body.Messages, instructions = append(body.Messages, sdk.SystemMessage(instructions)), ""
	}
	for _, t := range alternating(prompt.Messages, instructions) {
		if t.Role == domain.RoleAssistant {
			body.Messages = append(body.Messages, sdk.AssistantMessage(t.Text))
		} else {
			body.Messages = append(body.Messages, sdk.UserMessage(t.Text))
		}
	}
	set(&body, sent)
	return body, sent
}

// alternating merges consecutive turns of the same role, because the templates of many models require alternating roles.
// Instructions for a model without a system role are put before the first user turn.
func alternating(turns []answer.Turn, instructions string) []answer.Turn {
	if instructions != "" {
		turns = append([]answer.Turn{{Role: domain.RoleUser, Text: instructions}}, turns...)
	}
	var out []answer.Turn
	for _, t := range turns {
		if last := len(out) - 1; last >= 0 && out[last].Role == t.Role {
			out[last].Text += "\n\n" + t.Text
			continue
		}
		out = append(out, t)
	}
	return out
}

// event is what is read of a piece of a stream, and of an answer in one piece. It is a fraction of the SDK's own type,
// whose decoding costs more than all else that happens to a token.
type event struct {
	Model   string `json:"model"`
	Choices []struct {
		Index        int     `json:"index"`
		Delta        message `json:"delta"`
		Message      message `json:"message"` // in an answer in one piece
		FinishReason string  `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	} `json:"usage"`
}

type message struct {
	Content   remote.Text `json:"content"`
	Refusal   string      `json:"refusal"`
	Reasoning string      `json:"reasoning_content"` // of DeepSeek, vLLM and llama.cpp
	Thinking  string      `json:"reasoning"`         // of Ollama and OpenRouter
}

// ask puts the question once and passes on what comes.
func (p *Provider) ask(ctx context.Context, body sdk.ChatCompletionNewParams, r *remote.Reply) error {
	var res *http.Response
	options := []option.RequestOption{option.WithJSONSet("stream", true), option.WithResponseBodyInto(&res)}
	if p.options.Azure && p.options.AzureVersion != "" {
		options = append(options, option.WithBaseURL(p.options.BaseURL+"openai/deployments/"+url.PathEscape(body.Model)+"/"))
	}
	if _, err := p.chat.New(ctx, body, options...); err != nil {
		return err
	}
	if isJSON(res.Header) {
		return readWhole(res, r)
	}
	decoder := &marked{Decoder: ssestream.NewDecoder(res)}
	stream := ssestream.NewStream[event](decoder, nil)
	defer stream.Close()
	finish := ""
	var said speech
	for stream.Next() {
		r.Event()
		reason, err := read(stream.Current(), r, &said)
		if err != nil {
			return err
		}
		if reason != "" {
			finish = reason
		}
	}
	if sent := (*ssestream.StreamError)(nil); errors.As(stream.Err(), &sent) {
		return remote.ReadStatus(0, sent.Event.Data)
	}
	if stream.Err() != nil {
		return stream.Err()
	}
	if err := r.Pass(said.close()); err != nil {
		return err
	}
	if finish == "" && decoder.ended { // some servers give no reason
		finish = "stop"
	}
	return ended(finish, r)
}

// endMark is the data of the last event of a stream.
const endMark = "[DONE]"

// marked is a decoder that notes whether the stream ended with endMark. The SDK does not distinguish such a stream from a
// truncated one.
type marked struct {
	ssestream.Decoder
	ended bool
}

// Next implements ssestream.Decoder.
func (d *marked) Next() bool {
	more := d.Decoder.Next()
	d.ended = d.ended || more && bytes.HasPrefix(d.Event().Data, []byte(endMark))
	return more
}

// speech extracts the answer from a model's output.
type speech struct {
	joined remote.Joiner
	aside  thoughts
}

func (s *speech) write(m message) (text string, thought bool) {
	text, thought = s.aside.write(s.joined.Next(m.Content) + m.Refusal)
	return text, thought || m.Content.Thought || m.Reasoning != "" || m.Thinking != ""
}

func (s *speech) close() string {
	text, _ := s.aside.write(s.joined.Close())
	return text + s.aside.close()
}

// read passes on what an event holds, and returns its finish reason.
func read(e event, r *remote.Reply, said *speech) (finish string, err error) {
	if e.Model != "" {
		r.Model = e.Model
	}
	if e.Usage != nil && e.Usage.Prompt+e.Usage.Completion > 0 {
		r.PromptTokens, r.CompletionTokens = e.Usage.Prompt, e.Usage.Completion
	}
	for _, choice := range e.Choices {
		if choice.Index != 0 {
			continue
		}
		for _, m := range []message{choice.Delta, choice.Message} {
			text, thought := said.write(m)
			if thought {
				r.Thought()
			}
			if err := r.Pass(text); err != nil {
				return "", err
			}
		}
		finish = choice.FinishReason
	}
	return finish, nil
}

// ended says whether an answer that ended so is one.
func ended(finish string, r *remote.Reply) error {
	switch finish {
	case "":
		return remote.ErrCut
	case "content_filter":
		return remote.ErrFiltered
	case "tool_calls", "function_call":
		if !r.Begun() {
			return remote.ErrTool
		}
	case "length":
		r.Cut = true
	}
	return nil
}
