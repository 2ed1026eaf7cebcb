package embedded

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
	"github.com/sluice/sluice/pkg/index/indextest"
)

var filterRows = flag.Int("filter.rows", 200_000, "rows that BenchmarkFilters writes")

// BenchmarkFilters compares the cost of a filtered search with that of an unfiltered search and of a full vector scan.
// It also checks that the filtered search and the scan return the same results.
func BenchmarkFilters(b *testing.B) {
	x := mustOpen(b, b.TempDir(), Options{})
	rows := indextest.Selective(*filterRows, benchDimensions)
	for batch := range slices.Chunk(rows, 1000) {
		if err := x.Write(b.Context(), benchSpace, batch); err != nil {
			b.Fatal(err)
		}
	}
	settle(b, x)
	indextest.CheckSelective(b, x, benchSpace, rows, indextest.Options{})
	if b.Failed() {
		return
	}
	const words = "seldom sometimes"
	query := newBenchCorpus().vector()
	condition := func(text string) *filter.Filter {
		f, faults := filter.ParseJSON([]byte(text), "filters")
		if len(faults) > 0 {
			b.Fatal(faults)
		}
		return f
	}
	for _, c := range []struct {
		name   string
		filter map[string]any
		where  *filter.Filter
	}{
		{"none", nil, nil}, {"99 %", map[string]any{"hundredth": false}, nil}, {"50 %", map[string]any{"parity": 1}, nil}, {"1 %", map[string]any{"hundredth": true}, nil},
		{"0.1 %", map[string]any{"team": "rare"}, nil}, {"one row", map[string]any{"number": 4321}, nil},
		{"1 % by eq", nil, condition(`{"type":"eq","key":"hundredth","value":true}`)},
		{"1 % by lt", nil, condition(fmt.Sprintf(`{"type":"lt","key":"number","value":%d}`, *filterRows/100))},
		{"1 % by not", nil, condition(`{"type":"not","filter":{"type":"eq","key":"hundredth","value":false}}`)},
	} {
		for leg, q := range map[string]index.Query{"vector": {Vector: query}, "words": {Text: words}, "both": {Vector: query, Text: words}} {
			b.Run(c.name+" by "+leg, func(b *testing.B) {
				q.Limit, q.Filter = 100, index.Filter{Metadata: c.filter, Where: c.where}
				benchQuery(b, x, q)
			})
		}
	}
	b.Run("full scan of the vectors", func(b *testing.B) {
		err := x.use(b.Context(), benchSpace, false, func(s *store.Space) error {
			return s.Read(b.Context(), func(v store.View) error {
				began := cpuTime(b)
				defer func() { b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op") }()
				for b.Loop() {
					if _, err := vector.ScanExact(b.Context(), &v.Set, nil, query, 100, int(v.Rows)); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}

func benchQuery(b *testing.B, x *Index, q index.Query) {
	b.Helper()
	began := cpuTime(b)
	for b.Loop() {
		if _, err := x.Search(b.Context(), benchSpace, q); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
}
