package transformer

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

// BenchmarkARealModel embeds with the model whose directory SLUICE_TEST_MODEL names: chunks of 128 tokens by the batch, and
// short queries one at a time. SLUICE_TEST_KERNEL picks a slower kernel than the best.
func BenchmarkARealModel(b *testing.B) {
	directory := os.Getenv("SLUICE_TEST_MODEL")
	if directory == "" {
		b.Skip("SLUICE_TEST_MODEL names no model")
	}
	kn := kernels()[0]
	for _, other := range kernels() {
		if other.name == os.Getenv("SLUICE_TEST_KERNEL") {
			kn = other
		}
	}
	chunks := make([]string, 64)
	for i := range chunks {
		chunks[i] = strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d river ", i%10), 63))
	}
	queries := []string{"how do I reset my password", "capital of France", "what is the boiling point of water at sea level",
		"refund policy for damaged goods", "error 0x80070057 when updating"}
	for _, threads := range []int{1, 2} {
		e, err := open(Config{Directory: directory, Threads: threads}, kn)
		if err != nil {
			b.Fatal(err)
		}
		if n := len(e.tokenizer.tokens(chunks[0], e.maxTokens)); n != 128 {
			b.Fatalf("a chunk has %d tokens, want 128", n)
		}
		b.Run(fmt.Sprintf("%s/chunks/threads=%d", kn.name, threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Embed(b.Context(), chunks, embed.Passage); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(chunks))/b.Elapsed().Seconds(), "texts/s")
		})
		b.Run(fmt.Sprintf("%s/queries/threads=%d", kn.name, threads), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := e.Embed(b.Context(), queries[i%len(queries):][:1], embed.Query); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
		})
	}
}
