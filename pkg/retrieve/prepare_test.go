package retrieve

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
)

// prepared is a fixture with an index that can prepare queries.
type prepared struct {
	*fixture
	prepare func(ctx context.Context, space index.Space, q index.Query) (index.Prepared, error)
}

func (p prepared) Index(domain.Engine) (Searcher, error) { return p, nil }
func (p prepared) Prepare(ctx context.Context, space index.Space, q index.Query) (index.Prepared, error) {
	return p.prepare(ctx, space, q)
}

// cachingEmbedder is a model that has every text's vector cached.
type cachingEmbedder struct{ embedder }

func (cachingEmbedder) IsCached(string) bool { return true }

func TestRetrieve_prepares_the_index_during_embedding(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want index.Prepared
	}{
		"which the search is asked with":  {nil, "made ready"},
		"which fails, as the search will": {errors.New("not today"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPrepare(t, test.err, test.want)
		})
	}
}

func testPrepare(t *testing.T, fault error, want index.Prepared) {
	t.Helper()
	w := newFixture(hit("a", 0, 1, 0.5))
	search := w.search
	w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
		if q.Prepared != want {
			t.Errorf("asked with %v, want %v", q.Prepared, want)
		}
		return search(ctx, space, q)
	}
	asked := make(chan struct{})
	p := prepared{w, func(_ context.Context, space index.Space, q index.Query) (index.Prepared, error) {
		defer close(asked)
		if want := (index.Space{DatastoreID: "ds", Model: "openai:x", Dimensions: 2}); space != want || q.Text != "gate" || q.Limit != minDepth || q.Vector != nil {
			t.Errorf("made ready for %+v in %+v, want %q in %+v", q, space, "gate", want)
		}
		return "made ready", fault
	}}
	w.embed = func(ctx context.Context, _ []string) ([][]float32, error) {
		select {
		case <-asked: // if the index is never asked to prepare, this model never answers
			return [][]float32{{1, 0}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	res, err := New(Deps{Indexes: p, Embedders: w, Catalog: w}, Options{}).Retrieve(t.Context(), ask())
	if err != nil || len(res.Fragments) != 1 {
		t.Errorf("%d fragments, want 1: %v", len(res.Fragments), err)
	}
}

func TestRetrieve_does_not_prepare_for_cached_vectors(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 1, 0.5))
	p := prepared{w, func(context.Context, index.Space, index.Query) (index.Prepared, error) {
		t.Error("made ready")
		return nil, nil
	}}
	for name, test := range map[string]struct {
		embedders Embedders
		mode      domain.SearchMode
	}{
		"a vector at hand": {served{cachingEmbedder{embedder{w, "openai:x"}}}, domain.SearchHybrid},
		"by meaning alone": {w, domain.SearchDense},
		"by words alone":   {w, domain.SearchLexical},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Deps{Indexes: p, Embedders: test.embedders, Catalog: w}, Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Mode = test.mode }))
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRetrieve_stops_preparing_after_a_failed_embedding(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 1, 0.5))
	began := make(chan struct{})
	p := prepared{w, func(ctx context.Context, _ index.Space, _ index.Query) (index.Prepared, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	w.embed = func(context.Context, []string) ([][]float32, error) {
		<-began
		return nil, errors.New("out of order")
	}
	_, err := New(Deps{Indexes: p, Embedders: w, Catalog: w}, Options{}).Retrieve(t.Context(), ask())
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("got %v, want that the model is unavailable", err)
	}
}

// served returns the same model for every id.
type served struct{ e embed.Embedder }

func (s served) Embedder(string) (embed.Embedder, error) { return s.e, nil }
