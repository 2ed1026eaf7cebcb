package retrieve

import "github.com/sluice/sluice/pkg/domain"

// spot is a chunk's place.
type spot struct {
	datasource string
	ordinal    int
}

// selection chooses the fragments from the candidates, so that they say different things.
type selection struct {
	topK          int
	perDatasource int // 0: any number
	folder        folder

	picks  []*pick
	at     map[spot]*pick // of each chunk that is part of one
	counts map[string]int // fragments by datasource

	explain bool
	dropped domain.ExplainedDrops
}

func newSelection(req Request) *selection {
	return &selection{
		topK: req.TopK, perDatasource: req.MaxPerDatasource, explain: req.Explain,
		at: make(map[spot]*pick, req.TopK), counts: make(map[string]int, req.TopK),
	}
}

// distinct returns the best n candidates that do not repeat one another.
func (s *selection) distinct(sorted []*candidate, n int) []*candidate {
	var out []*candidate
	for _, c := range sorted {
		if len(out) == n {
			break
		}
		if !s.folder.folds(c) {
			out = append(out, c)
		}
	}
	return out
}

// choose goes through the candidates from the best on: one that stands beside a fragment's chunk is merged into it, one
// that repeats what a better one says is folded into that, and of the rest the first become fragments.
func (s *selection) choose(ranked []*candidate) {
	for i, c := range ranked {
		p := s.beside(c, i+1)
		switch {
		case p == nil && len(s.picks) == s.topK:
			for rank, rest := range ranked[i:] {
				s.drop(rest, i+rank+1, domain.DropBelow)
			}
			return
		case p == nil && s.perDatasource > 0 && s.counts[c.hit.DatasourceID] >= s.perDatasource:
			s.drop(c, i+1, domain.DropOverMax)
		case s.folder.folds(c):
			s.drop(c, i+1, domain.DropDuplicate)
		case p != nil:
			p.merge(c)
			s.at[spotOf(c)] = p
			s.drop(c, i+1, domain.DropMerged)
		default:
			p = &pick{candidate: c, rank: i + 1, bytes: len(c.hit.Text)}
			s.picks = append(s.picks, p)
			s.at[spotOf(c)] = p
			s.counts[c.hit.DatasourceID]++
		}
	}
}

func spotOf(c *candidate) spot { return spot{c.hit.DatasourceID, c.hit.Ordinal} }

// beside returns the fragment that the candidate of that rank can be merged into, nil when there is none.
func (s *selection) beside(c *candidate, rank int) *pick {
	for _, step := range []int{-1, 1} {
		if p := s.at[spot{c.hit.DatasourceID, c.hit.Ordinal + step}]; p != nil && p.takes(c, rank) {
			return p
		}
	}
	return nil
}

// drop counts a candidate that becomes no fragment of its own, and remembers the best of them for the explanation.
func (s *selection) drop(c *candidate, rank int, why domain.DropReason) {
	if c.like != nil {
		why = domain.DropDuplicate // known since before the reranking
	}
	switch why {
	case domain.DropDuplicate:
		s.dropped.Duplicates++
	case domain.DropMerged:
		s.dropped.Merged++
	case domain.DropOverMax:
		s.dropped.OverMax++
	case domain.DropBelow:
		s.dropped.Below++
	}
	if !s.explain || len(s.dropped.Chunks) == domain.MaxExplainedDrops {
		return
	}
	d := domain.ExplainedDrop{
		ChunkID: c.hit.Key, DatasourceID: c.hit.DatasourceID, DatasourceName: c.source.Name, Page: c.hit.Page, Heading: c.hit.Heading,
		Reason: why, Rank: rank, Score: c.shown,
	}
	switch {
	case c.like != nil:
		d.For = s.standsFor(c)
	case why == domain.DropMerged:
		d.For = s.at[spotOf(c)].hit.Key
	}
	s.dropped.Chunks = append(s.dropped.Chunks, d)
}

// standsFor is the best chunk of the fragment that says what the folded candidate says, or else, when no fragment does,
// the chunk that it repeats.
func (s *selection) standsFor(c *candidate) string {
	if p := s.at[spotOf(c.like)]; p != nil {
		return p.hit.Key
	}
	return c.like.hit.Key
}
