package openai

import (
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/remote"
)

// Names of request parameters in the API.
const (
	temperature         = "temperature"
	topP                = "top_p"
	presencePenalty     = "presence_penalty"
	frequencyPenalty    = "frequency_penalty"
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens" // replaces max_tokens for newer models; unknown to older servers
	streamOptions       = "stream_options"
	responseFormat      = "response_format"
)

// allowed returns the prompt's parameters, except those that its model is known to reject.
func (p *Provider) allowed(prompt chat.Prompt) remote.Parameters {
	known := p.limits.Of(prompt.Model)
	out := remote.Parameters{}
	add := func(name string, v *float64) {
		if v != nil && !known.Refuses(name) {
			out[name] = *v
		}
	}
	on := 1.0
	add(temperature, prompt.Params.Temperature)
	add(topP, prompt.Params.TopP)
	add(presencePenalty, prompt.Params.PresencePenalty)
	add(frequencyPenalty, prompt.Params.FrequencyPenalty)
	add(streamOptions, &on)
	if prompt.Params.ResponseFormat != nil {
		add(responseFormat, &on)
	}
	if prompt.System != "" {
		add(remote.SystemRole, &on)
	}
	if n := prompt.Params.MaxTokens; n != nil {
		limit := known.MaxTokens(*n)
		name, other := maxTokens, maxCompletionTokens
		if p.useMaxCompletionTokens {
			name, other = other, name
		}
		if known.Refuses(name) {
			name = other
		}
		add(name, &limit)
	}
	return out
}

func set(body map[string]any, sent remote.Parameters, asked chat.Params) {
	for name, v := range sent {
		switch name {
		case remote.SystemRole: // sent as a message
		case maxTokens, maxCompletionTokens:
			body[name] = int64(v)
		case responseFormat:
			body[name] = asked.ResponseFormat
		case streamOptions:
			body[name] = map[string]bool{"include_usage": true}
		default:
			body[name] = v
		}
	}
}

// ignoredParameters returns the API names of the parameters in `asked` that are missing or different in `sent`.
func ignoredParameters(asked chat.Params, sent remote.Parameters) []string {
	var out []string
	missing := func(name, field string, v *float64) {
		if _, ok := sent[name]; v != nil && !ok {
			out = append(out, field)
		}
	}
	missing(temperature, "temperature", asked.Temperature)
	missing(topP, "topP", asked.TopP)
	missing(presencePenalty, "presencePenalty", asked.PresencePenalty)
	missing(frequencyPenalty, "frequencyPenalty", asked.FrequencyPenalty)
	if _, ok := sent[responseFormat]; asked.ResponseFormat != nil && !ok {
		out = append(out, "responseFormat")
	}
	if n := asked.MaxTokens; n != nil && max(sent[maxTokens], sent[maxCompletionTokens]) != float64(*n) {
		out = append(out, "maxTokens")
	}
	return out
}
