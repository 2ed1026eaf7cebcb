package retrieve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// kind is what candidates must have in common to be compared leg by leg: the embedding model, and whether their engine
// compares words at all.
type kind struct {
	model string
	words bool
}

// fused scores what the spaces gave and returns the candidates, best first.
func fused(found []spaceResult) []*candidate {
	groups := make(map[kind][]*candidate)
	vectors := make(map[kind]queryVector)
	var all []*candidate
	for i := range found {
		weighDocuments(found[i].candidates, found[i].termWeights)
		for j := range found[i].candidates {
			c := &found[i].candidates[j]
			k := kind{c.ds.EmbeddingModel, found[i].words}
			groups[k] = append(groups[k], c)
			vectors[k] = found[i].vector
			all = append(all, c)
		}
	}
	fuse(groups, vectors)
	smooth(all)
	slices.SortFunc(all, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.final, a.final), cmp.Compare(b.score, a.score), strings.Compare(a.hit.Key, b.hit.Key))
	})
	for _, c := range all {
		c.shown = shown(c.final)
	}
	return all
}

// shown maps a final score to what callers see, 0 to 1. The curve spreads the middle, where relevant fragments lie, and
// keeps the order.
func shown(final float64) float64 {
	x := 1 - min(max(final, 0), 1)
	return 1 - x*x
}

// fragment is a pick as callers see it: where it stands, and its score, are those of its best chunk.
func (p *pick) fragment() domain.Fragment {
	return domain.Fragment{
		ChunkID:        p.hit.Key,
		Text:           p.text(),
		Score:          p.shown,
		Source:         source(p.source, p.hit.Page),
		DatastoreID:    p.ds.ID,
		DatasourceID:   p.hit.DatasourceID,
		DatasourceName: p.source.Name,
		CustomID:       p.source.CustomID,
		Page:           p.hit.Page,
		Heading:        p.hit.Heading,
		Offset:         p.hit.Offset,
		MIMEType:       p.source.MIMEType,
		Metadata:       domain.FragmentMetadata(p.source.Metadata, p.source.Document),
	}
}
