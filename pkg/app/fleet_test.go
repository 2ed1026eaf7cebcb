package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/testdata/site"
	local "github.com/sluice/sluice/tools/local/engines"
)

// fleet is a distributed service in separate processes: a cluster of NATS servers, PostgreSQL, Milvus, an api process,
// ingestors and a crawler.
type fleet struct {
	t         testing.TB
	nats      *local.NATS
	postgres  *local.PostgreSQL
	milvus    *local.Milvus
	api       *program
	ingestors []*program
	crawler   *program
}

func newFleet(t testing.TB, ingestors int, env ...string) *fleet {
	t.Helper()
	f := newFleetEngines(t)
	f.start(ingestors, env...)
	return f
}

// newFleetEngines starts a fleet's engines, all of them empty.
func newFleetEngines(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{t: t}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	start := func(name string, stop func() error, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("starting %s: %v", name, err)
		}
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Errorf("stopping %s: %v", name, err)
			}
		})
	}
	var err error
	f.nats, err = local.StartNATS(ctx, t.TempDir(), local.NATSOptions{Temporary: true})
	start("NATS", func() error { return f.nats.Stop() }, err)
	f.postgres, err = local.StartPostgreSQL(ctx, t.TempDir(), local.PostgreSQLOptions{Temporary: true})
	start("PostgreSQL", func() error { return f.postgres.Stop() }, err)
	f.milvus, err = local.StartMilvus(ctx, t.TempDir(), local.MilvusOptions{Temporary: true})
	start("Milvus", func() error { return f.milvus.Stop() }, err)
	t.Logf("the engines run after %v", time.Since(began).Round(time.Millisecond))
	return f
}

func (f *fleet) start(ingestors int, env ...string) {
	t := f.t
	t.Helper()
	worker := append([]string{"NATS_URL=" + f.nats.URL(), "MILVUS_ADDR=" + f.milvus.Addr(), "SLUICE_ALLOW_PRIVATE_ADDRESSES=true"}, env...)
	f.api = newProgram(t, append(worker, "DATABASE_URL="+f.postgres.URL(), "SLUICE_NATS_REPLICAS=3", "SLUICE_WORKERS=false")...)
	f.api.start()
	for range ingestors {
		p := newProgram(t, worker...)
		p.shape = Ingestor
		p.start()
		f.ingestors = append(f.ingestors, p)
	}
	f.crawler = newProgram(t, worker...)
	f.crawler.shape = Crawler
	f.crawler.start()
}

// processes returns the fleet's own processes, the api process first.
func (f *fleet) processes() []*program {
	return append([]*program{f.api, f.crawler}, f.ingestors...)
}

func (p *program) body(path string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s answers %d: %s, %v", path, resp.StatusCode, b, err)
	}
	return string(b)
}

func TestAFleetOfProcessesIngestsCrawlsAndAnswers(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(site.Handler())
	defer pages.Close()
	f := newFleet(t, 2)
	store := f.api.newDatastore()
	docs := mixedDocuments(t, 20)
	for _, d := range docs {
		if !f.api.putIn(store, d) {
			t.Fatalf("%s cannot be put in", d.customID)
		}
	}
	f.api.must(f.api.post("/datasources", map[string]any{
		"datastoreId": store, "type": "web_site", "name": "site", "config": map[string]string{"source_url": pages.URL + "/"},
	}, nil))
	all := f.api.settled(store, 2*time.Minute)
	webPages := 0
	for _, s := range all {
		if s.Status != "synched" {
			t.Errorf("%s ended with status %s: %s", s.Name, s.Status, s.Error)
		}
		if s.Type == "web_page" {
			webPages++
		}
	}
	if webPages < 5 {
		t.Errorf("the site has given %d pages", webPages)
	}
	if found := f.api.query(store, "How long is the warranty of the Aurora X2?", 5); len(found) == 0 || !strings.Contains(found[0].Text, "arranty") {
		t.Errorf("found %+v", found)
	}
	for _, p := range f.processes() {
		if health := p.body("/healthz"); !strings.Contains(health, "ok") {
			t.Errorf("%s: %s", p.shape, health)
		}
		if metrics := p.body("/metrics"); !strings.Contains(metrics, "go_goroutines") {
			t.Errorf("%s: no metrics", p.shape)
		}
	}
	if metrics := f.api.body("/metrics"); !strings.Contains(metrics, `sluice_jobs_waiting{lane="ingest"} 0`) {
		t.Error("the api process does not tell how many jobs wait")
	}
	stranger := newProgram(t, "DATABASE_URL="+f.postgres.URL(), "MILVUS_ADDR="+f.milvus.Addr())
	stranger.launch()
	if err := <-stranger.exited; err == nil || !strings.Contains(stranger.stderr.String(), "this database with other NATS servers") {
		t.Errorf("an api process on the fleet's database and a NATS server of its own: %v, %s", err, stranger.stderr)
	}
	stranger.exited <- nil
	done := 0
	for _, p := range f.ingestors {
		if strings.Contains(p.body("/metrics"), `sluice_jobs_total{kind="ingest",result="done"}`) {
			done++
		}
	}
	if done != 2 {
		t.Errorf("%d of 2 ingestors have worked", done)
	}
	for _, p := range append(f.ingestors, f.crawler) {
		if err := p.terminate(); err != nil {
			t.Errorf("the %s did not stop cleanly: %v", p.shape, err)
		}
	}
}

// once makes sure that a POST is executed exactly once. It retries until ctx ends, because the service may be killed or
// lose an engine at any time.
func (p *program) once(ctx context.Context, path string, body string, into any) error {
	key := rand.Text()
	for {
		err := p.callWith(ctx, http.MethodPost, path, "application/json", strings.NewReader(body), into, "Idempotency-Key", key)
		if !passes(err) {
			return err
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// passes reports whether retrying a request that failed with err may succeed.
func passes(err error) bool {
	if err == nil {
		return false
	}
	for _, status := range []int{409, 429, 500, 502, 503, 504} {
		if refusedWith(err, status) {
			return true
		}
	}
	var refused errRefused
	return !asRefused(err, &refused)
}

func pause(ctx context.Context) error {
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
