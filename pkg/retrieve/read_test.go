package retrieve

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// hitsOfDatasources returns n hits from n different datasources, best first.
func hitsOfDatasources(n int) []index.Hit {
	hits := make([]index.Hit, n)
	for i := range hits {
		hits[i] = hit(fmt.Sprintf("d%03d", i), 0, 9-float64(i)/float64(n), 0.9-float64(i)/float64(2*n))
	}
	return hits
}

func TestOnlyPossibleFragmentsAreRead(t *testing.T) {
	t.Parallel()
	w := newFixture(hitsOfDatasources(200)...)
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.TopK = 10 }))
	if err != nil || len(res.Fragments) != 10 {
		t.Fatalf("%d fragments: %v", len(res.Fragments), err)
	}
	if w.filled < 10 || w.filled > 20 {
		t.Errorf("%d rows were read for 10 fragments of 200 candidates", w.filled)
	}
}

func TestASearchIsRepeatedIfItsHitsWereRemoved(t *testing.T) {
	t.Parallel()
	hits := hitsOfDatasources(20)
	w := newFixture(hits...)
	searches := 0
	search := w.search
	w.search = func(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
		res, err := search(ctx, s, q)
		if searches++; searches == 1 { // the first datasource now gets a new generation
			w.gone = map[string]bool{hits[0].Key: true}
			d := w.active["d000"]
			d.ActiveGeneration = 2
			newer := hits[0]
			newer.Generation, newer.Key, newer.Text = 2, domain.ChunkKey("d000", 2, 0), "newer"
			search = func(context.Context, index.Space, index.Query) (index.Result, error) {
				w.active["d000"] = d
				return index.Result{Hits: append([]index.Hit{newer}, hits[1:]...), MaxLexical: 10}, nil
			}
		}
		return res, err
	}
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask())
	if err != nil || len(res.Fragments) != DefaultTopK || res.Fragments[0].Text != "newer" {
		t.Errorf("%+v, %v", res.Fragments, err)
	}
	if searches != 2 {
		t.Errorf("%d searches, want 2", searches)
	}
}

func TestRowsThatCannotBeReadAreAFailure(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *fixture, first string){
		"the engine fails":              func(w *fixture, _ string) { w.unread = errors.New("connection refused") },
		"a row is gone, and found anew": func(w *fixture, first string) { w.gone = map[string]bool{first: true} },
	} {
		hits := hitsOfDatasources(5)
		w := newFixture(hits...)
		spoil(w, hits[0].Key)
		if _, err := w.retriever(Options{}).Retrieve(t.Context(), ask()); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnExplanationListsDroppedRows(t *testing.T) {
	t.Parallel()
	hits := hitsOfDatasources(60)
	for i := range hits {
		hits[i].Heading, hits[i].Page = fmt.Sprint("heading ", i), i
	}
	w := newFixture(hits...)
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Explain = true }))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range res.Explanation.Dropped.Chunks {
		if want := fmt.Sprint("heading ", d.Page); d.Heading != want || d.Page == 0 {
			t.Errorf("chunk %s has the heading %q, and is on page %d", d.ChunkID, d.Heading, d.Page)
		}
	}
	if len(res.Explanation.Dropped.Chunks) == 0 {
		t.Error("nothing was dropped")
	}
}
