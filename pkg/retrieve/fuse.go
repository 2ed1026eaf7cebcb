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

// rank fuses what the spaces gave and returns the best.
func rank(found []spaceResult, req Request) Result {
	groups := make(map[kind][]*candidate)
	vectors := make(map[kind]queryVector)
	var all []*candidate
	res := Result{TermWeights: make(map[string]float64)}
	for i := range found {
		if note := found[i].degraded; note != "" && !strings.Contains(res.Degraded, note) {
			res.Degraded = strings.TrimPrefix(res.Degraded+"; "+note, "; ")
		}
		for term, w := range found[i].termWeights {
			res.TermWeights[term] = max(res.TermWeights[term], w)
		}
		weighDocuments(found[i].candidates, found[i].termWeights)
		for j := range found[i].candidates {
			c := &found[i].candidates[j]
			k := kind{c.ds.EmbeddingModel, found[i].words}
			groups[k] = append(groups[k], c)
			vectors[k] = found[i].vector
			all = append(all, c)
		}
	}
	for k, group := range groups {
		fuse(group, vectors[k], k.words)
	}
	smooth(all)
	slices.SortFunc(all, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.final, a.final), cmp.Compare(b.score, a.score), strings.Compare(a.hit.Key, b.hit.Key))
	})
	kept, folded := fold(all, req.TopK)
	for _, c := range kept {
		res.Fragments = append(res.Fragments, fragment(c))
	}
	if req.Explain {
		res.Explanation = explain(found, all, kept, folded)
	}
	return res
}

// fold returns the best top candidates of different text; of those with the same text only the best stays. folded counts
// what was left out for that.
func fold(sorted []*candidate, top int) (kept []*candidate, folded int) {
	seen := make(map[string]bool, top)
	for _, c := range sorted {
		text := strings.ToLower(strings.Join(strings.Fields(c.hit.Text), " "))
		if seen[text] {
			folded++
			continue
		}
		seen[text] = true
		if kept = append(kept, c); len(kept) == top {
			break
		}
	}
	return kept, folded
}

// shown maps a final score to what callers see, 0 to 1. The curve spreads the middle, where relevant fragments lie, and
// keeps the order.
func shown(final float64) float64 {
	x := 1 - min(max(final, 0), 1)
	return 1 - x*x
}

// fragment is a candidate as callers see it.
func fragment(c *candidate) domain.Fragment {
	return domain.Fragment{
		ChunkID:        c.hit.Key,
		Text:           c.hit.Text,
		Score:          shown(c.final),
		Source:         source(c.source, c.hit.Page),
		DatastoreID:    c.ds.ID,
		DatasourceID:   c.hit.DatasourceID,
		DatasourceName: c.source.Name,
		CustomID:       c.source.CustomID,
		Page:           c.hit.Page,
		Heading:        c.hit.Heading,
		Offset:         c.hit.Offset,
		MIMEType:       c.source.MIMEType,
		Metadata:       c.source.Metadata,
	}
}
