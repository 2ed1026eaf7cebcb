package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// BenchmarkCommonWords asks for eight of the fifty most common words that are no stop words: every one of them is in a large
// part of all rows.
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
