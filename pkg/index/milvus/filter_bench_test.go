package milvus

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/indextest"
)

var filterRows = flag.Int("filter.rows", 200_000, "rows that BenchmarkFilters writes")

// filterDimensions is the number of dimensions of the benchmark's vectors.
const filterDimensions = 256

// BenchmarkFilters checks filtered searches on many rows before measuring them. If at most 1% of the rows pass the
// filter, the hits must equal a full scan's. Otherwise, the hits must pass the filter and have correct scores.
func BenchmarkFilters(b *testing.B) {
	rows := indextest.Selective(*filterRows, filterDimensions)
	for name, addr := range servers {
		b.Run(name, func(b *testing.B) {
			f := &filled{x: openForTest(b, addr(b), testPrefix(b, addr(b)))}
			f.space = index.Space{DatastoreID: domain.NewID(), Model: "filters", Dimensions: filterDimensions}
			rate := f.write(b, slices.Collect(slices.Chunk(rows, len(rows)/4)), batchRows, 4)
			b.Logf("%.0f rows a second are written by four writers", rate)
			f.settle(b)
			server, err := f.x.Server(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			indextest.CheckSelective(b, f.x, f.space, rows, indextest.Options{DenseOnly: !server.LexicalSearch, Approximate: true})
			if b.Failed() {
				return
			}
			vector := newContent(3).vector(nil)[:filterDimensions]
			for _, c := range []struct {
				name   string
				filter map[string]any
			}{{"none", nil}, {"50 %", map[string]any{"parity": 1}}, {"1 %", map[string]any{"hundredth": true}}, {"0.1 %", map[string]any{"team": "rare"}}} {
				for leg, q := range map[string]index.Query{"vector": {Vector: vector}, "words": {Text: "seldom sometimes"}} {
					if leg == "words" && !server.LexicalSearch {
						continue
					}
					b.Run(c.name+" by "+leg, func(b *testing.B) {
						q.Limit, q.Filter = 100, index.Filter{Metadata: c.filter}
						var took []time.Duration
						for b.Loop() {
							start := time.Now()
							if _, err := f.x.Search(b.Context(), f.space, q); err != nil {
								b.Fatal(err)
							}
							took = append(took, time.Since(start))
						}
						reportTimes(b, took)
					})
				}
			}
		})
	}
}
