package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// BenchmarkCommonWords searches for eight of the fifty most common words that are not stop words. Each occurs in a
// large fraction of the rows.
func BenchmarkCommonWords(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		for _, n := range []int{10, 200} {
			b.Run(fmt.Sprintf("best=%d", n), func(b *testing.B) {
				benchSearch(b, x, func() index.Query {
					words := make([]string, 8)
					for i := range words {
						words[i] = word(uint64(len(common)) + c.rng.Uint64N(50))
					}
					return index.Query{Text: strings.Join(words, " "), Limit: n}
				})
			})
		}
	})
}

// BenchmarkColdList computes a common word's list with an empty cache.
func BenchmarkColdList(b *testing.B) {
	eachSize(b, func(b *testing.B, x *Index, c *benchCorpus) {
		for _, n := range []uint64{25, 200, 5000} {
			b.Run(fmt.Sprint("word=", n), func(b *testing.B) {
				err := x.use(b.Context(), benchSpace, false, func(s *store.Space) error {
					return s.Read(b.Context(), func(v store.View) error {
						postings := 0
						for b.Loop() {
							x.caches.Lists.Clear()
							list, err := v.Lexical().TermList(b.Context(), []string{word(n)})
							if err != nil {
								return err
							}
							postings = list.Postings
						}
						b.ReportMetric(float64(postings), "postings")
						b.ReportMetric(float64(len(v.Segments)), "segments")
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*max(1, postings)), "ns/posting")
						return nil
					})
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	})
}
