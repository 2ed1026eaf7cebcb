package answer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/answer/auxiliary"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/followup"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// search adds the relevant fragments to the draft. It also explains the search if the request asks for an explanation.
func (a *Answerer) search(ctx context.Context, req Request, stores []domain.Datastore, d *promptDraft) (*domain.Explanation, error) {
	var models []chat.Model
	if a.opts.Composes {
		models = a.deps.Models.Models(req.model())
	}
	p := &d.prompt
	found, err := a.searchInConversation(ctx, req, stores, d, models)
	if err == nil {
		found, err = a.plan(ctx, req, stores, d, models, found)
	}
	if err != nil {
		return nil, err
	}
	minScore := a.opts.MinScore
	if p.Search != req.Query {
		minScore *= followUpShare
	}
	p.Fragments, p.Scores = a.relevant(found, minScore, language.Codes(p.Search))
	switch {
	case len(p.Fragments) > 0:
	case !a.opts.Composes:
		p.Fragments, p.Scores = a.relevant(found, minScore*quotableShare, nil)
	default:
		translated := a.translate(ctx, d, found.Fragments, models)
		if translated == "" {
			break
		}
		p.Search = translated
		again, err := a.retrieve(ctx, req, stores, d, translated, nil)
		if err != nil {
			return nil, err
		}
		p.Fragments, p.Scores = a.relevant(again, a.opts.MinScore, language.Codes(translated))
		found = again
	}
	p.TermWeights, p.Candidates, p.Rules = found.TermWeights, found.Candidates, found.Rules
	shown := found.Fragments
	if m := req.MinScore; m != nil {
		low := func(f domain.Fragment) bool { return f.Score < *m }
		if n := slices.IndexFunc(p.Fragments, low); n >= 0 { // the fragments are sorted by score
			p.Fragments, p.Scores = p.Fragments[:n], p.Scores[:n]
		}
		shown = slices.DeleteFunc(slices.Clone(shown), low)
	}
	if req.OnSearch != nil {
		if err := req.OnSearch(p.Search, shown); err != nil {
			return nil, err
		}
	}
	return found.Explanation, nil
}

// searchInConversation searches for the question alone and, if it may be a follow-up, concurrently for the question in
// context. It returns the better result and sets the draft's search query.
func (a *Answerer) searchInConversation(ctx context.Context, req Request, stores []domain.Datastore, d *promptDraft, models []chat.Model) (retrieve.Result, error) {
	asked := followup.New(req.Query, d.history)
	d.prompt.Search = asked.Alone
	rewritable := len(models) > 0 && asked.Rewritable()
	if asked.InContext == "" && !rewritable {
		return a.retrieve(ctx, req, stores, d, asked.Alone, nil)
	}
	var alone, inContext retrieve.Result
	first, second := *d, *d // each search counts its own tokens
	group, within := errgroup.WithContext(ctx)
	if asked.InContext == "" || asked.HasTopic() {
		group.Go(func() (err error) {
			alone, err = a.retrieve(within, req, stores, &first, asked.Alone, nil)
			return err
		})
	}
	completed := asked
	var rewriting chat.Completion
	group.Go(func() (err error) {
		if rewritable {
			rewriting = completed.Rewrite(within, req.model(), models, a.deps.Log)
		}
		if completed.InContext != "" {
			inContext, err = a.retrieve(within, req, stores, &second, completed.InContext, completed.Parts())
		}
		return err
	})
	err := group.Wait()
	d.embedTokens = first.embedTokens + second.embedTokens - d.embedTokens
	auxiliary.Add(&d.rewriting, rewriting)
	if err != nil || completed.InContext == "" || !completed.PrefersContext(alone, inContext) {
		return alone, err
	}
	d.prompt.Search = completed.InContext
	return inContext, nil
}

// retrieve searches for one query. `parts` is as in retrieve.Request.Parts.
func (a *Answerer) retrieve(ctx context.Context, req Request, stores []domain.Datastore, d *promptDraft, query string, parts []string) (retrieve.Result, error) {
	for _, text := range append([]string{query}, parts...) {
		d.embedTokens += int64(chunk.Tokens(text))
	}
	found, err := a.deps.Retriever.Retrieve(ctx, retrieve.Request{
		WorkspaceID: req.Agent.WorkspaceID,
		Datastores:  stores,
		Query:       query,
		Parts:       parts,
		TopK:        cmp.Or(req.Fragments, a.opts.Fragments),
		Filters:     req.Filters,
		Mode:        req.Mode,
		Where:       req.Where,
		Explain:     req.Explain,
	})
	if err != nil {
		return found, fmt.Errorf("searching for the answer: %w", err)
	}
	return found, nil
}

// datastores returns the agent's datastores, except deleted ones.
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

// Fraction of MinScore a fragment needs to be relevant to a follow-up question. It is below 1 because the search
// includes words from earlier questions, not all of which a fragment has to contain.
const followUpShare = 0.6

// Fraction of MinScore a fragment needs to be passed to the built-in answerer if none is relevant. It can be lower
// because the answerer checks that its quotations contain the question's words. See ADR 43.
const quotableShare = 0.4

// relevant returns the relevant fragments that fit the token budget, best first, and their scores other than the final
// one. A fragment is relevant if it contains one of the codes or its relevance is at least bar.
func (a *Answerer) relevant(found retrieve.Result, bar float64, codes []string) (out []domain.Fragment, scores []chat.FragmentScores) {
	budget := a.opts.ContextTokens
	for i, f := range found.Fragments {
		if found.Relevance(i) < bar && !language.HoldsCode(f.Text, codes) {
			continue
		}
		budget -= chunk.Tokens(f.Text)
		if budget < 0 && len(out) > 0 {
			break
		}
		s := chat.FragmentScores{Relevance: found.Relevance(i)}
		if found.PartScores != nil {
			s.Parts, s.PartRelevances = found.PartScores[i], found.PartRelevances[i]
		}
		out, scores = append(out, f), append(scores, s)
	}
	return out, scores
}
