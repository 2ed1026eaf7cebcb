package ingest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
)

// memoryIndex is an in-memory index that counts reads and writes.
type memoryIndex struct {
	rows   map[index.Space][]index.Row
	fail   error // error of every reading call
	refuse func() error
	writes int
	reads  int
}

func newMemoryIndex() *memoryIndex { return &memoryIndex{rows: make(map[index.Space][]index.Row)} }

func (s *memoryIndex) Write(_ context.Context, space index.Space, rows []index.Row) error {
	s.writes++
	if s.refuse != nil {
		if err := s.refuse(); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if len(r.Vector) != space.Dimensions {
			return fmt.Errorf("%w: %d dimensions", index.ErrInvalid, len(r.Vector))
		}
		s.rows[space] = slices.DeleteFunc(s.rows[space], func(old index.Row) bool { return old.Key == r.Key })
		s.rows[space] = append(s.rows[space], r)
	}
	return nil
}

func (s *memoryIndex) Rows(_ context.Context, space index.Space, datasource string, generation uint64, from, limit int) ([]index.Row, error) {
	s.reads++
	out := s.generation(space, datasource, generation)
	out = slices.DeleteFunc(out, func(r index.Row) bool { return r.Ordinal < from })
	return out[:min(limit, len(out))], s.fail
}

func (s *memoryIndex) Count(_ context.Context, space index.Space, datasource string, generation uint64) (int64, error) {
	return int64(len(s.generation(space, datasource, generation))), s.fail
}

func (s *memoryIndex) Spaces(_ context.Context, datastore string) (out []index.Space, err error) {
	for space := range s.rows {
		if space.DatastoreID == datastore {
			out = append(out, space)
		}
	}
	return out, s.fail
}

// generation returns one generation's rows, sorted by ordinal.
func (s *memoryIndex) generation(space index.Space, datasource string, generation uint64) (out []index.Row) {
	for _, r := range s.rows[space] {
		if r.DatasourceID == datasource && r.Generation == generation {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b index.Row) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return out
}

// countingEmbedder derives vectors from text hashes. It records the texts and counts the calls.
type countingEmbedder struct {
	model embed.Model
	mu    sync.Mutex
	texts []string
	calls int
}

func (c *countingEmbedder) Model() embed.Model { return c.model }

func (c *countingEmbedder) Embed(_ context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.texts = append(c.texts, texts...)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = c.vector(text)
	}
	return out, nil
}

func (c *countingEmbedder) vector(text string) []float32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.model.ID + text))
	v := make([]float32, c.model.Dimensions)
	v[0] = float32(h.Sum32())
	return v
}

// library is a datastore with a single document, which tests ingest again and again, into one or more places.
type library struct {
	*ingestorFixture
	indexes    map[domain.Engine]*memoryIndex
	models     map[string]*countingEmbedder
	paragraphs []string // paragraphs of the document; each becomes one chunk
	originals  int      // how often the original was read
	previous   *domain.Version
	generation uint64
}

var (
	here      = domain.Place{Engine: domain.EngineEmbedded, Model: "small"}
	there     = domain.Place{Engine: domain.EngineMilvus, Model: "small"}
	elsewhere = domain.Place{Engine: domain.EngineEmbedded, Model: "large"}
)

// newLibrary returns a library whose document has the given number of paragraphs and has already been ingested into the
// place `here`.
func newLibrary(t *testing.T, paragraphs, dimensions int) *library {
	t.Helper()
	l := &library{
		ingestorFixture: newPipeline(0),
		indexes:         map[domain.Engine]*memoryIndex{domain.EngineEmbedded: newMemoryIndex(), domain.EngineMilvus: newMemoryIndex()},
		models: map[string]*countingEmbedder{
			"small": {model: embed.Model{ID: "small", Dimensions: dimensions}},
			"large": {model: embed.Model{ID: "large", Dimensions: dimensions + 1}},
		},
	}
	for i := range paragraphs {
		l.paragraphs = append(l.paragraphs, fmt.Sprintf("Paragraph %d.", i))
	}
	l.chunks = func(*domain.Document) ([]domain.Chunk, error) {
		l.originals++
		var out []domain.Chunk
		for i, p := range l.paragraphs {
			out = append(out, domain.Chunk{Ordinal: i, Text: p, Context: "Pumps"})
		}
		return out, nil
	}
	l.engine = func(e domain.Engine) (Index, error) { return l.indexes[e], nil }
	l.embedder = func(model string) (embed.Embedder, error) { return l.models[model], nil }
	l.must(t, l.job(here))
	l.reset()
	return l
}

// job returns a job that ingests the document into the given places.
func (l *library) job(places ...domain.Place) domain.Job {
	l.generation++
	job := ingestJob()
	job.Generation, job.Places, job.Previous = l.generation, places, l.previous
	return job
}

// must handles a job and fails the test on error. If the job wrote to `here`, its result becomes the previous version.
func (l *library) must(t *testing.T, job domain.Job) {
	t.Helper()
	if err := l.handle(t, job); err != nil {
		t.Fatal(err)
	}
	if ev := l.log.events[len(l.log.events)-1]; ev.Type == domain.EventSynched && ev.Places[0] == here {
		l.previous = &domain.Version{Place: here, Generation: job.Generation, Chunks: ev.Chunks, Fingerprint: ev.Fingerprint, TextID: ev.TextID}
	}
}

func (l *library) reset() {
	l.log.events, l.originals = nil, 0
	for _, s := range l.indexes {
		s.writes, s.reads = 0, 0
	}
	for _, m := range l.models {
		m.texts, m.calls = nil, 0
	}
}

// verify checks that `place` contains the rows that the job must have written for the document, with vectors from the
// model that belongs to `place`.
func (l *library) verify(t *testing.T, job domain.Job, place domain.Place) {
	t.Helper()
	model := l.models[place.Model]
	space := index.Space{DatastoreID: job.DatastoreID, Model: place.Model, Dimensions: model.model.Dimensions}
	rows := l.indexes[place.Engine].generation(space, job.DatasourceID, job.Generation)
	if len(rows) != len(l.paragraphs) {
		t.Fatalf("%s holds %d rows, want %d", place, len(rows), len(l.paragraphs))
	}
	for i, r := range rows {
		if r.Text != l.paragraphs[i] || !slices.Equal(r.Vector, model.vector("Pumps\n"+r.Text)) {
			t.Fatalf("row %d of %s has text %q and another text's vector", i, place, r.Text)
		}
	}
}
