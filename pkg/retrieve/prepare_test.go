package retrieve

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
)

// prepared is a world whose index makes ready for words.
type prepared struct {
	*world
	prepare func(ctx context.Context, space index.Space, text string) error
}

func (p prepared) Index(domain.Engine) (Searcher, error) { return p, nil }
func (p prepared) Prepare(ctx context.Context, space index.Space, text string) error {
	return p.prepare(ctx, space, text)
}

// remembering is a model that has all vectors at hand.
type remembering struct{ embedder }

func (remembering) AtOnce(string) bool { return true }

func TestRetrieve_has_the_index_make_ready_while_the_model_is_at_work(t *testing.T) {
	t.Parallel()
	w := newWorld(hit("a", 0, 1, 0.5))
	asked := make(chan struct{})
	p := prepared{w, func(_ context.Context, space index.Space, text string) error {
		defer close(asked)
		if want := (index.Space{DatastoreID: "ds", Model: "openai:x", Dimensions: 2}); space != want || text != "gate" {
			t.Errorf("made ready for %q in %+v, want %q in %+v", text, space, "gate", want)
		}
		return errors.New("not today")
	}}
	w.embed = func(ctx context.Context, _ []string) ([][]float32, error) {
		select {
		case <-asked: // else this model never answers
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

func TestRetrieve_does_not_make_ready_for_what_needs_no_waiting(t *testing.T) {
	t.Parallel()
	w := newWorld(hit("a", 0, 1, 0.5))
	p := prepared{w, func(context.Context, index.Space, string) error {
		t.Error("made ready")
		return nil
	}}
	for name, test := range map[string]struct {
		embedders Embedders
		mode      domain.SearchMode
	}{
		"a vector at hand": {served{remembering{embedder{w, "openai:x"}}}, domain.SearchHybrid},
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

func TestRetrieve_makes_ready_no_longer_when_the_model_has_failed(t *testing.T) {
	t.Parallel()
	w := newWorld(hit("a", 0, 1, 0.5))
	began := make(chan struct{})
	p := prepared{w, func(ctx context.Context, _ index.Space, _ string) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
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

// served is one model for all ids.
type served struct{ e embed.Embedder }

func (s served) Embedder(string) (embed.Embedder, error) { return s.e, nil }
