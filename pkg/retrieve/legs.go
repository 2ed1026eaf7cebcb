package retrieve

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// One passage rarely answers all parts of a question, and a search for the whole question finds only passages about the
// part with the rarest words. So each part is searched separately, and the result takes fragments from each part in
// turn.

// leg is the search for the whole query or one of its parts.
type leg struct {
	query  string
	found  []datastoreResult
	ranked []*candidate // best first
	notes  []string     // about values that boosts can't use
}

// searchLegs searches for the whole query, which is the first leg, and for each of its parts. The request's own permit
// allows one search at a time. Further legs are searched concurrently only if they get permits.
func (r *Retriever) searchLegs(ctx context.Context, req Request, filter index.Filter, deep bool) ([]leg, error) {
	legs := make([]leg, 1, 1+len(req.Parts))
	legs[0].query = req.Query
	for _, part := range req.Parts {
		if part = strings.TrimSpace(part); part != "" {
			legs = append(legs, leg{query: part})
		}
	}
	vectors := r.embedLegs(legs, req)
	search := func(ctx context.Context, i int) (err error) {
		req := req
		if req.Query = legs[i].query; i > 0 {
			req.Vector = nil
		}
		q := &query{Retriever: r, Request: req, filter: filter, deep: deep, embed: func(model string) (embedding, error) { return vectors(ctx, model, i) }}
		if legs[i].found, err = q.search(ctx); err == nil {
			legs[i].ranked = fused(ctx, legs[i].found)
			legs[i].notes, err = q.boost(legs[i].ranked)
		}
		return err
	}
	if len(legs) == 1 {
		return legs, search(ctx, 0)
	}
	group, ctx := errgroup.WithContext(ctx)
	var begun atomic.Int64 // legs begun so far
	work := func() error {
		for {
			i := int(begun.Add(1)) - 1
			if i >= len(legs) {
				return nil
			}
			if err := search(ctx, i); err != nil {
				return err
			}
		}
	}
	for n := 1; n < len(legs); n++ {
		leave, ok := r.enter(req.WorkspaceID)
		if !ok {
			break
		}
		group.Go(func() error {
			defer leave()
			return work()
		})
	}
	group.Go(work)
	return legs, group.Wait()
}

// Permits limits the number of concurrent searches.
type Permits interface {
	// TryEnter tries to take a permit for one of the workspace's searches and reports whether it succeeded. If so, the
	// caller must call `leave` once.
	TryEnter(workspace string) (leave func(), ok bool)
}

// enter reports whether another part of the query may be searched concurrently. If so, the caller must call `leave`
// after that search.
func (r *Retriever) enter(workspace string) (leave func(), ok bool) {
	if r.deps.Permits == nil {
		return func() {}, true
	}
	return r.deps.Permits.TryEnter(workspace)
}

// release returns all candidates' memory to the pool.
func release(legs []leg) {
	for i := range legs {
		for j := range legs[i].found {
			legs[i].found[j].release()
		}
	}
}

// rerankLegs reranks each leg's candidates by that leg's query. Together, the legs rerank at most as many candidates as
// one leg would. s is the selection that will choose the fragments.
func (r *Retriever) rerankLegs(ctx context.Context, legs []leg, s *selection, req Request) (domain.ExplainedRerank, error) {
	if len(legs) == 1 {
		var second domain.ExplainedRerank
		var err error
		legs[0].ranked, second, err = r.rerank(ctx, legs[0].ranked, s, MaxReranked, req)
		return second, err
	}
	seconds := make([]domain.ExplainedRerank, len(legs))
	group, ctx := errgroup.WithContext(ctx)
	for i := range legs {
		l, req := &legs[i], req
		req.Query = l.query
		group.Go(func() (err error) {
			s := newSelection(req)
			defer s.duplicates.release()
			l.ranked, seconds[i], err = r.rerank(ctx, l.ranked, s, MaxReranked/len(legs), req)
			return err
		})
	}
	err := group.Wait()
	total := seconds[0]
	for _, s := range seconds[1:] {
		total.Candidates += s.Candidates
		total.Unscored += s.Unscored
		total.Took = max(total.Took, s.Took)
		total.Error = cmp.Or(total.Error, s.Error)
	}
	return total, err
}

// share merges all legs' ranked candidates into one list, without duplicates. The best candidate for the whole query
// comes first. Then come the candidates for the parts, one from each part in turn, and finally the remaining candidates
// for the whole query. A candidate's score is its highest in any leg.
func share(legs []leg) []*candidate {
	if len(legs) == 1 {
		return legs[0].ranked
	}
	best := make(map[string]*candidate)
	var out []*candidate
	whole, parts := legs[0].ranked, legs[1:]
	add := func(ranked []*candidate, i int) *candidate {
		c := ranked[i]
		if b := best[c.hit.Key]; b != nil {
			b.displayScore, b.final, b.relevance = max(b.displayScore, c.displayScore), max(b.final, c.final), max(b.relevance, c.relevance)
			return b
		}
		c.compared = c.duplicateOf != nil // compare it with other legs' candidates, too
		c.parts = make([]partScore, len(parts))
		best[c.hit.Key], out = c, append(out, c)
		return c
	}
	longest := 0
	for _, p := range parts {
		longest = max(longest, len(p.ranked))
	}
	if len(whole) > 0 {
		add(whole, 0)
	}
	for i := range longest {
		for n, p := range parts {
			if i < len(p.ranked) {
				score := partScore{p.ranked[i].displayScore, p.ranked[i].relevance}
				add(p.ranked, i).parts[n] = score
			}
		}
	}
	for i := range whole {
		add(whole, i)
	}
	return out
}
