// Package catalogtest is the suite that the catalog passes on every engine: each sentence of a method's contract is a
// subtest of that name.
package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// Open opens an empty catalog with the options, Path aside, and closes it when the test ends.
type Open func(t testing.TB, o catalog.Options) *catalog.Catalog

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, suite := range map[string]func(*testing.T, Open){
		"keys":          testKeys,
		"agents":        testAgents,
		"datastores":    testDatastores,
		"datasources":   testDatasources,
		"lists":         testLists,
		"outbox":        testOutbox,
		"events":        testEvents,
		"sites":         testSites,
		"crawls":        testCrawls,
		"recrawls":      testRecrawls,
		"descriptions":  testDescriptions,
		"stops":         testStops,
		"refreshes":     testRefreshes,
		"duplicates":    testDuplicates,
		"canonicals":    testCanonicals,
		"links":         testLinks,
		"scopes":        testScopes,
		"refused":       testRefused,
		"deletion":      testDeletion,
		"sweeps":        testSweeps,
		"retrieval":     testRetrieval,
		"rescue":        testRescue,
		"conversations": testConversations,
		"talk lists":    testConversationLists,
		"talk ends":     testConversationsEnd,
		"turns":         testTurns,
		"usage":         testUsage,
		"quotas":        testQuotas,
		"storage":       testStorage,
		"idempotency":   testIdempotency,
		"concurrency":   testConcurrency,
		"texts":         testTexts,
		"moves":         testMoves,
		"upheaval":      testUpheaval,
		"leases":        testLeases,
		"clocks":        testClocks,
		"repairs":       testRepairs,
		"replay":        testReplay,
		"adoption":      testAdoption,
		"random":        testRandom,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, open)
		})
	}
}

// clock is the time of a test, moved by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is a catalog with one workspace and one datastore in it.
type world struct {
	*catalog.Catalog
	t     testing.TB
	ctx   context.Context
	clock *clock
	ws    string
	store string
	seq   uint64          // of the job stream that the test plays
	sites atomic.Int64    // made so far
	known map[string]bool // ids of the jobs in it: it would take another of the same id for the one that it has
}

func newWorld(t testing.TB, open Open, options ...func(*catalog.Options)) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), known: map[string]bool{}, clock: &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, ws: domain.NewID()}
	o := catalog.Options{Now: w.clock.now, Log: slog.New(slog.DiscardHandler)}
	for _, f := range options {
		f(&o)
	}
	w.Catalog = open(t, o)
	ok(t, w.EnsureWorkspace(w.ctx, w.ws, "test"))
	w.store = w.datastore(w.ws).ID
	return w
}

// workspace makes another workspace.
func (w *world) workspace() string {
	w.t.Helper()
	id := domain.NewID()
	ok(w.t, w.EnsureWorkspace(w.ctx, id, "other"))
	return id
}

// serving is the place that the test's datastores serve readers from.
var serving = domain.Place{Engine: domain.EngineEmbedded, Model: "model-1"}

// settled is the test's datastore as it is when it does not move.
func (w *world) settled() domain.Datastore {
	return domain.Datastore{ID: w.store, WorkspaceID: w.ws, Type: serving.Engine, EmbeddingModel: serving.Model}
}

func (w *world) datastore(ws string) domain.Datastore {
	w.t.Helper()
	d, err := w.CreateDatastore(w.ctx, domain.Datastore{
		ID: domain.NewID(), WorkspaceID: ws, Name: "Manuals", Type: serving.Engine, Visibility: domain.Private,
		EmbeddingModel: serving.Model,
	})
	ok(w.t, err)
	return d
}

// file is a new file with an original and its ingest job.
func (w *world) file(change ...func(*catalog.NewDatasource)) catalog.NewDatasource {
	n := catalog.NewDatasource{
		Datasource: domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeFile, Name: "Pump manual.pdf",
		},
		Job: domain.Job{ID: domain.NewID(), Kind: domain.JobIngest},
	}
	n.Datasource.Original = &domain.Original{Key: "original-" + n.Datasource.ID, SHA256: "abc", Size: 3, MIMEType: "application/pdf"}
	for _, f := range change {
		f(&n)
	}
	return n
}

func (w *world) create(in ...catalog.NewDatasource) []domain.Datasource {
	w.t.Helper()
	out, err := w.CreateDatasources(w.ctx, in)
	ok(w.t, err)
	return out
}

func (w *world) createFile(change ...func(*catalog.NewDatasource)) domain.Datasource {
	w.t.Helper()
	return w.create(w.file(change...))[0]
}

