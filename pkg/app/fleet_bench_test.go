package app

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkFleetIngest measures how the ingestion rate grows with the number of ingestors. The bottleneck is the
// embedding server, which takes 50 ms per request. Each ingestor processes one document at a time, so that even with
// four ingestors the engines get enough CPU time.
func BenchmarkFleetIngest(b *testing.B) {
	const embedding = 50 * time.Millisecond
	for _, ingestors := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("ingestors=%d", ingestors), func(b *testing.B) {
			models := newModelServer(b)
			models.delay.Store(int64(embedding))
			f := newFleet(b, ingestors, "OPENAI_BASE_URL="+models.URL+"/v1", "SLUICE_EMBED_MODEL=letters", "SLUICE_INGEST_CONCURRENCY=1")
			store := f.api.newDatastore()
			// Create and load the collection first. This takes seconds but happens only once.
			f.api.must(f.api.post("/api/datastores/upsert/"+store, texts("first", 1), nil))
			f.api.settled(store, time.Minute)
			documents := 100 * ingestors
			api, workers := f.api.cpu(), cpuOf(f.ingestors)
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				models.gate.Lock() // exclude the time for accepting documents
				for from := 0; from < documents; from += 100 {
					f.api.must(f.api.post("/api/datastores/upsert/"+store, texts(fmt.Sprintf("round-%d-%d", n, from), 100), nil))
				}
				models.gate.Unlock()
				b.StartTimer()
				f.api.quiet(store, 5*time.Minute)
			}
			done := float64(documents * b.N)
			b.ReportMetric(done/b.Elapsed().Seconds(), "documents/s")
			b.ReportMetric(1000*(f.api.cpu()-api)/done, "api-cpu-ms/document")
			b.ReportMetric(1000*(cpuOf(f.ingestors)-workers)/done, "ingestor-cpu-ms/document")
		})
	}
}

// texts returns an upsert body with n documents of one chunk each.
func texts(prefix string, n int) map[string]any {
	docs := make([]map[string]any, n)
	for i := range docs {
		name := fmt.Sprintf("%s-%d", prefix, i)
		docs[i] = map[string]any{"text": "The document " + name + " is about nothing else.", "name": name, "metadata": map[string]string{"custom_id": name}}
	}
	return map[string]any{"documents": docs}
}

// quiet waits until no datasource is waiting or being processed, polling as rarely as possible.
func (p *program) quiet(store string, timeout time.Duration) {
	p.t.Helper()
	deadline := time.After(timeout)
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for _, status := range []string{"unsynched", "pending", "running"} {
		for {
			var page struct{ Data []source }
			p.must(p.get("/datasources?limit=1&datastoreId="+store+"&status="+status, &page))
			if len(page.Data) == 0 {
				break
			}
			select {
			case <-deadline:
				p.t.Fatalf("after %v %s is still %s", timeout, page.Data[0].Name, status)
			case <-poll.C:
			}
		}
	}
}

// BenchmarkFleetQuery measures querying 6,000 chunks in Milvus, with one client and with eight.
func BenchmarkFleetQuery(b *testing.B) {
	f := newFleet(b, 1)
	store := f.api.newDatastore()
	b.Logf("%d chunks", f.api.fill(store, 500))
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			before := f.api.cpu()
			var asked atomic.Int64
			var asking sync.WaitGroup
			for range clients {
				asking.Go(func() {
					for n := asked.Add(1); n <= int64(b.N); n = asked.Add(1) {
						f.api.query(store, fmt.Sprintf("Which section has the word numbat%04dx%d?", n*7%500, n%10), 5)
					}
				})
			}
			asking.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
			b.ReportMetric(1000*(f.api.cpu()-before)/float64(b.N), "api-cpu-ms/query")
		})
	}
}

// cpu returns the process's CPU time in seconds.
func (p *program) cpu() float64 {
	p.t.Helper()
	for line := range strings.Lines(p.body("/metrics")) {
		if value, ok := strings.CutPrefix(line, "process_cpu_seconds_total "); ok {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return seconds
		}
	}
	p.t.Fatal("the process does not tell its processor time")
	return 0
}

func cpuOf(all []*program) (sum float64) {
	for _, p := range all {
		sum += p.cpu()
	}
	return sum
}
