package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/anthropic"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/openai"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
)

// shown formats models for comparison: provider, name and context window.
func shown(models []chat.Model) string {
	var out []string
	for _, m := range models {
		kind := "built-in"
		switch m.Provider.(type) {
		case *openai.Provider:
			kind = "openai"
		case *anthropic.Provider:
			kind = "anthropic"
		}
		out = append(out, fmt.Sprintf("%s %s %d", kind, m.Name, m.Window))
	}
	return strings.Join(out, ", ")
}

func TestModelsAreChosenByTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environ      string
		usual, llm4  string // the models that llm_3_5_turbo and llm_4 refer to
		saysOnFailed string
	}{
		"without a model the built-in answerer answers": {"", "built-in  0", "built-in  0", ""},
		"one model under every name":                    {"OPENAI_API_KEY=k SLUICE_CHAT_MODEL=gpt-4o", "openai gpt-4o 128000", "openai gpt-4o 128000", ""},
		"a name of its own for one of them":             {"OPENAI_API_KEY=k SLUICE_CHAT_MODEL=gpt-4o-mini SLUICE_MODEL_LLM_4=gpt-4", "openai gpt-4o-mini 128000", "openai gpt-4 8192", ""},
		"the interface's default stands for the others": {"OPENAI_API_KEY=k SLUICE_MODEL_LLM_3_5_TURBO=x", "openai x 8192", "openai x 8192", ""},
		"Anthropic where it alone is configured":        {"ANTHROPIC_API_KEY=k SLUICE_CHAT_MODEL=claude-x", "anthropic claude-x 200000", "anthropic claude-x 200000", ""},
		"a provider named by the model": {
			"OPENAI_API_KEY=k ANTHROPIC_API_KEY=k SLUICE_CHAT_MODEL=gpt-4o SLUICE_MODEL_LLM_4=anthropic:claude-x", "openai gpt-4o 128000", "anthropic claude-x 200000", "",
		},
		"Azure beside OpenAI": {
			"OPENAI_API_KEY=k AZURE_OPENAI_ENDPOINT=https://a.openai.azure.com SLUICE_CHAT_MODEL=azure:mine SLUICE_CHAT_FALLBACK=openai:gpt-4o", "openai mine 8192, openai gpt-4o 128000", "openai mine 8192, openai gpt-4o 128000", "",
		},
		"a fallback that is no fallback for itself": {
			"OPENAI_API_KEY=k SLUICE_CHAT_MODEL=gpt-4o SLUICE_MODEL_LLM_4=gpt-4 SLUICE_CHAT_FALLBACK=gpt-4o", "openai gpt-4o 128000", "openai gpt-4 8192, openai gpt-4o 128000", "",
		},
		"a colon that parts no provider": {"OPENAI_BASE_URL=http://l/v1 SLUICE_CHAT_MODEL=llama3.1:8b", "openai llama3.1:8b 8192", "openai llama3.1:8b 8192", ""},
		"windows by name, by provider and name, and for all": {
			"OPENAI_API_KEY=k SLUICE_CHAT_MODEL=openai:a SLUICE_MODEL_LLM_4=openai:gpt-4 SLUICE_CHAT_FALLBACK=b SLUICE_CHAT_WINDOW=openai:a=1000,b=2000,3000", "openai a 1000, openai b 2000", "openai gpt-4 3000, openai b 2000", "",
		},
		"not a model without its server":          {environ: "SLUICE_CHAT_MODEL=gpt-4o", saysOnFailed: "OPENAI_API_KEY"},
		"not a provider that is not configured":   {environ: "OPENAI_API_KEY=k SLUICE_CHAT_MODEL=anthropic:claude-x", saysOnFailed: "ANTHROPIC_API_KEY"},
		"not a provider without a model":          {environ: "OPENAI_API_KEY=k SLUICE_CHAT_MODEL=openai:", saysOnFailed: "model name after the provider is missing"},
		"not a fallback without a first":          {environ: "OPENAI_API_KEY=k SLUICE_CHAT_FALLBACK=gpt-4o", saysOnFailed: "SLUICE_CHAT_MODEL"},
		"not some names without one for the rest": {environ: "OPENAI_API_KEY=k SLUICE_MODEL_LLM_4=gpt-4", saysOnFailed: "for the others"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Parse(nil, strings.Fields(test.environ))
			if err != nil {
				t.Fatal(err)
			}
			models, err := openChatModels(c, nil)
			if test.saysOnFailed != "" {
				if err == nil || !strings.Contains(err.Error(), test.saysOnFailed) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(models.Models("llm_3_5_turbo")); got != test.usual {
				t.Errorf("usual: %s", got)
			}
			if got := shown(models.Models("llm_4")); got != test.llm4 {
				t.Errorf("llm_4: %s", got)
			}
			for _, name := range domain.ModelNames {
				if len(models.Models(name)) == 0 {
					t.Errorf("there is no model for %s", name)
				}
			}
		})
	}
}
