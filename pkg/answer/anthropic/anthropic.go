// Package anthropic is a chat provider for Anthropic's Messages API.
package anthropic

import (
	"cmp"
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
	BaseURL   string // without the version path; defaults to Anthropic's
	APIKey    string // "" for gateways that need none
	MaxTokens int    // maximum tokens per answer if the prompt sets no limit; the API requires one; default 4,096

	Limits     remote.Limits
	HTTPClient *http.Client // defaults to remote.Client()
}

// Provider is a chat.Provider. It is safe for concurrent use.
type Provider struct {
	address string
	header  http.Header
	options Options
	caller  *remote.Caller
	limits  remote.ModelLimits
}

// New returns a Provider without contacting the server. It fails if BaseURL is not an HTTP address.
func New(opts Options) (*Provider, error) {
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.anthropic.com"
	}
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the base address of Anthropic's API must begin with http:// or https://, followed by a host")
	}
	if opts.MaxTokens <= 0 {
		opts.MaxTokens = 4096
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = remote.Client()
	}
	header := http.Header{"Anthropic-Version": {version}}
	if opts.APIKey != "" {
		header.Set("X-Api-Key", opts.APIKey)
	}
	server := remote.Server{Name: "Anthropic", KeySetting: "ANTHROPIC_API_KEY", AddressSetting: "ANTHROPIC_BASE_URL", Secret: opts.APIKey}
	return &Provider{
		address: base.JoinPath("v1/messages").String(),
		header:  header,
		options: opts,
		caller:  remote.NewCaller(server, opts.Limits),
	}, nil
}

const version = "2023-06-01"

// Complete implements chat.Provider. It always requests a stream, which shows that the server is still working. The API
// has no presence or frequency penalty and accepts only one of temperature and topP; if both are set, Complete sends
// temperature.
func (p *Provider) Complete(ctx context.Context, prompt chat.Prompt, emit func(string) error) (chat.Completion, error) {
	return p.caller.Complete(ctx, prompt, emit, func(ctx context.Context, r *remote.Reply) error {
		body, sent := p.body(prompt)
		r.Ignored = ignoredParameters(prompt.Params, sent)
		err := remote.ToolError(p.ask(ctx, body, r), prompt)
		if status := (*remote.Status)(nil); errors.As(err, &status) && p.limits.Learn(prompt.Model, status, sent) {
			return remote.ErrAdjusted
		}
		return err
	})
}

// Names of request parameters in the API.
const (
	temperature = "temperature"
	topP        = "top_p"
	maxTokens   = "max_tokens"
)

// request is an API request body. The system prompt and each message are lists of content blocks.
type request struct {
	Model       string         `json:"model"`
	MaxTokens   int64          `json:"max_tokens"`
	System      []contentBlock `json:"system,omitempty"`
	Messages    []message      `json:"messages"`
	Temperature *float64       `json:"temperature,omitempty"`
	TopP        *float64       `json:"top_p,omitempty"`
	Tools       []tool         `json:"tools,omitempty"`
	ToolChoice  *toolChoice    `json:"tool_choice,omitempty"`
	Stream      bool           `json:"stream"`
}

type message struct {
	Role    string         `json:"role"`
	Content []contentBlock `json:"content"`
}

