package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/loadtest"
)

const (
	soakShare   = 0.8              // as a share of the capacity
	soakRows    = 30 * time.Second // maximum time between two rows of the table
	soakSlots   = 200              // number of documents that are added, changed and deleted
	soakClients = 64
	soakKey     = "sk_operator_0123456789abcdef"
	soakCaches  = "2MiB" // fills up within the first minute; then new entries replace old ones
)

// Maximum growth between the first third and the last third of the measurements: a factor, an absolute amount, or both.
const (
	soakHeap       = 1.05 // factor
	soakHeapMore   = 8    // MB; NATS keeps up to this much of a stream's tail in memory while writing it
	soakGoroutines = 30
	soakFiles      = 30
	soakDisk       = 1.3 // factor
	soakDiskMore   = 48  // MB; for logs that are merged into their databases now and then
	soakSlower     = 1.5 // factor
	soakSlowerMore = 10  // ms
)

// TestSoak adds, changes, deletes and searches documents and streams answers at 80% of the service's capacity, for the
// duration in TEST_SOAK. It fails if live memory, goroutines, open files, disk usage or search times grow. The caches
// are small, so they are full before the first measurement that counts. Anything that grows after that has no limit or
// ignores it.
func TestSoak(t *testing.T) {
	span := timeOf(t, "TEST_SOAK")
	p := newProgram(t, "SLUICE_ADMISSION_WAIT=25ms", "SLUICE_ADMIN_KEY="+soakKey, "SLUICE_CACHE_MEMORY="+soakCaches)
	p.start()
	store := p.newDatastore()
	for from := 0; from < overloadFirst; from += 100 {
		p.must(p.post("/datastores/upsert/"+store, overloadContent(from, 100), nil))
	}
	p.settled(store, 5*time.Minute)
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "soak", "datastoreIds": []string{store}}, &agent))
	m := &mixedLoad{asker: newAsker(p, store), agent: agent.ID}
	defer m.client.CloseIdleConnections()

	// The capacity includes processing the accepted uploads.
	began := time.Now()
	first, err := loadtest.Run(t.Context(), loadtest.Load{Clients: 4, For: max(span/10, 5*time.Second), Grace: 30 * time.Second}, m.request)
	p.must(err)
	p.quiet(store, 5*time.Minute)
	capacity := float64(first.Succeeded) / time.Since(began).Seconds()
	rate := max(1, soakShare*capacity)
	t.Logf("capacity: %.0f requests/s; the load is %.0f/s\n%s", capacity, rate, written(first))

	every := min(soakRows, span/9)
	t.Logf("%8s %8s %10s %6s %8s %8s %8s %8s %8s", "after", "heap MB", "goroutines", "files", "disk MB", "waiting", "p50 ms", "p99 ms", "refused")
	var rows []soakRow
	began = time.Now()
	for n := 0; time.Since(began) < span; n++ {
		m.forget()
		report, err := loadtest.Run(t.Context(), loadtest.Load{Rate: rate, Clients: soakClients, For: every, Grace: 30 * time.Second}, m.request)
		p.must(err)
		row := p.soakRow(report, m)
		rows = append(rows, row)
		t.Logf("%8s %8.1f %10.0f %6.0f %8.1f %8.0f %8.1f %8.1f %8d", time.Since(began).Round(time.Second), row.heap, row.goroutines, row.files, row.disk, row.waiting,
			row.p50, row.p99, row.refused)
		m.check(t)
	}
	checkSoak(t, rows)
	if all := p.settled(store, 5*time.Minute); len(all) < overloadFirst {
		t.Errorf("%d documents are left of the %d that nobody deleted", len(all), overloadFirst)
	}
	if t.Failed() {
		m.profile(t)
	}
}

// soakRow holds one set of measurements.
type soakRow struct {
	heap, goroutines, files, disk, waiting, p50, p99 float64
	refused                                          int
}

// checkSoak compares the first third of the measurements in `rows` with the last third. It compares only the smallest
// values in each third, because temporary peaks aren't growth. It ignores the first row, which includes the warm-up.
func checkSoak(t *testing.T, rows []soakRow) {
	t.Helper()
	if len(rows) < 6 {
		t.Fatalf("%d rows are too few to tell whether something grows", len(rows))
	}
	third := len(rows) / 3
	early, late := rows[1:1+third], rows[len(rows)-third:]
	minimum := func(of []soakRow, what func(soakRow) float64) float64 {
		all := make([]float64, len(of))
		for i, r := range of {
			all[i] = what(r)
		}
		return slices.Min(all)
	}
	for _, c := range []struct {
		name        string
		what        func(soakRow) float64
		times, more float64
	}{
		{"heap in MB", func(r soakRow) float64 { return r.heap }, soakHeap, soakHeapMore},
		{"goroutines", func(r soakRow) float64 { return r.goroutines }, 1, soakGoroutines},
		{"open files", func(r soakRow) float64 { return r.files }, 1, soakFiles},
		{"disk in MB", func(r soakRow) float64 { return r.disk }, soakDisk, soakDiskMore},
		{"median latency in ms", func(r soakRow) float64 { return r.p50 }, soakSlower, soakSlowerMore},
	} {
		from, to := minimum(early, c.what), minimum(late, c.what)
		t.Logf("%s: %.1f in the first third, %.1f in the last", c.name, from, to)
		if to > c.times*from+c.more {
			t.Errorf("%s grew from %.1f to %.1f", c.name, from, to)
		}
	}
}

