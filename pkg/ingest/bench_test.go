package ingest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index/embedded"
)

// unitLength replaces countingEmbedder's vectors with unit vectors, so that a real index accepts them.
type unitLength struct{ *countingEmbedder }

func (u unitLength) Embed(ctx context.Context, texts []string, p embed.Purpose) ([][]float32, error) {
	vectors, err := u.countingEmbedder.Embed(ctx, texts, p)
	for _, v := range vectors {
		at := int(v[0]) % len(v)
		v[0] = 0
		v[at] = 1
	}
	return vectors, err
}

// BenchmarkUnchangedContent ingests the same document again and again. The CHUNKS environment variable sets the number
// of chunks in the document (default 5,000). The benchmark reports chunks per second and peak memory use.
func BenchmarkUnchangedContent(b *testing.B) {
	chunks, err := strconv.Atoi(cmp.Or(os.Getenv("CHUNKS"), "5000"))
	if err != nil {
		b.Fatal(err)
	}
	idx, err := embedded.Open(b.TempDir(), embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer idx.Close()
	model := &countingEmbedder{model: embed.Model{ID: "small", Dimensions: 384}}
	p := newPipeline(0)
	p.embedder = func(string) (embed.Embedder, error) { return unitLength{model}, nil }
	p.engine = func(domain.Engine) (Index, error) { return idx, nil }
	p.now = time.Now
	p.chunks = func(*domain.Document) ([]domain.Chunk, error) {
		out := make([]domain.Chunk, chunks)
		for i := range out {
			out[i] = domain.Chunk{Ordinal: i, Context: "Pumps", Text: fmt.Sprintf("Paragraph %d is about pumps, gates and valves of type %d, and about how they are kept.", i, i%977)}
		}
		return out, nil
	}
	job := ingestJob()
	job.Places, job.Force = []domain.Place{here}, true
	job.Places[0].Model = "small"
	read := func() {
		job.Generation++
		if err := p.ingestor().Handle(b.Context(), job); err != nil {
			b.Fatal(err)
		}
		job.Previous = &domain.Version{Place: job.Places[0], Generation: job.Generation, Chunks: int64(chunks)}
	}
	read()
	first := len(model.texts)
	var limit uint64
	for b.Loop() {
		read()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		limit = max(limit, m.HeapSys)
	}
	if len(model.texts) != first {
		b.Errorf("%d texts were embedded again", len(model.texts)-first)
	}
	b.ReportMetric(float64(chunks*b.N)/b.Elapsed().Seconds(), "chunks/s")
	b.ReportMetric(float64(limit)/(1<<20), "heap-MB")
}
