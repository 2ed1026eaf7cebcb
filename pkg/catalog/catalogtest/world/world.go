// Package world provides the environment for the catalog's tests: a new catalog with a workspace and a datastore, a
// clock set by the test, and simulations of the job stream, workers and crawlers. catalogtest and sitetest import it.
package world

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// ProgressOf returns a site's progress.
func (w *World) ProgressOf(id string) domain.SiteProgress {
	w.T.Helper()
	p := Must(w.SiteProgress(w.Ctx, id))(w.T)
	return p[id]
}

// IsGone requires that the datasource does not exist.
func (w *World) IsGone(id string) {
	w.T.Helper()
	Refused(w.Datasource(w.Ctx, w.WS, id))(w.T, domain.CodeNotFound)
}

// ClearSweeps deletes the queued sweeps.
func (w *World) ClearSweeps() {
	w.T.Helper()
	for _, s := range w.AllSweeps() {
		OK(w.T, w.FinishSweep(w.Ctx, s.ID))
	}
}

// Active maps the ids of existing datasources to what queries need to know about them.
func (w *World) Active(ctx context.Context, ids []string) (map[string]domain.ActiveDatasource, error) {
	found, err := w.ActiveOf(ctx, ids)
	out := make(map[string]domain.ActiveDatasource, len(found))
	for _, a := range found {
		if a != nil {
			out[a.ID] = *a
		}
	}
	return out, err
}

// ActiveOne returns what queries need to know about one datasource.
func (w *World) ActiveOne(id string) domain.ActiveDatasource {
	w.T.Helper()
	all := Must(w.Active(w.Ctx, []string{id}))(w.T)
	return all[id]
}

// StuckFor returns the datasources that have been stuck for at least this long.
func (w *World) StuckFor(silence time.Duration) []catalog.StuckDatasource {
	w.T.Helper()
	s := Must(w.Stuck(w.Ctx, w.Clock.Now().Add(-silence), 100))(w.T)
	return s
}

// Open opens an empty catalog and closes it when the test ends. It sets the options' Path or URL and leaves the other
// options as they are.
type Open func(t testing.TB, o catalog.Options) *catalog.Catalog

// clock is a clock that only the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// World is a catalog with one workspace and one datastore.
type World struct {
	*catalog.Catalog
	T         testing.TB
	Ctx       context.Context
	Clock     *clock
	WS        string
	StoreID   string
	Seq       uint64          // last sequence number in the simulated job stream
	siteCount atomic.Int64    // number of sites created
	known     map[string]bool // ids of the jobs in the stream, which drops duplicates
	batched   bool            // whether End collects events instead of applying them
	events    []domain.Event  // events to apply in one transaction
}

// Run runs a subtest in its own world, in parallel with other subtests.
func Run(t *testing.T, open Open, name string, test func(t *testing.T, w *World)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t, New(t, open))
	})
}

// RunLong is like Run but skips the subtest if -short is set, as it is for the race detector.
func RunLong(t *testing.T, open Open, name string, test func(t *testing.T, w *World)) {
	t.Run(name, func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		test(t, New(t, open))
	})
}

// New opens a new catalog with a workspace and a datastore.
func New(t testing.TB, open Open, options ...func(*catalog.Options)) *World {
	t.Helper()
	w := &World{T: t, Ctx: t.Context(), known: map[string]bool{}, Clock: &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, WS: domain.NewID()}
	o := catalog.Options{Now: w.Clock.Now, Log: slog.New(slog.DiscardHandler)}
	for _, f := range options {
		f(&o)
	}
	w.Catalog = open(t, o)
	OK(t, w.EnsureWorkspace(w.Ctx, w.WS, "test"))
	w.StoreID = w.NewDatastore(w.WS).ID
	return w
}

// NewWorkspace creates another workspace.
func (w *World) NewWorkspace() string {
	w.T.Helper()
	id := domain.NewID()
	OK(w.T, w.EnsureWorkspace(w.Ctx, id, "other"))
	return id
}

// Serving is the place (engine and embedding model) that serves searches in the test's datastores.
var Serving = domain.Place{Engine: domain.EngineEmbedded, Model: "model-1"}

// Settled returns the test's datastore as stored while no move is in progress.
func (w *World) Settled() domain.Datastore {
	return domain.Datastore{ID: w.StoreID, WorkspaceID: w.WS, Type: Serving.Engine, EmbeddingModel: Serving.Model}
}

// NewDatastore creates a datastore.
func (w *World) NewDatastore(ws string) domain.Datastore {
	w.T.Helper()
	d := Must(w.CreateDatastore(w.Ctx, domain.Datastore{
		ID: domain.NewID(), WorkspaceID: ws, Name: "Manuals", Type: Serving.Engine, Visibility: domain.Private,
		EmbeddingModel: Serving.Model,
	}))(w.T)
	return d
}

// File returns a new file with an original and an ingest job.
func (w *World) File(change ...func(*catalog.NewDatasource)) catalog.NewDatasource {
	n := catalog.NewDatasource{
		Datasource: domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeFile, Name: "Pump manual.pdf",
		},
		Job: domain.Job{ID: domain.NewID(), Kind: domain.JobIngest},
	}
	n.Datasource.Original = &domain.Original{Key: "original-" + n.Datasource.ID, SHA256: "abc", Size: 3, MIMEType: "application/pdf"}
	for _, f := range change {
		f(&n)
	}
	return n
}

