package api

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/domain"
)

// queryAgentRule is what the document cannot say about a question to an agent.
func queryAgentRule(body map[string]any) []domain.FieldError {
	faults := append(filtersRule(body), promptsRule(body)...)
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
	return []domain.FieldError{{Field: field, Message: fmt.Sprintf("is %s; it must have no control characters", describe(id))}}
}
