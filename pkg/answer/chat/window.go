package chat

import "strings"

// UnknownWindow is the context window, in tokens, assumed for models unknown to KnownWindow.
const UnknownWindow = 8192

// KnownWindow returns a model's published context window in tokens. It ignores vendor prefixes added by gateways
// ("openai/", "anthropic/"). For unknown names it returns 0, because a self-hosted model's window depends on its
// server's configuration.
func KnownWindow(model string) int {
	model = strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	best, window := "", 0
	for prefix, n := range knownWindows {
		if strings.HasPrefix(model, prefix) && len(prefix) > len(best) {
			best, window = prefix, n
		}
	}
	return window
}

// hostedFamilies lists prefixes of hosted models' names.
var hostedFamilies = []string{"gpt-", "chatgpt-", "codex-", "claude-", "gemini-"}

// IsHosted reports whether a name is a hosted model's, even if KnownWindow doesn't know it. Vendor prefixes are
// ignored.
func IsHosted(model string) bool {
	model = strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	for _, family := range hostedFamilies {
		if strings.HasPrefix(model, family) && len(model) > len(family) {
			return true
		}
	}
	// OpenAI's reasoning models: o1, o3-mini, o4-mini.
	return len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9' && (len(model) == 2 || model[2] == '-')
}

// knownWindows lists context windows by model name prefix. The longest matching prefix applies.
var knownWindows = map[string]int{
	"gpt-3.5-turbo":          16_385,
	"gpt-35-turbo":           16_385, // Azure's name
	"gpt-3.5-turbo-instruct": 4_096,
	"gpt-4":                  8_192,
	"gpt-4-32k":              32_768,
	"gpt-4-turbo":            128_000,
	"gpt-4-1106":             128_000,
	"gpt-4-0125":             128_000,
	"gpt-4o":                 128_000,
	"gpt-4.1":                1_047_576,
	"gpt-4.5":                128_000,
	"gpt-5":                  272_000, // 400,000 minus the tokens reserved for the answer
	"gpt-5-chat":             128_000,
	"chatgpt-4o":             128_000,
	"o1":                     200_000,
	"o1-mini":                128_000,
	"o1-preview":             128_000,
	"o3":                     200_000,
	"o4-mini":                200_000,
	"claude-":                200_000,
	"claude-2.0":             100_000,
	"claude-instant":         100_000,
}
