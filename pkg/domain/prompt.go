package domain

import "strings"

// Placeholders in system prompts, user prompts and templates. All occurrences are replaced; the inserted text is not
// searched for placeholders.
const (
	PlaceholderQuery   = "{query}"
	PlaceholderContext = "{context}"
	PlaceholderHistory = "{history}"
)

// MaxPlaceholders is the maximum number of placeholders in a prompt. Without this limit, a short prompt could insert
// the documents thousands of times.
const MaxPlaceholders = 20

// Placeholders counts the placeholders of a prompt.
func Placeholders(prompt string) int {
	return strings.Count(prompt, PlaceholderQuery) + strings.Count(prompt, PlaceholderContext) + strings.Count(prompt, PlaceholderHistory)
}
