package api

import "strings"

// ignoredHeader is the response header that lists the parameters that were ignored because the model does not support
// them, and the parameters whose values were changed.
const ignoredHeader = "Sluice-Ignored-Parameters"

// agentNames converts a parameter's name in the answer package to its name in agent queries. The two are the same.
func agentNames(name string) string { return name }

// openAINames returns a parameter's name in chat completions.
func openAINames(name string) string {
	switch name {
	case "topP":
		return "top_p"
	case "maxTokens":
		return "max_tokens"
	case "presencePenalty":
		return "presence_penalty"
	case "responseFormat":
		return "response_format"
	case "frequencyPenalty":
		return "frequency_penalty"
	default:
		return name
	}
}

// onIgnored registers the function `set`, which receives the value of ignoredHeader. If parameters were ignored, `set`
// is called before the first piece of the answer; otherwise it is not called. The function `rename` converts the names
// of parameters to those of the endpoint.
func (t *agentRequest) onIgnored(rename func(string) string, set func(names string)) {
	t.request.Ignored = func(names []string) {
		renamed := make([]string, len(names))
		for i, name := range names {
			renamed[i] = rename(name)
		}
		set(strings.Join(renamed, ", "))
	}
}
