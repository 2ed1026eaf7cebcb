package api

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// queryAgentRule is what the document cannot say about a question to an agent.
func queryAgentRule(body map[string]any) []domain.FieldError {
	faults := append(jsonbody.FilterFaults(body), promptsRule(body)...)
	return append(faults, visitorFaults("visitorId", body["visitorId"])...)
}

// promptsRule bounds how often prompts have something written out.
func promptsRule(body map[string]any) []domain.FieldError {
	var faults []domain.FieldError
	for _, field := range []string{"promptTemplate", "systemPrompt", "userPrompt"} {
		text, _ := body[field].(string)
		if n := domain.Placeholders(text); n > domain.MaxPlaceholders {
			faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf("has %d placeholders; the limit is %d", n, domain.MaxPlaceholders)})
		}
	}
	return faults
}

// visitorFaults refuses ids of visitors that cannot be shown: lists, exports and logs have them as they are.
func visitorFaults(field string, value any) []domain.FieldError {
	id, _ := value.(string)
	at := strings.IndexFunc(id, func(r rune) bool { return unicode.IsControl(r) && r != 0 }) // of NUL, reading has told
	if at < 0 {
		return nil
	}
	return []domain.FieldError{{Field: field, Message: fmt.Sprintf("is %s; it must have no control characters", jsonbody.Describe(id))}}
}

// visitorRule bounds what those without a key of its workspace may ask of a public agent. Else the agent's model, which its operator pays for, would
// answer anything, told by anybody.
func visitorRule(body AgentQuery, maxTokens int) error {
	var faults []domain.FieldError
	var names []string
	for _, override := range []struct {
		field string
		given bool
	}{
		{"modelName", body.ModelName != nil},
		{"promptTemplate", body.PromptTemplate != nil},
		{"promptType", body.PromptType != nil},
		{"systemPrompt", body.SystemPrompt != nil},
		{"userPrompt", body.UserPrompt != nil},
	} {
		if override.given {
			names = append(names, override.field)
			faults = append(faults, domain.FieldError{Field: override.field, Message: "of a public agent needs an API key of its workspace; leave it out"})
		}
	}
	if len(faults) > 0 {
		return &domain.Error{Code: domain.CodeUnauthorized, Fields: faults, Message: fmt.Sprintf(
			"to override %s of a public agent needs an API key of its workspace; leave out what is overridden, or send the header Authorization: Bearer <key>", strings.Join(names, ", "))}
	}
	if n := value(body.MaxTokens); n > maxTokens {
		return domain.Invalid("maxTokens", "%d is above the maximum of %d without an API key of the agent's workspace", n, maxTokens)
	}
	return nil
}
