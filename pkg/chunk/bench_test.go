package chunk

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// BenchmarkCut splits a manual with 200 sections, each with a heading, paragraphs and a table.
func BenchmarkCut(b *testing.B) {
	const sentence = "The valve of the second pump opens when the pressure falls under 2.5 bar, e.g. after a leak. "
	section := slices.Concat([]domain.Block{
		{Kind: domain.BlockHeading, Level: 2, Text: "Maintenance of the second pump"},
		para(strings.Repeat(sentence, 6)), para(strings.Repeat(sentence, 3)),
	}, tableOf(10))
	doc := domain.Document{Blocks: slices.Repeat(section, 200)}
	size := 0
	for _, block := range doc.Blocks {
		size += len(block.Text)
	}
	c := New(Options{})
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := c.Chunks(&doc); err != nil {
			b.Fatal(err)
		}
	}
}
