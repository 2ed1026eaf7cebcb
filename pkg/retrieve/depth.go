package retrieve

import (
	"cmp"
	"math"
	"slices"
)

// Search depths, in candidates per leg. The full depth is enough if nearly all rows belong to active generations. If an
// index holds many inactive rows, as after a full resync, the search goes deeper.
//
// The lexical leg always uses the full depth, because only candidates count towards a window's score (see document.go).
// The vector leg's candidates cost more, so it first searches for only the nearest TopK + spareVectors rows. On test
// collections, the ranking is then the same as with the full depth. If duplicates or inactive rows leave too few
// fragments, the search is repeated at full depth.
const (
	minDepth     = 100
	depthFactor  = 5
	maxDepth     = 10_000 // the maximum of index.Query.Limit
	depthPerTop  = 4      // candidates per requested fragment
	spareVectors = 20
	// A search is repeated at full depth if more than maxInactive of its hits are inactive.
	maxInactive = spareVectors / 4
)

// Depths returns how many candidates a search for topK fragments initially requests from each leg. Some searches, such
// as those with boosts, request more from the start.
func Depths(topK int) (lexical, vectors int) {
	full := max(minDepth, depthPerTop*topK)
	return full, min(full, topK+spareVectors)
}

// depths returns a datastore's full search depth, and the vector leg's depth in the first search.
func (q *query) depths(boosted bool) (full, vectors int) {
	full, vectors = Depths(q.TopK)
	if boosted {
		full *= boostDepth
	}
	if boosted || q.deep || q.needsAllCandidates(q.Request) {
		vectors = full
	}
	return full, vectors
}

// needsAllCandidates reports whether candidates matter even if they don't become fragments: if the request counts their
// documents, limits the fragments per document, or reranks.
func (r *Retriever) needsAllCandidates(req Request) bool {
	return len(req.Facets) > 0 || req.MaxPerDatasource > 0 || r.reranks(req)
}

// isShallow reports whether a deeper vector search may find more candidates.
func isShallow(legs []leg) bool {
	return slices.ContainsFunc(legs, func(l leg) bool {
		return slices.ContainsFunc(l.found, func(f datastoreResult) bool { return f.shallow })
	})
}

// cosineSample holds the number of cosines in a sample, their sum and the sum of their squares.
type cosineSample struct{ n, sum, squares float64 }

func (s cosineSample) plus(other cosineSample) cosineSample {
	return cosineSample{s.n + other.n, s.sum + other.sum, s.squares + other.squares}
}

// unseenCosines estimates the cosines that a vector leg of full depth would have found beyond the nearest `depth` rows.
// Scores are relative to the mean and spread of the candidates' cosines (see fuse) and shouldn't depend on the depth.
// Among the nearest rows, cosines fall roughly linearly with the logarithm of the rank.
func unseenCosines(candidates []candidate, depth, full int) cosineSample {
	if len(candidates) < depth || depth < 4 || depth >= full {
		return cosineSample{}
	}
	cosines := make([]float64, len(candidates))
	for i := range candidates {
		cosines[i] = candidates[i].hit.Dense
	}
	slices.SortFunc(cosines, func(a, b float64) int { return cmp.Compare(b, a) })
	last := cosines[depth-1]
	slope := (cosines[depth/4-1] - last) / math.Log(float64(depth)/float64(depth/4))
	var unseen cosineSample
	lowest := last
	for rank := depth + 1; rank <= full; rank++ {
		lowest = max(last-slope*math.Log(float64(rank)/float64(depth)), -1)
		unseen = unseen.plus(cosineSample{1, lowest, lowest * lowest})
	}
	for _, c := range cosines[depth:] { // from the lexical leg
		if c < lowest {
			break
		}
		unseen = unseen.plus(cosineSample{-1, -unseen.sum / unseen.n, -unseen.squares / unseen.n})
		if unseen.n < 1 {
			return cosineSample{}
		}
	}
	return unseen
}
