package instrument

import (
	"context"
	"slices"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Names of the spans for model calls. Metrics cover only whole stages; these spans show which call in a stage took the
// time.
const (
	spanChat   = "chat"
	spanEmbed  = "embed query"
	spanRerank = "rerank"
)

// tracedChat is a provider that traces its calls as spans.
type tracedChat struct{ chat.Provider }

// Complete implements chat.Provider.
func (t tracedChat) Complete(ctx context.Context, p chat.Prompt, emit func(string) error) (c chat.Completion, err error) {
	ctx, span := telemetry.Start(ctx, spanChat, telemetry.Text("sluice.model", p.Model))
	defer func() { span.End(err) }()
	return t.Provider.Complete(ctx, p, emit)
}

// ChatModels wraps chat models so that each call is traced as a span.
func ChatModels(next chat.Models) chat.Models { return tracedModels{next} }

type tracedModels struct{ next chat.Models }

// Models implements chat.Models.
func (t tracedModels) Models(name string) []chat.Model {
	models := slices.Clone(t.next.Models(name))
	for i := range models {
		models[i].Provider = tracedChat{models[i].Provider}
	}
	return models
}

// QueryEmbedders wraps query embedders so that each call is traced as a span.
func QueryEmbedders(next retrieve.Embedders) retrieve.Embedders { return tracedQueries{next} }

type tracedQueries struct{ retrieve.Embedders }

// Embedder implements retrieve.Embedders.
func (t tracedQueries) Embedder(model string) (embed.Embedder, error) {
	e, err := t.Embedders.Embedder(model)
	if err != nil {
		return nil, err
	}
	return tracedQuery{e}, nil
}

type tracedQuery struct{ embed.Embedder }

// Unwrap returns the wrapped embedder, because it may implement other interfaces.
func (t tracedQuery) Unwrap() embed.Embedder { return t.Embedder }

// Embed implements embed.Embedder.
func (t tracedQuery) Embed(ctx context.Context, texts []string, purpose embed.Purpose) (vectors [][]float32, err error) {
	ctx, span := telemetry.Start(ctx, spanEmbed, telemetry.Text("sluice.model", t.Model().ID))
	defer func() { span.End(err) }()
	return t.Embedder.Embed(ctx, texts, purpose)
}
