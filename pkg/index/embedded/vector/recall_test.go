package vector

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// Minimum fraction of the truly nearest rows that a dense search must find.
const minRecall = 0.998

// drawn is a source of random rows and queries.
type drawn struct {
	dimensions int
	draw       func(rng *rand.Rand, v []float64)
}

// clusters generates vectors around n random centres. `spread` is the vectors' distance from their centre, relative to
// the distance between the centres.
func clusters(dimensions, n int, spread float64) drawn {
	rng := rand.New(rand.NewPCG(uint64(dimensions), uint64(n)))
	centres := make([][]float64, n)
	for i := range centres {
		centres[i] = make([]float64, dimensions)
		for d := range centres[i] {
			centres[i][d] = rng.NormFloat64()
		}
	}
	return drawn{dimensions, func(rng *rand.Rand, v []float64) {
		centroid := centres[rng.IntN(n)]
		for i := range v {
			v[i] = centroid[i] + spread*rng.NormFloat64()
		}
	}}
}

// gaussian generates vectors with independent components, each with its own spread and mean.
func gaussian(dimensions int, spread, mean func(i int) float64) drawn {
	return drawn{dimensions, func(rng *rand.Rand, v []float64) {
		for i := range v {
			v[i] = mean(i) + spread(i)*rng.NormFloat64()
		}
	}}
}

func constant(x float64) func(int) float64 { return func(int) float64 { return x } }

// drawings lists sources of model-like vectors and of vectors that no model should ever produce.
var drawings = map[string]drawn{
	"independent":                       gaussian(128, constant(1), constant(0)),
	"clusters":                          clusters(128, 200, 1),
	"tight clusters":                    clusters(128, 200, 0.05),
	"one cluster far from the origin":   gaussian(128, constant(1), constant(5)),
	"nearly constant":                   gaussian(128, constant(1e-3), constant(1)),
	"duplicates":                        clusters(128, 300, 0),
	"few dimensions":                    gaussian(16, constant(1), constant(0)),
	"very few dimensions":               gaussian(3, constant(1), constant(0)),
	"dimensions that count ever less":   gaussian(128, func(i int) float64 { return 1 / float64(1+i) }, constant(0)),
	"a dimension that outweighs others": gaussian(128, func(i int) float64 { return max(1, float64(8-8*i)) }, func(i int) float64 { return max(0, float64(20-20*i)) }),
	"mostly zeros": {128, func(rng *rand.Rand, v []float64) {
		clear(v)
		for range 12 {
			v[int(float64(len(v))*math.Pow(rng.Float64(), 2))] += 1 + rng.Float64()
		}
	}},
}

// next returns a random vector of unit length.
func (d drawn) next(rng *rand.Rand) []float32 {
	exact := make([]float64, d.dimensions)
	d.draw(rng, exact)
	var sum float64
	for _, x := range exact {
		sum += x * x
	}
	out := make([]float32, d.dimensions)
	for i, x := range exact {
		out[i] = float32(x / math.Sqrt(sum))
	}
	return out
}

// vectorsOnly returns a snapshot with n rows that have only vectors and codes.
func vectorsOnly(t testing.TB, dimensions, n int, next func() []float32) *Set {
	t.Helper()
	_, snap := spaceOfVectors(t, dimensions, n, next)
	return snap
}

// spaceOfVectors is like vectorsOnly, but also returns the files.
func spaceOfVectors(t testing.TB, dimensions, n int, next func() []float32) (*Files, *Set) {
	t.Helper()
	s := &Files{Dir: t.TempDir()}
	file, err := slotfile.Create(filepath.Join(s.Dir, FileName), slotfile.Records(dimensions*4, 4))
	if err != nil {
		t.Fatal(err)
	}
	s.Full = file
	t.Cleanup(func() { _ = s.Close() })
	live := bitmap.Bitmap{}.Edit()
	for from := 0; from < n; from += slotfile.ExtentSlots {
		var slots []uint32
		var payloads [][]byte
		for i := from; i < min(from+slotfile.ExtentSlots, n); i++ {
			slots = append(slots, uint32(i))
			payloads = append(payloads, Bytes(next()))
			live.Set(uint32(i))
		}
		if err := errors.Join(file.Grow(slots[len(slots)-1]+1), file.Write(slots, payloads)); err != nil {
			t.Fatal(err)
		}
	}
	snap := &Set{Dimensions: dimensions, Slots: uint32(n), Rows: int64(n), Live: live.Done(), Full: file.View, Thresholds: Thresholds{Codes: 1}}
	if err := s.RenewCodes(t.Context(), snap); err != nil {
		t.Fatal(err)
	}
	snap.Thresholds = Thresholds{}
	return s, snap
}

// recall holds the fraction of the truly nearest rows that a staged scan finds, and the fraction of all rows that it
// compares in full precision. Rows that tie with the last of the truly nearest also count as found.
type recall struct{ found, rescored float64 }

