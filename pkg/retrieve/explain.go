package retrieve

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
)

func explain(req Request, found []datastoreResult, all []*candidate, s *selection, res Result, selected *int) *domain.Explanation {
	e := explainQuery(req, selected)
	e.Terms, e.Candidates, e.Dropped = topTerms(res.TermWeights), len(all), s.dropped
	e.Words = analysis.WordsOf(req.Query, e.Terms)
	if res.Degraded != "" {
		e.Notes = append(e.Notes, res.Degraded)
	}
	for _, f := range found {
		e.Dropped.Inactive += f.dropped
		e.Dropped.Blocked += f.blocked
		d := domain.ExplainedDatastore{
			ID: f.ds.ID, Engine: f.ds.Type, Model: f.ds.EmbeddingModel, Lexical: f.words, Dense: f.vector.vector != nil,
			Depth: f.depth, Candidates: len(f.candidates), Inactive: f.dropped, Boosts: explainBoosts(req.boosts(&f.ds)),
			SettingsVersion: f.ds.SearchVersion,
			Evidence:        f.evidence.explained(),
		}
		switch {
		case d.Dense && d.Lexical:
			d.DenseWeight = f.vector.weight
		case d.Dense:
			d.DenseWeight = 1
		}
		e.Datastores = append(e.Datastores, d)
	}
	stages := rankStages(all)
	for _, p := range s.picks {
		e.Fragments = append(e.Fragments, stages.fragment(p))
	}
	for _, c := range all {
		if c.duplicateOf == nil {
			continue
		}
		if p := s.at[positionOf(c.duplicateOf)]; p != nil {
			f := &e.Fragments[slices.Index(s.picks, p)]
			if len(f.Duplicates) < domain.MaxExplainedDrops {
				f.Duplicates = append(f.Duplicates, c.hit.Key)
			}
		}
	}
	return e
}

// explainQuery returns the parts of an explanation that are known before the search. `selected` is how many datasources
// the filter selects, or nil if the filter doesn't restrict the datasources.
func explainQuery(req Request, selected *int) *domain.Explanation {
	return &domain.Explanation{
		Query: req.Query, Parts: req.Parts, Mode: req.Mode, TopK: req.TopK, MaxPerDatasource: req.MaxPerDatasource,
		Filters: domain.ExplainedFilters{Datasources: selected, Metadata: req.Filters.Metadata, Where: whereOf(req)},
		Terms:   map[string]float64{}, Words: map[string][]string{},
	}
}

// whereOf returns the request's general filter as JSON, or nil if it has none.
func whereOf(req Request) json.RawMessage {
	if req.Where == nil {
		return nil
	}
	return json.RawMessage(req.Where.Canonical().String())
}

// topTerms returns the terms with the largest weights, at most domain.MaxExplainedTerms of them.
func topTerms(weights map[string]float64) map[string]float64 {
	if len(weights) <= domain.MaxExplainedTerms {
		return maps.Clone(weights)
	}
	terms := slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
	out := make(map[string]float64, domain.MaxExplainedTerms)
	for _, t := range terms[:domain.MaxExplainedTerms] {
		out[t] = weights[t]
	}
	return out
}

// stageRanks holds the candidates' ranks, from 1, at each stage. Candidates that a leg didn't find have no rank there.
type stageRanks struct{ lexical, dense, fused, first map[*candidate]int }

func rankStages(all []*candidate) stageRanks {
	found := func(score float64) bool { return score != 0 }
	each := func(float64) bool { return true }
	return stageRanks{
		lexical: ranks(all, func(c *candidate) float64 { return c.lexical }, found),
		dense:   ranks(all, func(c *candidate) float64 { return c.hit.Dense }, found),
		fused:   ranks(all, func(c *candidate) float64 { return c.score }, each),
		first:   ranks(all, func(c *candidate) float64 { return c.final }, each),
	}
}

// ranks returns each candidate's rank by score, highest first. Candidates with equal scores keep their order in `all`.
// A candidate has no rank if `counts` returns false for its score.
func ranks(all []*candidate, score func(*candidate) float64, counts func(float64) bool) map[*candidate]int {
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *candidate) int { return cmp.Compare(score(b), score(a)) })
	out := make(map[*candidate]int, len(order))
	for i, c := range order {
		if counts(score(c)) {
			out[c] = i + 1
		}
	}
	return out
}

func (s stageRanks) fragment(p *mergedFragment) domain.ExplainedFragment {
	c := p.candidate
	f := domain.ExplainedFragment{
		ChunkID: c.hit.Key, DatastoreID: c.ds.ID,
		Lexical: c.hit.Lexical, LexicalRank: s.lexical[c], Dense: c.hit.Dense, DenseRank: s.dense[c],
		Document: c.document, Fused: c.score, FusedRank: s.fused[c], Neighbours: c.final - c.boosted + c.taken - c.score, LinkList: c.taken,
		Pinned: c.pinned, Boost: c.boosted, BoostFactors: slices.Clone(c.factors()), Rank: s.first[c],
		Reranked: c.reranked, RerankedRank: c.second,
		Terms: c.hit.Terms[:min(len(c.hit.Terms), domain.MaxExplainedTerms)],
	}
	for _, part := range p.chunks {
		if part != c {
			f.Merged = append(f.Merged, part.hit.Key)
		}
	}
	return f
}
