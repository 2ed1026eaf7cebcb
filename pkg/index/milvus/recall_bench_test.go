package milvus

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

var (
	recallRows    = flag.Int("recall.rows", 100_000, "vectors that BenchmarkRecall draws of each kind")
	recallVectors = flag.String("recall.vectors", "", "file of vectors, as 32-bit floats one after the other, that BenchmarkRecall takes beside drawn ones")
	recallQueries = flag.String("recall.queries", "", "file of queries' vectors, as -recall.vectors")
	recallLength  = flag.Int("recall.dimensions", benchDimensions, "of the vectors in these files")
)

// Number of queries for measuring recall.
const recallAsked = 50

// BenchmarkRecall measures a vector search's recall.
func BenchmarkRecall(b *testing.B) {
	drawn := newContent(5)
	kinds := map[string]func() (rows, queries [][]float32){
		"clusters": func() (rows, queries [][]float32) {
			next := func() []float32 { return drawn.vector(drawn.centres[drawn.rng.IntN(len(drawn.centres))]) }
			return draw(*recallRows, next), draw(recallAsked, next)
		},
		"independent": func() (rows, queries [][]float32) {
			next := func() []float32 { return drawn.vector(nil) }
			return draw(*recallRows, next), draw(recallAsked, next)
		},
	}
	if *recallVectors != "" {
		kinds["given"] = func() (rows, queries [][]float32) {
			return readVectors(b, *recallVectors), readVectors(b, *recallQueries)
		}
	}
	for kind, vectors := range kinds {
		rows, queries := vectors()
		for name, addr := range servers {
			b.Run(kind+" on "+name, func(b *testing.B) {
				f := fillVectors(b, addr(b), rows)
				for _, limit := range []int{10, 100, 200} {
					b.Run(fmt.Sprintf("nearest %d", limit), func(b *testing.B) { f.searchNearest(b, queries, limit) })
				}
			})
		}
	}
}

func draw(n int, next func() []float32) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = next()
	}
	return out
}

func readVectors(b *testing.B, path string) [][]float32 {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var out [][]float32
	for record := range slices.Chunk(data, *recallLength*4) {
		v := make([]float32, *recallLength)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(record[4*i:]))
		}
		if v, err = index.Unit(v, *recallLength); err != nil {
			b.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// fillVectors writes rows that contain little besides their vectors.
func fillVectors(b *testing.B, addr string, vectors [][]float32) *filled {
	b.Helper()
	f := &filled{x: openForTest(b, addr, testPrefix(b, addr)), vectors: make(map[string][]float32, len(vectors))}
	f.space = index.Space{DatastoreID: domain.NewID(), Model: "recall", Dimensions: len(vectors[0])}
	rows := make([]index.Row, len(vectors))
	for i, v := range vectors {
		source := fmt.Sprint("ds", i%4)
		rows[i] = index.Row{Key: domain.ChunkKey(source, 1, i), DatasourceID: source, Generation: 1, Ordinal: i, Text: "row", Vector: v}
		f.vectors[rows[i].Key] = v
	}
	slices.SortStableFunc(rows, func(a, b index.Row) int { return a.Ordinal%4 - b.Ordinal%4 })
	f.write(b, slices.Collect(slices.Chunk(rows, (len(rows)+3)/4)), batchRows, 4)
	f.settle(b)
	return f
}

// searchNearest searches by vector and reports the recall.
func (f *filled) searchNearest(b *testing.B, queries [][]float32, limit int) {
	var took []time.Duration
	var found, asked float64
	for b.Loop() {
		q := queries[len(took)%len(queries)]
		start := time.Now()
		r, err := f.x.Search(b.Context(), f.space, index.Query{Vector: q, Limit: limit})
		took = append(took, time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
		if len(took) <= len(queries) {
			found, asked = found+f.recall(r.Hits, q, limit), asked+1
		}
	}
	reportTimes(b, took)
	b.ReportMetric(found/asked, "recall")
}
