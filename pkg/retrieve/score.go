package retrieve

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Floors of the spreads by which the legs are divided: candidates that all score the same must not blow up noise.
const (
	minLexicalSpread = 0.1
	minDenseSpread   = 0.02
)

// A cosine counts from the floor of what unrelated texts have, and by how far cosines lie apart. Both differ between models,
// so they are taken to be the mean and the spread over the candidates, most of which are unrelated. A few candidates tell
// little, of the spread less than of the mean, so priorCosines candidates of priorCosine are added for the one, and
// priorSpreads that lie priorSpread apart for the other, where they lie nearer to each other than that. docs/retrieval.md
// says what that is worth.
const (
	priorCosine  = 0.2
	priorCosines = 5
	priorSpread  = 0.1
	priorSpreads = 20
)

// fuse sets the candidates' score: the weighted sum of both legs, each divided by its spread over the candidates,
// over what a perfect candidate would have. So it ranks as a sum of z-scores does, and still means something by
// itself: 0 is what unrelated text has, 1 a row with every query term saturated and the query's own vector. Where no
// words were compared the dense leg decides alone.
//
// The candidates of different models are made comparable by what they share, the words: their leg is divided by its
// spread over all of them, each model's cosines by the spread of that model, and one perfect candidate is the measure
// of all.
func fuse(groups map[kind][]*candidate, vectors map[kind]queryVector) {
	kinds := slices.SortedFunc(maps.Keys(groups), kind.compare)
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
	var perfect, n float64 // what perfect candidates would have, on average
	for _, k := range kinds {
		l := legsOf(groups[k], vectors[k], k.words, lexSpread)
		for _, c := range groups[k] {
			c.score = l.words*c.words() + l.dense*(c.hit.Dense-l.floor)
		}
		perfect += (l.words + l.dense*(1-l.floor)) * float64(len(groups[k]))
		n += float64(len(groups[k]))
	}
	for _, k := range kinds {
		for _, c := range groups[k] {
			c.score *= n / perfect
		}
	}
}

func (k kind) compare(other kind) int {
	if k.words != other.words {
		if k.words {
			return -1
		}
		return 1
	}
	return strings.Compare(k.model, other.model)
}

// legs are what the two scores of the candidates of one kind are multiplied by, and the cosine that counts for nothing.
type legs struct{ words, dense, floor float64 }

func legsOf(group []*candidate, qv queryVector, words bool, lexSpread float64) legs {
	l := legs{words: 1 / lexSpread}
	if qv.vector == nil {
		return l
	}
	l.words *= 1 - qv.weight
	if !words {
		l.words = 0
	}
	l.dense = qv.weight / max(cosineSpread(group), minDenseSpread)
	l.floor = cosineFloor(group)
	return l
}

func cosineFloor(group []*candidate) float64 {
	sum := priorCosine * priorCosines
	for _, c := range group {
		sum += c.hit.Dense
	}
	return min(sum/float64(len(group)+priorCosines), 0.95)
}

func cosineSpread(group []*candidate) float64 {
	s, n := spread(group, func(c *candidate) float64 { return c.hit.Dense }), float64(len(group))
	return max(s, math.Sqrt((s*s*n+priorSpread*priorSpread*priorSpreads)/(n+priorSpreads)))
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

// smooth gives every candidate of a space a share of the scores of the chunks before and after it, where those are
// candidates. What the best chunk of a document wins by that is taken from all of its chunks: a document is not better for
// being long. The candidates come by place.
func smooth(order []*candidate) {
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].number == order[0].number {
			n++
		}
		document := order[:n]
		order = order[n:]
		score, final := math.Inf(-1), math.Inf(-1) // the best of the document
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
