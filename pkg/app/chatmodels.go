package app

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer/anthropic"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/extractive"
	answeropenai "github.com/sluice/sluice/pkg/answer/openai"
	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
)

// chatProvider is a type of server for chat models.
type chatProvider struct {
	name     string // prefix in model names, as in "openai:gpt-4o"
	settings string // settings that configure the provider, for error messages; one of them is enough
	address  string // "" means the provider's default
	key      string
	open     func(address, key string, limits remote.Limits) (chat.Provider, error)
}

// chatProviders returns the known providers. A model name without a provider's prefix belongs to the first configured
// provider.
func chatProviders(c config.Config) []chatProvider {
	return []chatProvider{
		{"openai", "OPENAI_BASE_URL or OPENAI_API_KEY", c.OpenAIBaseURL, c.OpenAIKey, func(address, key string, limits remote.Limits) (chat.Provider, error) {
			return answeropenai.New(answeropenai.Options{BaseURL: address, APIKey: key, Limits: limits})
		}},
		{"azure", "AZURE_OPENAI_ENDPOINT", c.AzureEndpoint, "", func(address, _ string, limits remote.Limits) (chat.Provider, error) {
			return answeropenai.New(answeropenai.Options{BaseURL: address, APIKey: c.AzureKey, Azure: true, AzureVersion: c.AzureVersion, Limits: limits})
		}},
		{"anthropic", "ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL", c.AnthropicURL, c.AnthropicKey, func(address, key string, limits remote.Limits) (chat.Provider, error) {
			return anthropic.New(anthropic.Options{BaseURL: address, APIKey: key, MaxTokens: c.ChatMaxTokens, Limits: limits})
		}},
	}
}

func (p chatProvider) configured() bool { return p.address != "" || p.key != "" }

// chatModels holds the models that write answers, by their names in the API.
type chatModels map[string][]chat.Model

// Models implements chat.Models.
func (m chatModels) Models(name string) []chat.Model { return m[name] }

// chatModelNames maps the names of the configured chat models to their names in the API. It returns nil if there are
// none.
func (s *Service) chatModelNames() map[string]string {
	models, ok := s.models.(chatModels)
	if !ok {
		return nil
	}
	names := map[string]string{}
	for _, name := range slices.Backward(domain.ModelNames) { // if a model has several names, the first one counts
		names[models[name][0].Name] = name
	}
	return names
}

// openChatModels opens the configured chat models. If there are none, it opens the extractive answerer, which uses the
// word vectors to recognise related words.
func openChatModels(c config.Config, words extractive.WordVectors) (chat.Models, error) {
	if c.ChatModel == "" && len(c.ModelNames) == 0 {
		if c.ChatFallback != "" {
			return nil, errors.New("SLUICE_CHAT_FALLBACK is set without SLUICE_CHAT_MODEL: set SLUICE_CHAT_MODEL to the model to try first")
		}
		return chat.SingleModel(extractive.New(words)), nil
	}
	unnamed := c.ChatModel
	if unnamed == "" {
		unnamed = c.ModelNames[domain.DefaultModelName]
	}
	if unnamed == "" {
		return nil, fmt.Errorf("SLUICE_MODEL_* is set for some models but not for %s: set SLUICE_CHAT_MODEL for the others", domain.DefaultModelName)
	}
	open := &chatOpener{config: c, known: chatProviders(c), opened: map[string]chat.Provider{}}
	models := chatModels{}
	for _, name := range domain.ModelNames {
		written := cmp.Or(c.ModelNames[name], unnamed)
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

// openDefaultChatModel opens the model for agents that don't name one.
func openDefaultChatModel(c config.Config) (chat.Model, error) {
	models, err := openChatModels(c, nil)
	if err != nil {
		return chat.Model{}, err
	}
	return models.Models(domain.DefaultModelName)[0], nil
}

// chatOpener opens each provider at most once.
type chatOpener struct {
	config config.Config
	known  []chatProvider
	opened map[string]chat.Provider
}

// model opens a model written as "model" or "provider:model". If the text before the colon isn't a provider, it's part
// of the model's name: Ollama's model names contain colons.
func (o *chatOpener) model(written string) (chat.Model, error) {
	provider, name, found := strings.Cut(written, ":")
	i := slices.IndexFunc(o.known, func(p chatProvider) bool { return p.name == provider })
	if !found || i < 0 {
		name = written
		i = slices.IndexFunc(o.known, chatProvider.configured)
	}
	if i < 0 {
		var settings []string
		for _, p := range o.known {
			settings = append(settings, p.settings)
		}
		return chat.Model{}, errors.New("no model server is configured: set " + strings.Join(settings, ", or "))
	}
	if name == "" {
		return chat.Model{}, errors.New("the model name after the provider is missing")
	}
	p, err := o.open(o.known[i])
	if err != nil {
		return chat.Model{}, err
	}
	return chat.Model{Name: name, Provider: p, Window: window(o.config.ChatWindows, written, name), Answer: o.config.ChatMaxTokens}, nil
}

func (o *chatOpener) open(p chatProvider) (chat.Provider, error) {
	if opened := o.opened[p.name]; opened != nil {
		return opened, nil
	}
	if !p.configured() {
		return nil, fmt.Errorf("provider %s is not configured: set %s", p.name, p.settings)
	}
	opened, err := p.open(p.address, p.key, remote.Limits{FirstToken: o.config.ChatStart, NextToken: o.config.ChatStall, Attempts: o.config.ChatAttempts})
	if err != nil {
		return nil, err
	}
	o.opened[p.name] = opened
	return opened, nil
}

// window returns the model's context window in tokens: the configured value, else the built-in value for a known model,
// else a default. The setting may name the model with or without its provider.
func window(configured config.Windows, written, name string) int {
	for _, n := range []int{configured.ByModel[written], configured.ByModel[name], configured.All, chat.KnownWindow(name)} {
		if n > 0 {
			return n
		}
	}
	return chat.UnknownWindow
}
