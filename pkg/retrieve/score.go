package retrieve

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Lower bounds on the standard deviations of the lexical and dense scores. Each leg's scores are divided by their
// standard deviation, and a smaller divisor would amplify the noise among nearly equal scores.
const (
	minLexicalSpread = 0.1
	minDenseSpread   = 0.02
)

// The dense score is the cosine minus a floor, the cosine of unrelated texts, divided by the cosines' standard
// deviation. Floor and standard deviation differ between models, so they are estimated from the candidates, most of
// which are unrelated to the query.
//
// A few candidates give a poor estimate, so the floor is computed as if there were priorCosines more candidates, each
// with the cosine priorCosine. The standard deviation is computed as if there were priorSpreads more candidates with
// the standard deviation priorSpread, but only if this makes it larger. docs/retrieval.md has measurements.
const (
	priorCosine  = 0.2
	priorCosines = 5
	priorSpread  = 0.1
	priorSpreads = 20
)

// fuse computes the candidates' scores. A score is the weighted sum of both legs' scores, each divided by its standard
// deviation over the candidates. Dividing the sum by a perfect candidate's score gives it an absolute meaning: 0 is
// unrelated text, and 1 is a row in which every query term is saturated and whose vector equals the query's. If the
// engine returned no lexical scores, only the dense leg counts.
//
// Lexical scores are comparable between models, so their standard deviation is computed over all candidates. Cosines
// aren't comparable between models, so their standard deviation is computed for each model. All scores are divided by
// the same average perfect score.
func fuse(groups map[comparableKind][]*candidate, vectors map[comparableKind]queryVector) {
	kinds := slices.SortedFunc(maps.Keys(groups), comparableKind.compare)
	var worded []*candidate
	for _, k := range kinds {
		if k.words {
			worded = append(worded, groups[k]...)
		}
	}
	lexSpread := minLexicalSpread
	if len(worded) > 0 {
		lexSpread = max(spread(worded, (*candidate).words), minLexicalSpread)
	}
	var perfect, n float64 // sum and number of the perfect scores
	for _, k := range kinds {
		l := legWeightsOf(groups[k], vectors[k], k.words, lexSpread)
		for _, c := range groups[k] {
			c.score = l.words*c.words() + l.dense*(c.hit.Dense-l.cosineFloor)
		}
		perfect += (l.words + l.dense*(1-l.cosineFloor)) * float64(len(groups[k]))
		n += float64(len(groups[k]))
	}
	for _, k := range kinds {
		for _, c := range groups[k] {
			c.score *= n / perfect
		}
	}
}

func (k comparableKind) compare(other comparableKind) int {
	if k.words != other.words {
		if k.words {
			return -1
		}
		return 1
	}
	return strings.Compare(k.model, other.model)
}

// legWeights says how to combine a candidate's two scores. cosineFloor is subtracted from the dense score, and the
// difference is multiplied by `dense`. The lexical score is multiplied by `words`. All candidates of one kind have the
// same weights.
type legWeights struct{ words, dense, cosineFloor float64 }

func legWeightsOf(group []*candidate, qv queryVector, words bool, lexSpread float64) legWeights {
	l := legWeights{words: 1 / lexSpread}
	if qv.vector == nil {
		return l
	}
	l.words *= 1 - qv.weight
	if !words {
		l.words = 0
	}
	cosines := qv.unseen
	for _, c := range group {
		cosines = cosines.plus(cosineSample{1, c.hit.Dense, c.hit.Dense * c.hit.Dense})
	}
	l.dense = qv.weight / max(cosineSpread(cosines), minDenseSpread)
	l.cosineFloor = cosineFloor(cosines)
	return l
}

func cosineFloor(s cosineSample) float64 {
	return min((s.sum+priorCosine*priorCosines)/(s.n+priorCosines), 0.95)
}

func cosineSpread(s cosineSample) float64 {
	mean := s.sum / s.n
	variance := max(s.squares/s.n-mean*mean, 0)
	return math.Sqrt(max(variance, (variance*s.n+priorSpread*priorSpread*priorSpreads)/(s.n+priorSpreads)))
}

// spread returns a value's standard deviation over the candidates.
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

// words returns the candidate's lexical score, 0 to 1.
func (c *candidate) words() float64 {
	return (1-documentShare)*c.lexical + documentShare*c.document
}

// The fraction of an adjacent chunk's score that smooth adds to a chunk's score, because an answer is often next to the
// sentence that names the subject.
const neighbourShare = 0.05

// smooth raises the score of each candidate in a space by a fraction of its neighbours' scores in the document. If that
// raises a document's best score, the increase is subtracted from all its chunks, so that long documents have no
// advantage. The candidates must be in byDocument's order.
func smooth(order []*candidate) {
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].number == order[0].number {
			n++
		}
		document := order[:n]
		order = order[n:]
		score, final := math.Inf(-1), math.Inf(-1) // the document's highest, before and after
		for i, c := range document {
			c.final = c.score
			if i > 0 && document[i-1].hit.Ordinal == c.hit.Ordinal-1 {
				c.final += neighbourShare * max(document[i-1].score, 0)
			}
			if i+1 < len(document) && document[i+1].hit.Ordinal == c.hit.Ordinal+1 {
				c.final += neighbourShare * max(document[i+1].score, 0)
			}
			score, final = max(score, c.score), max(final, c.final)
		}
		for _, c := range document {
			c.final -= final - score
		}
	}
}
