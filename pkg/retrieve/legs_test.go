package retrieve

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// searchBy makes the fixture return hits by query text. The returned function lists the texts searched so far.
func searchBy(w *fixture, byText map[string][]index.Hit) func() []string {
	var mu sync.Mutex
	var searched []string
	w.search = func(_ context.Context, _ index.Space, q index.Query) (index.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(searched, q.Text) {
			searched = append(searched, q.Text)
		}
		hits := slices.Clone(byText[q.Text])
		for i := range hits {
			hits[i].Generation, hits[i].Key = 1, domain.ChunkKey(hits[i].DatasourceID, 1, hits[i].Ordinal)
			hits[i].Text = "the text of " + strings.Repeat(hits[i].DatasourceID, 5)
		}
		return index.Result{Hits: hits, MaxLexical: 10, TermWeights: map[string]float64{q.Text: 1}}, nil
	}
	return func() []string { slices.Sort(searched); return searched }
}

func TestThePartsOfAQuestionShareTheFragments(t *testing.T) {
	t.Parallel()
	const whole, first, second = "How long is the warranty and who built the pump?", "How long is the warranty", "who built the pump?"
	warranty := []index.Hit{hit("w1", 0, 9, 0.9), hit("w2", 0, 8, 0.8), hit("w3", 0, 7, 0.7), hit("w4", 0, 6, 0.6)}
	pump := []index.Hit{hit("p1", 0, 5, 0.5), hit("p2", 0, 4, 0.4), hit("w1", 0, 1, 0.1)}
	w := newFixture(append(slices.Clone(warranty), pump[:2]...)...)
	searched := searchBy(w, map[string][]index.Hit{whole: warranty, first: warranty, second: pump})
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Query, r.TopK, r.Explain = whole, 4, true }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{first, whole, second}, searched()); diff != "" {
		t.Error("searched:", diff)
	}
	got := ids(res.Fragments)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"p1", "p2", "w1", "w2"}, got); diff != "" {
		t.Error("fragments:", diff)
	}
	if !slices.IsSortedFunc(res.Fragments, func(a, b domain.Fragment) int { return int(1e9 * (b.Score - a.Score)) }) {
		t.Errorf("scores do not fall: %v", res.Fragments)
	}
	if diff := cmp.Diff([]string{first, second}, res.Explanation.Parts); diff != "" {
		t.Error("explained parts:", diff)
	}
	for _, term := range []string{whole, first, second} {
		if res.TermWeights[term] != 1 {
			t.Errorf("the terms of %q have no weight", term)
		}
	}
}

func TestFragmentsHaveTheirScoresInTheSearchForEachPart(t *testing.T) {
	t.Parallel()
	const whole, first, second = "How long is the warranty and who built the pump?", "How long is the warranty", "who built the pump?"
	hits := map[string][]index.Hit{
		whole: {hit("a", 0, 5, 0.5), hit("b", 0, 4, 0.4)}, first: {hit("a", 0, 9, 0.9), hit("b", 0, 1, 0.1)}, second: {hit("b", 0, 8, 0.8)},
	}
	w := newFixture(hits[whole]...)
	searchBy(w, hits)
	r := w.retriever(Options{})
	res, err := r.Retrieve(t.Context(), ask(func(r *Request) { r.Query = whole }))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range res.Fragments {
		for n, part := range []string{first, second} {
			alone, err := r.Retrieve(t.Context(), ask(func(r *Request) { r.Query, r.Parts = part, []string{} }))
			if err != nil || alone.PartScores != nil {
				t.Fatalf("the search for a part has the part scores %v: %v", alone.PartScores, err)
			}
			want := 0.0
			if at := slices.Index(ids(alone.Fragments), f.DatasourceID); at >= 0 {
				want = alone.Fragments[at].Score
			}
			if got := res.PartScores[i][n]; got != want {
				t.Errorf("%s has the score %v in the search for %q, want %v", f.DatasourceID, got, part, want)
			}
		}
	}
}

func TestTheRelevancesOfPartsAreWithoutBoosts(t *testing.T) {
	t.Parallel()
	const whole, first, second = "How long is the warranty and who built the pump?", "How long is the warranty", "who built the pump?"
	hits := map[string][]index.Hit{
		whole: {hit("a", 0, 5, 0.5), hit("b", 0, 4, 0.4)}, first: {hit("a", 0, 9, 0.9), hit("b", 0, 1, 0.1)}, second: {hit("b", 0, 8, 0.8)},
	}
	w := newFixture(hits[whole]...)
	searchBy(w, hits)
	w.describe("b", func(d *domain.ActiveDatasource) { d.Metadata = map[string]any{"team": "ops"} })
	r := w.retriever(Options{})
	find := func(boosts string) Result {
		res, err := r.Retrieve(t.Context(), ask(func(r *Request) { r.Query = whole }, boosted(t, boosts)))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	plain, raised := find(`[]`), find(`[{"type":"value","key":"team","value":"ops"}]`)
	for i, f := range raised.Fragments {
		at := slices.Index(ids(plain.Fragments), f.DatasourceID)
		if diff := cmp.Diff(plain.PartScores[at], raised.PartRelevances[i]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.DatasourceID, diff)
		}
		if f.DatasourceID == "b" && !(raised.PartScores[i][1] > plain.PartScores[at][1]) {
			t.Errorf("the score %v is not boosted", raised.PartScores[i][1])
		}
	}
}

