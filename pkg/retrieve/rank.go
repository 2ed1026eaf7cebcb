package retrieve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lists"
)

// rank ranks all legs' candidates and returns the best fragments. If there is a reranker, its order is final.
func (r *Retriever) rank(ctx context.Context, legs []leg, req Request, f index.Filter, selected *int) (Result, error) {
	res := Result{TermWeights: make(map[string]float64), Rules: req.allRules()}
	for i := range legs {
		for _, space := range legs[i].found {
			res.degrade(space.degraded)
			for term, w := range space.termWeights {
				if !analysis.IsPageTerm(term) { // an answer cannot contain page terms
					res.TermWeights[term] = max(res.TermWeights[term], w)
				}
			}
		}
	}
	s := newSelection(req)
	defer s.duplicates.release()
	second, err := r.rerankLegs(ctx, legs, s, req)
	if err != nil {
		return Result{}, err
	}
	if second.Error != "" {
		res.degrade("the results were not reranked: " + second.Error)
	}
	ranked, err := r.pin(ctx, req, f, share(legs))
	if err != nil {
		return Result{}, err
	}
	res.Candidates = len(ranked)
	if err := s.choose(ctx, ranked); err != nil {
		return Result{}, err
	}
	if len(legs) > 1 {
		slices.SortStableFunc(s.picks, func(a, b *mergedFragment) int { return cmp.Compare(b.displayScore, a.displayScore) })
	}
	res.Fragments = slices.Grow(res.Fragments, len(s.picks))
	for _, p := range s.picks {
		res.Fragments = append(res.Fragments, p.fragment())
		res.Relevances = append(res.Relevances, p.relevance)
		if len(legs) > 1 {
			scores, relevances := p.bestPartScores(len(legs) - 1)
			res.PartScores, res.PartRelevances = append(res.PartScores, scores), append(res.PartRelevances, relevances)
		}
	}
	if req.Explain {
		res.Explanation = explain(req, legs[0].found, ranked, s, res, selected)
		res.Explanation.Rerank = second
		res.Explanation.Notes = append(res.Explanation.Notes, legs[0].notes...)
	}
	return res, nil
}

// degrade adds a note to Degraded, unless it is already there.
func (res *Result) degrade(note string) {
	if note != "" && !strings.Contains(res.Degraded, note) {
		res.Degraded = strings.TrimPrefix(res.Degraded+"; "+note, "; ")
	}
}

// reranks reports whether a request's result is reranked.
func (r *Retriever) reranks(req Request) bool {
	return r.deps.Reranker != nil && (req.Rerank == nil || *req.Rerank) && req.Query != ""
}

// rerank reranks up to n of the best candidates and returns them in the reranker's order. The other candidates follow
// in their previous order, including those that the reranker had no time for.
func (r *Retriever) rerank(ctx context.Context, all []*candidate, s *selection, n int, req Request) ([]*candidate, domain.ExplainedRerank, error) {
	var second domain.ExplainedRerank
	if len(all) == 0 || !r.reranks(req) {
		return all, second, nil
	}
	second.Model = r.deps.Reranker.Model()
	best, err := s.distinct(ctx, all, n)
	if err != nil {
		return nil, second, err
	}
	texts := lists.Map(best, passage)
	began, until := time.Now(), time.Time{}
	if r.opts.RerankBudget > 0 {
		until = began.Add(r.opts.RerankBudget)
	}
	order, err := r.deps.Reranker.Rerank(ctx, req.Query, texts, until)
	second.Took = time.Since(began)
	if err == nil {
		err = checkOrder(order, len(best))
	}
	switch {
	case err == nil:
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout): // the caller has cancelled the search
		return nil, second, err
	case req.Rerank != nil:
		return nil, second, unavailable(err, "the reranker is unavailable; try again later, or omit rerank")
	default:
		second.Error = "the reranker is unavailable"
		return all, second, nil
	}
	second.Candidates, second.Unscored = len(order), len(best)-len(order)
	ranked := make([]*candidate, 0, len(all))
	lowest := 1.0
	for i, o := range order {
		c := best[o.Index]
		c.second, c.reranked, c.displayScore, lowest = i+1, o.Score, o.Score, o.Score
		ranked = append(ranked, c)
	}
	rerankLinkLists(ranked)
	for _, c := range ranked {
		c.relevance = max(c.relevance, c.displayScore)
	}
	rerankBoosted(ranked)
	if len(ranked) > 0 {
		lowest = ranked[len(ranked)-1].displayScore
	}
	for _, c := range all {
		if c.second == 0 {
			c.displayScore *= lowest // keeps them below the reranked ones
			ranked = append(ranked, c)
		}
	}
	return ranked, second, nil
}

// passage returns a candidate's text for the reranker: its title, headings and text.
func passage(c *candidate) string {
	if c.hit.Context == "" {
		return c.hit.Text
	}
	return c.hit.Context + "\n" + c.hit.Text
}

// checkOrder returns an error unless the order is valid for n passages: at least one passage, none of them twice, and
// scores between 0 and 1 that never increase.
func checkOrder(order []Reranked, n int) error {
	seen := make([]bool, n)
	last := 1.0
	for _, o := range order {
		if o.Index < 0 || o.Index >= n || seen[o.Index] || !(o.Score >= 0 && o.Score <= last) {
			return errOrder
		}
		seen[o.Index], last = true, o.Score
	}
	if len(order) == 0 {
		return errOrder
	}
	return nil
}
