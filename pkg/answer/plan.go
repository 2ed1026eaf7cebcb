package answer

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice/sluice/pkg/answer/auxiliary"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/answer/planner"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// plan has a model split a question that the search has not covered and then searches for the sub-questions. found is
// the result for the whole question. plan returns it unchanged if the model fails or makes an invalid plan.
func (a *Answerer) plan(ctx context.Context, req Request, stores []domain.Datastore, d *promptDraft, models []chat.Model, found retrieve.Result) (retrieve.Result, error) {
	if len(models) == 0 || !req.Agent.PlansQueries() || !a.foundSome(found) {
		return found, nil
	}
	asked := d.prompt.Search
	reason := planner.Needed(asked, found)
	// Fragments don't have to contain the words added from earlier questions. So if the query contains such words,
	// missing words are no reason to plan.
	if reason == "" || reason == domain.PlanCoverage && asked != language.WithoutClientText(req.Query) {
		return found, nil
	}
	within, cancel := context.WithTimeout(ctx, planner.Timeout)
	defer cancel()
	explained := domain.ExplainedPlan{Reason: reason}
	m := planner.Model{Model: models[0], APIName: req.model()}
	count := func(used chat.Completion) {
		auxiliary.Add(&d.rewriting, used)
		explained.PromptTokens += used.PromptTokens
		explained.CompletionTokens += used.CompletionTokens
	}
	p, used, err := planner.Make(within, m, asked, found.Fragments)
	count(used)
	if err == nil {
		var divided retrieve.Result
		if divided, err = a.retrieve(within, req, stores, d, asked, p.Questions); err == nil {
			found, explained.Questions = divided, p.Questions
		}
	}
	if err == nil && p.Next != "" {
		var next string
		next, used, err = planner.Finish(within, m, asked, p, found.Fragments)
		count(used)
		if err == nil && next != "" {
			var further retrieve.Result
			if further, err = a.retrieve(within, req, stores, d, asked, append(slices.Clip(p.Questions), next)); err == nil {
				found, explained.Next = further, next
			}
		}
	}
	if ctx.Err() != nil {
		return found, ctx.Err()
	}
	if err != nil {
		explained.Error = "the model failed or took too long"
		if rule := planner.InvalidError(""); errors.As(err, &rule) {
			explained.Error = rule.Error()
		}
		a.deps.Log.WarnContext(ctx, "the model did not finish planning the searches for a question; using the searches planned so far", "model", models[0].Name, "reason", reason, "error", err)
	}
	if found.Explanation != nil {
		found.Explanation.Plan = &explained
	}
	return found, nil
}

// foundSome reports whether the search found a fragment relevant enough for the prompt.
func (a *Answerer) foundSome(found retrieve.Result) bool {
	for i := range found.Fragments {
		if found.Relevance(i) >= a.opts.MinScore {
			return true
		}
	}
	return false
}
