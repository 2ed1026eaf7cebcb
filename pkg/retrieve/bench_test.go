package retrieve

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
)

// Sizes of the benchmarks' library, a datastore in a real index. Its documents have many chunks, its words follow
// Zipf's law, and its vectors are random.
const (
	libraryRows       = 20_000
	libraryChunks     = 40 // chunks per document
	libraryDimensions = 256
)

type library struct {
	*embedded.Index
	rng    *rand.Rand
	zipf   *rand.Zipf
	vector []float32 // vector of the next query
}

func newLibrary(b *testing.B) *library {
	b.Helper()
	x, err := embedded.Open(b.TempDir(), embedded.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = x.Close() })
	rng := rand.New(rand.NewPCG(1, 2))
	l := &library{Index: x, rng: rng, zipf: rand.NewZipf(rng, 1.1, 8, 60_000)}
	space := index.Space{DatastoreID: store.ID, Model: store.EmbeddingModel, Dimensions: libraryDimensions}
	for from := 0; from < libraryRows; from += 500 {
		rows := make([]index.Row, 500)
		for i := range rows {
			id := fmt.Sprintf("document-%d", (from+i)/libraryChunks)
			ordinal := (from + i) % libraryChunks
			rows[i] = index.Row{Key: domain.ChunkKey(id, 1, ordinal), DatasourceID: id, Generation: 1, Ordinal: ordinal, Text: l.text(200), Vector: l.point()}
		}
		if err := x.Write(b.Context(), space, rows); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// text returns `words` random words. The most common ones are English, so the text is recognised as English.
func (l *library) text(words int) string {
	common := strings.Fields("the of and to in is for that with was on by as at from it be are this which")
	var out strings.Builder
	for range words {
		n := l.zipf.Uint64()
		if n < uint64(len(common)) {
			out.WriteString(common[n])
		}
		for n += 30; n >= uint64(len(common)+30) && n > 0; n /= 20 {
			out.WriteString("bcdfghjklmnpqrstvwxz"[n%20 : n%20+1])
			out.WriteString("aeiou"[n%5 : n%5+1])
		}
		out.WriteByte(' ')
	}
	return out.String()
}

// point returns a random unit vector.
func (l *library) point() []float32 {
	v := make([]float32, libraryDimensions)
	var sum float64
	for i := range v {
		v[i] = float32(l.rng.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (l *library) Embedder(string) (embed.Embedder, error) { return l, nil }

func (l *library) Model() embed.Model {
	return embed.Model{ID: store.EmbeddingModel, Dimensions: libraryDimensions}
}

func (l *library) Embed(context.Context, []string, embed.Purpose) ([][]float32, error) {
	return [][]float32{l.vector}, nil
}

func (l *library) ActiveOf(_ context.Context, ids []string) ([]*domain.ActiveDatasource, error) {
	out := make([]*domain.ActiveDatasource, len(ids))
	for i, id := range ids {
		out[i] = &domain.ActiveDatasource{ID: id, DatastoreID: store.ID, Type: domain.TypeText, Place: store.Serving(), ActiveGeneration: 1}
	}
	return out, nil
}

func (l *library) ServingPlace(context.Context, string) (domain.Place, error) {
	return store.Serving(), nil
}

func (l *library) ResolveFilters(context.Context, []string, domain.Filters) ([]string, error) {
	return nil, nil
}

// singleIndex returns the library's index for every engine.
type singleIndex struct{ *library }

func (s singleIndex) Index(domain.Engine) (Searcher, error) { return s.library.Index, nil }

// BenchmarkRetrieve searches a datastore with 20,000 chunks.
func BenchmarkRetrieve(b *testing.B) {
	l := newLibrary(b)
	r := New(Deps{Indexes: singleIndex{l}, Embedders: l, Catalog: l}, Options{})
	for _, topK := range []int{5, MaxTopK} {
		b.Run(fmt.Sprintf("topK=%d", topK), func(b *testing.B) {
			l.rng = rand.New(rand.NewPCG(3, 4))
			l.zipf = rand.NewZipf(l.rng, 1.1, 8, 60_000)
			for b.Loop() {
				l.vector = l.point()
				req := Request{WorkspaceID: store.WorkspaceID, Datastores: []domain.Datastore{store}, Query: l.text(8), TopK: topK}
				if _, err := r.Retrieve(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
