package embedded

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkRows reads the rows of 400 hits, as many as a search by both legs has.
func BenchmarkRows(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		vector := c.vector()
		err := x.use(b.Context(), benchSpace, false, func(s *space) error {
			return s.read(b.Context(), func(v view) error {
				words, err := v.score(b.Context(), nil, nil)
				if err != nil {
					return err
				}
				defer words.release()
				began := cpuTime(b)
				for b.Loop() {
					slots := make([]uint32, 0, 400)
					for range 400 {
						slots = append(slots, rand.Uint32N(v.slots))
					}
					slices.Sort(slots)
					if _, err := v.hits(b.Context(), slices.Compact(slots), vector, nil, words); err != nil {
						return err
					}
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
