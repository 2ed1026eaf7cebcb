// Package openai is a chat provider for servers with OpenAI's chat completions API: OpenAI, Azure OpenAI, Ollama, vLLM,
// llama.cpp, LiteLLM and others.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/modelhttp"
)

// Options configure a Provider.
type Options struct {
	BaseURL string // with the version path, such as "https://api.openai.com/v1"; defaults to OpenAI's
	APIKey  string // "" for servers that need none

	// Azure means that BaseURL is an Azure OpenAI resource ("https://name.openai.azure.com"), which expects the API key
	// in a different header and identifies models by their deployment names.
	Azure        bool
	AzureVersion string // value of the api-version parameter, a date; "" means the v1 API, which needs none

	Limits     remote.Limits
	HTTPClient *http.Client // defaults to remote.Client()
}

// Provider is a chat.Provider. It is safe for concurrent use.
type Provider struct {
	base                   *url.URL
	header                 http.Header
	options                Options
	caller                 *remote.Caller
	limits                 remote.ModelLimits
	useMaxCompletionTokens bool // whether to send max_completion_tokens instead of max_tokens, unless the server rejects it
}

// New returns a Provider without contacting the server. It fails if BaseURL is not an HTTP address.
func New(opts Options) (*Provider, error) {
	if opts.BaseURL == "" && !opts.Azure {
		opts.BaseURL = "https://api.openai.com/v1"
	}
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the base address of the OpenAI-compatible server must begin with http:// or https://, followed by a host")
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = remote.Client()
	}
	server := remote.Server{Name: "the model server", KeySetting: "OPENAI_API_KEY", AddressSetting: "OPENAI_BASE_URL", Secret: opts.APIKey}
	if opts.Azure {
		server = remote.Server{Name: "Azure OpenAI", KeySetting: "AZURE_OPENAI_API_KEY", AddressSetting: "AZURE_OPENAI_ENDPOINT", Secret: opts.APIKey}
	}
	p := &Provider{base: base, header: modelhttp.Bearer(opts.APIKey), options: opts, caller: remote.NewCaller(server, opts.Limits)}
	if opts.Azure {
		p.header = http.Header{"Api-Key": {opts.APIKey}}
	}
	p.useMaxCompletionTokens = base.Hostname() == "api.openai.com" || opts.Azure
	return p, nil
}

// address returns the completions URL for a model. It keeps the base URL's query, where some gateways expect the key.
func (p *Provider) address(model string) string {
	switch {
	case p.options.Azure && p.options.AzureVersion != "":
		at := p.base.JoinPath("openai/deployments", url.PathEscape(model), "chat/completions")
		query := at.Query()
		query.Set("api-version", p.options.AzureVersion)
		at.RawQuery = query.Encode()
		return at.String()
	case p.options.Azure:
		return p.base.JoinPath("openai/v1/chat/completions").String()
	default:
		return p.base.JoinPath("chat/completions").String()
	}
}

// Complete implements chat.Provider. It requests a stream even if the prompt doesn't ask for one, because a stream
// shows that the server is still working.
func (p *Provider) Complete(ctx context.Context, prompt chat.Prompt, emit func(string) error) (chat.Completion, error) {
	return p.caller.Complete(ctx, prompt, emit, func(ctx context.Context, r *remote.Reply) error {
		body, sent := p.body(prompt)
		r.Ignored = ignoredParameters(prompt.Params, sent)
		err := remote.ToolError(p.ask(ctx, prompt.Model, body, r), prompt)
		if status := (*remote.Status)(nil); errors.As(err, &status) && p.limits.Learn(prompt.Model, status, sent) {
			return remote.ErrAdjusted
		}
		return err
	})
}

// body returns the request for a prompt. It omits parameters that the model is known to reject.
func (p *Provider) body(prompt chat.Prompt) (map[string]any, remote.Parameters) {
	sent := p.allowed(prompt)
	instructions := prompt.System
	var turns []wireMessage
	if _, takes := sent[remote.SystemRole]; takes {
		turns, instructions = append(turns, wireMessage{Role: "system", Content: instructions}), ""
	}
	for _, t := range mergeRoles(prompt.Messages, instructions) {
		turns = append(turns, wireTurn(t))
	}
	body := map[string]any{"model": prompt.Model, "messages": turns, "stream": true}
	set(body, sent, prompt.Params)
	setTools(body, prompt.Params)
	return body, sent
}

