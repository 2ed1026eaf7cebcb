// Package anthropic answers through Anthropic's Messages API, by its official SDK.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/domain"
)

// Options say which server answers.
type Options struct {
	BaseURL   string // without the version path; default: Anthropic's
	APIKey    string // "" for gateways that need none
	MaxTokens int    // of an answer where the prompt does not say, for the API wants to be told; default 4,096

	Limits     remote.Limits
	HTTPClient *http.Client // default: remote.Client()
}

// Provider is an answer.Provider. It is safe for concurrent use.
type Provider struct {
	messages sdk.MessageService
	options  Options
	caller   *remote.Caller
	quirks   remote.Quirks
}

// New returns a Provider. It fails when BaseURL is no HTTP address. It does not call the server.
func New(opts Options) (*Provider, error) {
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.anthropic.com"
	}
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the base address of Anthropic's API must begin with http:// or https:// and name a host")
	}
	if opts.MaxTokens <= 0 {
		opts.MaxTokens = 4096
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = remote.Client()
	}
	request := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(opts.BaseURL, "/") + "/"),
		option.WithHTTPClient(opts.HTTPClient),
		option.WithMaxRetries(0), // ours know whether anything has been passed on
		option.WithMiddleware(remote.Guard),
		option.WithoutOpenTelemetry(),
	}
	if opts.APIKey != "" {
		request = append(request, option.WithAPIKey(opts.APIKey))
	}
	server := remote.Server{Name: "Anthropic", KeySetting: "ANTHROPIC_API_KEY", AddressSetting: "ANTHROPIC_BASE_URL", Secret: opts.APIKey}
	return &Provider{
		messages: sdk.NewMessageService(request...), // unlike a whole client it reads no environment
		options:  opts,
		caller:   remote.NewCaller(server, opts.Limits),
	}, nil
}

// Complete implements answer.Provider. The API has no penalties, and takes either temperature or topP; where both are
// given, the temperature counts. The server always streams, whatever the prompt asks for: so it is known while it answers
// that it does.
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

// Parameters of a request, as the API names them.
const (
	temperature = "temperature"
	topP        = "top_p"
	maxTokens   = "max_tokens"
)

// body makes the request of a prompt, with what the model is not known to refuse.
func (p *Provider) body(prompt answer.Prompt) (sdk.MessageNewParams, remote.Parameters) {
	known := p.quirks.Of(prompt.Model)
	asked, most := prompt.Params, p.options.MaxTokens
	if asked.MaxTokens != nil {
		most = *asked.MaxTokens
	}
	sent := remote.Parameters{maxTokens: known.Most(most)}
	body := sdk.MessageNewParams{Model: prompt.Model, MaxTokens: int64(sent[maxTokens])}
	if v := asked.Temperature; v != nil && !known.Refuses(temperature) {
		body.Temperature, sent[temperature] = sdk.Float(*v), *v
	}
	if v := asked.TopP; v != nil && asked.Temperature == nil && !known.Refuses(topP) {
		body.TopP, sent[topP] = sdk.Float(*v), *v
	}
	if prompt.System != "" {
		body.System = []sdk.TextBlockParam{{Text: prompt.System}}
	}
	for _, t := range prompt.Messages {
		if strings.TrimSpace(t.Text) == "" {
			continue // which the API refuses; a message before may have been that
		}
		block := sdk.NewTextBlock(t.Text)
		if t.Role == domain.RoleAssistant {
			body.Messages = append(body.Messages, sdk.NewAssistantMessage(block))
		} else {
			body.Messages = append(body.Messages, sdk.NewUserMessage(block))
		}
	}
	return body, sent
}

// ignored are the interface's names of the parameters that were asked for and not sent as they were.
func ignored(asked answer.Params, sent remote.Parameters) []string {
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
		{"maxTokens", asked.MaxTokens != nil && sent[maxTokens] != float64(*asked.MaxTokens)},
	} {
		if p.ignored {
			out = append(out, p.field)
		}
	}
	return out
}

// event is what is read of a stream's events. It is a fraction of the SDK's own type, whose decoding costs more than all
// else that happens to a token.
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
	Delta struct {
		Text       remote.Text    `json:"text"`
		Thinking   string         `json:"thinking"`
		StopReason sdk.StopReason `json:"stop_reason"`
	} `json:"delta"`
	Usage struct {
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

// ask puts the question once and passes on what comes.
func (p *Provider) ask(ctx context.Context, body sdk.MessageNewParams, r *remote.Reply) error {
	var res *http.Response
	if err := p.messages.NewStreaming(ctx, body, option.WithResponseBodyInto(&res)).Err(); err != nil {
		return err
	}
	stream := ssestream.NewStream[event](ssestream.NewDecoder(res), nil)
	defer stream.Close()
	var stopped bool
	var reason sdk.StopReason
	var joined remote.Joiner
	for stream.Next() {
		r.Event()
		e := stream.Current()
		switch e.Type {
		case "message_start":
			u := e.Message.Usage
			r.Model, r.PromptTokens = e.Message.Model, u.Input+u.Written+u.Read
		case "content_block_delta":
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
	}
	if sent := (*sdk.Error)(nil); errors.As(stream.Err(), &sent) {
		return remote.ReadStatus(0, []byte(sent.RawJSON()))
	}
	if err := r.Pass(joined.Close()); err != nil {
		return err
	}
	switch {
	case stream.Err() != nil:
		return stream.Err()
	case !stopped:
		return remote.ErrCut
	case reason == sdk.StopReasonRefusal:
		return remote.ErrFiltered
	case reason == sdk.StopReasonMaxTokens || reason == sdk.StopReasonModelContextWindowExceeded:
		r.Cut = true
	}
	return nil
}
