package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/loadtest"
)

// The load, and the performance the service must still achieve under it.
const (
	overload        = 3    // offered load, as a multiple of the capacity
	overloadServed  = 0.7  // minimum rate of served requests, as a share of the capacity
	overloadSlowest = 100  // maximum 99th percentile of served requests, in milliseconds
	overloadUploads = 5    // uploads per second, in addition
	overloadClients = 1024 // maximum number of connections
	overloadFirst   = 400  // number of documents to search
)

// TestOverload runs a service on one CPU. From another CPU, it sends the service three times as many requests as it can
// serve, for the time in TEST_OVERLOAD. Requests must be served fast and at nearly the usual rate, rejections must say
// when to retry, and every accepted upload must be found.
func TestOverload(t *testing.T) {
	span := timeOf(t, "TEST_OVERLOAD")
	p := newProgram(t, "SLUICE_ADMISSION_WAIT=25ms")
	p.apart()
	p.start()
	store := p.newDatastore()
	for from := 0; from < overloadFirst; from += 100 {
		p.must(p.post("/datastores/upsert/"+store, overloadContent(from, 100), nil))
	}
	p.settled(store, 5*time.Minute)

	asked := newAsker(p, store)
	defer asked.client.CloseIdleConnections()
	work := p.cpu()
	before, err := loadtest.Run(t.Context(), loadtest.Load{Clients: 4, Warmup: span / 10, For: span / 3, Grace: 30 * time.Second}, asked.search)
	p.must(err)
	work = p.cpu() - work
	capacity := before.PerSecond
	t.Logf("capacity: %.0f searches/s; the service had %.0f%% of a processor\n%s", capacity, 100*work/(span/10+span/3).Seconds(), written(before))
	if before.Failed > 0 || capacity == 0 {
		t.Fatalf("%d of %d searches failed within the capacity: %v", before.Failed, before.Sent, before.Failures)
	}

	asked.forget()
	work = p.cpu()
	done := make(chan loadtest.Report, 1)
	go func() {
		uploads, err := loadtest.Run(t.Context(), loadtest.Load{Rate: overloadUploads, Clients: 64, For: span, Grace: 30 * time.Second}, asked.upload)
		if err != nil {
			t.Error(err)
		}
		done <- uploads
	}()
	beyond, err := loadtest.Run(t.Context(), loadtest.Load{Rate: overload * capacity, Clients: overloadClients, Warmup: span / 10, For: span, Grace: 30 * time.Second}, asked.search)
	p.must(err)
	uploads := <-done
	work = p.cpu() - work
	t.Logf("at %.0f searches/s, %d times the capacity: served %.0f/s (%.0f%%), answers %v; the service had %.0f%% of a processor\n%s\nuploads: %s",
		overload*capacity, overload, beyond.PerSecond, 100*beyond.PerSecond/capacity, asked.answers(), 100*work/(span+span/10).Seconds(), written(beyond), written(uploads))

	if beyond.PerSecond < overloadServed*capacity {
		t.Errorf("%.0f searches/s were served, %.0f%% of the capacity", beyond.PerSecond, 100*beyond.PerSecond/capacity)
	}
	for _, m := range beyond.Measures {
		if m.Name == "answered" && m.P99 > overloadSlowest {
			t.Errorf("of the searches that were served, 1%% took more than %.0f ms", m.P99)
		}
	}
	asked.check(t)
	p.settled(store, 5*time.Minute)
	for _, word := range asked.accepted {
		if len(p.query(store, word, 1)) == 0 || !strings.Contains(p.query(store, word, 1)[0].Text, word) {
			t.Errorf("the upload of %s was accepted and is not found", word)
		}
	}
	if len(asked.accepted) == 0 {
		t.Error("no upload was accepted")
	}
	t.Logf("all %d uploads that were accepted are found", len(asked.accepted))
}

func timeOf(t *testing.T, variable string) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		t.Skipf("%s says for how long; it is not set", variable)
	}
	span, err := time.ParseDuration(text)
	if err != nil || span <= 0 {
		t.Fatalf("%s is %q: must be a time such as 30s", variable, text)
	}
	return span
}

func written(r loadtest.Report) string {
	var b strings.Builder
	_ = r.Write(&b) // cannot fail, because it writes to memory
	return b.String()
}