func recallOf(ctx context.Context, s *Set, queries [][]float32, limit int) (recall, error) {
	var r recall
	for _, q := range queries {
		exact, err := ScanExact(ctx, s, nil, q, limit, int(s.Rows))
		if err != nil {
			return r, err
		}
		want := exact.Best(limit)
		got, err := ScanCodes(ctx, s, nil, q, limit, int(s.Rows))
		if err != nil {
			return r, err
		}
		last := want[len(want)-1].Score
		near := len(slices.DeleteFunc(slices.Clone(got.Best), func(h topk.Scored) bool { return h.Score < last }))
		r.found += float64(near) / float64(len(want)) / float64(len(queries))
		r.rescored += float64(got.rescored) / float64(s.Rows) / float64(len(queries))
	}
	return r, nil
}

func TestAStagedScanFindsTheNearestRows(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	const rows = 12_000
	for name, source := range drawings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(11, 12))
			s := vectorsOnly(t, source.dimensions, rows, func() []float32 { return source.next(rng) })
			queries := make([][]float32, 20)
			for i := range queries {
				queries[i] = source.next(rng)
			}
			for _, limit := range []int{10, 100} {
				r, err := recallOf(t.Context(), s, queries, limit)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("recall of the nearest %d: %.4f, %.1f %% of the rows compared in full", limit, r.found, 100*r.rescored)
				if r.found < minRecall {
					t.Errorf("recall of the nearest %d is %.4f, want at least %.3f", limit, r.found, minRecall)
				}
			}
		})
	}
}

var (
	recallRows    = flag.Int("recall.rows", 100_000, "vectors that BenchmarkRecall draws of each kind")
	recallVectors = flag.String("recall.vectors", "", "file of vectors, as 32-bit floats one after the other, that BenchmarkRecall takes beside drawn ones")
	recallQueries = flag.String("recall.queries", "", "file of queries' vectors, as -recall.vectors")
	recallLength  = flag.Int("recall.dimensions", 384, "of the vectors in these files")
)

// BenchmarkRecall measures the recall of searches, and compares their time with that of exact scans.
func BenchmarkRecall(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(drawings)) {
		b.Run(name, func(b *testing.B) {
			source, rng := drawings[name], rand.New(rand.NewPCG(21, 22))
			next := func() []float32 { return source.next(rng) }
			s := vectorsOnly(b, source.dimensions, *recallRows, next)
			queries := make([][]float32, 50)
			for i := range queries {
				queries[i] = next()
			}
			benchRecall(b, s, queries)
		})
	}
	if *recallVectors == "" {
		return
	}
	b.Run("given", func(b *testing.B) {
		rows, queries := readVectors(b, *recallVectors), readVectors(b, *recallQueries)
		i := 0
		s := vectorsOnly(b, *recallLength, len(rows), func() []float32 { i++; return rows[i-1] })
		benchRecall(b, s, queries)
	})
}

func benchRecall(b *testing.B, s *Set, queries [][]float32) {
	for _, limit := range []int{10, 100, 200} {
		r, err := recallOf(b.Context(), s, queries, limit)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("nearest %d", limit), func(b *testing.B) {
			i, began := 0, processorTime(b)
			for b.Loop() {
				if _, err := ScanCodes(b.Context(), s, nil, queries[i%len(queries)], limit, int(s.Rows)); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(r.found, "recall")
			b.ReportMetric(100*r.rescored, "%rescored")
		})
	}
	b.Run("exact", func(b *testing.B) {
		i, began := 0, processorTime(b)
		for b.Loop() {
			if _, err := ScanExact(b.Context(), s, nil, queries[i%len(queries)], 100, int(s.Rows)); err != nil {
				b.Fatal(err)
			}
			i++
		}
		b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
	})
}

func readVectors(b *testing.B, path string) [][]float32 {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var out [][]float32
	for record := range slices.Chunk(data, *recallLength*4) {
		v, err := index.Unit(Floats(bytes.Clone(record)), *recallLength)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func TestAScanHasAThresholdOnceThereAreEnoughRows(t *testing.T) {
	t.Parallel()
	source, rng := topics(64, 20), rand.New(rand.NewPCG(71, 72))
	_, snap := spaceOfVectors(t, source.dimensions, 200, func() []float32 { return source.next(rng) })
	query := source.next(rng)
	const limit = 10
	var c rescorer
	c.begin(snap, quant.NewCoder(snap.Centroid).Prepare(query), limit)
	var slots []uint32
	for slot := range uint32(limit) {
		slots = append(slots, slot)
	}
	if err := c.compare(slots[:limit-1]); err != nil || !math.IsInf(float64(c.threshold), -1) {
		t.Errorf("of %d rows the floor is %v, %v", limit-1, c.threshold, err)
	}
	err := c.compare(slots[limit-1:])
	minimum := math.Inf(1)
	for _, slot := range slots {
		minimum = min(minimum, float64(quant.Dot(query, Floats(snap.Full.Record(slot)))))
	}
	if err != nil || float64(c.threshold) > minimum || float64(c.threshold) < minimum-0.05 {
		t.Errorf("of %d rows, the furthest with %v, the floor is %v, %v", limit, minimum, c.threshold, err)
	}
}
