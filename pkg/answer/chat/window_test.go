package chat

import "testing"

func TestWindowsOfKnownModels(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"gpt-4": 8192, "gpt-4-0613": 8192, "gpt-4o-mini": 128_000, "gpt-4.1-nano": 1_047_576, "openai/gpt-4-32k": 32_768, "GPT-35-Turbo": 16_385,
		"claude-sonnet-4-5": 200_000, "anthropic/claude-3-haiku": 200_000, "llama3.1:8b": 0, "my-deployment": 0, "": 0,
	} {
		if got := KnownWindow(name); got != want {
			t.Errorf("%q has %d, want %d", name, got, want)
		}
	}
}

func TestHostedModelsAreRecognised(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"gpt-4o": true, "gpt-6": true, "GPT-6-mini": true, "openai/gpt-5.2": true, "chatgpt-4o-latest": true, "o3": true, "o5-mini": true, "claude-opus-5": true, "gemini-4-pro": true,
		"": false, "gpt-": false, "gpt": false, "o": false, "o0": false, "olmo-2": false, "o1x": false, "gpt-4/x": false, "llama3.1:8b": false, "gtp-4o": false,
	} {
		if got := IsHosted(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}
