package embedded

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

const benchDimensions = 256

var benchSizes = []int{10_000, 100_000}

// benchCorpus generates rows that resemble 128-token chunks. Their words follow Zipf's law, and their vectors form
// clusters.
type benchCorpus struct {
	rng     *rand.Rand
	zipf    *rand.Zipf
	centres [][]float32
}

func newBenchCorpus() *benchCorpus {
	rng := rand.New(rand.NewPCG(1, 2))
	c := &benchCorpus{rng: rng, zipf: rand.NewZipf(rng, 1.1, 8, 60_000)}
	for range 200 {
		c.centres = append(c.centres, c.gauss(nil, 1))
	}
	return c
}

// gauss returns a random unit vector near `centre`, or one in a random direction if `centre` is nil.
func (c *benchCorpus) gauss(centre []float32, spread float64) []float32 {
	v := make([]float32, benchDimensions)
	var sum float64
	for i := range v {
		v[i] = float32(c.rng.NormFloat64() * spread)
		if centre != nil {
			v[i] += centre[i] * float32(math.Sqrt(benchDimensions))
		}
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (c *benchCorpus) vector() []float32 { return c.gauss(c.centres[c.rng.IntN(len(c.centres))], 1) }

// The most common words, which are enough to identify the text as English.
var common = strings.Fields("the of and to in is for that with was on by as at from it be are this which")

// word returns the n-th most common word.
func word(n uint64) string {
	if n < uint64(len(common)) {
		return common[n]
	}
	var b strings.Builder
	for n += 30; n > 0; n /= 20 {
		b.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
		b.WriteByte("aeiou"[n%5])
	}
	return b.String()
}

func (c *benchCorpus) text(words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(word(c.zipf.Uint64()))
		b.WriteByte(' ')
	}
	return b.String()
}

// query returns six words. The first one is in every corpus, because a query made up of function words and unknown
// words finds nothing.
func (c *benchCorpus) query() string {
	return word(uint64(len(common))+c.zipf.Uint64()%1000) + " " + c.text(5)
}

func (c *benchCorpus) rows(from, n int) []index.Row {
	rows := make([]index.Row, n)
	for i := range rows {
		id := from + i
		ds := fmt.Sprintf("ds-%d", id/100)
		rows[i] = index.Row{
			Key: domain.ChunkKey(ds, 1, id), DatasourceID: ds, Generation: 1, Ordinal: id, Text: c.text(100),
			Metadata: map[string]any{"source": ds}, Vector: c.vector(),
		}
	}
	return rows
}

var benchSpace = index.Space{DatastoreID: "bench", Model: "bench", Dimensions: benchDimensions}

// benchIndex returns an index with n rows. The first call fills it; later benchmarks in the same run reopen it.
func benchIndex(b *testing.B, n int) *Index {
	b.Helper()
	dir := filepath.Join(benchDir, fmt.Sprint(n))
	_, err := os.Stat(dir)
	x, openErr := Open(dir, Options{Log: slog.New(slog.DiscardHandler)})
	if openErr != nil {
		b.Fatal(openErr)
	}
	b.Cleanup(func() { _ = x.Close() })
	if err == nil {
		return x
	}
	c := newBenchCorpus()
	for from := 0; from < n; from += 500 {
		if err := x.Write(b.Context(), benchSpace, c.rows(from, 500)); err != nil {
			b.Fatal(err)
		}
	}
	settle(b, x)
	return x
}

// settle runs an idle space's merges and any IVF build that is due.
func settle(b *testing.B, x *Index) {
	b.Helper()
	if err := x.settle(b.Context(), benchSpace); err != nil {
		b.Fatal(err)
	}
	catchUp(b, x)
}

// catchUp runs the merges that are due between writes, and any IVF build that is due.
func catchUp(b *testing.B, x *Index) {
	b.Helper()
	if err := x.mergeAll(b.Context(), benchSpace); err != nil {
		b.Fatal(err)
	}
	if err := x.use(b.Context(), benchSpace, false, func(s *store.Space) error { return s.MaintainIVF(b.Context()) }); err != nil {
		b.Fatal(err)
	}
}

func eachSize(b *testing.B, f func(b *testing.B, x *Index, c *benchCorpus)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) { f(b, benchIndex(b, n), newBenchCorpus()) })
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{64, 500} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			x, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = x.Close() })
			c := newBenchCorpus()
			from := 0
			var cpu time.Duration
			for b.Loop() {
				b.StopTimer()
				rows := c.rows(from, size)
				from += size
				b.StartTimer()
				began := cpuTime(b)
				if err := x.Write(b.Context(), benchSpace, rows); err != nil {
					b.Fatal(err)
				}
				cpu += cpuTime(b) - began
			}
			b.ReportMetric(float64(from)/cpu.Seconds(), "rows/cpu-s")
		})
	}
}

func benchSearch(b *testing.B, x *Index, query func() index.Query) {
	b.Helper()
	began := cpuTime(b)
	defer func() { b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op") }()
	for b.Loop() {
		r, err := x.Search(b.Context(), benchSpace, query())
		if err != nil {
			b.Fatal(err)
		}
		if len(r.Hits) == 0 {
			b.Fatal("nothing found")
		}
	}
}

func BenchmarkDense(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		benchSearch(b, x, func() index.Query { return index.Query{Vector: c.vector(), Limit: 10} })
	})
}

func BenchmarkLexical(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		benchSearch(b, x, func() index.Query { return index.Query{Text: c.query(), Limit: 10} })
	})
}

func BenchmarkHybrid200(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		benchSearch(b, x, func() index.Query { return index.Query{Text: c.text(6), Vector: c.vector(), Limit: 200} })
	})
}

func BenchmarkFilteredToOneDatasource(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		benchSearch(b, x, func() index.Query {
			return index.Query{Vector: c.vector(), Limit: 10, Filter: index.Filter{DatasourceIDs: []string{"ds-3"}}}
		})
	})
}

func BenchmarkOpen(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, _ *benchCorpus) {
		dir := x.dir
		_ = x.Close()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for b.Loop() {
			x, err := Open(dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := x.Rows(b.Context(), benchSpace, "ds-1", 1, 0, 1); err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			_ = x.Close()
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1024, "KiB-heap-open")
	})
}

// cpuTime returns the process's CPU time, which is more reliable than wall time on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkIsLost(b *testing.B) {
	x := mustOpen(b, b.TempDir(), Options{})
	if err := x.Write(b.Context(), crashSpace, []index.Row{crashRow("a", 1, 1)}); err != nil {
		b.Fatal(err)
	}
	err := x.use(b.Context(), crashSpace, false, func(s *store.Space) error {
		for b.Loop() {
			if s.IsLost() {
				return store.ErrLost
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
