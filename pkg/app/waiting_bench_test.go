package app

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var waitingDocuments = flag.Int("waiting.documents", 5_000, "documents that BenchmarkWaitingMemory lets wait")

// BenchmarkWaitingMemory reports an api process's resident memory in MB while documents of 1.2 kB wait for an ingestor
// that never comes. It reports the memory with 1,000 documents, with all documents, and at its peak.
func BenchmarkWaitingMemory(b *testing.B) {
	const first, batch = 1_000, 500
	sentence := strings.Repeat("The document that waits here is about nothing else. ", 22)
	for b.Loop() {
		// Content for Milvus waits for a separate ingestor.
		p := newProgram(b, "SLUICE_WORKERS=false", "MILVUS_ADDR=127.0.0.1:1")
		p.start()
		var store struct{ ID string }
		p.must(p.post("/datastores", map[string]string{"name": "waiting", "type": "milvus"}, &store))
		accept := func(from, to int) {
			for ; from < to; from += batch {
				docs := texts(fmt.Sprintf("waiting-%d", from), min(batch, to-from))
				for _, d := range docs["documents"].([]map[string]any) {
					d["text"] = d["text"].(string) + sentence
				}
				p.must(p.post("/datastores/upsert/"+store.ID, docs, nil))
			}
		}
		accept(0, first)
		time.Sleep(idleAfter) // memory used for accepting the documents has been released by then
		b.ReportMetric(p.resident(), "MB-first")
		began := time.Now()
		accept(first, *waitingDocuments)
		b.ReportMetric(float64(*waitingDocuments-first)/time.Since(began).Seconds(), "accepted/s")
		b.ReportMetric(p.kept("VmHWM"), "MB-highest")
		time.Sleep(idleAfter)
		b.ReportMetric(p.resident(), "MB-all")
		p.kill()
	}
}
