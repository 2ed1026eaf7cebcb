package retrieve

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

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
func (s *selection) distinct(ctx context.Context, sorted []*candidate, n int) ([]*candidate, error) {
	var out []*candidate
	rows := reader{ranked: sorted, first: n}
	for i, c := range sorted {
		if len(out) == n {
			break
		}
		if err := rows.row(ctx, i); err != nil {
			return nil, err
		}
		if !s.folder.folds(c) {
			out = append(out, c)
		}
	}
	return out, nil
}

// choose goes through the candidates from the best on: one that stands beside a fragment's chunk is merged into it, one
// that repeats what a better one says is folded into that, and of the rest the first become fragments. It reads the rows of
// those that it must know more of.
func (s *selection) choose(ctx context.Context, ranked []*candidate) error {
	rows := &reader{ranked: ranked, first: s.topK + s.topK/4}
	for i, c := range ranked {
		full := len(s.picks) == s.topK
		over := s.perDatasource > 0 && s.counts[c.hit.DatasourceID] >= s.perDatasource
		reached := s.reached(c, i+1)
		if full && !reached {
			return s.dropRest(ctx, rows, i)
		}
		if reached || !over || s.lists() {
			if err := rows.row(ctx, i); err != nil {
				return err
			}
		}
		p := s.beside(c, i+1)
		switch {
		case p == nil && full:
			return s.dropRest(ctx, rows, i)
		case p == nil && over:
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
	return nil
}

// dropRest drops the candidates from the i-th on.
func (s *selection) dropRest(ctx context.Context, rows *reader, i int) error {
	for ; i < len(rows.ranked); i++ {
		if s.lists() {
			if err := rows.row(ctx, i); err != nil {
				return err
			}
		}
		s.drop(rows.ranked[i], i+1, domain.DropBelow)
	}
	return nil
}

// lists reports whether what is dropped next is told in the explanation.
func (s *selection) lists() bool {
	return s.explain && len(s.dropped.Chunks) < domain.MaxExplainedDrops
}

func spotOf(c *candidate) spot { return spot{c.hit.DatasourceID, c.hit.Ordinal} }

// beside returns the fragment that the candidate of that rank can be merged into, nil when there is none.
func (s *selection) beside(c *candidate, rank int) *pick {
	for _, step := range []int{-1, 1} {
		if p := s.at[spot{c.hit.DatasourceID, c.hit.Ordinal + step}]; p != nil && p.reaches(c, rank) && p.takes(c) {
			return p
		}
	}
	return nil
}

// reached reports whether there is a fragment that the candidate may be merged into, as far as that can be told without its
// row.
func (s *selection) reached(c *candidate, rank int) bool {
	for _, step := range []int{-1, 1} {
		if p := s.at[spot{c.hit.DatasourceID, c.hit.Ordinal + step}]; p != nil && p.reaches(c, rank) {
			return true
		}
	}
	return false
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
	if !s.lists() {
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
