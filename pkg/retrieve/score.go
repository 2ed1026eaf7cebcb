package retrieve

import "math"

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

// fuse sets the candidates' score: the weighted sum of both legs, each divided by its spread over the candidates,
// over what a perfect candidate would have. So it ranks as a sum of z-scores does, and still means something by
// itself: 0 is what unrelated text has, 1 a row with every query term saturated and the query's own vector. That
// makes it comparable between groups of different models, too. Where no words were compared the dense leg decides alone.
func fuse(group []*candidate, qv queryVector, words bool) {
	if qv.vector == nil {
		for _, c := range group {
			c.score = c.words()
		}
		return
	}
	lexSpread := spread(group, (*candidate).words)
	denseSpread := spread(group, func(c *candidate) float64 { return c.hit.Dense })
	a := (1 - qv.weight) / max(lexSpread, minLexicalSpread)
	if !words {
		a = 0
	}
	b := qv.weight / max(denseSpread, minDenseSpread)
	floor := cosineFloor(group)
	whole := a + b*(1-floor)
	for _, c := range group {
		c.score = (a*c.words() + b*(c.hit.Dense-floor)) / whole
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

// words is the words' leg of a candidate, 0 to 1.
func (c *candidate) words() float64 {
	return (1-documentShare)*c.lexical + documentShare*c.document
}

// neighbourShare is how much of its neighbours' scores a chunk gets against other chunks of its document: an answer often
// lies beside the sentence that names the subject.
const neighbourShare = 0.05

// smooth gives every candidate a share of the scores of the chunks before and after it, where those are candidates. What
// the best chunk of a document wins by that is taken from all of its chunks: a document is not better for being long.
func smooth(all []*candidate) {
	type spot struct {
		datasource string
		ordinal    int
	}
	at := make(map[spot]*candidate, len(all))
	for _, c := range all {
		at[spot{c.hit.DatasourceID, c.hit.Ordinal}] = c
	}
	type best struct{ score, final float64 }
	documents := make(map[string]best)
	for _, c := range all {
		c.final = c.score
		for _, step := range []int{-1, 1} {
			if n, ok := at[spot{c.hit.DatasourceID, c.hit.Ordinal + step}]; ok {
				c.final += neighbourShare * max(n.score, 0)
			}
		}
		d, ok := documents[c.hit.DatasourceID]
		if !ok {
			d = best{c.score, c.final}
		}
		documents[c.hit.DatasourceID] = best{max(d.score, c.score), max(d.final, c.final)}
	}
	for _, c := range all {
		d := documents[c.hit.DatasourceID]
		c.final -= d.final - d.score
	}
}
