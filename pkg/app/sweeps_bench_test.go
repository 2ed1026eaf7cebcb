package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
	"github.com/sluice/sluice/pkg/index/milvus"
	local "github.com/sluice/sluice/tools/local/engines"
)

// BenchmarkSweeps measures how fast the index deletes replaced documents' rows, with four rows per document.
func BenchmarkSweeps(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	b.Run("embedded", func(b *testing.B) {
		idx, err := embedded.Open(b.TempDir(), embedded.Options{Log: log})
		if err != nil {
			b.Fatal(err)
		}
		defer idx.Close()
		sweepReplaced(b, &engines{embedded: idx}, domain.EngineEmbedded)
	})
	b.Run("milvus", func(b *testing.B) {
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Minute)
		defer cancel()
		server, err := local.StartMilvus(ctx, b.TempDir(), local.MilvusOptions{Temporary: true})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := server.Stop(); err != nil {
				b.Error(err)
			}
		}()
		idx, err := milvus.Open(milvus.Options{Address: server.Addr(), Log: log})
		if err != nil {
			b.Fatal(err)
		}
		defer idx.Close()
		sweepReplaced(b, &engines{remote: []remoteEngine{{name: domain.EngineMilvus, remoteIndex: idx}}}, domain.EngineMilvus)
	})
}

func sweepReplaced(b *testing.B, e *engines, engine domain.Engine) {
	const documents, chunks, dimensions = 256, 4, 8
	ctx := b.Context()
	cat, err := catalog.Open(ctx, catalog.Options{Path: filepath.Join(b.TempDir(), datadir.Catalog), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer cat.Close()
	idx, err := e.index(engine)
	if err != nil {
		b.Fatal(err)
	}
	sweeper := control.Sweeper{Sweeps: cat, Engines: controlledEngines{e}, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	space := index.Space{DatastoreID: domain.NewID(), Model: "test:model/1", Dimensions: dimensions}
	generation := uint64(1)
	for ; b.Loop(); generation++ {
		b.StopTimer()
		var rows []index.Row
		for n := range documents {
			source := fmt.Sprint("document-", n)
			for i := range 2 * chunks {
				g, ordinal, v := generation+uint64(i/chunks), i%chunks, make([]float32, dimensions)
				v[ordinal] = 1
				rows = append(rows, index.Row{
					Key: domain.ChunkKey(source, g, ordinal), DatasourceID: source, Generation: g, Ordinal: ordinal, Text: "a chunk of " + source, Vector: v,
				})
			}
			s := domain.Sweep{DatastoreID: space.DatastoreID, DatasourceID: source, Place: domain.Place{Engine: engine, Model: space.Model}, Below: generation + 1}
			if err := cat.QueueSweep(ctx, s); err != nil {
				b.Fatal(err)
			}
		}
		if err := idx.Write(ctx, space, rows); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := sweeper.Drain(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	var rows int64
	err = idx.Stored(ctx, space, func(s index.Stored) error {
		if s.Generation < generation {
			return fmt.Errorf("generation %d of %s is still there", s.Generation, s.DatasourceID)
		}
		rows += s.Rows
		return nil
	})
	if err != nil || rows != documents*chunks {
		b.Fatalf("%d rows are left: %v", rows, err)
	}
	b.ReportMetric(float64(documents*b.N)/b.Elapsed().Seconds(), "sweeps/s")
}
