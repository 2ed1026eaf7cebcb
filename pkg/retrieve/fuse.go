package retrieve

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Floors of the spreads by which the legs are divided: candidates that all score the same must not blow up noise.
const (
	minLexicalSpread = 0.1
	minDenseSpread   = 0.02
)

// A cosine counts from the floor of what unrelated texts have. That differs between models, so it is taken to be the
// mean over the candidates, most of which are unrelated; a few candidates tell little, so priorCount candidates of
// priorCosine are added to them.
const (
	priorCosine = 0.3
	priorCount  = 20
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

// fuse sets the candidates' score: the weighted sum of both legs, each divided by its spread over the candidates,
// over what a perfect candidate would have. So it ranks as a sum of z-scores does, and still means something by
// itself: 0 is what unrelated text has, 1 a row with every query term saturated and the query's own vector. That
// makes it comparable between groups of different models, too. Where no words were compared the dense leg decides alone.
func fuse(group []*candidate, qv queryVector, words bool) {
	if qv.vector == nil {
		for _, c := range group {
			c.score = c.lexical
		}
		return
	}
	lexSpread := spread(group, func(c *candidate) float64 { return c.lexical })
	denseSpread := spread(group, func(c *candidate) float64 { return c.hit.Dense })
	a := (1 - qv.weight) / max(lexSpread, minLexicalSpread)
	if !words {
		a = 0
	}
	b := qv.weight / max(denseSpread, minDenseSpread)
	floor := cosineFloor(group)
	whole := a + b*(1-floor)
	for _, c := range group {
		c.score = (a*c.lexical + b*(c.hit.Dense-floor)) / whole
	}
}

func cosineFloor(group []*candidate) float64 {
	sum := priorCosine * priorCount
	for _, c := range group {
		sum += c.hit.Dense
	}
	return min(sum/float64(len(group)+priorCount), 0.95)
}

// spread is the standard deviation.
func spread(group []*candidate, value func(*candidate) float64) float64 {
	n := float64(len(group))
	var sum, squares float64
	for _, c := range group {
		sum += value(c)
	}
	mean := sum / n
	for _, c := range group {
		d := value(c) - mean
		squares += d * d
	}
	return math.Sqrt(squares / n)
}

// smooth gives every candidate a share of the scores of the chunks before and after it, where those are candidates.
func smooth(all []*candidate) {
	type spot struct {
		datasource string
		ordinal    int
	}
	at := make(map[spot]*candidate, len(all))
	for _, c := range all {
		at[spot{c.hit.DatasourceID, c.hit.Ordinal}] = c
	}
	for _, c := range all {
		c.final = c.score
		for _, step := range []int{-1, 1} {
			if n, ok := at[spot{c.hit.DatasourceID, c.hit.Ordinal + step}]; ok {
				c.final += neighbourShare * max(n.score, 0)
			}
		}
	}
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
