package retrieve

import (
	"cmp"
	"slices"
)

// Explanation says how a result came about.
type Explanation struct {
	Candidates int                `json:"candidates"`   // hits of active generations, over all datastores
	Inactive   int                `json:"inactive"`     // hits dropped because their generation is not the active one
	Duplicates int                `json:"duplicates"`   // fragments left out because a better one has the same text
	Spaces     []SpaceExplanation `json:"spaces"`       // in the order of Request.Datastores
	Fragments  []ScoreExplanation `json:"fragments"`    // in the order of Result.Fragments
	Terms      map[string]float64 `json:"term_weights"` // inverse document frequency of each query term
}

// SpaceExplanation is one datastore's part.
type SpaceExplanation struct {
	Model       string  `json:"model"`
	DenseWeight float64 `json:"dense_weight"` // 0: searched by words alone
	Depth       int     `json:"depth"`        // candidates per leg
	Candidates  int     `json:"candidates"`
}

// ScoreExplanation is how one fragment scored at each stage. Ranks count from 1 over all candidates.
type ScoreExplanation struct {
	ChunkID     string   `json:"chunk_id"`
	Lexical     float64  `json:"lexical"` // BM25
	LexicalRank int      `json:"lexical_rank"`
	Dense       float64  `json:"dense"` // cosine
	DenseRank   int      `json:"dense_rank"`
	Fused       float64  `json:"fused"`
	Neighbours  float64  `json:"neighbours"` // what neighbouring chunks added
	Terms       []string `json:"terms"`      // query terms that the fragment holds
}

func explain(found []spaceResult, all, kept []*candidate, folded int) *Explanation {
	e := &Explanation{Candidates: len(all), Duplicates: folded, Terms: make(map[string]float64)}
	for _, f := range found {
		e.Inactive += f.dropped
		model := ""
		if len(f.candidates) > 0 {
			model = f.candidates[0].ds.EmbeddingModel
		}
		s := SpaceExplanation{Model: model, Depth: f.depth, Candidates: len(f.candidates)}
		if f.vector.vector != nil {
			s.DenseWeight = f.vector.weight
		}
		e.Spaces = append(e.Spaces, s)
		for term, w := range f.termWeights {
			e.Terms[term] = max(e.Terms[term], w)
		}
	}
	lexical := ranks(all, func(c *candidate) float64 { return c.lexical })
	dense := ranks(all, func(c *candidate) float64 { return c.hit.Dense })
	for _, c := range kept {
		e.Fragments = append(e.Fragments, ScoreExplanation{
			ChunkID:     c.hit.Key,
			Lexical:     c.hit.Lexical,
			LexicalRank: lexical[c],
			Dense:       c.hit.Dense,
			DenseRank:   dense[c],
			Fused:       c.score,
			Neighbours:  c.final - c.score,
			Terms:       c.hit.Terms,
		})
	}
	return e
}

// ranks numbers the candidates by a value, best first; equal values keep the final order.
func ranks(all []*candidate, value func(*candidate) float64) map[*candidate]int {
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *candidate) int { return cmp.Compare(value(b), value(a)) })
	out := make(map[*candidate]int, len(order))
	for i, c := range order {
		out[c] = i + 1
	}
	return out
}
