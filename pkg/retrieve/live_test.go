package retrieve

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
)

// movingDatastore is a datastore in a real index that moves from model to model. As in production, rows are written to
// the new place, the catalog switches readers, and the old place is swept.
type movingDatastore struct {
	*embedded.Index
	mu         sync.Mutex
	place      domain.Place
	generation uint64
}

// engines returns the datastore's index for every engine.
type engines struct{ *movingDatastore }

func (e engines) Index(domain.Engine) (Searcher, error) { return e.movingDatastore.Index, nil }

func (w *movingDatastore) Embedder(model string) (embed.Embedder, error) {
	return onlyModel{model}, nil
}

type onlyModel struct{ id string }

func (m onlyModel) Model() embed.Model { return embed.Model{ID: m.id, Dimensions: 4} }
func (m onlyModel) Embed(context.Context, []string, embed.Purpose) ([][]float32, error) {
	return [][]float32{{1, 0, 0, 0}}, nil
}

func (w *movingDatastore) ActiveOf(_ context.Context, ids []string) ([]*domain.ActiveDatasource, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*domain.ActiveDatasource, len(ids))
	for i, id := range ids {
		out[i] = &domain.ActiveDatasource{ID: id, DatastoreID: "ds", Place: w.place, ActiveGeneration: w.generation}
	}
	return out, nil
}

func (w *movingDatastore) ServingPlace(context.Context, string) (domain.Place, error) {
	return w.datastore().Serving(), nil
}

func (w *movingDatastore) ResolveFilters(context.Context, []string, domain.Filters) ([]string, error) {
	return nil, nil
}

func (w *movingDatastore) datastore() domain.Datastore {
	w.mu.Lock()
	defer w.mu.Unlock()
	return domain.Datastore{ID: "ds", WorkspaceID: "ws", Type: w.place.Engine, EmbeddingModel: w.place.Model}
}

// move moves the datastore, with its three datasources, to another model.
func (w *movingDatastore) move(ctx context.Context, generation uint64) error {
	old, to := w.datastore().Serving(), domain.Place{Engine: domain.EngineEmbedded, Model: fmt.Sprint("model-", generation)}
	var rows []index.Row
	for _, id := range movingIDs {
		rows = append(rows, index.Row{
			Key: domain.ChunkKey(id, generation, 0), DatasourceID: id, Generation: generation,
			Text: "the gate of " + id, Vector: []float32{1, 0, 0, 0},
		})
	}
	if err := w.Write(ctx, index.Space{DatastoreID: "ds", Model: to.Model, Dimensions: 4}, rows); err != nil {
		return err
	}
	w.mu.Lock()
	w.place, w.generation = to, generation
	w.mu.Unlock()
	return w.DeleteGenerations(ctx, index.Space{DatastoreID: "ds", Model: old.Model, Dimensions: 4}, index.Generations{Below: math.MaxUint64})
}

func TestSearchesOfARealIndexDuringMovesMissNothing(t *testing.T) {
	t.Parallel()
	const readers, moves = 3, 15
	dir := t.TempDir()
	idx, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer idx.Close()
	w := &movingDatastore{Index: idx}
	if err := w.move(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	finished := make(chan int)
	var all sync.WaitGroup
	for id := range readers {
		all.Go(func() {
			r := New(Deps{Indexes: engines{w}, Embedders: w, Catalog: w}, Options{})
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
	for n := range uint64(moves) {
		if err := w.move(t.Context(), n+2); err != nil {
			t.Error(err)
		}
		for seen := make(map[int]bool); len(seen) < readers; { // no search may span more than two moves
			seen[<-finished] = true
		}
	}
	stop()
	all.Wait()
	if err := idx.Close(); err != nil { // Close waits for merges
		t.Error(err)
	}
	if spaces, err := os.ReadDir(dir + "/ds"); err != nil || len(spaces) != 1 {
		t.Errorf("%d places are left on disk, one is in use: %v", len(spaces), err)
	}
}