// Create creates datasources.
func (w *World) Create(in ...catalog.NewDatasource) []domain.Datasource {
	w.T.Helper()
	out := Must(w.CreateDatasources(w.Ctx, in))(w.T)
	return out
}

// CreateFile creates a datasource for a file.
func (w *World) CreateFile(change ...func(*catalog.NewDatasource)) domain.Datasource {
	w.T.Helper()
	return w.Create(w.File(change...))[0]
}

// CreateSite creates a site and simulates the discovery of these pages.
func (w *World) CreateSite(config domain.DatasourceConfig, pages ...string) domain.Datasource {
	w.T.Helper()
	config.SourceURL = cmp.Or(config.SourceURL, "https://pumps.example/")
	if n := w.siteCount.Add(1); n > 1 { // a datastore must not contain identical sites
		config.Exclude = append(config.Exclude, fmt.Sprintf("/not-of-site-%d/", n))
	}
	site := domain.Datasource{
		ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeWebSite, Name: "Pumps",
		Config: config, Metadata: map[string]any{"team": "service"},
	}
	out := w.Create(catalog.NewDatasource{Datasource: site, Job: domain.NewCrawlJob(site, w.Settled())})[0]
	w.PublishAll()
	if len(pages) > 0 {
		w.ApplyEvent(out, domain.EventDiscovered, Links(pages...))
	}
	return w.Get(out.ID)
}

// Links returns a function that adds links to an event.
func Links(urls ...string) func(*domain.Event) {
	return func(ev *domain.Event) {
		for _, u := range urls {
			ev.Links = append(ev.Links, domain.Link{URL: u, Depth: 1})
		}
	}
}

// PublishAll simulates the dispatcher until the outbox is empty and returns the published jobs.
func (w *World) PublishAll() []domain.Job {
	w.T.Helper()
	var all []domain.Job
	for {
		jobs := Must(w.Outbox(w.Ctx, 100))(w.T)
		if len(jobs) == 0 {
			return all
		}
		for i := range jobs {
			if w.known[jobs[i].ID] {
				w.T.Errorf("job %s of %s is published a second time, and the server drops it as a duplicate", jobs[i].ID, jobs[i].Name)
			}
			w.Seq++
			jobs[i].Generation = w.Seq
			w.known[jobs[i].ID] = true
		}
		OK(w.T, w.PublishedAll(w.Ctx, jobs))
		all = append(all, jobs...)
	}
}

// Event returns a worker's event about the datasource's newest job, with the last published job's generation.
func (w *World) Event(d domain.Datasource, typ domain.EventType, change ...func(*domain.Event)) domain.Event {
	ev := domain.Event{
		Type: typ, JobID: d.JobID, JobKind: domain.JobIngest, WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID,
		DatasourceID: d.ID, Generation: w.Seq, Places: []domain.Place{Serving}, At: w.Clock.Now(),
	}
	if d.Type == domain.TypeWebSite {
		ev.JobKind = domain.JobCrawl
	}
	for _, f := range change {
		f(&ev)
	}
	return ev
}

// ApplyEvent applies an event from a datasource's newest job.
func (w *World) ApplyEvent(d domain.Datasource, typ domain.EventType, change ...func(*domain.Event)) catalog.Applied {
	w.T.Helper()
	done := Must(w.Apply(w.Ctx, w.Event(d, typ, change...)))(w.T)
	return done
}

// Synch runs the datasource's job successfully.
func (w *World) Synch(id string) domain.Datasource {
	w.T.Helper()
	w.PublishAll()
	w.ApplyEvent(w.Get(id), domain.EventSynched, Chunks(2))
	return w.Get(id)
}

// Chunks returns a function that sets the number of chunks in an event.
func Chunks(n int64) func(*domain.Event) {
	return func(ev *domain.Event) { ev.Chunks, ev.Bytes = n, 100*n }
}

// Fetched returns a function that sets an event's original.
func Fetched(key string) func(*domain.Event) {
	return func(ev *domain.Event) {
		ev.JobKind = domain.JobCrawl
		ev.Fetched = &domain.Fetched{Original: domain.Original{Key: key, MIMEType: "text/html", Size: 9}, URL: "https://pumps.example/a"}
	}
}

// Get reads a datasource.
func (w *World) Get(id string) domain.Datasource {
	w.T.Helper()
	d := Must(w.Datasource(w.Ctx, w.WS, id))(w.T)
	return d
}

// AllSweeps returns the queued sweeps.
func (w *World) AllSweeps() []catalog.SweepTask {
	w.T.Helper()
	s := Must(w.Sweeps(w.Ctx, 1000))(w.T)
	return s
}

// CountInFlight counts the datasources whose job is in the stream.
func (w *World) CountInFlight() int64 {
	w.T.Helper()
	n := Must(w.InFlight(w.Ctx))(w.T)
	return n
}

// OutboxIDs returns the ids of datasources with due jobs, in publishing order.
func (w *World) OutboxIDs() []string {
	w.T.Helper()
	jobs := Must(w.Outbox(w.Ctx, 1000))(w.T)
	out := []string{}
	for _, j := range jobs {
		out = append(out, j.DatasourceID)
	}
	return out
}

// Page addresses.
const (
	PageA = "https://pumps.example/a"
	PageB = "https://pumps.example/b"
)

// PageAt returns the site's page at the address.
func (w *World) PageAt(site domain.Datasource, url string) domain.Datasource {
	w.T.Helper()
	return w.Get(domain.ChildID(site.ID, url))
}
