package milvus

import (
	"cmp"
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// The benchmarks need a server of their own. Set TEST_MILVUS_ADDR or TEST_MILVUS_LITE_ADDR, or let the tests start one:
//
//	go test -run '^$' -bench . -benchtime 200x ./pkg/index/milvus -bench.rows 20000
var benchRows = flag.Int("bench.rows", 20_000, "rows that the benchmarks write")

const benchDimensions = 384

// content generates realistic rows. Their words follow Zipf's law, and their vectors form clusters.
type content struct {
	rng     *rand.Rand
	words   *rand.Zipf // ranks of words
	centres [][]float32
}

func newContent(seed uint64) *content {
	rng := rand.New(rand.NewPCG(seed, 1))
	c := &content{rng: rng, words: rand.NewZipf(rng, 1.1, 4, 80_000)}
	for range 200 {
		c.centres = append(c.centres, c.vector(nil))
	}
	return c
}

// vector returns a random unit vector near `centre`, or one in a random direction if `centre` is nil.
func (c *content) vector(centre []float32) []float32 {
	v := make([]float32, benchDimensions)
	var sum float64
	for i := range v {
		v[i] = float32(c.rng.NormFloat64()) / float32(math.Sqrt(benchDimensions))
		if centre != nil {
			v[i] += 1.2 * centre[i]
		}
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// The most frequent words, which are enough to identify the text as English.
var frequent = strings.Fields("the of and to in is for that with was on by as at from it be are this which")

func (c *content) text(words int) string {
	var b strings.Builder
	for range words {
		n := c.words.Uint64()
		if n < uint64(len(frequent)) {
			b.WriteString(frequent[n] + " ")
			continue
		}
		for n += 400; n > 0; n /= 20 {
			b.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
			b.WriteByte("aeiou"[n%5])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// rows returns n rows of a datasource.
func (c *content) rows(datasource string, n int) []index.Row {
	out := make([]index.Row, n)
	for i := range out {
		out[i] = index.Row{
			Key: domain.ChunkKey(datasource, 1, i), DatasourceID: datasource, Generation: 1, Ordinal: i,
			Text: c.text(95), Context: c.text(8), Vector: c.vector(c.centres[c.rng.IntN(len(c.centres))]),
			Metadata: map[string]any{"tenth": i % 10},
		}
	}
	return out
}

// Number of rows per datasource, and number of rows per call.
const (
	perDatasource = 200
	perWrite      = 64
)

// filled is an index that all benchmarks on a server share. It is filled once.
type filled struct {
	x       *Index
	space   index.Space
	content *content
	vectors map[string][]float32
}

func fill(b *testing.B, addr string) *filled {
	b.Helper()
	f := &filled{x: openForTest(b, addr, testPrefix(b, addr)), content: newContent(1), vectors: make(map[string][]float32)}
	f.space = index.Space{DatastoreID: domain.NewID(), Model: "bench", Dimensions: benchDimensions}
	var all [][]index.Row
	for n := 0; n < *benchRows; n += perDatasource {
		rows := f.content.rows(domain.NewID(), min(perDatasource, *benchRows-n))
		for _, r := range rows {
			f.vectors[r.Key] = r.Vector
		}
		all = append(all, rows)
	}
	first := f.content.rows(domain.NewID(), 1) // creates the collection
	f.vectors[first[0].Key] = first[0].Vector
	f.write(b, [][]index.Row{first}, perWrite, 1)
	half := len(all) / 2
	one, four := f.write(b, all[:half], perWrite, 1), f.write(b, all[half:], perWrite, 4)
	b.Logf("%.0f rows a second are written by one writer, %.0f by four", one, four)
	f.settle(b)
	return f
}

// write writes datasources, atOnce of them at a time, with perCall rows per call. It returns the number of rows written
// per second.
func (f *filled) write(b *testing.B, all [][]index.Row, perCall, atOnce int) float64 {
	b.Helper()
	var n int
	start := time.Now()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, rows := range all {
		n += len(rows)
		group.Go(func() error {
			for part := range slices.Chunk(rows, perCall) {
				if err := f.x.Write(context.Background(), f.space, part); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	return float64(n) / time.Since(start).Seconds()
}

// settle makes the server build its indexes right away.
func (f *filled) settle(b *testing.B) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	srv, err := f.x.server(ctx)
	if err != nil {
		b.Fatal(err)
	}
	name := collectionName(f.x.opts.Prefix, f.space)
	if err := srv.Flush(ctx, name, false); err != nil && !unimplemented(err) {
		b.Fatal(err)
	}
	for range time.NewTicker(time.Second).C {
		total, indexed, err := srv.GetIndexBuildProgress(ctx, name, fieldDense)
		if err != nil || total == indexed {
			return // servers without progress reports build no indexes
		}
	}
}

// onEachServer runs a benchmark on a filled index for each kind of server.
func onEachServer(b *testing.B, run func(b *testing.B, f *filled)) {
	for name, addr := range servers {
		b.Run(name, func(b *testing.B) { run(b, fill(b, addr(b))) })
	}
}

// BenchmarkIndex writes rows and then searches them like retrieval, with 200 candidates per leg.
func BenchmarkIndex(b *testing.B) {
	onEachServer(b, func(b *testing.B, f *filled) {
		b.Run("both legs", func(b *testing.B) { f.search(b, true, true) })
		b.Run("by vector", func(b *testing.B) { f.search(b, false, true) })
		b.Run("by words", func(b *testing.B) { f.search(b, true, false) })
		b.Run("words not yet counted", func(b *testing.B) {
			f.search(b, true, true, func() { f.x.frequencies.changed(collectionName(f.x.opts.Prefix, f.space), f.space.DatastoreID) })
		})
	})
}

// search benchmarks queries. It calls the `before` functions before every query.
func (f *filled) search(b *testing.B, words, vector bool, before ...func()) {
	queries := newContent(2)
	var took []time.Duration
	var recall10, recall200, hits float64
	n := 0.0
	for b.Loop() {
		q := index.Query{Limit: 200}
		if words {
			q.Text = queries.text(10)
		}
		if vector {
			q.Vector = queries.vector(f.content.centres[queries.rng.IntN(len(f.content.centres))])
		}
		for _, do := range before {
			do()
		}
		start := time.Now()
		r, err := f.x.Search(b.Context(), f.space, q)
		took = append(took, time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
		hits += float64(len(r.Hits))
		if vector && n < 50 {
			recall10 += f.recall(r.Hits, q.Vector, 10)
			recall200 += f.recall(r.Hits, q.Vector, 200)
		}
		n++
	}
	reportTimes(b, took)
	b.ReportMetric(hits/n, "hits")
	if vector {
		b.ReportMetric(recall10/min(n, 50), "recall@10")
		b.ReportMetric(recall200/min(n, 50), "recall@200")
	}
}

// reportTimes reports percentiles of search durations.
func reportTimes(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(0, "ns/op") // meaningless: includes the checks
	b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100])/1e6, "p95-ms")
}

// recall returns the fraction of the k nearest rows found among the hits.
func (f *filled) recall(hits []index.Hit, q []float32, k int) float64 {
	type scored struct {
		key   string
		score float64
	}
	all := make([]scored, 0, len(f.vectors))
	for key, v := range f.vectors {
		all = append(all, scored{key, dot(q, v)})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	found := make(map[string]bool)
	for _, h := range hits {
		found[h.Key] = true
	}
	n := 0
	for _, s := range all[:min(k, len(all))] {
		if found[s.key] {
			n++
		}
	}
	return float64(n) / float64(min(k, len(all)))
}
