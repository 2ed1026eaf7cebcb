package answer

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/followup"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// search finds the relevant fragments and adds them to the draft.
func (a *Answerer) search(ctx context.Context, req Request, stores []domain.Datastore, d *promptDraft) (*domain.Explanation, error) {
	var models []chat.Model
	if a.opts.Composes {
		models = a.deps.Models.Models(req.model())
	}
	p := &d.prompt
	p.Search, d.rewriting = followup.Search(ctx, req.Query, req.model(), d.history, models, a.deps.Log)
	minScore := a.opts.MinScore
	if p.Search != req.Query {
		minScore *= followUpShare
	}
	found, err := a.retrieve(ctx, req, stores, d)
	if err != nil {
		return nil, err
	}
	p.Fragments = a.relevant(found, minScore, language.Codes(p.Search))
	switch {
	case len(p.Fragments) > 0:
	case !a.opts.Composes:
		p.Fragments = a.relevant(found, minScore*quotableShare, nil)
	default:
		original := p.Search
		if p.Search = a.translate(ctx, d, found.Fragments, models); p.Search == "" {
			p.Search = original
			break
		}
		again, err := a.retrieve(ctx, req, stores, d)
		if err != nil {
			return nil, err
		}
		p.Fragments = a.relevant(again, a.opts.MinScore, language.Codes(p.Search))
		found = again
	}
	p.TermWeights, p.Candidates = found.TermWeights, found.Candidates
	return found.Explanation, nil
}

// retrieve searches once for the draft's query.
func (a *Answerer) retrieve(ctx context.Context, req Request, stores []domain.Datastore, d *promptDraft) (retrieve.Result, error) {
	d.embedTokens += int64(chunk.Tokens(d.prompt.Search))
	found, err := a.deps.Retriever.Retrieve(ctx, retrieve.Request{
		WorkspaceID: req.Agent.WorkspaceID,
		Datastores:  stores,
		Query:       d.prompt.Search,
		TopK:        a.opts.Fragments,
		Filters:     req.Filters,
		Explain:     req.Explain,
	})
	if err != nil {
		return found, fmt.Errorf("retrieving for the answer: %w", err)
	}
	return found, nil
}

// datastores returns those of the agent's datastores that still exist.
func (a *Answerer) datastores(ctx context.Context, agent domain.Agent) ([]domain.Datastore, error) {
	var out []domain.Datastore
	for _, id := range agent.DatastoreIDs {
		ds, err := a.deps.Datastores.Datastore(ctx, agent.WorkspaceID, id)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading datastore %s of agent %s: %w", id, agent.ID, err)
		}
		out = append(out, ds)
	}
	return out, nil
}

// Fraction of MinScore required for follow-up questions. A lower score is enough, because the search also includes
// words of earlier questions, and a fragment need not contain all of them.
const followUpShare = 0.6

// Fraction of MinScore required of a fragment if no fragment is relevant and no model writes the answer. A lower score
// is enough for the built-in answerer, because it checks that its quotations contain the words of the question. See ADR
// 43.
const quotableShare = 0.4

// relevant returns the relevant fragments, best first, within the token budget. A fragment is relevant if it contains
// one of the codes, or if its relevance in any stage of the search is at least the threshold `bar`.
func (a *Answerer) relevant(found retrieve.Result, bar float64, codes []string) []domain.Fragment {
	var out []domain.Fragment
	budget := a.opts.ContextTokens
	for i, f := range found.Fragments {
		if found.Relevance(i) < bar && !language.HoldsCode(f.Text, codes) {
			continue
		}
		budget -= chunk.Tokens(f.Text)
		if budget < 0 && len(out) > 0 {
			break
		}
		out = append(out, f)
	}
	return out
}
