package app

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkFleetIngest measures how ingestion grows with ingestors when the embedding server is what is waited for: it
// takes 50 ms for every request. Each ingestor works on two documents at once, so one is at most 40 documents a second.
func BenchmarkFleetIngest(b *testing.B) {
	const embedding = 50 * time.Millisecond
	for _, ingestors := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("ingestors=%d", ingestors), func(b *testing.B) {
			models := newModelServer(b)
			models.delay.Store(int64(embedding))
			f := newFleet(b, ingestors, "OPENAI_BASE_URL="+models.URL+"/v1", "SLUICE_EMBED_MODEL=letters", "SLUICE_INGEST_CONCURRENCY=2")
			store := f.api.newDatastore()
			// Making and loading a collection takes seconds, once.
			f.api.must(f.api.post("/api/datastores/upsert/"+store, texts("first", 1), nil))
			f.api.settled(store, time.Minute)
			documents := 100 * ingestors
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				models.gate.Lock() // accepting documents is not what is measured
				for from := 0; from < documents; from += 100 {
					f.api.must(f.api.post("/api/datastores/upsert/"+store, texts(fmt.Sprintf("round-%d-%d", n, from), 100), nil))
				}
				models.gate.Unlock()
				b.StartTimer()
				f.api.quiet(store, 5*time.Minute)
			}
			b.ReportMetric(float64(documents*b.N)/b.Elapsed().Seconds(), "documents/s")
		})
	}
}

// texts is the body of an upsert of n documents of one chunk each.
func texts(prefix string, n int) map[string]any {
	docs := make([]map[string]any, n)
	for i := range docs {
		name := fmt.Sprintf("%s-%d", prefix, i)
		docs[i] = map[string]any{"text": "The document " + name + " is about nothing else.", "name": name, "metadata": map[string]string{"custom_id": name}}
	}
	return map[string]any{"documents": docs}
}

// quiet waits until no datasource of the datastore waits for anything, and asks as little as it can.
func (p *program) quiet(store string, patience time.Duration) {
	p.t.Helper()
	deadline := time.After(patience)
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
				p.t.Fatalf("after %v %s is still %s", patience, page.Data[0].Name, status)
			case <-poll.C:
			}
		}
	}
}
