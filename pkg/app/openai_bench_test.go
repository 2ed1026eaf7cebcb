package app

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstTokenOfResponses alternates between POST /v1/responses and POST /agents/{id}/query and compares the
// times to the first token. The chat server responds at once, so any difference is the endpoint's overhead.
func BenchmarkFirstTokenOfResponses(b *testing.B) {
	server := newChatServer(b, map[string]scenario{"greets": func(w *wire) { w.text("Hello"); w.text(" there."); w.end("stop", "end_turn") }})
	p := newProgram(b, server.settings()...)
	p.start()
	store := p.pumpStore(b)
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "a", "datastoreIds": []string{store}}, &agent))
	const question = "warranty of the Aurora pump <greets>"
	first := func(path, body, mark string) time.Duration {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+p.addr+path, bytes.NewReader([]byte(body)))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testKey)
		req.Header.Set("Content-Type", "application/json")
		began := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		var took time.Duration
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() { // read to the end, so that the connection is reused
			if took == 0 && strings.HasPrefix(lines.Text(), mark) {
				took = time.Since(began)
			}
		}
		if took == 0 {
			b.Fatal("there was no token")
		}
		return took
	}
	var agents, responses []time.Duration
	for b.Loop() {
		agents = append(agents, first("/agents/"+agent.ID+"/query", `{"query":"`+question+`","streaming":true}`, "event: answer"))
		responses = append(responses, first("/v1/responses", `{"model":"`+agent.ID+`","input":"`+question+`","stream":true}`, "event: response.output_text.delta"))
	}
	median := func(all []time.Duration) time.Duration {
		slices.Sort(all)
		return all[len(all)/2]
	}
	b.ReportMetric(float64(median(agents).Microseconds()), "µs/agents")
	b.ReportMetric(float64(median(responses).Microseconds()), "µs/responses")
}

// BenchmarkSearchOfVectorStores compares the CPU time for POST /v1/vector_stores/{id}/search and POST
// /datastores/{id}/query, alternating every 100 queries. BENCH_CHUNKS is the number of chunks (default 2,000).
func BenchmarkSearchOfVectorStores(b *testing.B) {
	const (
		perDocument = 100
		perTurn     = 100
	)
	chunks := 2000
	if text := os.Getenv("BENCH_CHUNKS"); text != "" {
		var err error
		if chunks, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(2026, 34))
	zipf := rand.NewZipf(random, 1.1, 20, 50_000)
	text := func(words int) string {
		var s strings.Builder
		for n := range words {
			if n > 0 {
				s.WriteByte(' ')
			}
			fmt.Fprintf(&s, "w%dy", zipf.Uint64())
		}
		return s.String()
	}
	p := newProgram(b)
	p.start()
	var store struct{ ID string }
	// A paragraph is longer than the target size, and two paragraphs together are longer than the maximum, so each
	// paragraph becomes a chunk.
	p.must(p.post("/datastores", map[string]any{"name": "benchmark", "chunking": map[string]int{"targetTokens": 64, "maxTokens": 480}}, &store))
	for from := 0; from < chunks; from += perDocument {
		paragraphs := make([]string, perDocument)
		for i := range paragraphs {
			paragraphs[i] = text(80)
		}
		p.must(p.post("/datastores/upsert/"+store.ID, map[string]any{"documents": []map[string]string{{"name": fmt.Sprint("document-", from), "text": strings.Join(paragraphs, "\n\n")}}}, nil))
	}
	p.quiet(store.ID, 30*time.Minute)
	var made int
	all, err := p.sources(store.ID, "")
	p.must(err)
	for _, s := range all {
		made += s.Chunks
	}
	ask := map[string]func(query string) error{
		"query": func(query string) error {
			return p.post("/datastores/"+store.ID+"/query", map[string]any{"query": query, "topK": 10}, nil)
		},
		"search": func(query string) error {
			return p.post("/v1/vector_stores/vs_"+store.ID+"/search", map[string]any{"query": query, "max_num_results": 10}, nil)
		},
	}
	turn := func(which string) float64 {
		before := p.cpu()
		for range perTurn {
			p.must(ask[which](text(8)))
		}
		return p.cpu() - before
	}
	turn("query") // opens the index
	turn("search")
	used := map[string][]float64{}
	for b.Loop() {
		for _, which := range []string{"query", "search", "search", "query"} {
			used[which] = append(used[which], turn(which))
		}
	}
	b.ReportMetric(float64(made), "chunks")
	means := map[string]float64{} // without the quarter of turns with the least and with the most work, such as garbage collection
	for which, all := range used {
		slices.Sort(all)
		middle := all[len(all)/4 : len(all)-len(all)/4]
		for _, seconds := range middle {
			means[which] += seconds / float64(len(middle)*perTurn)
		}
		b.ReportMetric(means[which]*1e6, "cpu-µs/"+which)
	}
	b.ReportMetric(means["search"]/means["query"], "search/query")
}
