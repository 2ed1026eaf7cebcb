package retrieve

import (
	"context"
	"errors"
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

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// boosted returns a function that sets a request's boosts to those in the given JSON.
func boosted(t *testing.T, text string) func(*Request) {
	t.Helper()
	all, faults := boost.ParseJSON([]byte(text), "boosts")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return func(r *Request) { r.Boosts = all }
}

// described returns a fixture with three documents, from most to least relevant: "a" is the docs team's and old, "b" is
// the ops team's, new and popular, and "c" has no metadata.
func described() *fixture {
	w := newFixture(chunk("a", 0, 6, 0, "The gate is closed at night."), chunk("b", 0, 5, 0, "A gate to the garden."), chunk("c", 0, 4, 0, "Another gate of iron."))
	w.describe("a", func(d *domain.ActiveDatasource) {
		d.CreatedAt = noon.AddDate(-3, 0, 0)
		d.Metadata = map[string]any{"team": "docs", "views": 1.0, "place": map[string]any{"floor": 1.0}}
		d.Document = &domain.DocumentInfo{Metadata: map[string]string{"created": "some day", "author": "Ada"}}
	})
	w.describe("b", func(d *domain.ActiveDatasource) {
		d.CreatedAt, d.ChangedAt = noon.AddDate(-3, 0, 0), noon.AddDate(0, 0, -1)
		d.Metadata = map[string]any{"team": []any{"ops", "it"}, "views": 900.0, "place": map[string]any{"floor": 2.0}}
		d.Document = &domain.DocumentInfo{Metadata: map[string]string{"created": "2026-11-26", "author": "Bo"}}
	})
	w.describe("c", func(d *domain.ActiveDatasource) { d.CreatedAt = noon.AddDate(-3, 0, 0) })
	return w
}

func (w *fixture) describe(id string, set func(*domain.ActiveDatasource)) {
	d := w.active[id]
	set(&d)
	w.active[id] = d
}

func atNoon() Options { return Options{Now: func() time.Time { return noon }} }

func TestBoostsChangeTheOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		boosts string
		want   []string
	}{
		"none":                             {`[]`, []string{"a", "b", "c"}},
		"recency of a property":            {`[{"type":"recency","key":"datasource.changed_at","halfLifeDays":30}]`, []string{"b", "a", "c"}},
		"recency of an unchanged document": {`[{"type":"recency","key":"datasource.created_at","halfLifeDays":30}]`, []string{"a", "b", "c"}},
		"recency of the document's date":   {`[{"type":"recency","key":"document.created","halfLifeDays":30}]`, []string{"b", "a", "c"}},
		"number":                           {`[{"type":"number","key":"views","pivot":100}]`, []string{"b", "a", "c"}},
		"number, by logarithm":             {`[{"type":"number","key":"views","max":1000}]`, []string{"b", "a", "c"}},
		"one of a list's values":           {`[{"type":"value","key":"team","value":"it"}]`, []string{"b", "a", "c"}},
		"a value in an object":             {`[{"type":"value","key":"place.floor","value":2}]`, []string{"b", "a", "c"}},
		"a value of the document":          {`[{"type":"value","key":"document.author","value":["Bo","Cy"]}]`, []string{"b", "a", "c"}},
		"a property":                       {`[{"type":"value","key":"datasource.id","value":"c","factor":4}]`, []string{"c", "a", "b"}},
		"a lower factor":                   {`[{"type":"value","key":"team","value":"docs","factor":0.1}]`, []string{"b", "c", "a"}},
		"factors that cancel out": {
			`[{"type":"value","key":"team","value":"ops","factor":2},{"type":"value","key":"team","value":"it","factor":0.5}]`, []string{"a", "b", "c"},
		},
	} {
		for _, mode := range []domain.SearchMode{domain.SearchHybrid, domain.SearchLexical} {
			res, err := described().retriever(atNoon()).Retrieve(t.Context(), ask(boosted(t, c.boosts), func(r *Request) { r.Mode = mode }))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(c.want, ids(res.Fragments)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, mode, diff)
			}
			for i, f := range res.Fragments {
				if f.Score < 0 || f.Score > 1 || i > 0 && f.Score > res.Fragments[i-1].Score {
					t.Errorf("%s: the scores are not sorted: %v", name, f.Score)
				}
			}
		}
	}
}

