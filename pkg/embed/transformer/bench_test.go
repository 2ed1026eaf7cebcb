package transformer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/embed"
)

// BenchmarkARealModel embeds batches of 128-token chunks, and single short queries, with the model in the
// SLUICE_TEST_MODEL directory. It uses the fastest kernel unless SLUICE_TEST_KERNEL names another.
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
	chunks, queries := benchChunks(), benchQueries
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

var benchQueries = []string{"how do I reset my password", "capital of France", "what is the boiling point of water at sea level",
	"refund policy for damaged goods", "error 0x80070057 when updating"}

// benchChunks returns texts of 128 tokens.
func benchChunks() []string {
	chunks := make([]string, 64)
	for i := range chunks {
		chunks[i] = strings.TrimSpace(strings.Repeat(fmt.Sprintf("%d river ", i%10), 63))
	}
	return chunks
}

// BenchmarkQueriesDuringAnImport embeds queries while passages use all cores, with and without Priority.
func BenchmarkQueriesDuringAnImport(b *testing.B) {
	directory := os.Getenv("SLUICE_TEST_MODEL")
	if directory == "" {
		b.Skip("SLUICE_TEST_MODEL names no model")
	}
	for _, maxYield := range []time.Duration{0, maxYieldTime} {
		e, err := Open(Config{Directory: directory, Priority: NewPriority()})
		if err != nil {
			b.Fatal(err)
		}
		e.priority.maxYield = maxYield
		b.Run(fmt.Sprintf("patience=%v", maxYield), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			began := make(chan struct{})
			var imports sync.WaitGroup
			var done atomic.Int64
			imports.Go(func() {
				for ctx.Err() == nil {
					if _, err := e.Embed(ctx, benchChunks()[:6], embed.Passage); err == nil && done.Add(1) == 1 {
						close(began)
					}
				}
			})
			<-began
			before := done.Load()
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := e.Embed(ctx, benchQueries[len(times)%len(benchQueries):][:1], embed.Query); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			passages := float64(6*(done.Load()-before)) / b.Elapsed().Seconds()
			cancel()
			imports.Wait()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(passages, "passages/s")
		})
	}
}
