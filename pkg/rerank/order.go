package rerank

import (
	"cmp"
	"math"
	"slices"
)

// normalise sorts the scores and maps them to the range 0 to 1. Most servers return probabilities, which stay
// unchanged. If scores are similarities between -1 and 1, negative ones become 0. If any score is below -1 or above 1,
// all scores are treated as raw model outputs and mapped by the logistic function.
func normalise(scores []float64) []Result {
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
