package app

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstTokenOfResponses alternates between POST /v1/responses and POST /agents/{id}/query and compares the
// times to the first token. The chat server answers at once, so the difference is the endpoint's overhead.
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
