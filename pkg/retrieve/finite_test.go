package retrieve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// anyScore returns a normal, extreme or invalid score.
func anyScore(r *rand.Rand) float64 {
	edges := []float64{0, 0, 1, -1, math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	if r.IntN(2) == 0 {
		return r.Float64()
	}
	return edges[r.IntN(len(edges))]
}

// anyHits returns fewer than n hits, from a few datasources.
func anyHits(r *rand.Rand, n int) []index.Hit {
	hits := make([]index.Hit, r.IntN(n))
	for i := range hits {
		hits[i] = hit(fmt.Sprint("d", r.IntN(4)), i, anyScore(r), anyScore(r))
		if r.IntN(2) == 0 {
			hits[i].Terms, hits[i].Counts, hits[i].Length = []string{"gate"}, []int{r.IntN(3)}, r.IntN(50)
		}
	}
	return hits
}

func TestScoresAreFinite(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newFixture(anyHits(r, 12)...)
		search := w.search
		terms := []map[string]float64{nil, {"gate": 0}, {"gate": 2}, {"gate": -3}, {"other": 1e-300}}[r.IntN(5)]
		highest := []float64{0, 10, math.SmallestNonzeroFloat64}[r.IntN(3)]
		w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
			found, err := search(ctx, space, q)
			found.TermWeights, found.MaxLexical = terms, highest
			return found, err
		}
		vector := [][]float32{{1, 0}, {0, 0}}[r.IntN(2)]
		w.embed = func(context.Context, []string) ([][]float32, error) { return [][]float32{vector}, nil }
		ds := store
		if r.IntN(4) == 0 {
			ds.EmbeddingModel = ""
			for id, d := range w.active {
				d.Place = ds.Serving()
				w.active[id] = d
			}
			w.serving = func() (domain.Place, error) { return ds.Serving(), nil }
		}
		modes := []domain.SearchMode{domain.SearchHybrid, domain.SearchLexical, domain.SearchDense}
		req := ask(func(q *Request) {
			q.Datastores, q.Explain, q.Mode = []domain.Datastore{ds}, true, modes[r.IntN(len(modes))]
		})
		res, err := w.retriever(Options{Weights: map[string]float64{"openai:x": []float64{0, 0.5, 1}[r.IntN(3)]}}).Retrieve(t.Context(), req)
		if domain.CodeOf(err) == domain.CodeInvalid && req.Mode == domain.SearchDense && ds.EmbeddingModel == "" {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, err := json.Marshal(res); err != nil {
			t.Fatalf("seed %d: %v: %+v", seed, err, res.Fragments)
		}
		last := 1.0
		for _, f := range res.Fragments {
			if !(f.Score >= 0 && f.Score <= last) {
				t.Fatalf("seed %d: scores do not fall within 0 to 1: %+v", seed, res.Fragments)
			}
			last = f.Score
		}
	}
}

func TestScoresOfSeveralModelsAreNumbers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var found []datastoreResult
		for i := range 1 + r.IntN(4) {
			space := datastoreResult{words: r.IntN(3) > 0, termWeights: map[string]float64{"gate": r.Float64()}}
			space.ds = domain.Datastore{ID: fmt.Sprint(i), EmbeddingModel: fmt.Sprint("model-", r.IntN(2))}
			if r.IntN(3) > 0 {
				space.vector = queryVector{vector: []float32{1, 0}, weight: []float64{0.01, 0.5, 1}[r.IntN(3)]}
				if !space.words {
					space.vector.weight = 1
				}
			}
			for _, h := range anyHits(r, 6) {
				c := candidate{hit: &h, number: numberOf(h.DatasourceID), ds: &space.ds}
				c.hit.Dense, c.lexical = []float64{0, 0.5, 1, -1}[r.IntN(4)], []float64{0, 0.5, 1}[r.IntN(3)]
				space.candidates = append(space.candidates, c)
			}
			found = append(found, space)
		}
		for _, c := range fused(t.Context(), found) {
			if finiteOrZero(c.final) != c.final || !(c.displayScore >= 0 && c.displayScore <= 1) {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
	}
}
