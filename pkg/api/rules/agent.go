package rules

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// agentRule checks constraints on an agent that the OpenAPI document cannot express.
func agentRule(body map[string]any) []domain.FieldError {
	return append(promptsRule(body), originFaults(body["allowedOrigins"])...)
}

// originFaults reports invalid entries in an agent's allowedOrigins.
func originFaults(value any) []domain.FieldError {
	list, _ := value.([]any)
	var faults []domain.FieldError
	for i, item := range list {
		text, isText := item.(string)
		if !isText || text == "" || i >= domain.MaxOrigins {
			continue // reported by the schema
		}
		if _, err := domain.ParseOrigin(text); err != nil {
			faults = append(faults, domain.FieldError{Field: fmt.Sprintf("allowedOrigins[%d]", i), Message: err.Error()})
		}
	}
	return faults
}

// queryAgentRule checks constraints on an agent query that the OpenAPI document cannot express.
func queryAgentRule(body map[string]any) []domain.FieldError {
	faults := append(jsonbody.FilterFaults(body), promptsRule(body)...)
	return append(faults, visitorFaults("visitorId", body["visitorId"])...)
}

// promptsRule limits the number of placeholders in prompts.
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

// visitorFaults rejects visitor ids with control characters, because lists, exports and logs would show them
// unchanged.
func visitorFaults(field string, value any) []domain.FieldError {
	id, _ := value.(string)
	at := strings.IndexFunc(id, func(r rune) bool { return unicode.IsControl(r) && r != 0 }) // the parser reports NUL
	if at < 0 {
		return nil
	}
	return []domain.FieldError{{Field: field, Message: fmt.Sprintf("is %s; it must not contain control characters", jsonbody.Describe(id))}}
}
