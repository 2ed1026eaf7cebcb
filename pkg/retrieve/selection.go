package retrieve

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// chunkPosition identifies a chunk by its datasource and ordinal.
type chunkPosition struct {
	datasource string
	ordinal    int
}

// selection chooses fragments that don't repeat each other.
type selection struct {
	topK          int
	perDatasource int // maximum number of fragments per datasource; 0 means no limit
	duplicates    duplicateFinder

	picks  []*mergedFragment
	at     map[chunkPosition]*mergedFragment // each chunk's fragment
	counts map[string]int                    // fragments by datasource

	explain bool
	dropped domain.ExplainedDrops
}

func newSelection(req Request) *selection {
	return &selection{
		topK: req.TopK, perDatasource: req.MaxPerDatasource, explain: req.Explain,
		at: make(map[chunkPosition]*mergedFragment, req.TopK), counts: make(map[string]int, req.TopK),
	}
}

// distinct returns the best n candidates that don't repeat each other.
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
		if !s.duplicates.isRepeated(c) {
			out = append(out, c)
		}
	}
	return out, nil
}

// choose goes through the candidates, best first. It merges a candidate into an adjacent fragment, drops it if it
// repeats a better candidate, or turns it into a new fragment, until there are topK fragments. It reads rows only as
// needed.
func (s *selection) choose(ctx context.Context, ranked []*candidate) error {
	rows := &reader{ranked: ranked, first: s.topK + s.topK/4}
	for i, c := range ranked {
		full := len(s.picks) == s.topK
		over := s.perDatasource > 0 && s.counts[c.hit.DatasourceID] >= s.perDatasource
		reached := s.hasMergeTarget(c, i+1)
		if full && !reached {
			return s.dropRest(ctx, rows, i)
		}
		if reached || !over || s.canListDrops() {
			if err := rows.row(ctx, i); err != nil {
				return err
			}
		}
		p := s.mergeTarget(c, i+1)
		switch {
		case p == nil && full:
			return s.dropRest(ctx, rows, i)
		case p == nil && over:
			s.drop(c, i+1, domain.DropOverMax)
		case s.duplicates.isRepeated(c) && !c.pinned:
			s.drop(c, i+1, domain.DropDuplicate)
		case p != nil:
			p.merge(c)
			s.at[positionOf(c)] = p
			s.drop(c, i+1, domain.DropMerged)
		default:
			p = &mergedFragment{candidate: c, rank: i + 1, bytes: len(c.hit.Text)}
			s.picks = append(s.picks, p)
			s.at[positionOf(c)] = p
			s.counts[c.hit.DatasourceID]++
		}
	}
	return nil
}

// dropRest drops the candidates from index i on.
func (s *selection) dropRest(ctx context.Context, rows *reader, i int) error {
	for ; i < len(rows.ranked); i++ {
		if s.canListDrops() {
			if err := rows.row(ctx, i); err != nil {
				return err
			}
		}
		s.drop(rows.ranked[i], i+1, domain.DropBelow)
	}
	return nil
}

// canListDrops reports whether the explanation has room for another dropped candidate.
func (s *selection) canListDrops() bool {
	return s.explain && len(s.dropped.Chunks) < domain.MaxExplainedDrops
}

func positionOf(c *candidate) chunkPosition { return chunkPosition{c.hit.DatasourceID, c.hit.Ordinal} }

// mergeTarget returns the fragment to merge the candidate into, or nil.
func (s *selection) mergeTarget(c *candidate, rank int) *mergedFragment {
	for _, step := range []int{-1, 1} {
		if p := s.at[chunkPosition{c.hit.DatasourceID, c.hit.Ordinal + step}]; p != nil && p.isAdjacent(c, rank) && p.canMerge(c) {
			return p
		}
	}
	return nil
}

// hasMergeTarget reports whether, by position and rank, there may be a fragment to merge the candidate into.
// mergeTarget makes the final decision, for which it needs the candidate's row.
func (s *selection) hasMergeTarget(c *candidate, rank int) bool {
	for _, step := range []int{-1, 1} {
		if p := s.at[chunkPosition{c.hit.DatasourceID, c.hit.Ordinal + step}]; p != nil && p.isAdjacent(c, rank) {
			return true
		}
	}
	return false
}

// drop counts a candidate that does not become a fragment and, if there is room, lists it in the explanation.
func (s *selection) drop(c *candidate, rank int, reason domain.DropReason) {
	if c.duplicateOf != nil {
		reason = domain.DropDuplicate // found before reranking
	}
	switch reason {
	case domain.DropDuplicate:
		s.dropped.Duplicates++
	case domain.DropMerged:
		s.dropped.Merged++
	case domain.DropOverMax:
		s.dropped.OverMax++
	case domain.DropBelow:
		s.dropped.Below++
	}
	if !s.canListDrops() {
		return
	}
	d := domain.ExplainedDrop{
		ChunkID: c.hit.Key, DatasourceID: c.hit.DatasourceID, DatasourceName: c.source.Name, Page: c.hit.Page, Heading: c.hit.Heading,
		Reason: reason, Rank: rank, Score: c.displayScore,
	}
	switch {
	case c.duplicateOf != nil:
		d.For = s.representative(c)
	case reason == domain.DropMerged:
		d.For = s.at[positionOf(c)].hit.Key
	}
	s.dropped.Chunks = append(s.dropped.Chunks, d)
}

// representative returns the key of the chunk that the explanation names as the original of the duplicate c. It is the
// chunk that c repeats or, if that chunk is part of a fragment, the fragment's best chunk.
func (s *selection) representative(c *candidate) string {
	if p := s.at[positionOf(c.duplicateOf)]; p != nil {
		return p.hit.Key
	}
	return c.duplicateOf.hit.Key
}
