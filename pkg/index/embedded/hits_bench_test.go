package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// BenchmarkRows reads the rows for 400 hits, the maximum for a hybrid search.
func BenchmarkRows(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		vector := c.vector()
		err := x.use(b.Context(), benchSpace, false, func(s *store.Space) error {
			return s.Read(b.Context(), func(v store.View) error {
				words, err := v.Lexical().Query(b.Context(), nil)
				if err != nil {
					return err
				}
				began := cpuTime(b)
				for b.Loop() {
					slots := make([]uint32, 0, 400)
					for range 400 {
						slots = append(slots, rand.Uint32N(v.Slots))
					}
					slices.Sort(slots)
					slots = slices.Compact(slots)
					var found index.Result
					found.Allocate(len(slots))
					if err := describe(b.Context(), v, found.Hits, slots, vector, nil, words); err != nil {
						return err
					}
					found.Release()
				}
				b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
				return nil
			})
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}