// mergeRoles merges consecutive turns with the same role, because many models' templates require alternating roles. The
// instructions, if any, come first; they are for models that don't support the system role.
func mergeRoles(turns []chat.Turn, instructions string) []chat.Turn {
	if instructions != "" {
		turns = append([]chat.Turn{{Role: domain.RoleUser, Text: instructions}}, turns...)
	}
	var out []chat.Turn
	for _, t := range turns {
		if last := len(out) - 1; last >= 0 && out[last].Role == t.Role && !isToolTurn(t) && !isToolTurn(out[last]) {
			out[last].Text += "\n\n" + t.Text
			continue
		}
		out = append(out, t)
	}
	return out
}

// event is a stream event, or a response that isn't streamed, with the fields that the provider uses.
type event struct {
	Model   string `json:"model"`
	Choices []struct {
		Index        int     `json:"index"`
		Delta        message `json:"delta"`
		Message      message `json:"message"` // in a response that is not streamed
		FinishReason string  `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// failed reports whether the event is an error. Some servers send a null error with every event.
func (e *event) failed() bool { return len(e.Error) > 0 && string(e.Error) != "null" }

type message struct {
	Content   remote.Text `json:"content"`
	Refusal   string      `json:"refusal"`
	Reasoning string      `json:"reasoning_content"` // used by DeepSeek, vLLM and llama.cpp
	Thinking  string      `json:"reasoning"`         // used by Ollama and OpenRouter
	Calls     []callPiece `json:"tool_calls"`
}

// endMark starts the data of a stream's last event.
const endMark = "[DONE]"

// ask sends the request once and passes the response to r.
func (p *Provider) ask(ctx context.Context, model string, body map[string]any, r *remote.Reply) error {
	res, err := remote.Post(ctx, p.options.HTTPClient, p.address(model), p.header, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if isJSON(res.Header) {
		return readWhole(res.Body, r)
	}
	var finish string
	var complete bool
	var said answerWriter
	for sent, err := range modelhttp.Events(res.Body) {
		if err != nil {
			return err
		}
		if complete = strings.HasPrefix(sent.Data, endMark); complete {
			break
		}
		var e event
		err := json.Unmarshal([]byte(sent.Data), &e)
		if e.failed() || sent.Type == "error" { // some servers send an error event whose data is the error itself
			return remote.ReadStatus(0, []byte(sent.Data))
		}
		if err != nil {
			return err
		}
		r.Event()
		reason, err := read(e, r, &said)
		if err != nil {
			return err
		}
		if reason != "" {
			finish = reason
		}
	}
	if err := r.Pass(said.close()); err != nil {
		return err
	}
	if finish == "" && complete { // some servers send no finish reason
		finish = "stop"
	}
	return finishError(finish, r)
}

// answerWriter extracts the answer from a model's output.
type answerWriter struct {
	joined    remote.Joiner
	reasoning reasoningFilter
	arguments map[int]*remote.Joiner // tool call arguments, by index
}

func (s *answerWriter) write(m message) (text string, thought bool) {
	text, thought = s.reasoning.write(s.joined.Next(m.Content) + m.Refusal)
	return text, thought || m.Content.Thought || m.Reasoning != "" || m.Thinking != ""
}

func (s *answerWriter) close() string {
	text, _ := s.reasoning.write(s.joined.Close())
	return text + s.reasoning.close()
}

// read passes an event's content to r and returns the finish reason.
func read(e event, r *remote.Reply, said *answerWriter) (finish string, err error) {
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
			if err := said.call(m.Calls, r); err != nil {
				return "", err
			}
		}
		finish = choice.FinishReason
	}
	return finish, nil
}

// finishError returns an error if the finish reason means that there is no complete answer.
func finishError(finish string, r *remote.Reply) error {
	switch finish {
	case "":
		return remote.ErrCut
	case "content_filter":
		return remote.ErrFiltered
	case "tool_calls", "function_call":
		if !r.Begun() && !r.Called() {
			return remote.ErrTool
		}
	case "length":
		r.Cut = true
	}
	return nil
}
