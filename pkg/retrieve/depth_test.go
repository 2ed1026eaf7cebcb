package retrieve

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/boost"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// limits holds a search's limits.
type limits struct{ Lexical, Vectors int }

// recordLimits records the limits of all later searches, and truncates each search's hits to its vector limit.
func (w *fixture) recordLimits() *[]limits {
	var asked []limits
	found := w.search
	w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
		asked = append(asked, limits{q.Limit, q.VectorLimit})
		res, err := found(ctx, space, q)
		res.Hits = res.Hits[:min(len(res.Hits), q.VectorLimit)]
		res.VectorLimit = q.VectorLimit
		return res, err
	}
	return &asked
}

// manyHits returns n hits from different documents, best first.
func manyHits(n int) []index.Hit {
	var hits []index.Hit
	for i := range n {
		hits = append(hits, hit(fmt.Sprintf("d%03d", i), 0, 5-float64(i)/100, 0.9-float64(i)/1000))
	}
	return hits
}

func TestASearchIsAsDeepAsItsRequestNeeds(t *testing.T) {
	t.Parallel()
	reranker := secondStage{}
	for name, c := range map[string]struct {
		mod  func(*Request)
		want limits
	}{
		"hybrid":                   {func(*Request) {}, limits{100, 25}},
		"dense":                    {func(r *Request) { r.Mode = domain.SearchDense }, limits{25, 25}},
		"more fragments":           {func(r *Request) { r.TopK = 50 }, limits{200, 70}},
		"a limit per document":     {func(r *Request) { r.MaxPerDatasource = 2 }, limits{100, 100}},
		"facets":                   {func(r *Request) { r.Facets = []string{"team"} }, limits{100, 100}},
		"facets of a dense search": {func(r *Request) { r.Facets, r.Mode = []string{"team"}, domain.SearchDense }, limits{100, 100}},
		"boosts":                   {func(r *Request) { r.Boosts = []boost.Boost{{}} }, limits{500, 500}},
		"a reranker":               {func(r *Request) { r.Rerank = new(true) }, limits{100, 100}},
	} {
		req := ask(c.mod)
		q := &query{Retriever: New(Deps{}, Options{}), Request: req}
		if req.Rerank != nil {
			q.deps.Reranker = reranker
		}
		q.TopK = max(q.TopK, DefaultTopK)
		got := limits{}
		got.Lexical, got.Vectors = q.depths(len(q.Boosts) > 0)
		if req.Mode == domain.SearchDense {
			got.Lexical = got.Vectors
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

type secondStage struct{}

func (secondStage) Model() string { return "second" }
func (secondStage) Rerank(context.Context, string, []string, time.Time) ([]Reranked, error) {
	return nil, nil
}

func TestAShallowSearchIsRepeatedIfItFindsTooLittle(t *testing.T) {
	t.Parallel()
	shallow, full := limits{100, 25}, limits{100, 100}
	for name, c := range map[string]struct {
		change func(*fixture, []index.Hit)
		hits   int
		mode   domain.SearchMode
		want   []limits
	}{
		"enough":                 {func(*fixture, []index.Hit) {}, 200, domain.SearchHybrid, []limits{shallow}},
		"all that there is":      {func(*fixture, []index.Hit) {}, 3, domain.SearchHybrid, []limits{shallow}},
		"enough, dense":          {func(*fixture, []index.Hit) {}, 200, domain.SearchDense, []limits{{25, 25}}},
		"duplicates":             {func(_ *fixture, hits []index.Hit) { repeatText(hits[:40]) }, 200, domain.SearchHybrid, []limits{shallow, full}},
		"duplicates, dense":      {func(_ *fixture, hits []index.Hit) { repeatText(hits[:40]) }, 200, domain.SearchDense, []limits{{25, 25}, full}},
		"duplicates and no more": {func(_ *fixture, hits []index.Hit) { repeatText(hits) }, 20, domain.SearchHybrid, []limits{shallow}},
		"a few inactive rows":    {func(w *fixture, hits []index.Hit) { w.deactivate(hits[:maxInactive]) }, 200, domain.SearchHybrid, []limits{shallow}},
		"inactive rows":          {func(w *fixture, hits []index.Hit) { w.deactivate(hits[:maxInactive+1]) }, 200, domain.SearchHybrid, []limits{shallow, full}},
		"inactive rows, dense":   {func(w *fixture, hits []index.Hit) { w.deactivate(hits[:maxInactive+1]) }, 200, domain.SearchDense, []limits{{25, 25}, full}},
		"only inactive rows":     {func(w *fixture, hits []index.Hit) { w.deactivate(hits) }, 150, domain.SearchHybrid, []limits{shallow, full, {500, 500}}},
		"no rows":                {func(*fixture, []index.Hit) {}, 0, domain.SearchHybrid, []limits{shallow}},
	} {
		hits := manyHits(c.hits)
		w := newFixture(hits...)
		c.change(w, hits)
		asked := w.recordLimits()
		res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Mode = c.mode }))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, *asked); diff != "" {
			t.Errorf("%s: %d fragments, searches (-want +got):\n%s", name, len(res.Fragments), diff)
		}
	}
}

