package retrieve

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// comparableKind identifies candidates whose scores are directly comparable: they have the same embedding model, and
// either all or none of them have lexical scores.
type comparableKind struct {
	model string
	words bool
}

func (res *datastoreResult) kind() comparableKind {
	return comparableKind{res.ds.EmbeddingModel, res.words}
}

// fused scores the candidates from all spaces and sorts them, best first.
func fused(ctx context.Context, found []datastoreResult) []*candidate {
	groups := make(map[comparableKind][]*candidate)
	vectors := make(map[comparableKind]queryVector)
	orders := make([][]*candidate, len(found))
	n := 0
	for i := range found {
		n += len(found[i].candidates)
	}
	all := make([]*candidate, 0, n)
	for i := range found {
		space := &found[i]
		if len(space.candidates) == 0 {
			continue
		}
		orders[i] = byDocument(space.candidates)
		weighDocuments(orders[i], space.termWeights)
		from := len(all)
		for j := range space.candidates {
			all = append(all, &space.candidates[j])
		}
		k := space.kind()
		if group, ok := groups[k]; ok {
			groups[k] = append(group, all[from:]...)
		} else {
			groups[k] = all[from:len(all):len(all)]
		}
		qv := space.vector
		qv.unseen = vectors[k].unseen.plus(space.unseen)
		vectors[k] = qv
	}
	weighEvidence(ctx, found, groups, vectors)
	fuse(groups, vectors)
	for i, order := range orders {
		if found[i].nearest {
			for _, c := range order {
				c.final = c.score
			}
			continue
		}
		smooth(order)
	}
	for i := range found {
		if !found[i].nearest {
			lowerLinkListScores(found[i].candidates)
		}
	}
	slices.SortFunc(all, (*candidate).compare)
	for _, c := range all {
		c.displayScore = displayScore(c.final)
		c.relevance = c.displayScore
	}
	return all
}

// compare orders candidates, best first. Equal scores are ordered by key.
func (c *candidate) compare(other *candidate) int {
	if c.final != other.final {
		return cmp.Compare(other.final, c.final)
	}
	if c.score != other.score {
		return cmp.Compare(other.score, c.score)
	}
	return strings.Compare(c.hit.Key, other.hit.Key)
}

// displayScore maps a final score to the one shown to callers, from 0 to 1. The curve is monotonic and spreads out the
// middle of the range, where relevant fragments are.
func displayScore(final float64) float64 {
	x := 1 - min(max(final, 0), 1)
	return 1 - x*x
}

// fragment converts a merged fragment to the form returned to callers, with the position and score of its best chunk.
func (p *mergedFragment) fragment() domain.Fragment {
	text, runs := p.text()
	metadata := domain.FragmentMetadata(maps.Clone(p.source.Metadata), p.source.Document) // cloned: the source is shared
	if confidence, ok := p.source.Document.Confidence(p.hit.Page, runs, p.hit.Offset, len(text)); ok {
		metadata = domain.WithConfidence(metadata, p.source.Metadata, confidence)
	}
	return domain.Fragment{
		ChunkID:        p.hit.Key,
		Text:           text,
		Score:          p.displayScore,
		Source:         source(*p.source, p.hit.Page, p.anchor()),
		DatastoreID:    p.ds.ID,
		DatasourceID:   p.hit.DatasourceID,
		DatasourceName: p.source.Name,
		CustomID:       p.source.CustomID,
		FileID:         p.source.FileID,
		Page:           p.hit.Page,
		Heading:        p.hit.Heading,
		Offset:         p.hit.Offset,
		Runs:           runs,
		MIMEType:       p.source.MIMEType,
		Metadata:       metadata,
	}
}
