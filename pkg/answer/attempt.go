package answer

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/answer/support"
	"github.com/sluice/sluice/pkg/domain"
)

type outcome struct {
	delivery   *citation.Delivery
	completion chat.Completion
	explained  domain.ExplainedModel
	stopped    bool // whether a stop sequence ended the answer
}

// complete tries the models in order until one emits text. From then on, it can't fall back to another model, because
// emitted text can't be taken back.
func (a *Answerer) complete(ctx context.Context, name string, d promptDraft, emit func(string) error) (outcome, error) {
	models := a.deps.Models.Models(name)
	for i, m := range models {
		out, err := a.completeBy(ctx, m, d, emit)
		out.explained.Fallback = i > 0
		if err == nil || out.delivery.Begun || ctx.Err() != nil || i == len(models)-1 {
			return out, err
		}
		a.deps.Log.WarnContext(ctx, "the model failed before it began to answer; using the fallback model", "model", m.Name, "fallback", models[i+1].Name, "error", err)
	}
	return outcome{delivery: citation.NewDelivery(chat.Prompt{}, emit)}, domain.Errorf(domain.CodeUnavailable, "no model is configured for %s", name)
}

// completeBy calls one model. If the model says that the prompt is too long, completeBy retries once with half the
// size, because the size of the context window is known only roughly, if at all.
func (a *Answerer) completeBy(ctx context.Context, m chat.Model, d promptDraft, emit func(string) error) (outcome, error) {
	if m.Name != "" {
		d.prompt.Model = m.Name
	}
	p, err := d.pack(m, m.Window)
	if err != nil {
		return outcome{delivery: citation.NewDelivery(chat.Prompt{}, emit)}, err
	}
	out, err := a.callModel(ctx, m, d, p, emit)
	if err == nil || out.delivery.Begun || !errors.Is(err, chat.ErrTooLong) {
		return out, err
	}
	tried := p.Tokens()*10/usableTenths + d.answerTokens(m, 2*p.Tokens())
	smaller, tooLong := d.pack(m, tried/2)
	if tooLong != nil {
		return out, err
	}
	a.deps.Log.WarnContext(ctx, "the model's context window is smaller than expected; trying a shorter prompt", "model", m.Name, "window", m.Window, "tried_tokens", p.Tokens(), "tokens", smaller.Tokens())
	return a.callModel(ctx, m, d, smaller, emit)
}

func (a *Answerer) callModel(ctx context.Context, m chat.Model, d promptDraft, p chat.Prompt, emit func(string) error) (out outcome, err error) {
	out.delivery = citation.NewDelivery(p, emit)
	if d.drops && len(p.Fragments) > 0 && p.Params.ResponseFormat == nil {
		out.delivery.Use(support.NewGate(p.Fragments))
	}
	all := func(ignored []string) []string {
		if asked := d.prompt.Params.MaxTokens; asked != nil && *asked != *p.Params.MaxTokens && !slices.Contains(ignored, "maxTokens") {
			return append(slices.Clip(ignored), "maxTokens")
		}
		return ignored
	}
	p.Begin = func(ignored []string) { d.ignored(all(ignored)) }
	if d.onCall != nil {
		p.OnCall = func(piece chat.CallDelta) error {
			out.delivery.Begun = true
			return d.onCall(piece)
		}
	}
	if !a.opts.Composes {
		d.ignored(modelParameters)
	}
	out.completion, err = m.Provider.Complete(ctx, p, out.delivery.Write)
	if out.stopped = errors.Is(err, citation.ErrStopped); out.stopped {
		err = nil
	}
	c := &out.completion
	c.Ignored = all(c.Ignored)
	out.explained = domain.ExplainedModel{
		Name: c.Model, PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens, Estimated: c.Estimated, Cut: c.Cut,
		Ignored: c.Ignored, Fragments: len(p.Fragments), LeftOut: len(d.prompt.Fragments) - len(p.Fragments),
	}
	return out, err
}