// apart pins the program to one CPU and the test to another, if possible.
func (p *program) apart() {
	p.t.Helper()
	if _, err := exec.LookPath("taskset"); err != nil {
		p.t.Log("there is no taskset: service and load share the processors")
		return
	}
	pin := func(cpu string) error {
		return exec.Command("taskset", "-a", "-c", "-p", cpu, strconv.Itoa(os.Getpid())).Run()
	}
	if err := pin("1"); err != nil {
		p.t.Logf("service and load share the processors: %v", err)
		return
	}
	p.t.Cleanup(func() { _ = pin("0,1") }) // these processors may not exist
	p.wrap = []string{"taskset", "-c", "0"}

	// The CPUs may be hyperthreads of one core, where each runs faster while the other is idle. Keep the test's CPU
	// busy, so that the capacity is measured under the same conditions as the overload.
	spin := exec.Command("taskset", "-c", "1", "nice", "-n", "19", "sh", "-c", "while :; do :; done")
	if err := spin.Start(); err != nil {
		p.t.Fatalf("keeping the load's processor busy: %v", err)
	}
	p.t.Cleanup(func() {
		_ = spin.Process.Kill()
		_ = spin.Wait() // fails because the process was killed
	})
}

// overloadContent returns an upsert body whose documents share many words, so that searches have something to rank.
func overloadContent(from, n int) map[string]any {
	subjects := strings.Fields("harbour lighthouse orchard railway cathedral mill quarry garden bridge observatory")
	docs := make([]map[string]any, n)
	for i := range docs {
		k := from + i
		var text strings.Builder
		for s := range 12 {
			fmt.Fprintf(&text, "The %s of district %d keeps %d records about its %s, which the %s of year %d describes. ",
				subjects[(k+s)%10], k%37, 100+k*s%900, subjects[(k*3+s)%10], subjects[(k*7+s*s)%10], 1800+(k*11+s)%200)
		}
		docs[i] = map[string]any{"text": text.String(), "name": fmt.Sprintf("lore %d", k), "metadata": map[string]string{"custom_id": fmt.Sprintf("lore-%d", k)}}
	}
	return map[string]any{"documents": docs}
}

// asker sends requests to a service and counts the responses.
type asker struct {
	program *program
	store   string
	client  *http.Client

	mu       sync.Mutex
	statuses map[string]int
	wrong    []string // rejections with the wrong status or message
	accepted []string // one word from each accepted upload
}

func newAsker(p *program, store string) *asker {
	transport := &http.Transport{MaxIdleConnsPerHost: overloadClients, MaxIdleConns: overloadClients}
	return &asker{program: p, store: store, client: &http.Client{Transport: transport}, statuses: map[string]int{}}
}

func (a *asker) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statuses = map[string]int{}
}

func (a *asker) answers() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, what := range slices.Sorted(maps.Keys(a.statuses)) {
		all = append(all, fmt.Sprintf("%s: %d", what, a.statuses[what]))
	}
	return strings.Join(all, ", ")
}

func (a *asker) check(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wrong) > 0 {
		t.Errorf("%d refusals are wrong, the first: %s", len(a.wrong), a.wrong[0])
	}
	if a.statuses["search 503"] == 0 {
		t.Error("nothing was refused: the load was not beyond the capacity")
	}
}

// errRejected is the error for a correctly rejected request.
var errRejected = errors.New("turned away")

// do sends a request and counts the response by status.
func (a *asker) do(ctx context.Context, what, method, path string, body any) ([]byte, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.program.addr+path, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statuses[fmt.Sprintf("%s %d", what, res.StatusCode)]++
	switch {
	case res.StatusCode/100 == 2:
		return raw, nil
	case res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || seconds < 1 || res.Header.Get("Content-Type") != "application/problem+json" {
			a.wrong = append(a.wrong, fmt.Sprintf("%d, Retry-After %q: %.200s", res.StatusCode, res.Header.Get("Retry-After"), raw))
		}
		return nil, errRejected
	default:
		a.wrong = append(a.wrong, fmt.Sprintf("%s: %d %.200s", what, res.StatusCode, raw))
		return nil, fmt.Errorf("%d: %.200s", res.StatusCode, raw)
	}
}

// search is a loadtest.Request.
func (a *asker) search(ctx context.Context, n int, take *loadtest.Times) error {
	words := strings.Fields("harbour lighthouse orchard railway cathedral mill quarry garden bridge observatory")
	query := fmt.Sprintf("Which %s of district %d keeps records about the %s?", words[n%10], n%37, words[n*7%10])
	_, err := a.do(ctx, "search", http.MethodPost, "/datastores/"+a.store+"/query", map[string]any{"query": query, "topK": 5})
	if errors.Is(err, errRejected) {
		take.Since("turned away")
	} else if err == nil {
		take.Since("answered")
	}
	return err
}

// upload is a loadtest.Request.
func (a *asker) upload(ctx context.Context, n int, take *loadtest.Times) error {
	word := fmt.Sprintf("xylograph%06d", n)
	_, err := a.do(ctx, "upload", http.MethodPost, "/datastores/upsert/"+a.store, map[string]any{"documents": []map[string]any{{
		"text": "A note about " + word + " and nothing else.", "name": word,
	}}})
	if err != nil {
		return err
	}
	take.Since("accepted")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accepted = append(a.accepted, word)
	return nil
}
