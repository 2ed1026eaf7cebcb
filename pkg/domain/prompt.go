package domain

import "strings"

// Placeholders of system prompts, user prompts and templates. Each is replaced wherever it stands; what replaces it is not
// searched for further ones.
const (
	PlaceholderQuery   = "{query}"
	PlaceholderContext = "{context}"
	PlaceholderHistory = "{history}"
)

// MaxPlaceholders bounds the placeholders of one prompt: a short text could have documents written out thousands of times.
const MaxPlaceholders = 20

// Placeholders counts the placeholders of a prompt.
func Placeholders(prompt string) int {
	return strings.Count(prompt, PlaceholderQuery) + strings.Count(prompt, PlaceholderContext) + strings.Count(prompt, PlaceholderHistory)
}