type contentBlock struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`

	ID    string          `json:"id,omitempty"` // tool call's id
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	ToolUseID string `json:"tool_use_id,omitempty"` // id of the tool call that produced this result
	Content   string `json:"content,omitempty"`
}

func textBlock(text string) []contentBlock { return []contentBlock{{Type: "text", Text: text}} }

// body returns the request for a prompt. It omits parameters that the model is known to reject.
func (p *Provider) body(prompt chat.Prompt) (request, remote.Parameters) {
	known := p.limits.Of(prompt.Model)
	asked, limit := prompt.Params, p.options.MaxTokens
	if asked.MaxTokens != nil {
		limit = *asked.MaxTokens
	}
	sent := remote.Parameters{maxTokens: known.MaxTokens(limit)}
	body := request{Model: prompt.Model, MaxTokens: int64(sent[maxTokens]), Stream: true}
	if v := asked.Temperature; v != nil && !known.Refuses(temperature) {
		body.Temperature, sent[temperature] = v, *v
	}
	if v := asked.TopP; v != nil && asked.Temperature == nil && !known.Refuses(topP) {
		body.TopP, sent[topP] = v, *v
	}
	if prompt.System != "" {
		body.System = textBlock(prompt.System)
	}
	for _, t := range prompt.Messages {
		if len(t.Calls) > 0 || t.ResultOf != "" {
			body.Messages = addToolTurn(body.Messages, t)
			continue
		}
		if strings.TrimSpace(t.Text) == "" {
			continue // the API rejects empty messages, but the history may contain some
		}
		role := "user"
		if t.Role == domain.RoleAssistant {
			role = "assistant"
		}
		body.Messages = append(body.Messages, message{role, textBlock(t.Text)})
	}
	body.Tools, body.ToolChoice = toolsOf(asked)
	return body, sent
}

// ignoredParameters returns the API names of the parameters in `asked` that are missing or different in `sent`.
func ignoredParameters(asked chat.Params, sent remote.Parameters) []string {
	var out []string
	_, warm := sent[temperature]
	_, nucleus := sent[topP]
	for _, p := range []struct {
		field   string
		ignored bool
	}{
		{"temperature", asked.Temperature != nil && !warm},
		{"topP", asked.TopP != nil && !nucleus},
		{"presencePenalty", asked.PresencePenalty != nil},
		{"frequencyPenalty", asked.FrequencyPenalty != nil},
		{"responseFormat", asked.ResponseFormat != nil},
		{"maxTokens", asked.MaxTokens != nil && sent[maxTokens] != float64(*asked.MaxTokens)},
	} {
		if p.ignored {
			out = append(out, p.field)
		}
	}
	return out
}

// event is a stream event, with the fields that the provider uses.
type event struct {
	Type    string `json:"type"`
	Message struct {
		Model string `json:"model"`
		Usage struct {
			Input   int64 `json:"input_tokens"`
			Written int64 `json:"cache_creation_input_tokens"`
			Read    int64 `json:"cache_read_input_tokens"`
		} `json:"usage"`
	} `json:"message"`
	Index        int `json:"index"`
	ContentBlock struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"content_block"`
	Delta struct {
		PartialJSON string `json:"partial_json"`

		Text       remote.Text `json:"text"`
		Thinking   string      `json:"thinking"`
		StopReason string      `json:"stop_reason"`
	} `json:"delta"`
	Usage struct {
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

// ask sends the request once and passes the response to r.
func (p *Provider) ask(ctx context.Context, body request, r *remote.Reply) error {
	res, err := remote.Post(ctx, p.options.HTTPClient, p.address, p.header, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var stopped bool
	var reason string
	var joined remote.Joiner
	for sent, err := range modelhttp.Events(res.Body) {
		if err != nil {
			return err
		}
		var e event
		if sent.Type != typeError { // an error event may contain data that is not JSON
			if err := json.Unmarshal([]byte(sent.Data), &e); err != nil {
				return err
			}
		}
		switch cmp.Or(sent.Type, e.Type) { // some gateways omit event names
		case typeError:
			return remote.ReadStatus(0, []byte(sent.Data))
		case "ping": // a ping does not show that the model is working
			continue
		case "message_start":
			u := e.Message.Usage
			r.Model, r.PromptTokens = e.Message.Model, u.Input+u.Written+u.Read
		case "content_block_start":
			if b := e.ContentBlock; b.Type == typeToolUse {
				if err := r.Call(e.Index, b.ID, b.Name, ""); err != nil {
					return err
				}
			}
		case "content_block_delta":
			if e.Delta.PartialJSON != "" {
				if err := r.Call(e.Index, "", "", e.Delta.PartialJSON); err != nil {
					return err
				}
			}
			if e.Delta.Thinking != "" {
				r.Thought()
			}
			if err := r.Pass(joined.Next(e.Delta.Text)); err != nil {
				return err
			}
		case "message_delta":
			reason, r.CompletionTokens = e.Delta.StopReason, e.Usage.Output
		case "message_stop":
			stopped = true
		}
		r.Event()
	}
	if err := r.Pass(joined.Close()); err != nil {
		return err
	}
	switch {
	case !stopped:
		return remote.ErrCut
	case reason == typeToolUse && !r.Begun() && !r.Called():
		return remote.ErrTool
	case reason == "refusal":
		return remote.ErrFiltered
	case reason == "max_tokens" || reason == "model_context_window_exceeded":
		r.Cut = true
	}
	return nil
}

// typeError is the type of event that reports a failure.
const typeError = "error"
