package embedded

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// BenchmarkManyWriters writes many small documents to one space concurrently, as ingestion does. A space has only one
// writer at a time, so the processors idle if all documents are prepared beforehand.
func BenchmarkManyWriters(b *testing.B) {
	const documents, perDocument = 1000, 36
	c := newBenchCorpus()
	documentsRows := make([][]index.Row, documents)
	for i := range documentsRows {
		documentsRows[i] = c.rows(i*perDocument, perDocument)
	}
	b.Run("rows", func(b *testing.B) {
		benchWriters(b, documents, perDocument, func(_ int, x *Index) func(int) error {
			return func(i int) error { return x.Write(b.Context(), benchSpace, documentsRows[i]) }
		})
	})
	b.Run("prepared", func(b *testing.B) {
		benchWriters(b, documents, perDocument, func(n int, x *Index) func(int) error {
			batches := make([]*store.Batch, n)
			for i, rows := range documentsRows {
				var err error
				if batches[i], err = x.prepare(b.Context(), benchSpace, rows); err != nil {
					b.Fatal(err)
				}
			}
			return func(i int) error {
				return x.use(b.Context(), benchSpace, true, func(s *store.Space) error { return s.Write(b.Context(), batches[i]) })
			}
		})
	})
}

// benchWriters measures how long concurrent writers take to write the given number of documents. `begin` returns the
// function that writes one document to an index.
func benchWriters(b *testing.B, documents, perDocument int, begin func(documents int, x *Index) (write func(i int) error)) {
	b.Helper()
	const writers = 32
	var wall, cpu time.Duration
	for b.Loop() {
		b.StopTimer()
		x, err := Open(b.TempDir(), Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		write := begin(documents, x)
		b.StartTimer()
		began, used := time.Now(), cpuTime(b)
		var all errgroup.Group
		var taken atomic.Int64
		for range writers {
			all.Go(func() error {
				for {
					i := int(taken.Add(1)) - 1
					if i >= documents {
						return nil
					}
					if err := write(i); err != nil {
						return err
					}
				}
			})
		}
		if err := all.Wait(); err != nil {
			b.Fatal(err)
		}
		wall, cpu = wall+time.Since(began), cpu+cpuTime(b)-used
		b.StopTimer()
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	rows := float64(b.N * documents * perDocument)
	b.ReportMetric(rows/wall.Seconds(), "rows/s")
	b.ReportMetric(float64(cpu.Microseconds())/rows, "cpu-µs/row")
}
