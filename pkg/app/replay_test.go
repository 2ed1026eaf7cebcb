package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	local "github.com/sluice/sluice/tools/local/engines"
)

func TestReplayRejectsInvalidArguments(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	for range 2 {
		p.must(p.post("/datastores", map[string]string{"name": "Twins"}, nil))
	}
	p.newDatastore()
	p.replay("0 datasources queued", "--datastore", "Test")
	for name, test := range map[string]struct {
		args []string
		code int
		says string // expected text on standard error
	}{
		"nothing to replay":         {args: nil, code: 2, says: "specify --datastore or --all"},
		"one datastore and all":     {args: []string{"--all", "--datastore", "x"}, code: 2, says: "cannot be combined"},
		"a time that is none":       {args: []string{"--since", "soon"}, code: 2, says: `--since "soon": must be a date (2006-01-02), a time (2006-01-02T15:04:05Z) or a duration before now (36h)`},
		"a time to come":            {args: []string{"--since", "-1h"}, code: 2, says: `--since "-1h": must be`},
		"an unknown flag":           {args: []string{"--every"}, code: 2, says: "unknown flag --every"},
		"an argument":               {args: []string{"--all", "now"}, code: 2, says: `unexpected argument "now"`},
		"a name that is not":        {args: []string{"--datastore", "nowhere"}, code: 5, says: `datastore "nowhere" does not exist`},
		"an id that is not":         {args: []string{"--datastore", "01a1ff5b-9089-711a-a298-ac51be28ff37"}, code: 5, says: `no datastore with id "01a1ff5b-9089-711a-a298-ac51be28ff37"`},
		"a name of two":             {args: []string{"--datastore", "Twins"}, code: 2, says: "(workspace default)"},
		"a catalog that is nowhere": {args: []string{"--all", "--data-dir", t.TempDir()}, code: 1, says: "has no catalog"},
	} {
		out, faults, code := p.command(append([]string{"replay"}, test.args...)...)
		if code != test.code || !strings.Contains(faults, test.says) || out != "" {
			t.Errorf("%s: code %d, want %d; it says %q and %q, want %q", name, code, test.code, out, faults, test.says)
		}
	}
	if out, faults, code := p.command("replay", "--help"); code != 0 || !strings.HasPrefix(out, "usage: sluice replay") || faults != "" {
		t.Errorf("--help: code %d, %q, %q", code, out, faults)
	}
	if _, faults, code := p.command("repair", "--all"); code != 2 || !strings.Contains(faults, "usage: sluice repair") {
		t.Errorf("repair with an unknown flag: code %d, %q", code, faults)
	}
	if out, faults, code := p.command("repair", "--wait=false"); code != 0 || !strings.Contains(out, "Requested repair") || faults != "" {
		t.Errorf("repair without waiting: code %d, %q, %q", code, out, faults)
	}
}

