package rerank

import (
	"cmp"
	"math"
	"slices"
)

// normal puts scores in order and between 0 and 1. Probabilities, which most servers answer with, stay as they are.
// Similarities, between -1 and 1, count from 0. Anything beyond is a model's raw output, of which the logistic function
// makes the probability that it stands for.
func normal(scores []float64) []Result {
	low, high := slices.Min(scores), slices.Max(scores)
	out := make([]Result, len(scores))
	for i, s := range scores {
		out[i] = Result{Index: i, Score: s}
	}
	slices.SortStableFunc(out, func(a, b Result) int { return cmp.Compare(b.Score, a.Score) })
	for i := range out {
		if low < -1 || high > 1 {
			out[i].Score = 1 / (1 + math.Exp(-out[i].Score))
		}
		out[i].Score = max(out[i].Score, 0)
	}
	return out
}