// createSite makes a site and plays its discovery up to the given pages.
func (w *world) createSite(config domain.DatasourceConfig, pages ...string) domain.Datasource {
	w.t.Helper()
	if config.SourceURL == "" {
		config.SourceURL = "https://pumps.example/"
	}
	if n := w.sites.Add(1); n > 1 { // a datastore has no site twice
		config.Exclude = append(config.Exclude, fmt.Sprintf("/not-of-site-%d/", n))
	}
	site := domain.Datasource{
		ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeWebSite, Name: "Pumps",
		Config: config, Metadata: map[string]any{"team": "service"},
	}
	out := w.create(catalog.NewDatasource{Datasource: site, Job: domain.NewCrawlJob(site, w.settled())})[0]
	w.publishAll()
	if len(pages) > 0 {
		w.apply(out, domain.EventDiscovered, links(pages...))
	}
	return w.get(out.ID)
}

func links(urls ...string) func(*domain.Event) {
	return func(ev *domain.Event) {
		for _, u := range urls {
			ev.Links = append(ev.Links, domain.Link{URL: u, Depth: 1})
		}
	}
}

// publishAll plays the dispatcher until the outbox is empty and returns what it has published.
func (w *world) publishAll() []domain.Job {
	w.t.Helper()
	var all []domain.Job
	for {
		jobs, err := w.Outbox(w.ctx, 100)
		ok(w.t, err)
		if len(jobs) == 0 {
			return all
		}
		for i := range jobs {
			if w.known[jobs[i].ID] {
				w.t.Errorf("job %s of %s is published twice, and so lost", jobs[i].ID, jobs[i].Name)
			}
			w.seq++
			jobs[i].Generation = w.seq
			w.known[jobs[i].ID] = true
		}
		ok(w.t, w.PublishedAll(w.ctx, jobs))
		all = append(all, jobs...)
	}
}

// event is what a worker says of the datasource's newest job in its latest generation.
func (w *world) event(d domain.Datasource, typ domain.EventType, change ...func(*domain.Event)) domain.Event {
	ev := domain.Event{
		Type: typ, JobID: d.JobID, JobKind: domain.JobIngest, WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID,
		DatasourceID: d.ID, Generation: w.seq, Places: []domain.Place{serving}, At: w.clock.now(),
	}
	if d.Type == domain.TypeWebSite {
		ev.JobKind = domain.JobCrawl
	}
	for _, f := range change {
		f(&ev)
	}
	return ev
}

func (w *world) apply(d domain.Datasource, typ domain.EventType, change ...func(*domain.Event)) catalog.Applied {
	w.t.Helper()
	done, err := w.Apply(w.ctx, w.event(d, typ, change...))
	ok(w.t, err)
	return done
}

// synch plays a datasource's ingest job to its end.
func (w *world) synch(id string) domain.Datasource {
	w.t.Helper()
	w.publishAll()
	w.apply(w.get(id), domain.EventSynched, chunks(2))
	return w.get(id)
}

func chunks(n int64) func(*domain.Event) {
	return func(ev *domain.Event) { ev.Chunks, ev.Bytes = n, 100*n }
}

func fetched(key string) func(*domain.Event) {
	return func(ev *domain.Event) {
		ev.JobKind = domain.JobCrawl
		ev.Fetched = &domain.Fetched{Original: domain.Original{Key: key, MIMEType: "text/html", Size: 9}, URL: "https://pumps.example/a"}
	}
}

func (w *world) get(id string) domain.Datasource {
	w.t.Helper()
	d, err := w.Datasource(w.ctx, w.ws, id)
	ok(w.t, err)
	return d
}

func (w *world) sweeps() []catalog.SweepTask {
	w.t.Helper()
	s, err := w.Sweeps(w.ctx, 1000)
	ok(w.t, err)
	return s
}

func (w *world) inFlight() int64 {
	w.t.Helper()
	n, err := w.InFlight(w.ctx)
	ok(w.t, err)
	return n
}

// outbox returns the ids of the datasources whose jobs are due, in the order they would go.
func (w *world) outbox() []string {
	w.t.Helper()
	jobs, err := w.Outbox(w.ctx, 1000)
	ok(w.t, err)
	out := []string{}
	for _, j := range jobs {
		out = append(out, j.DatasourceID)
	}
	return out
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

// code demands that err has the code.
func code(t testing.TB, want domain.Code, err error) {
	t.Helper()
	if got := domain.CodeOf(err); got != want {
		t.Fatalf("error %v has code %q, want %q", err, got, want)
	}
}

func ids[T any](items []T, id func(T) string) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, id(item))
	}
	return out
}

func datasourceIDs(ds []domain.Datasource) []string {
	return ids(ds, func(d domain.Datasource) string { return d.ID })
}

// faultyField is the field that the error names.
func faultyField(t testing.TB, err error) string {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || len(e.Fields) != 1 {
		t.Fatalf("error %v names no single field", err)
	}
	return e.Fields[0].Field
}
