package retrieve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

func mode(m domain.SearchMode) func(*Request) { return func(r *Request) { r.Mode = m } }

// legs makes the fixture search like an engine. A search returns the hits that one of the query's legs finds, and a hit
// has no score from a leg that the query lacks.
func (w *fixture) legs(hits ...index.Hit) {
	w.search = func(_ context.Context, _ index.Space, q index.Query) (index.Result, error) {
		res := index.Result{}
		for _, h := range hits {
			if q.Text == "" {
				h.Lexical = 0
			}
			if q.Vector == nil {
				h.Dense = 0
			}
			if h.Generation = 1; h.Lexical != 0 || h.Dense != 0 {
				res.Hits = append(res.Hits, h)
			}
		}
		if q.Text != "" {
			res.MaxLexical = 10
		}
		return res, nil
	}
}

func TestAModeRanksByItsLegAlone(t *testing.T) {
	t.Parallel()
	hits := []index.Hit{hit("both", 0, 5, 0.7), hit("words", 0, 6, 0.1), hit("meaning", 0, 0, 0.8)}
	for m, want := range map[domain.SearchMode][]string{
		"":                   {"both", "words", "meaning"},
		domain.SearchHybrid:  {"both", "words", "meaning"},
		domain.SearchLexical: {"words", "both"},
		domain.SearchDense:   {"meaning", "both", "words"},
	} {
		w := newFixture(hits...)
		w.legs(hits...)
		res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(mode(m)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ids(res.Fragments)); diff != "" {
			t.Errorf("mode %q: %s", m, diff)
		}
	}
}

// In a hybrid search, neighbouring hits raise a chunk's rank. In a dense search, only the vectors' similarity counts.
func TestADenseSearchRanksByTheVectorsAlone(t *testing.T) {
	t.Parallel()
	hits := []index.Hit{hit("a", 0, 0, 0.700), hit("a", 5, 0, 0.699), hit("a", 6, 0, 0.698), hit("a", 7, 0, 0.697)}
	for i := range hits {
		hits[i].Heading = fmt.Sprint(i) // different headings keep hits from being merged
	}
	for m, first := range map[domain.SearchMode]int{domain.SearchHybrid: 6, domain.SearchDense: 0} {
		w := newFixture(hits...)
		w.legs(hits...)
		res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(mode(m)))
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Fragments[0].ChunkID; got != domain.ChunkKey("a", 1, first) {
			t.Errorf("mode %q: first is %s, want chunk %d", m, got, first)
		}
	}
}

func TestALexicalSearchDoesNotAskTheModel(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 5, 0.5))
	w.embed = func(context.Context, []string) ([][]float32, error) {
		t.Error("the model was asked")
		return nil, errors.New("out of order")
	}
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(mode(domain.SearchLexical)))
	if err != nil || len(res.Fragments) != 1 {
		t.Fatalf("%v, %v", res, err)
	}
}

func TestADenseSearch(t *testing.T) {
	t.Parallel()
	t.Run("finds nothing for a query of which the model knows no word, and says so", func(t *testing.T) {
		t.Parallel()
		w := newFixture(hit("a", 0, 5, 0.5))
		w.embed = func(context.Context, []string) ([][]float32, error) { return [][]float32{{0, 0}}, nil }
		res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(mode(domain.SearchDense)))
		if err != nil || len(res.Fragments) != 0 {
			t.Fatalf("%v, %v", res, err)
		}
		if !strings.Contains(res.Degraded, "knows none of the words in the query") {
			t.Errorf("degraded: %q", res.Degraded)
		}
	})
	t.Run("is refused where there are no vectors", func(t *testing.T) {
		t.Parallel()
		plain := domain.Datastore{ID: "plain", WorkspaceID: "ws", Type: domain.EngineEmbedded}
		w := newFixture()
		w.serving = func() (domain.Place, error) { return plain.Serving(), nil }
		_, err := w.retriever(Options{}).Retrieve(t.Context(), ask(mode(domain.SearchDense), func(r *Request) {
			r.Datastores = []domain.Datastore{plain}
		}))
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), `datastore "plain" has no vectors`) {
			t.Fatal(err)
		}
	})
	t.Run("fails while the model cannot be reached, whatever the fallback", func(t *testing.T) {
		t.Parallel()
		w := newFixture(hit("a", 0, 5, 0.5))
		w.embed = func(context.Context, []string) ([][]float32, error) { return nil, errors.New("refused") }
		_, err := w.retriever(Options{LexicalFallback: true}).Retrieve(t.Context(), ask(mode(domain.SearchDense)))
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Fatal(err)
		}
	})
}

func TestAnUnknownModeIsRefused(t *testing.T) {
	t.Parallel()
	_, err := newFixture().retriever(Options{}).Retrieve(t.Context(), ask(mode("vague")))
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), `mode: is "vague"; it must be one of hybrid, lexical, dense`) {
		t.Fatal(err)
	}
}
