package embedded

import (
	"flag"
	"log/slog"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

var (
	growthRows = flag.Int("growth.rows", 1_000_000, "rows that BenchmarkGrowth writes")
	growthIVF  = flag.Int("growth.cells", 0, "rows from which the space of BenchmarkGrowth has cells, if not the usual number")
)

// BenchmarkGrowth writes many rows and reports the cost of the first and of the last rows, including merges. It then
// reopens the index and times the first search by words and the first search by vector.
func BenchmarkGrowth(b *testing.B) {
	const batch, stretch = 500, 10_000
	dir := b.TempDir()
	open := func() *Index {
		x, err := Open(dir, Options{Log: slog.New(slog.DiscardHandler), sizes: vector.Thresholds{IVF: *growthIVF}})
		if err != nil {
			b.Fatal(err)
		}
		return x
	}
	x, c := open(), newBenchCorpus()
	var costs []time.Duration // one per stretch
	for from := 0; from < *growthRows; from += stretch {
		cost := time.Duration(0)
		for at := from; at < from+stretch; at += batch {
			rows := c.rows(at, batch)
			began := cpuTime(b)
			if err := x.Write(b.Context(), benchSpace, rows); err != nil {
				b.Fatal(err)
			}
			cost += cpuTime(b) - began
		}
		began := cpuTime(b)
		catchUp(b, x)
		costs = append(costs, cost+cpuTime(b)-began)
	}
	if err := x.use(b.Context(), benchSpace, false, func(s *store.Space) error {
		b.Logf("cells in use: %t", s.Snapshot().IVF.Usable())
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
	mean := func(costs []time.Duration) float64 {
		sum := time.Duration(0)
		for _, d := range costs {
			sum += d
		}
		return float64(sum.Microseconds()) / float64(len(costs)*stretch)
	}
	b.ReportMetric(mean(costs[:min(len(costs), 10)]), "cpu-µs/row-at-first")
	b.ReportMetric(mean(costs[max(0, len(costs)-10):]), "cpu-µs/row-at-last")
	q := index.Query{Text: c.text(6), Vector: c.vector(), Limit: 10}
	for name, q := range map[string]index.Query{"ms-open-words": {Text: q.Text, Limit: 10}, "ms-open-both": q} {
		began := time.Now()
		x := open()
		if _, err := x.Search(b.Context(), benchSpace, q); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), name)
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("processor time of each %d rows: %v", stretch, costs)
}