func (p *program) soakRow(report loadtest.Report, m *mixedLoad) soakRow {
	p.t.Helper()
	m.operator(p.t, "/debug/pprof/heap?gc=1") // runs a garbage collection first
	families := p.scrape()
	value := func(name string) (sum float64) {
		for _, metric := range families[name].GetMetric() {
			sum += gaugeOf(metric)
		}
		return sum
	}
	row := soakRow{
		heap: value("go_memstats_heap_alloc_bytes") / 1e6, goroutines: value("go_goroutines"), files: value("process_open_fds"),
		waiting: value("sluice_jobs_waiting"), disk: sizeOf(p.t, p.dir), refused: m.count("503"),
	}
	for _, measure := range report.Measures {
		if measure.Name == "search" {
			row.p50, row.p99 = measure.P50, measure.P99
		}
	}
	return row
}

func gaugeOf(m *dto.Metric) float64 { return m.GetGauge().GetValue() + m.GetUntyped().GetValue() }

// sizeOf returns the total size of a directory's files in MB. It ignores files that disappear while it counts.
func sizeOf(t testing.TB, dir string) float64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return float64(sum) / 1e6
}

type mixedLoad struct {
	*asker
	agent string

	mu    sync.Mutex
	slots [soakSlots]soakSlot
	next  int
}

// soakSlot is a document that is repeatedly added, changed and deleted.
type soakSlot struct {
	busy    bool
	step    int    // number of changes so far
	id      string // "" while the document does not exist
	changed bool
}

// request is a loadtest.Request. Of every 100 requests, 88 are searches, 4 streams, 4 lists and 4 changes.
func (m *mixedLoad) request(ctx context.Context, n int, take *loadtest.Times) error {
	var err error
	what := "search"
	switch n % 25 {
	case 3:
		what, err = "stream", m.stream(ctx, n)
	case 9:
		what = "list"
		_, err = m.do(ctx, what, http.MethodGet, "/datasources?limit=20&datastoreId="+m.store, nil)
	case 15:
		what, err = "change", m.change(ctx)
	default:
		subjects := strings.Fields("harbour lighthouse orchard railway cathedral mill quarry garden bridge observatory")
		query := fmt.Sprintf("Which %s of district %d keeps records about the %s?", subjects[n%10], n%37, subjects[n*7%10])
		_, err = m.do(ctx, what, http.MethodPost, "/datastores/"+m.store+"/query", map[string]any{"query": query, "topK": 5})
	}
	if errors.Is(err, errRejected) {
		return nil // already counted
	}
	if err == nil {
		take.Since(what)
	}
	return err
}

// stream asks the agent, reads the streamed answer and deletes the conversation.
func (m *mixedLoad) stream(ctx context.Context, n int) error {
	conversation := domain.NewID()
	raw, err := m.do(ctx, "stream", http.MethodPost, "/agents/"+m.agent+"/query", map[string]any{
		"query": fmt.Sprintf("What does district %d keep?", n%37), "streaming": true, "conversationId": conversation,
	})
	if err != nil {
		return err
	}
	if !strings.Contains(string(raw), "data: [DONE]") {
		return fmt.Errorf("the stream broke off: %.200s", raw)
	}
	_, err = m.do(ctx, "delete", http.MethodDelete, "/conversations/"+conversation, nil)
	return err
}

// change adds, replaces or deletes the next document, depending on its state.
func (m *mixedLoad) change(ctx context.Context) error {
	m.mu.Lock()
	at := m.next % soakSlots
	m.next++
	slot := &m.slots[at]
	if slot.busy {
		m.mu.Unlock()
		return nil
	}
	slot.busy = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		slot.busy = false
		m.mu.Unlock()
	}()
	if slot.id != "" && slot.changed {
		if _, err := m.do(ctx, "delete", http.MethodDelete, "/datasources/"+slot.id, map[string]any{}); err != nil {
			return err
		}
		*slot = soakSlot{busy: true, step: slot.step + 1}
		return nil
	}
	text := fmt.Sprintf("Slot %d is here for the %dth time, changed: %v. ", at, slot.step, slot.id != "")
	raw, err := m.do(ctx, "upload", http.MethodPost, "/datastores/upsert/"+m.store, map[string]any{"documents": []map[string]any{{
		"text": strings.Repeat(text, 20), "name": fmt.Sprintf("slot %d", at), "metadata": map[string]string{"custom_id": fmt.Sprintf("slot-%d", at)},
	}}})
	if err != nil {
		return err
	}
	var made struct{ IDs []string }
	if err := json.Unmarshal(raw, &made); err != nil || len(made.IDs) != 1 {
		return fmt.Errorf("an upload was answered %.200s: %w", raw, err)
	}
	slot.id, slot.changed = made.IDs[0], slot.id != ""
	return nil
}

func (m *mixedLoad) count(status string) (sum int) {
	m.asker.mu.Lock()
	defer m.asker.mu.Unlock()
	for what, n := range m.statuses {
		if strings.HasSuffix(what, " "+status) {
			sum += n
		}
	}
	return sum
}

// check fails the test if there were unexpected responses.
func (m *mixedLoad) check(t *testing.T) {
	t.Helper()
	m.asker.mu.Lock()
	defer m.asker.mu.Unlock()
	if len(m.wrong) > 0 {
		t.Errorf("%d answers are wrong, the first: %s", len(m.wrong), m.wrong[0])
		m.wrong = nil
	}
}

// operator requests a path that needs the operator's key.
func (m *mixedLoad) operator(t testing.TB, path string) []byte {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+m.program.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+soakKey)
	res, err := m.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return raw
}

// profile saves a heap profile for go tool pprof.
func (m *mixedLoad) profile(t *testing.T) {
	t.Helper()
	name := filepath.Join(os.TempDir(), "sluice-soak-heap.pprof")
	if err := os.WriteFile(name, m.operator(t, "/debug/pprof/heap?gc=1"), 0o600); err != nil {
		t.Error(err)
		return
	}
	t.Logf("go tool pprof -top %s tells what the memory holds", name)
}
