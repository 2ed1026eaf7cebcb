package retrieve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
)

// movingFixture simulates a moving datastore with its engines, its models and the catalog. The test controls each step.
type movingFixture struct {
	mu           sync.Mutex
	serving      domain.Place
	rows         map[domain.Place]map[string]bool // datasource ids by place
	down         map[domain.Place]bool            // places whose engine or model fails
	gone         bool                             // the datastore is deleted
	catalogFails bool                             // the catalog can't say which place serves

	searched func(domain.Place) // called after each search, before its result is returned
}

var (
	oldPlace  = domain.Place{Engine: domain.EngineEmbedded, Model: "openai:old"}
	newPlace  = domain.Place{Engine: domain.EngineMilvus, Model: "openai:new"}
	movingIDs = []string{"a", "b", "c"}
)

func newMovingFixture() *movingFixture {
	t := &movingFixture{serving: oldPlace, rows: make(map[domain.Place]map[string]bool), down: make(map[domain.Place]bool)}
	t.fill(oldPlace)
	return t
}

// fill adds all datasources' rows to a place.
func (t *movingFixture) fill(p domain.Place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[p] = map[string]bool{"a": true, "b": true, "c": true}
}

// move switches readers to a place that must already be filled.
func (t *movingFixture) move(to domain.Place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serving = to
}

// sweep removes some datasources' rows from a place.
func (t *movingFixture) sweep(p domain.Place, ids ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		delete(t.rows[p], id)
	}
}

// datastore returns the datastore's current state.
func (t *movingFixture) datastore() domain.Datastore {
	t.mu.Lock()
	defer t.mu.Unlock()
	return domain.Datastore{ID: "ds", WorkspaceID: "ws", Type: t.serving.Engine, EmbeddingModel: t.serving.Model}
}

type movingIndex struct {
	*movingFixture
	engine domain.Engine
}

func (t *movingFixture) Index(e domain.Engine) (Searcher, error) { return movingIndex{t, e}, nil }

func (x movingIndex) Search(_ context.Context, s index.Space, q index.Query) (index.Result, error) {
	p := domain.Place{Engine: x.engine, Model: s.Model}
	res := index.Result{MaxLexical: 10}
	x.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(x.rows[p])) {
		h := hit(id, 0, 5, 0.5)
		h.Generation, h.Key = 1, id
		res.Hits = append(res.Hits, h)
	}
	down, want := x.down[p], "vector of "+p.Model
	x.mu.Unlock()
	if x.searched != nil {
		x.searched(p)
	}
	if down {
		return index.Result{}, errors.New("connection refused")
	}
	if len(q.Vector) != len(want) {
		return index.Result{}, fmt.Errorf("%s was asked with a vector of another model", p)
	}
	return res, nil
}

func (x movingIndex) CountValues(context.Context, index.Space, index.CountQuery) (index.Counts, error) {
	return index.Counts{}, errors.New("not used")
}

func (x movingIndex) Rows(context.Context, index.Space, string, uint64, int, int) ([]index.Row, error) {
	return nil, errors.New("not used")
}

// Fill reads the hits' rows, except rows that no longer exist.
func (x movingIndex) Fill(_ context.Context, s index.Space, hits []*index.Hit) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := domain.Place{Engine: x.engine, Model: s.Model}
	if x.down[p] {
		return errors.New("connection refused")
	}
	for _, h := range hits {
		if x.rows[p][h.Key] {
			h.Text, h.Complete = "text of "+h.Key, true
		}
	}
	return nil
}

type movingModel struct {
	*movingFixture
	id string
}

func (t *movingFixture) Embedder(model string) (embed.Embedder, error) {
	return movingModel{t, model}, nil
}
func (m movingModel) Model() embed.Model {
	return embed.Model{ID: m.id, Dimensions: len("vector of " + m.id)}
}
func (m movingModel) Embed(context.Context, []string, embed.Purpose) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down[domain.Place{Model: m.id}] {
		return nil, errors.New("no model here")
	}
	v := make([]float32, m.Model().Dimensions)
	v[0] = 1
	return [][]float32{v}, nil
}

