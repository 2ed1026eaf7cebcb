package vector

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
	"github.com/sluice/sluice/pkg/processors"
)

var limitRows = flag.String("limit.rows", "100000,500000", "numbers of vectors that BenchmarkLimit draws")

// topics returns a source of random vectors that resemble a sentence model's. They cluster around topics and subtopics,
// vary most in the first dimensions, and share a common component. Among 100,000 of them, the tenth nearest to a query
// has a dot product of 0.5 with it; two random ones have 0.05.
func topics(dimensions, n int) drawn {
	rng := rand.New(rand.NewPCG(31, 32))
	spreads := make([]float64, dimensions)
	for i := range spreads {
		spreads[i] = math.Pow(1+float64(i)/20, -0.6)
	}
	spread := func(i int) float64 { return spreads[i] }
	around := func(centroid []float64, width float64) []float64 {
		v := make([]float64, dimensions)
		for i := range v {
			v[i] = width * spread(i) * rng.NormFloat64()
			if centroid != nil {
				v[i] += centroid[i]
			}
		}
		return v
	}
	common := around(nil, 0.35)
	var parts [][]float64
	for range n {
		topic := around(common, 0.8)
		for range 20 {
			parts = append(parts, around(topic, 0.8))
		}
	}
	return drawn{dimensions, func(rng *rand.Rand, v []float64) {
		part := parts[rng.IntN(len(parts))]
		for i := range v {
			v[i] = part[i] + spread(i)*rng.NormFloat64()
		}
	}}
}

// BenchmarkLimit alternates a dense search with reading all vectors from memory once, using the same number of
// goroutines. The time for reading is a lower bound for any scan of all vectors.
func BenchmarkLimit(b *testing.B) {
	for size := range strings.SplitSeq(*limitRows, ",") {
		rows, err := strconv.Atoi(size)
		if err != nil {
			b.Fatal(err)
		}
		source, rng := topics(384, 400), rand.New(rand.NewPCG(33, 34))
		next := func() []float32 { return source.next(rng) }
		s := vectorsOnly(b, 384, rows, next)
		queries := make([][]float32, 50)
		for i := range queries {
			queries[i] = next()
		}
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) { benchLimit(b, s, queries) })
	}
	if *recallVectors != "" {
		rows, queries := readVectors(b, *recallVectors), readVectors(b, *recallQueries)
		i := 0
		s := vectorsOnly(b, *recallLength, len(rows), func() []float32 { i++; return rows[i-1] })
		b.Run("given", func(b *testing.B) { benchLimit(b, s, queries) })
	}
}

func benchLimit(b *testing.B, s *Set, queries [][]float32) {
	r, err := recallOf(b.Context(), s, queries[:min(len(queries), 50)], 10)
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]float32, s.Slots*uint32(s.Dimensions))
	for i := range buffer {
		buffer[i] = float32(i % 7)
	}
	var reading, searching []time.Duration
	var cpu time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		readAll(b, buffer)
		read := time.Now()
		before := processorTime(b)
		if _, err := Search(b.Context(), s, nil, queries[i%len(queries)], 10); err != nil {
			b.Fatal(err)
		}
		cpu += processorTime(b) - before
		reading, searching = append(reading, read.Sub(began)), append(searching, time.Since(read))
	}
	median := func(d []time.Duration) float64 { slices.Sort(d); return d[len(d)/2].Seconds() }
	minimum := func(d []time.Duration) float64 { return slices.Min(d).Seconds() }
	b.ReportMetric(float64(len(buffer))*4/median(reading)/1e9, "GB/s")
	b.ReportMetric(median(searching)*1e3, "ms/search")
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/search")
	b.ReportMetric(median(searching)/median(reading), "of-limit")
	b.ReportMetric(minimum(searching)/minimum(reading), "of-limit-least")
	b.ReportMetric(r.found, "recall")
	b.ReportMetric(100*r.rescored, "%compared")
}

// readAll reads a buffer once with as many goroutines as a scan uses.
func readAll(b *testing.B, buffer []float32) {
	parts := min(processors.Count(), maxScanners)
	var all errgroup.Group
	for part := range parts {
		piece := buffer[len(buffer)*part/parts : len(buffer)*(part+1)/parts]
		all.Go(func() error {
			if quant.Dot(piece, piece) < 0 {
				return fmt.Errorf("a sum of squares is negative")
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
}