// repeatText gives all hits the same text.
func repeatText(hits []index.Hit) {
	for i := range hits {
		hits[i].Text = strings.Repeat("the gate of the harbour ", 20)
	}
}

// deactivate marks the hits' documents as deleted.
func (w *fixture) deactivate(hits []index.Hit) {
	for _, h := range hits {
		delete(w.active, h.DatasourceID)
	}
}

// TestScoresDoNotDependOnTheDepth estimates the cosines' floor and spread from the nearest rows, and compares the
// estimates with the values computed from all rows.
func TestScoresDoNotDependOnTheDepth(t *testing.T) {
	t.Parallel()
	const depth, full = 30, 100
	cosine := func(rank int) float64 { return 0.8 - 0.1*math.Log(float64(rank)) }
	var nearest, all cosineSample
	var found []candidate
	for rank := 1; rank <= full; rank++ {
		c := cosine(rank)
		all = all.plus(cosineSample{1, c, c * c})
		if rank <= depth || rank == 50 { // the lexical leg also finds rank 50
			nearest = nearest.plus(cosineSample{1, c, c * c})
			found = append(found, candidate{hit: &index.Hit{Dense: c}})
		}
	}
	slices.Reverse(found)
	estimate := nearest.plus(unseenCosines(found, depth, full))
	if estimate.n != full {
		t.Errorf("an estimate of %v cosines, want %d", estimate.n, full)
	}
	if got, want := cosineFloor(estimate), cosineFloor(all); math.Abs(got-want) > 0.001 || math.Abs(cosineFloor(nearest)-want) < 0.02 {
		t.Errorf("the floor is %.4f, want %.4f; the nearest alone give %.4f", got, want, cosineFloor(nearest))
	}
	if got, want := cosineSpread(estimate), cosineSpread(all); math.Abs(got-want) > 0.001 {
		t.Errorf("the spread is %.4f, want %.4f; the nearest alone give %.4f", got, want, cosineSpread(nearest))
	}
}

func TestUnseenCosinesAreFewIfTheLexicalLegFoundThem(t *testing.T) {
	t.Parallel()
	equal := make([]candidate, 200)
	for i := range equal {
		equal[i].hit = &index.Hit{Dense: 0.5}
	}
	if got := unseenCosines(equal, 30, 100); got.n != 0 {
		t.Errorf("%v unseen cosines among 200 candidates, want none", got.n)
	}
	if got := unseenCosines(equal[:20], 30, 100); got.n != 0 {
		t.Errorf("%v unseen cosines, but the search found all rows", got.n)
	}
	if got := unseenCosines(equal[:30], 30, 100); got.n != 70 || math.Abs(got.sum-35) > 1e-9 {
		t.Errorf("unseen cosines %+v, want 70 of 0.5", got)
	}
}