func TestBoostsAreExplained(t *testing.T) {
	t.Parallel()
	w := described()
	plain := retrieved(t, w, boosted(t, `[]`)).Explanation
	const boosts = `[{"type":"value","key":"team","factor":1.5,"value":"ops"},{"type":"number","key":"views","factor":3,"pivot":900}]`
	res, err := w.retriever(atNoon()).Retrieve(t.Context(), ask(explained, boosted(t, boosts)))
	if err != nil {
		t.Fatal(err)
	}
	e := res.Explanation
	if got := string(e.Datastores[0].Boosts); got != boosts || plain.Datastores[0].Boosts != nil {
		t.Errorf("the boosts are %s and %s, want %s and none", got, plain.Datastores[0].Boosts, boosts)
	}
	if e.Datastores[0].Depth != boostDepth*plain.Datastores[0].Depth {
		t.Errorf("the depth is %d, without boosts %d", e.Datastores[0].Depth, plain.Datastores[0].Depth)
	}
	for i, f := range e.Fragments {
		at := slices.IndexFunc(plain.Fragments, func(p domain.ExplainedFragment) bool { return p.ChunkID == f.ChunkID })
		before := plain.Fragments[at]
		final := f.Fused + f.Neighbours - f.LinkList
		want := map[string][]float64{"a": {1, 1 + 2*1.0/901}, "b": {1.5, 2}, "c": {1, 1}}[res.Fragments[i].DatasourceID]
		if diff := cmp.Diff(want, f.BoostFactors); diff != "" {
			t.Errorf("%s: factors (-want +got):\n%s", f.ChunkID, diff)
		}
		if math.Abs(f.Fused-before.Fused) > 1e-9 || math.Abs(f.Neighbours-before.Neighbours) > 1e-9 || before.Boost != 0 || before.BoostFactors != nil {
			t.Errorf("%s: other parts of the score changed: %+v, %+v", f.ChunkID, f, before)
		}
		if got := boost.Apply(final, want[0]*want[1]) - final; math.Abs(got-f.Boost) > 1e-9 {
			t.Errorf("%s: the boost is said to be %v, want %v", f.ChunkID, f.Boost, got)
		}
	}
	if e.Fragments[0].Rank != 1 || e.Fragments[0].FusedRank != 2 {
		t.Errorf("the first fragment has the ranks %+v", e.Fragments[0])
	}
}

func TestValuesThatBoostsCannotUse(t *testing.T) {
	t.Parallel()
	r := described().retriever(atNoon())
	_, err := r.Retrieve(t.Context(), ask(boosted(t, `[{"type":"value","key":"team","value":"ops"},{"type":"number","key":"team","pivot":1}]`)))
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != domain.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Field != "boosts[1].key" ||
		!strings.Contains(e.Message, `is "team", but a document has the value "docs" there; a number boost needs numbers`) {
		t.Errorf("a number boost on texts: %v", err)
	}
	res, err := r.Retrieve(t.Context(), ask(explained, boosted(t, `[{"type":"recency","key":"document.created","halfLifeDays":1}]`)))
	if err != nil || len(res.Explanation.Notes) != 1 || !strings.HasPrefix(res.Explanation.Notes[0], `boosts[0].key is "document.created", but a document has the value "some day"`) {
		t.Errorf("what files say is no error: %v, %v", err, res.Explanation)
	}
	_, err = r.Retrieve(t.Context(), ask(func(req *Request) { req.Boosts = make([]boost.Boost, boost.MaxBoosts+1) }))
	if err == nil || !strings.Contains(err.Error(), "boosts: has 11 boosts; the limit is 10") {
		t.Errorf("too many boosts: %v", err)
	}
}