func (p *program) replay(want string, args ...string) {
	p.t.Helper()
	out, faults, code := p.command(append([]string{"replay"}, args...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	got := lines[0]
	if len(lines) > 1 {
		got += ", " + lines[len(lines)-1]
	}
	if code != 0 || faults != "" || got != want || strings.ContainsAny(out, "\r#") {
		p.t.Errorf("replay %v ended with %d, %q: %q, want %q", args, code, faults, out, want)
	}
}

func TestAReplayReusesVectors(t *testing.T) {
	t.Parallel()
	model := newModelServer(t)
	site := newPageServer(t)
	p := newProgram(t, "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny", "SLUICE_ALLOW_PRIVATE_ADDRESSES=true", "SLUICE_CRAWL_DELAY=1ms")
	p.start()
	first, second := p.newDatastore(), p.newDatastore()
	docs := mixedDocuments(t, 7)
	page := p.addPage(first, site)
	for i, d := range docs {
		p.putIn([]string{first, first, first, first, first, second, second}[i], d)
	}
	// `settle` waits until all content in both datastores is settled. It checks which datastores were written again
	// since its last call, and how many texts were embedded and pages fetched.
	generations := map[string][]uint64{}
	var embedded, fetched int64
	settle := func(what string, again []string, embeds, fetch int64) {
		t.Helper()
		for _, store := range []string{first, second} {
			p.settled(store, time.Minute)
			now := p.generations(store)
			before := generations[store]
			if wrote := len(before) == 0 || slices.Min(now) > slices.Max(before); wrote != slices.Contains(again, store) {
				t.Errorf("%s: datastore %d was written anew: %v", what, slices.Index([]string{first, second}, store)+1, wrote)
			}
			generations[store] = now
		}
		texts, gets := model.texts.Load(), site.fetches.Load()
		if embeds >= 0 && texts-embedded != embeds || gets-fetched != fetch {
			t.Errorf("%s: %d texts embedded and %d pages fetched, want %d and %d", what, texts-embedded, gets-fetched, embeds, fetch)
		}
		embedded, fetched = texts, gets
	}
	both := []string{first, second}
	settle("at first", both, -1, 1)

	p.replay("6 datasources queued, 6/6", "--datastore", first)
	settle("a datastore", []string{first}, 0, 0)
	p.replay("8 datasources queued, 8/8", "--all")
	settle("all", both, 0, 0)
	p.replay("0 datasources queued", "--all", "--failed")
	p.replay("0 datasources queued", "--since", "2099-01-01")
	p.replay("8 datasources queued, 8/8", "--since", "1h")
	settle("all of the last hour", both, 0, 0)

	resync := func(path, mode string, want int) {
		t.Helper()
		var answer struct{ Queued int }
		p.must(p.post(path+"/resync", map[string]string{"mode": mode}, &answer))
		if answer.Queued != want {
			t.Errorf("%s of %s queued %d, want %d", mode, path, answer.Queued, want)
		}
	}
	resync("/datastores/"+second, "reindex", 2)
	settle("a datastore over HTTP", []string{second}, 0, 0)
	resync("/datasources/"+page.ID, "reindex", 1)
	settle("a page over HTTP", nil, 0, 0)
	resync("/datasources/"+page.ID, "refresh", 1)
	settle("fetching a page over HTTP", nil, 0, 1)
	resync("/datastores/"+first, "refresh", 6)
	settle("fetching a datastore over HTTP", nil, 0, 1)
	p.replay("6 datasources queued, 6/6", "--datastore", first, "--refresh")
	settle("fetching a datastore", nil, 0, 1)

	// Add a datasource that fails.
	model.refuse.Store(true)
	p.must(p.post("/api/datastores/upsert/"+second, map[string]any{"documents": []map[string]any{{"text": "It fails: the quoll.", "name": "quoll"}}}, nil))
	p.settled(second, time.Minute)
	out, faults, code := p.command("replay", "--failed")
	if code != 4 || !strings.Contains(faults, "1 of 1 datasource failed: sluice datastores show lists them with the reasons") || !strings.HasSuffix(out, "1/1, 1 failed\n") {
		t.Errorf("a replay that fails ended with %d: %q, %q", code, out, faults)
	}
	model.refuse.Store(false)
	p.replay("1 datasource queued, 1/1", "--failed", "--datastore", second)
	if found := p.query(second, "quoll", 1); len(found) != 1 {
		t.Errorf("the failed content is missing: %v", found)
	}
	generations[second] = p.generations(second)
	embedded = model.texts.Load()

	// A replay requested while the service is down must happen after the next start.
	p.must(p.terminate())
	p.replay("9 datasources queued", "--all", "--wait=false")
	p.start()
	settle("all, later", both, 0, 0)
}

// pageServer serves a single page and answers conditional requests with "not modified".
type pageServer struct {
	*httptest.Server
	fetches atomic.Int64
}

func newPageServer(t testing.TB) *pageServer {
	t.Helper()
	s := &pageServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		s.fetches.Add(1)
		w.Header().Set("ETag", `"one"`)
		if r.Header.Get("If-None-Match") == `"one"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Page</title><h1>Page</h1><p>It tells of the wombat, at some length, and of nothing else.</p>")
	}))
	t.Cleanup(s.Close)
	return s
}

// addPage adds the server's page and returns the accepted datasource.
func (p *program) addPage(store string, s *pageServer) (page source) {
	p.t.Helper()
	p.must(p.post("/datasources", map[string]any{
		"datastoreId": store, "type": "web_page", "name": "page", "config": map[string]string{"source_url": s.URL + "/page"},
	}, &page))
	return page
}

// key uses the keys command to create an API key for a workspace.
func (p *program) key(workspace string) string {
	p.t.Helper()
	out, faults, code := p.command("keys", "create", "--workspace", workspace)
	if code != 0 {
		p.t.Fatalf("making a key: %s", faults)
	}
	return strings.SplitN(out, "\n", 2)[0]
}

// client sends requests to the program with its own key.
type client struct {
	*program
	key string
}

func (c client) post(path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return c.callWith(ctx, http.MethodPost, path, "application/json", bytes.NewReader(b), into, "Authorization", "Bearer "+c.key)
}

func (c client) newDatastore() string {
	c.t.Helper()
	var store struct{ ID string }
	c.must(c.post("/datastores", map[string]string{"name": "test"}, &store))
	return store.ID
}

// add adds a text and returns how long it took to become searchable.
func (c client) add(store, text string) time.Duration {
	c.t.Helper()
	began := time.Now()
	var added struct{ IDs []string }
	c.must(c.post("/api/datastores/upsert/"+store, map[string]any{"documents": []map[string]any{{"text": text, "name": "single"}}}, &added))
	c.eventually(time.Minute, "the single document is not synched", func() bool {
		var s source
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c.must(c.callWith(ctx, http.MethodGet, "/datasources/"+added.IDs[0], "", nil, &s, "Authorization", "Bearer "+c.key))
		return s.Status == "synched"
	})
	return time.Since(began)
}

func (c client) texts(store string, from, n int) {
	c.t.Helper()
	batch := make([]map[string]any, n)
	for i := range batch {
		batch[i] = map[string]any{"text": fmt.Sprintf("Item %d is kept on shelf %d.", from+i, (from+i)%97), "name": fmt.Sprint("item ", from+i)}
	}
	c.must(c.post("/api/datastores/upsert/"+store, map[string]any{"documents": batch}, nil))
}

// tolerable is the time limit for one document while other clients add many. On its own, a document takes about 0.1 s.
const tolerable = 10 * time.Second

func TestASingleUploadPassesAnotherWorkspacesBulkImport(t *testing.T) {
	t.Parallel()
	model := newModelServer(t)
	model.delay.Store(int64(40 * time.Millisecond)) // about a hundred documents per second, at little CPU time
	p := newProgram(t, "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny")
	p.start()
	bulk, single := client{p, p.key("bulk")}, client{p, p.key("single")}
	from, into := bulk.newDatastore(), single.newDatastore()
	alone := single.add(into, "The first of its own.")
	var took []time.Duration
	const thousands = 4 // the job stream holds 64 documents at a time
	for i := range thousands {
		bulk.texts(from, 1000*i, 1000)
		if i == 1 || i == thousands-1 {
			took = append(took, single.add(into, fmt.Sprintf("One while %d others come in.", 1000*(i+1))))
		}
	}
	t.Logf("a single upload took %v alone, and %v while %d documents were brought in", alone.Round(time.Millisecond), took, 1000*thousands)
	if slowest := slices.Max(took); slowest > tolerable {
		t.Errorf("another workspace's import delayed a single upload to %v", slowest)
	}
}

func TestAFreshUploadPassesALargeReplay(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	me := client{p, testKey}
	store := me.newDatastore()
	const many = 600 // more than twice as many as the job stream holds at a time
	me.texts(store, 0, many)
	p.settled(store, 3*time.Minute)
	p.replay(fmt.Sprint(many, " datasources queued"), "--all", "--wait=false")
	var took []time.Duration
	for i := range 2 {
		took = append(took, me.add(store, fmt.Sprintf("Number %d, while all others are read again.", i)))
	}
	t.Logf("single uploads took %v while %d documents were read again", took, many)
	if slowest := slices.Max(took); slowest > tolerable {
		t.Errorf("the replay delayed a fresh upload to %v", slowest)
	}
}

// TestAStoppedIngestorReturnsItsJobs stops an ingestor whose jobs are waiting for a slow embedding server. Another
// ingestor must pick them up at once (in less than a second on an idle machine). Had the first one died instead, its
// jobs would be redelivered only after 30 s. The test logs the times.
func TestAStoppedIngestorReturnsItsJobs(t *testing.T) {
	t.Parallel()
	const inFlight = 4
	model := newModelServer(t)
	nats := freeAddress(t)
	common := []string{
		"SLUICE_NATS_TOKEN=secret", "MILVUS_ADDR=" + local.MilvusLiteForTest(t), "OPENAI_BASE_URL=" + model.URL + "/v1", "SLUICE_EMBED_MODEL=tiny",
	}
	p := newProgram(t, append(common, "SLUICE_NATS_LISTEN="+nats, "SLUICE_WORKERS=false")...)
	p.start()
	me := client{p, testKey}
	store := me.newDatastore()
	ingestor := func() *program {
		w := newProgram(t, append(common, "NATS_URL=nats://"+nats, fmt.Sprint("SLUICE_INGEST_CONCURRENCY=", inFlight))...)
		w.shape = Ingestor
		w.start()
		return w
	}
	stopped := ingestor()
	model.delay.Store(int64(time.Minute))
	asked := model.requests.Load()
	me.texts(store, inFlight, inFlight)
	p.eventually(30*time.Second, "the first ingestor has not taken the jobs up", func() bool { return model.requests.Load() == asked+inFlight })
	other := ingestor()
	model.delay.Store(0)
	began := time.Now()
	p.must(stopped.cmd.Process.Signal(syscall.SIGTERM))
	exited := make(chan time.Duration, 1)
	go func() {
		if err := <-stopped.exited; err != nil {
			t.Errorf("the ingestor did not stop cleanly: %v", err)
		}
		stopped.exited <- nil
		exited <- time.Since(began)
	}()
	p.eventually(15*time.Second, "the other ingestor has not taken the jobs up", func() bool { return model.requests.Load() == asked+2*inFlight })
	begun, gone := time.Since(began), <-exited
	t.Logf("after the signal the other ingestor was embedding after %v, and the process was gone after %v", begun.Round(time.Millisecond), gone.Round(time.Millisecond))
	for _, s := range p.settled(store, 30*time.Second) {
		if s.Status != "synched" {
			t.Errorf("%s ended with status %s: %s", s.Name, s.Status, s.Error)
		}
	}
	if err := other.terminate(); err != nil {
		t.Error(err)
	}
}