func (t *movingFixture) ActiveOf(_ context.Context, ids []string) ([]*domain.ActiveDatasource, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]*domain.ActiveDatasource, len(ids))
	for i, id := range ids {
		out[i] = &domain.ActiveDatasource{ID: id, DatastoreID: "ds", Place: t.serving, ActiveGeneration: 1}
	}
	if t.gone {
		clear(out)
	}
	return out, nil
}

func (t *movingFixture) ServingPlace(context.Context, string) (domain.Place, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.gone:
		return domain.Place{}, domain.NotFound("datastore", "ds")
	case t.catalogFails:
		return domain.Place{}, errors.New("the catalog is down")
	}
	return t.serving, nil
}

func (t *movingFixture) ResolveFilters(context.Context, []string, domain.Filters) ([]string, error) {
	return nil, nil
}

func (t *movingFixture) retriever() *Retriever {
	return New(Deps{Indexes: t, Embedders: t, Catalog: t}, Options{})
}

func movingRequest(ds domain.Datastore) Request {
	return Request{WorkspaceID: "ws", Datastores: []domain.Datastore{ds}, Query: "gate", TopK: 10}
}

func TestASearchFollowsADatastoreThatMoves(t *testing.T) {
	t.Parallel()
	moved := func(w *movingFixture) { w.fill(newPlace); w.move(newPlace) }
	tests := map[string]struct {
		before   func(*movingFixture) // called between reading the datastore and searching it
		searched func(*movingFixture) // called after the first search
		places   []domain.Place
	}{
		"it stays": {places: []domain.Place{oldPlace}},
		"it has moved, and the old place is still full": {
			before: moved, places: []domain.Place{oldPlace, newPlace},
		},
		"it has moved, and the old place is half swept": {
			before: func(w *movingFixture) { moved(w); w.sweep(oldPlace, "a", "c") }, places: []domain.Place{oldPlace, newPlace},
		},
		"it has moved, and the old place is empty": {
			before: func(w *movingFixture) { moved(w); w.sweep(oldPlace, movingIDs...) }, places: []domain.Place{oldPlace, newPlace},
		},
		"it moves while its old place is searched": {
			searched: func(w *movingFixture) { moved(w); w.sweep(oldPlace, movingIDs...) }, places: []domain.Place{oldPlace, newPlace},
		},
		"it has moved away from an engine that is down": {
			before: func(w *movingFixture) { moved(w); w.down[oldPlace] = true }, places: []domain.Place{oldPlace, newPlace},
		},
		"it has moved away from a model that is gone": {
			before: func(w *movingFixture) { moved(w); w.down[domain.Place{Model: oldPlace.Model}] = true }, places: []domain.Place{newPlace},
		},
		"it moves twice": {
			before: moved,
			searched: func(w *movingFixture) {
				third := domain.Place{Engine: domain.EngineMilvus, Model: "openai:third"}
				w.fill(third)
				w.move(third)
				w.sweep(newPlace, movingIDs...)
			},
			places: []domain.Place{oldPlace, {Engine: domain.EngineMilvus, Model: "openai:third"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMovingFixture()
			var places []domain.Place
			w.searched = func(p domain.Place) {
				if places = append(places, p); len(places) == 1 && test.searched != nil {
					test.searched(w)
				}
			}
			ds := w.datastore()
			if test.before != nil {
				test.before(w)
			}
			res, err := w.retriever().Retrieve(t.Context(), movingRequest(ds))
			if err != nil {
				t.Fatal(err)
			}
			got := ids(res.Fragments)
			slices.Sort(got)
			if diff := cmp.Diff(movingIDs, got); diff != "" {
				t.Errorf("fragments (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.places, places); diff != "" {
				t.Errorf("places searched (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEmptyResultIsReturnedOnlyIfItIsCertain(t *testing.T) {
	t.Parallel()
	t.Run("an empty datastore has nothing", func(t *testing.T) {
		t.Parallel()
		w := newMovingFixture()
		w.sweep(oldPlace, movingIDs...)
		if res, err := w.retriever().Retrieve(t.Context(), movingRequest(w.datastore())); err != nil || len(res.Fragments) != 0 {
			t.Errorf("%d fragments, err %v", len(res.Fragments), err)
		}
	})
	t.Run("a datastore that has been deleted has nothing", func(t *testing.T) {
		t.Parallel()
		w := newMovingFixture()
		ds := w.datastore()
		w.gone = true
		if res, err := w.retriever().Retrieve(t.Context(), movingRequest(ds)); err != nil || len(res.Fragments) != 0 {
			t.Errorf("%d fragments, err %v", len(res.Fragments), err)
		}
	})
	t.Run("where the catalog cannot say, nothing is no answer", func(t *testing.T) {
		t.Parallel()
		w := newMovingFixture()
		w.sweep(oldPlace, movingIDs...)
		w.catalogFails = true
		if _, err := w.retriever().Retrieve(t.Context(), movingRequest(w.datastore())); err == nil {
			t.Error("no error")
		}
	})
	t.Run("an engine that is down is down when the datastore is still there", func(t *testing.T) {
		t.Parallel()
		w := newMovingFixture()
		w.down[oldPlace] = true
		if _, err := w.retriever().Retrieve(t.Context(), movingRequest(w.datastore())); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a datastore that is never where it was a moment ago is not searched for ever", func(t *testing.T) {
		t.Parallel()
		w := newMovingFixture()
		n := 0
		w.searched = func(domain.Place) {
			n++
			w.move(domain.Place{Engine: domain.EngineMilvus, Model: fmt.Sprint("openai:", n)})
		}
		_, err := w.retriever().Retrieve(t.Context(), movingRequest(w.datastore()))
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "being moved") || n != maxPlaces {
			t.Errorf("%d searches, err = %v", n, err)
		}
	})
}

func TestSearchesDuringMovesMissNothing(t *testing.T) {
	t.Parallel()
	const readers, moves = 4, 200
	w := newMovingFixture()
	ctx, stop := context.WithCancel(t.Context())
	finished := make(chan int)
	var all sync.WaitGroup
	for id := range readers {
		all.Go(func() {
			r := w.retriever()
			for ctx.Err() == nil {
				res, err := r.Retrieve(t.Context(), movingRequest(w.datastore()))
				if err != nil || len(res.Fragments) != len(movingIDs) {
					t.Errorf("%d fragments, err %v", len(res.Fragments), err)
				}
				select {
				case finished <- id:
				case <-ctx.Done():
				}
			}
		})
	}
	at := oldPlace
	for n := range moves {
		next := domain.Place{Engine: domain.EngineMilvus, Model: fmt.Sprint("openai:", n)}
		w.fill(next)
		w.move(next)
		for _, id := range movingIDs {
			w.sweep(at, id)
		}
		at = next
		for seen := make(map[int]bool); len(seen) < readers; { // no search may span more than two moves
			seen[<-finished] = true
		}
	}
	stop()
	all.Wait()
}

func TestAnEngineWithoutLexicalSearchRanksByVectors(t *testing.T) {
	t.Parallel()
	hits := func() []index.Hit {
		return []index.Hit{hit("far", 0, 0, 0.2), hit("near", 0, 0, 0.9), hit("mid", 0, 0, 0.5)}
	}
	search := func(w *fixture, opts Options) Result {
		t.Helper()
		words := w.search
		w.search = func(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
			if q.Vector == nil {
				return index.Result{}, nil
			}
			res, err := words(ctx, s, q)
			return index.Result{Hits: res.Hits}, err
		}
		res, err := w.retriever(opts).Retrieve(t.Context(), ask(func(r *Request) { r.Explain = true }))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for name, opts := range map[string]Options{
		"its weight does not matter":            {},
		"not even where words were to have all": {Weights: map[string]float64{"openai:x": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := search(newFixture(hits()...), opts)
			if diff := cmp.Diff([]string{"near", "mid", "far"}, ids(res.Fragments)); diff != "" {
				t.Fatal(diff)
			}
			if s := res.Fragments[0].Score; s < 0.8 {
				t.Errorf("a text that nearly equals the query scores %.2f", s)
			}
			if s := res.Fragments[2].Score; s > 0.1 {
				t.Errorf("a text less similar than unrelated text scores %.2f", s)
			}
		})
	}
}