func TestBoostsReachDocumentsOfLowRank(t *testing.T) {
	t.Parallel()
	var hits []index.Hit
	for i := range 400 {
		hits = append(hits, chunk(fmt.Sprintf("d%03d", i), 0, 6-float64(i)/100, 0, fmt.Sprintf("Gate number %d.", i)))
	}
	w := newFixture(hits...)
	w.describe("d350", func(d *domain.ActiveDatasource) { d.Metadata = map[string]any{"team": "docs"} })
	req := ask(boosted(t, `[{"type":"value","key":"team","value":"docs","factor":10}]`), func(r *Request) { r.TopK = 1 })
	res, err := w.retriever(Options{}).Retrieve(t.Context(), req)
	if err != nil || len(res.Fragments) != 1 || res.Fragments[0].DatasourceID != "d350" {
		t.Errorf("got %v, %v", ids(res.Fragments), err)
	}
}

func TestBoostsApplyToTheRerankersScores(t *testing.T) {
	t.Parallel()
	w := described()
	rank := func(boosts string) Result {
		r := w.retriever(atNoon())
		r.deps.Reranker = fixedReranker{"The gate is closed at night.": 0.9, "A gate to the garden.": 0.8, "Another gate of iron.": 0.1}
		res, err := r.Retrieve(t.Context(), ask(explained, boosted(t, boosts)))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, ids(rank(`[]`).Fragments)); diff != "" {
		t.Errorf("without boosts (-want +got):\n%s", diff)
	}
	res := rank(`[{"type":"value","key":"team","value":"ops"}]`)
	if diff := cmp.Diff([]string{"b", "a", "c"}, ids(res.Fragments)); diff != "" {
		t.Errorf("with a boost (-want +got):\n%s", diff)
	}
	if got, want := res.Fragments[0].Score, boost.Apply(0.8, 2); math.Abs(got-want) > 1e-9 {
		t.Errorf("the score is %v, want %v", got, want)
	}
	if e := res.Explanation.Fragments[0]; e.Reranked != 0.8 || e.RerankedRank != 1 {
		t.Errorf("explained by %+v", e)
	}
}

func TestBoostsDoNotChangeTheRelevance(t *testing.T) {
	t.Parallel()
	const raise, lower = `[{"type":"value","key":"team","value":"ops","factor":10}]`, `[{"type":"value","key":"team","value":"ops","factor":0.1}]`
	for name, reranker := range map[string]Reranker{
		"not reranked": nil,
		"reranked":     fixedReranker{"The gate is closed at night.": 0.9, "A gate to the garden.": 0.8, "Another gate of iron.": 0.01},
	} {
		relevances := func(boosts string, parts ...string) map[string]float64 {
			r := described().retriever(atNoon())
			r.deps.Reranker = reranker
			res, err := r.Retrieve(t.Context(), ask(boosted(t, boosts), func(r *Request) { r.Parts = parts }))
			if err != nil {
				t.Fatal(err)
			}
			out := make(map[string]float64)
			for i, f := range res.Fragments {
				out[f.DatasourceID] = res.Relevance(i)
				if boosts == raise && f.DatasourceID == "b" && f.Score <= res.Relevance(i) {
					t.Errorf("%s: the boosted score is %v, the relevance %v", name, f.Score, res.Relevance(i))
				}
			}
			return out
		}
		plain := relevances(`[]`)
		if reranker != nil && (plain["b"] != 0.8 || plain["c"] <= 0.01) {
			t.Errorf("%s: the relevances %v are not the better scores", name, plain)
		}
		for _, boosts := range []string{raise, lower} {
			if diff := cmp.Diff(plain, relevances(boosts)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, boosts, diff)
			}
			if diff := cmp.Diff(relevances(`[]`, "garden"), relevances(boosts, "garden")); diff != "" {
				t.Errorf("%s, parts, %s (-want +got):\n%s", name, boosts, diff)
			}
		}
	}
}

func TestBoostsOfSeveralQueries(t *testing.T) {
	t.Parallel()
	w := described()
	search := w.search
	w.search = func(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
		if q.Limit < boostDepth*minDepth {
			t.Errorf("a query asked for %d candidates", q.Limit)
		}
		return search(ctx, s, q)
	}
	res, err := w.retriever(atNoon()).Retrieve(t.Context(), ask(boosted(t, `[{"type":"value","key":"team","value":"ops"}]`), func(r *Request) { r.Parts = []string{"garden"} }))
	if err != nil || len(res.Fragments) != 3 || res.Fragments[0].DatasourceID != "b" {
		t.Errorf("got %v, %v", ids(res.Fragments), err)
	}
}
