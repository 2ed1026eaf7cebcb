package app

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Parameters for BenchmarkStreams: the number of concurrent streams, the interval between a provider's tokens, and the
// number of tokens per stream.
const (
	benchStreams  = 200
	benchInterval = 20 * time.Millisecond // 50 tokens/s
	benchTokens   = 500                   // 10 s
)

// BenchmarkStreams has 200 clients read streams at the same time, with both protocols, from a provider that sends 50
// tokens per second. A token's latency is measured from when the provider sends it until the client has received all of
// it. The benchmark reports the median and the 99th percentile, both through the service and directly from the
// provider. It also reports the peak resident memory per stream, and how long the process keeps goroutines for the
// clients after all of them disconnect at once.
func BenchmarkStreams(b *testing.B) {
	for _, model := range []string{"llm_3_5_turbo", "llm_4"} {
		b.Run(map[string]string{"llm_3_5_turbo": "openai", "llm_4": "anthropic"}[model], func(b *testing.B) {
			for b.Loop() {
				benchmarkStreams(b, model)
			}
		})
	}
}

func benchmarkStreams(b *testing.B, model string) {
	began := time.Now()
	var open atomic.Int64
	server := newChatServer(b, map[string]scenario{"paced": func(w *wire) {
		nth := open.Add(1)
		defer open.Add(-1)
		select { // real providers' answers are not synchronised either
		case <-time.After(time.Duration(nth%benchStreams) * benchInterval / benchStreams):
		case <-w.r.Context().Done():
			return
		}
		tick := time.NewTicker(benchInterval)
		defer tick.Stop()
		for range benchTokens {
			select {
			case <-tick.C:
			case <-w.r.Context().Done():
				return
			}
			w.text(" t" + strconv.FormatInt(int64(time.Since(began)), 10) + ";")
		}
		w.end("stop", "end_turn")
	}})
	p := newProgram(b, server.settings()...)
	p.start()
	agent := p.newChatAgent()
	body := `{"query":"<paced>","streaming":true,"modelName":"` + model + `"}`
	url := "http://" + p.addr + "/agents/" + agent + "/query"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchStreams}}
	defer client.CloseIdleConnections()
	through := func(ctx context.Context, streams int) []time.Duration {
		return readStreams(b, ctx, client, streams, url, body, began)
	}

	warm, cancel := context.WithTimeout(b.Context(), 2*time.Second)
	through(warm, benchStreams)
	cancel()
	before := p.idleGoroutines(b, &open)
	idle := p.resident()

	used := p.cpu()
	done := make(chan []time.Duration)
	go func() { done <- through(b.Context(), benchStreams) }()
	var limit float64
	var latencies []time.Duration
	for latencies == nil {
		select {
		case latencies = <-done:
		case <-time.After(200 * time.Millisecond):
			limit = max(limit, p.resident())
		}
	}
	used = p.cpu() - used
	if len(latencies) != benchStreams*benchTokens {
		b.Fatalf("%d tokens came, want %d", len(latencies), benchStreams*benchTokens)
	}

	vanish, cancel := context.WithTimeout(b.Context(), 2*time.Second)
	through(vanish, benchStreams)
	cancel()
	left := p.waitForGoroutines(b, before, &open)

	direct := readStreams(b, b.Context(), client, benchStreams, server.URL+map[string]string{"llm_3_5_turbo": "/v1/chat/completions", "llm_4": "/v1/messages"}[model],
		`{"messages":[{"content":"<paced>"}]}`, began)
	report := func(share float64, from []time.Duration, unit string) {
		slices.Sort(from)
		b.ReportMetric(float64(from[int(share*float64(len(from)-1))].Microseconds())/1000, unit)
	}
	report(0.5, latencies, "ms/token-p50")
	report(0.99, latencies, "ms/token-p99")
	report(0.5, direct, "ms/token-direct-p50")
	report(0.99, direct, "ms/token-direct-p99")
	b.ReportMetric(used*1e6/float64(len(latencies)), "µs-cpu/token")
	b.ReportMetric((limit-idle)*1000/benchStreams, "KB/stream")
	b.ReportMetric(float64(left.Milliseconds()), "ms-until-no-goroutine-left")
}

// readStreams reads several answers concurrently until they end or ctx is done, and returns every token's latency.
func readStreams(b *testing.B, ctx context.Context, client *http.Client, streams int, url, body string, began time.Time) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+testKey)
			req.Header.Set("Content-Type", "application/json")
			res, err := client.Do(req)
			if err != nil {
				if ctx.Err() == nil {
					b.Error(err)
				}
				return
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				text, _ := io.ReadAll(res.Body)
				b.Errorf("status %d: %s", res.StatusCode, text)
				return
			}
			own := make([]time.Duration, 0, benchTokens)
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				now := time.Since(began)
				if strings.Contains(lines.Text(), "endpoint_response") {
					break
				}
				_, stamp, found := strings.Cut(lines.Text(), " t")
				stamp, _, whole := strings.Cut(stamp, ";")
				if sent, err := strconv.ParseInt(stamp, 10, 64); found && whole && err == nil {
					own = append(own, now-time.Duration(sent))
				}
			}
			mu.Lock()
			all = append(all, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return all
}

func (p *program) goroutines(tb testing.TB) int {
	tb.Helper()
	for line := range strings.Lines(p.body("/metrics")) {
		if v, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Fatal("the process does not tell its goroutines")
	return 0
}

// idleGoroutines waits until the provider has had no open streams for a second. It returns the highest number of
// goroutines that the process had during that second.
func (p *program) idleGoroutines(tb testing.TB, open *atomic.Int64) int {
	tb.Helper()
	limit := 0
	for quiet := time.Now(); time.Since(quiet) < time.Second; time.Sleep(50 * time.Millisecond) {
		if open.Load() > 0 {
			quiet, limit = time.Now(), 0
			continue
		}
		limit = max(limit, p.goroutines(tb))
	}
	return limit
}

// waitForGoroutines waits until the process has at most `before` goroutines and the provider has no open stream. It
// returns how long that took.
func (p *program) waitForGoroutines(tb testing.TB, before int, open *atomic.Int64) time.Duration {
	tb.Helper()
	const timeout = 20 * time.Second
	now := 0
	for began := time.Now(); time.Since(began) < timeout; time.Sleep(10 * time.Millisecond) { // poll, because another process's goroutines send no signal
		if now = p.goroutines(tb); now <= before && open.Load() == 0 {
			return time.Since(began)
		}
	}
	tb.Fatalf("after %s there are %d goroutines, %d before, and %d streams open at the provider", timeout, now, before, open.Load())
	return 0
}
