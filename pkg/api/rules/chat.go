package rules

import (
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// chatRule rejects chat completion parameters that would change the answer but are not supported by agents. It ignores
// mere hints (seed, metadata, service_tier, reasoning_effort …).
func chatRule(body map[string]any) []domain.FieldError {
	faults := append(visitorFaults("user", body["user"]), jsonbody.FilterFaults(body)...)
	for _, r := range refusals {
		if asked, why := body[r.field], r.reason; r.isSet(asked) {
			faults = append(faults, domain.FieldError{Field: r.field, Message: "is not supported: " + why})
		}
	}
	if format, _ := body["response_format"].(map[string]any); format["type"] == "json_schema" {
		if schema, _ := format["json_schema"].(map[string]any); schema["schema"] == nil {
			faults = append(faults, domain.FieldError{Field: "response_format.json_schema.schema", Message: "is required with the type json_schema; send a JSON schema, or the type json_object"})
		}
	}
	messages, _ := body["messages"].([]any)
	faults = append(faults, toolFaults(body, messages)...)
	last := -1
	for i, m := range messages {
		message, isObject := m.(map[string]any)
		if !isObject {
			continue // reported by the schema
		}
		faults = append(faults, messageFaults(fmt.Sprintf("messages[%d]", i), message)...)
		if role := message["role"]; role != "system" && role != "developer" {
			last = i
		}
	}
	switch {
	case len(messages) == 0: // reported by the schema
	case last < 0:
		faults = append(faults, domain.FieldError{Field: "messages", Message: "contains no user message; the last user message is the question to answer"})
	default:
		if message, _ := messages[last].(map[string]any); message["role"] == string(domain.RoleAssistant) {
			faults = append(faults, domain.FieldError{Field: fmt.Sprintf("messages[%d].role", last), Message: "is \"assistant\" in the last message; it must be \"user\", because agents cannot continue an unfinished answer"})
		}
	}
	return faults
}

const omitAdvice = "leave it out"

// refusals lists the fields that chatRule rejects.
var refusals = []struct {
	field  string
	isSet  func(v any) bool
	reason string
}{
	{"functions", isSet, "send tools instead"},
	{"function_call", func(v any) bool { return v != nil && v != "auto" && v != "none" }, "send tool_choice instead"},
	{"modalities", func(v any) bool {
		list, _ := v.([]any)
		return v != nil && (len(list) != 1 || list[0] != "text")
	}, `answers are always text; leave it out, or send ["text"]`},
	{"audio", isSet, "answers are always text; " + omitAdvice},
	{"logprobs", func(v any) bool { return v != nil && v != false }, omitAdvice},
	{"top_logprobs", func(v any) bool { return v != nil && v != 0.0 }, omitAdvice},
	{"logit_bias", isSet, omitAdvice},
	{"web_search_options", func(v any) bool { return v != nil }, "agents answer from their datastores; " + omitAdvice},
}

// isSet reports whether the value requests anything. Some clients send empty values for parameters they don't use.
func isSet(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}

func messageFaults(at string, message map[string]any) []domain.FieldError {
	var faults []domain.FieldError
	for _, field := range []string{"function_call", "audio"} {
		if isSet(message[field]) {
			faults = append(faults, domain.FieldError{Field: at + "." + field, Message: "is not supported: messages can only contain text or tool_calls; " + omitAdvice})
		}
	}
	switch content := message["content"].(type) {
	case []any:
		for i, p := range content {
			part, isObject := p.(map[string]any)
			kind, isText := part["type"].(string)
			field := fmt.Sprintf("%s.content[%d]", at, i)
			switch {
			case !isObject || !isText: // reported by the schema
			case kind != "text":
				faults = append(faults, domain.FieldError{Field: field + ".type", Message: fmt.Sprintf("is %s; only parts of type text are supported", jsonbody.Describe(kind))})
			case part["text"] == nil:
				faults = append(faults, domain.FieldError{Field: field + ".text", Message: "is required"})
			}
		}
	case nil, string:
	default:
		return faults // reported by the schema
	}
	if role := message["role"]; role == string(domain.RoleUser) && strings.TrimSpace(MessageText(message["content"])) == "" && len(faults) == 0 {
		faults = append(faults, domain.FieldError{Field: at + ".content", Message: "is empty; it must contain text"})
	}
	return faults
}

// MessageText returns a message's text. The content is either a string or a list of parts, which become one line each.
func MessageText(content any) string {
	switch content := content.(type) {
	case string:
		return content
	case []any:
		parts := make([]string, 0, len(content))
		for _, p := range content {
			part, _ := p.(map[string]any)
			text, _ := part["text"].(string)
			parts = append(parts, text)
		}
		return strings.Join(parts, "\n")
	default:
		return ""
	}
}