func TestPartsGivenByTheCallerReplaceThoseOfTheSyntax(t *testing.T) {
	t.Parallel()
	const question = "How long is the warranty and who built the pump?"
	for name, test := range map[string]struct {
		parts []string
		want  []string
	}{
		"none":  {[]string{}, []string{question}},
		"given": {[]string{"warranty period", " builder "}, []string{question, "builder", "warranty period"}},
	} {
		w := newFixture(hit("a", 0, 1, 1))
		searched := searchBy(w, nil)
		if _, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Query, r.Parts = question, test.parts })); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, searched()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, err := newFixture().retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Parts = make([]string, 6) }))
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("six parts: error is %v, want CodeInvalid", err)
	}
}

// orderer is a reranker that prefers passages that contain the query.
type orderer struct {
	mu   sync.Mutex
	seen map[string]int // number of passages, by query
}

func (o *orderer) Model() string { return "orderer" }
func (o *orderer) Rerank(_ context.Context, query string, passages []string, _ time.Time) ([]Reranked, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[query] = len(passages)
	var out []Reranked
	for i := range passages {
		out = append(out, Reranked{Index: len(passages) - 1 - i, Score: 1 - float64(i)/100})
	}
	return out, nil
}

func TestEachPartIsRerankedByItself(t *testing.T) {
	t.Parallel()
	const whole, first, second = "How long is the warranty and who built the pump?", "How long is the warranty", "who built the pump?"
	a := []index.Hit{hit("a1", 0, 9, 0.9), hit("a2", 0, 8, 0.8), hit("a3", 0, 7, 0.7)}
	b := []index.Hit{hit("b1", 0, 9, 0.9), hit("b2", 0, 8, 0.8), hit("b3", 0, 7, 0.7)}
	w := newFixture(append(slices.Clone(a), b...)...)
	searchBy(w, map[string][]index.Hit{whole: a, first: a, second: b})
	o := &orderer{seen: map[string]int{}}
	r := New(Deps{Indexes: w, Embedders: w, Catalog: w, Reranker: o}, Options{})
	res, err := r.Retrieve(t.Context(), ask(func(r *Request) { r.Query, r.TopK = whole, 2 }))
	if err != nil {
		t.Fatal(err)
	}
	got := ids(res.Fragments)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a3", "b3"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{whole: 3, first: 3, second: 3}, o.seen); diff != "" {
		t.Error("passages by query:", diff)
	}
}

func TestAllPartsAreEmbeddedInOneCall(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 1, 1))
	var mu sync.Mutex
	var calls [][]string
	w.embed = func(_ context.Context, texts []string) ([][]float32, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, texts)
		vectors := make([][]float32, len(texts))
		for i := range texts {
			vectors[i] = []float32{1, float32(i)}
		}
		return vectors, nil
	}
	found, vectors := w.search, map[string][]float32{}
	w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
		mu.Lock()
		vectors[q.Text] = q.Vector
		mu.Unlock()
		return found(ctx, space, q)
	}
	const whole, first, second = "How long is the warranty and who built the pump?", "How long is the warranty", "who built the pump?"
	if _, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Query = whole })); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{whole, first, second}}, calls); diff != "" {
		t.Error("calls:", diff)
	}
	if diff := cmp.Diff(map[string][]float32{whole: {1, 0}, first: {1, 1}, second: {1, 2}}, vectors); diff != "" {
		t.Error("vectors:", diff)
	}
}

// permits grants a limited number of permits and counts those granted and returned.
type permits struct{ free, entered, left atomic.Int64 }

func (p *permits) TryEnter(string) (func(), bool) {
	if p.free.Add(-1) < 0 {
		p.free.Add(1)
		return nil, false
	}
	p.entered.Add(1)
	return func() { p.left.Add(1); p.free.Add(1) }, true
}

func TestPartsAreSearchedConcurrentlyWithinThePermits(t *testing.T) {
	t.Parallel()
	for free := range int64(4) {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture(hit("a", 0, 1, 1))
			found := w.search
			var running, most atomic.Int64
			w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
				n := running.Add(1)
				defer running.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Second) // on the bubble's clock, so all permitted searches are now running
				return found(ctx, space, q)
			}
			p := &permits{}
			p.free.Store(free)
			r := New(Deps{Indexes: w, Embedders: w, Catalog: w, Permits: p}, Options{})
			_, err := r.Retrieve(t.Context(), ask(func(r *Request) { r.Query, r.Parts = "warranty and builder", []string{"warranty", "builder"} }))
			if err != nil {
				t.Fatal(err)
			}
			if want := min(1+free, 3); most.Load() != want {
				t.Errorf("with %d permits, %d searches ran at once, want %d", free, most.Load(), want)
			}
			if p.entered.Load() != p.left.Load() || p.free.Load() != free {
				t.Errorf("%d permits were taken and %d returned", p.entered.Load(), p.left.Load())
			}
		})
	}
}
