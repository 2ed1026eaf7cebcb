package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/anthropic"
	answeropenai "github.com/sluice/sluice/pkg/answer/openai"
	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
)

// Names of the providers, as they stand before a model's name.
const (
	providerOpenAI    = "openai"
	providerAzure     = "azure"
	providerAnthropic = "anthropic"
)

// chatProviders are in the order in which a model without a provider's name looks for its own.
var chatProviders = []string{providerOpenAI, providerAzure, providerAnthropic}

// chatModels are the models that write answers, by the interface's names.
type chatModels map[string][]answer.Model

// Models implements answer.Models.
func (m chatModels) Models(name string) []answer.Model { return m[name] }

// openChatModels chooses who writes answers: chat models where they are named, else the documents' own sentences, for
// which words tells kindred words.
func openChatModels(c config.Config, words answer.WordVectors) (answer.Models, error) {
	if c.ChatModel == "" && len(c.ModelNames) == 0 {
		if c.ChatFallback != "" {
			return nil, errors.New("SLUICE_CHAT_FALLBACK is set and SLUICE_CHAT_MODEL is not: name the model that is asked first")
		}
		return answer.Only(answer.NewExtractive(words)), nil
	}
	unnamed := c.ChatModel
	if unnamed == "" {
		unnamed = c.ModelNames[domain.DefaultModelName]
	}
	if unnamed == "" {
		return nil, fmt.Errorf("SLUICE_MODEL_* names some models and not %s: set SLUICE_CHAT_MODEL for the others", domain.DefaultModelName)
	}
	open := &chatOpener{config: c, providers: map[string]answer.Provider{}}
	models := chatModels{}
	for _, name := range domain.ModelNames {
		written := c.ModelNames[name]
		if written == "" {
			written = unnamed
		}
		candidates := []string{written}
		if c.ChatFallback != "" && c.ChatFallback != written {
			candidates = append(candidates, c.ChatFallback)
		}
		for _, written := range candidates {
			m, err := open.model(written)
			if err != nil {
				return nil, fmt.Errorf("setting up chat model %q: %w", written, err)
			}
			models[name] = append(models[name], m)
		}
	}
	return models, nil
}

// openDefaultChatModel opens the model that answers for agents that name none.
func openDefaultChatModel(c config.Config) (answer.Model, error) {
	models, err := openChatModels(c, nil)
	if err != nil {
		return answer.Model{}, err
	}
	return models.Models(domain.DefaultModelName)[0], nil
}

// chatOpener opens each provider once.
type chatOpener struct {
	config    config.Config
	providers map[string]answer.Provider
}

// model finds the model that is written as "model" or "provider:model". Other words before a colon are part of the
// model's name: Ollama's names have colons.
func (o *chatOpener) model(written string) (answer.Model, error) {
	provider, name, found := strings.Cut(written, ":")
	if !found || !slices.Contains(chatProviders, provider) {
		provider, name = o.first(), written
	}
	if provider == "" {
		return answer.Model{}, errors.New("no model server is configured: set OPENAI_BASE_URL or OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT, or ANTHROPIC_API_KEY")
	}
	if name == "" {
		return answer.Model{}, errors.New("the name of the model is missing after its provider")
	}
	p, err := o.provider(provider)
	if err != nil {
		return answer.Model{}, err
	}
	return answer.Model{Name: name, Provider: p, Window: window(o.config.ChatWindows, written, name), Answer: o.config.ChatMaxTokens}, nil
}

// first is the provider of models that do not name theirs, "" when none is configured.
func (o *chatOpener) first() string {
	i := slices.IndexFunc(chatProviders, func(name string) bool { return o.unset(name) == "" })
	if i < 0 {
		return ""
	}
	return chatProviders[i]
}

// unset says which settings a provider lacks.
func (o *chatOpener) unset(provider string) string {
	c := o.config
	switch {
	case provider == providerOpenAI && !c.HasModelServer():
		return "OPENAI_BASE_URL or OPENAI_API_KEY"
	case provider == providerAzure && !c.HasAzure():
		return "AZURE_OPENAI_ENDPOINT"
	case provider == providerAnthropic && !c.HasAnthropic():
		return "ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL"
	}
	return ""
}

func (o *chatOpener) provider(name string) (p answer.Provider, err error) {
	if p := o.providers[name]; p != nil {
		return p, nil
	}
	if settings := o.unset(name); settings != "" {
		return nil, fmt.Errorf("the provider %s is not configured: set %s", name, settings)
	}
	c := o.config
	limits := remote.Limits{FirstToken: c.ChatStart, NextToken: c.ChatStall, Attempts: c.ChatAttempts}
	switch name {
	case providerAzure:
		p, err = answeropenai.New(answeropenai.Options{BaseURL: c.AzureEndpoint, APIKey: c.AzureKey, Azure: true, AzureVersion: c.AzureVersion, Limits: limits})
	case providerAnthropic:
		p, err = anthropic.New(anthropic.Options{BaseURL: c.AnthropicURL, APIKey: c.AnthropicKey, MaxTokens: c.ChatMaxTokens, Limits: limits})
	default:
		p, err = answeropenai.New(answeropenai.Options{BaseURL: c.OpenAIBaseURL, APIKey: c.OpenAIKey, Limits: limits})
	}
	if err != nil {
		return nil, err
	}
	o.providers[name] = p
	return p, nil
}

// window is what the configuration says of a model, by the name as it is written or the model's own, else what is known
// of the model.
func window(configured config.Windows, written, name string) int {
	for _, n := range []int{configured.ByModel[written], configured.ByModel[name], configured.All, answer.KnownWindow(name)} {
		if n > 0 {
			return n
		}
	}
	return answer.UnknownWindow
}
