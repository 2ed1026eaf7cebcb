package retrieve

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

func TestAQueryWithAVectorAsksNoModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		req  Request
		want []index.Query // text and vector, in search order
	}{
		"hybrid":          {ask(func(r *Request) { r.Vector = []float32{0, 2} }), []index.Query{{Text: "gate", Vector: []float32{0, 2}}}},
		"dense":           {ask(func(r *Request) { r.Vector, r.Mode = []float32{0, 2}, domain.SearchDense }), []index.Query{{Vector: []float32{0, 2}}}},
		"without a query": {ask(func(r *Request) { r.Vector, r.Mode, r.Query = []float32{0, 2}, domain.SearchDense, " " }), []index.Query{{Vector: []float32{0, 2}}}},
		"of two questions": {ask(func(r *Request) {
			r.Vector, r.Query = []float32{0, 2}, "How long is the warranty, and who built the pump?"
		}), []index.Query{{Text: "How long is the warranty, and who built the pump?", Vector: []float32{0, 2}}}},
	} {
		w := newFixture(hit("a", 0, 5, 0.5))
		w.embed = func(context.Context, []string) ([][]float32, error) {
			t.Errorf("%s: the model was asked", name)
			return nil, context.Canceled
		}
		var asked []index.Query
		found := w.search
		w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
			asked = append(asked, index.Query{Text: q.Text, Vector: q.Vector})
			return found(ctx, space, q)
		}
		res, err := w.retriever(Options{}).Retrieve(t.Context(), c.req)
		if err != nil || len(res.Fragments) != 1 {
			t.Errorf("%s: %d fragments, %v", name, len(res.Fragments), err)
		}
		if diff := cmp.Diff(c.want, asked); diff != "" {
			t.Errorf("%s: searches (-want +got):\n%s", name, diff)
		}
	}
}

// TestOtherQueriesThanThatOfTheVectorAreEmbedded sends a vector and two more queries.
func TestOtherQueriesThanThatOfTheVectorAreEmbedded(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 5, 0.5))
	var embedded []string
	w.embed = func(_ context.Context, texts []string) ([][]float32, error) {
		embedded = append(embedded, texts...)
		return [][]float32{{1, 0}, {0, 1}}, nil
	}
	vectors := make(chan string, 3)
	found := w.search
	w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
		vectors <- q.Text + map[float32]string{0.5: " given", 1: " first", 0: " second"}[q.Vector[0]]
		return found(ctx, space, q)
	}
	_, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Vector, r.Parts = []float32{0.5, 0.5}, []string{"oil", "tank"} }))
	if diff := cmp.Diff([]string{"oil", "tank"}, embedded); err != nil || diff != "" {
		t.Fatalf("%v, embedded (-want +got):\n%s", err, diff)
	}
	got := map[string]bool{<-vectors: true, <-vectors: true, <-vectors: true}
	if diff := cmp.Diff(map[string]bool{"gate given": true, "oil first": true, "tank second": true}, got); diff != "" {
		t.Errorf("searches (-want +got):\n%s", diff)
	}
}

func TestAVectorIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mod   func(*Request)
		field string
		want  string
	}{
		"by words":         {func(r *Request) { r.Mode = domain.SearchLexical }, "vector", "cannot be used with mode lexical"},
		"too short":        {func(r *Request) { r.Vector = []float32{1} }, "vector", `has 1 numbers, but vectors from the datastore's embedding model "openai:x" have 2`},
		"of no number":     {func(r *Request) { r.Vector = []float32{1, float32(math.NaN())} }, "vector", "not a finite 32-bit number"},
		"infinite":         {func(r *Request) { r.Vector = []float32{1, float32(math.Inf(1))} }, "vector", "not a finite 32-bit number"},
		"zero":             {func(r *Request) { r.Vector = []float32{0, 0} }, "vector", "is empty or zero"},
		"empty":            {func(r *Request) { r.Vector = []float32{} }, "vector", "is empty or zero"},
		"without a model":  {func(r *Request) { r.Datastores[0].EmbeddingModel = "" }, "vector", "the datastore has no vectors"},
		"no query, hybrid": {func(r *Request) { r.Query = "" }, "query", "must not be empty"},
	} {
		req := ask(func(r *Request) { r.Vector, r.Datastores = []float32{1, 0}, []domain.Datastore{store} })
		c.mod(&req)
		w := newFixture(hit("a", 0, 5, 0.5))
		w.serving = func() (domain.Place, error) { return req.Datastores[0].Serving(), nil }
		_, err := w.retriever(Options{}).Retrieve(t.Context(), req)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
