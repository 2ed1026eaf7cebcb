//go:build unix

package catalog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// opener opens an empty catalog with production durability settings. Call settle after filling it.
type opener func(b *testing.B) (c *catalog.Catalog, settle func())

func onEngines(b *testing.B, f func(b *testing.B, empty opener)) {
	b.Run("SQLite", func(b *testing.B) {
		f(b, func(b *testing.B) (*catalog.Catalog, func()) {
			return open(b, catalog.Options{Path: filepath.Join(b.TempDir(), "catalog.db")}), func() {}
		})
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		f(b, func(b *testing.B) (*catalog.Catalog, func()) {
			address := postgres(b)
			return open(b, catalog.Options{URL: address}), func() {
				// Query plans depend on the statistics that ANALYZE collects. In production, autovacuum keeps them up
				// to date.
				if err := sqlExec(address, `VACUUM ANALYZE`); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

const benchWorkspaces = 10

// filled queues n jobs from ten workspaces, some of them for replays. It returns up to 10,000 of the jobs' datasources.
func filled(b *testing.B, c *catalog.Catalog, n int) []domain.Datasource {
	b.Helper()
	ctx := context.Background()
	const batch = 1000
	var stores [benchWorkspaces]string
	for i := range stores {
		stores[i] = benchStore(b, c, fmt.Sprint("ws", i))
	}
	var first []domain.Datasource
	for done := 0; done < n; done += batch {
		in := make([]catalog.NewDatasource, min(batch, n-done))
		for i := range in {
			w := (done/batch + i) % benchWorkspaces
			in[i] = document(fmt.Sprint("ws", w), stores[w])
			in[i].Priority = catalog.Priority(i % 3)
		}
		out, err := c.CreateDatasources(ctx, in)
		if err != nil {
			b.Fatal(err)
		}
		if len(first) < 10*batch {
			first = append(first, out...)
		}
	}
	return first
}

func benchStore(b *testing.B, c *catalog.Catalog, ws string) string {
	b.Helper()
	ctx := context.Background()
	if err := c.EnsureWorkspace(ctx, ws, ws); err != nil {
		b.Fatal(err)
	}
	d, err := c.CreateDatastore(ctx, domain.Datastore{ID: domain.NewID(), WorkspaceID: ws, Type: "embedded", EmbeddingModel: "m"})
	if err != nil {
		b.Fatal(err)
	}
	return d.ID
}

func document(ws, store string) catalog.NewDatasource {
	id := domain.NewID()
	return catalog.NewDatasource{
		Datasource: domain.Datasource{
			ID: id, WorkspaceID: ws, DatastoreID: store, Type: domain.TypeText, Name: "document " + id,
			Metadata: map[string]any{"author": "Kim", "source": "import"}, Original: &domain.Original{Key: id, SHA256: id},
		},
		Job: domain.Job{ID: domain.NewID(), Kind: domain.JobIngest},
	}
}

// cpuTimer reports an operation's CPU time in addition to its duration. On a busy machine, only CPU times are
// comparable.
type cpuTimer struct {
	b       *testing.B
	started bool
	from    time.Duration
}

func startCPU(b *testing.B) *cpuTimer { return &cpuTimer{b: b} }

func (c *cpuTimer) loop() bool {
	more := c.b.Loop()
	if !c.started {
		c.started, c.from = true, processorTime(c.b)
	}
	if !more {
		c.b.ReportMetric(float64(processorTime(c.b)-c.from)/float64(c.b.N), "cpu-ns/op")
	}
	return more
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var sizes = []int{10_000, 1_000_000}

func bySize(b *testing.B, f func(b *testing.B, c *catalog.Catalog, ds []domain.Datasource)) {
	onEngines(b, func(b *testing.B, empty opener) {
		for _, n := range sizes {
			if testing.Short() && n > 10_000 {
				continue
			}
			b.Run(fmt.Sprint(n), func(b *testing.B) {
				c, settle := empty(b)
				ds := filled(b, c, n)
				settle()
				f(b, c, ds)
			})
		}
	})
}

// BenchmarkCatalog measures the most frequent operations. With -short, it skips the large catalog.
func BenchmarkCatalog(b *testing.B) {
	ctx := context.Background()
	bySize(b, func(b *testing.B, c *catalog.Catalog, ds []domain.Datasource) {
		b.Run("Outbox 64", func(b *testing.B) {
			for cpu := startCPU(b); cpu.loop(); {
				if jobs, err := c.Outbox(ctx, 64); err != nil || len(jobs) != 64 {
					b.Fatal(len(jobs), err)
				}
			}
		})
		b.Run("Active 200", func(b *testing.B) {
			var ids []string
			for _, d := range ds[:200] {
				ids = append(ids, d.ID)
			}
			for cpu := startCPU(b); cpu.loop(); {
				if got, err := c.ActiveOf(ctx, ids); err != nil || len(got) != 200 {
					b.Fatal(len(got), err)
				}
			}
		})
		b.Run("a job's life in 4 transactions", func(b *testing.B) {
			for i, cpu := 0, startCPU(b); cpu.loop(); i++ {
				d := ds[i%len(ds)]
				job := domain.NewIngestJob(d, domain.Datastore{})
				if _, err := c.Requeue(ctx, d.WorkspaceID, d.ID, job, catalog.PriorityFresh); err != nil {
					b.Fatal(err)
				}
				if err := c.Published(ctx, job, uint64(i+1)); err != nil {
					b.Fatal(err)
				}
				job.Generation, job.Places = uint64(i+1), []domain.Place{{Engine: "embedded", Model: "m"}}
				ev := job.Event(domain.EventRunning, time.Now())
				for _, ev.Type = range []domain.EventType{domain.EventRunning, domain.EventSynched} {
					if _, err := c.Apply(ctx, ev); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run("one new datasource", func(b *testing.B) {
			for cpu := startCPU(b); cpu.loop(); {
				if _, err := c.CreateDatasources(ctx, []catalog.NewDatasource{document(ds[0].WorkspaceID, ds[0].DatastoreID)}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("100 new datasources in 1 transaction", func(b *testing.B) {
			in := make([]catalog.NewDatasource, 100)
			for cpu := startCPU(b); cpu.loop(); {
				for i := range in {
					in[i] = document(ds[0].WorkspaceID, ds[0].DatastoreID)
				}
				if _, err := c.CreateDatasources(ctx, in); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("events of many at once", func(b *testing.B) {
			var next atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					d := ds[int(next.Add(1))%len(ds)]
					ev := domain.Event{
						Type: domain.EventProgress, JobID: d.JobID, JobKind: domain.JobIngest, WorkspaceID: d.WorkspaceID,
						DatastoreID: d.DatastoreID, DatasourceID: d.ID, Progress: &domain.Progress{Stage: "embedding"},
					}
					if _, err := c.Apply(ctx, ev); err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run("100 events in 1 transaction", func(b *testing.B) {
			evs := make([]domain.Event, 100)
			for i := range evs {
				d := ds[i]
				evs[i] = domain.Event{
					Type: domain.EventProgress, JobID: d.JobID, JobKind: domain.JobIngest, WorkspaceID: d.WorkspaceID,
					DatastoreID: d.DatastoreID, DatasourceID: d.ID, Progress: &domain.Progress{Stage: "embedding", Done: int64(i)},
				}
			}
			for cpu := startCPU(b); cpu.loop(); {
				if _, err := c.ApplyAll(ctx, evs); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("InFlight", func(b *testing.B) {
			for cpu := startCPU(b); cpu.loop(); {
				if _, err := c.InFlight(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("a page of 50 of a datastore", func(b *testing.B) {
			f := catalog.DatasourceFilter{DatastoreID: ds[0].DatastoreID}
			for cpu := startCPU(b); cpu.loop(); {
				if _, _, err := c.Datasources(ctx, ds[0].WorkspaceID, f, catalog.Page{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("DatastoreCounts", func(b *testing.B) {
			for cpu := startCPU(b); cpu.loop(); {
				if _, err := c.DatastoreCounts(ctx, ds[0].WorkspaceID, ds[0].DatastoreID); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkLargeDatastore measures moving a whole datastore (issuing jobs, applying their events, switching readers)
// and then deleting it.
func BenchmarkLargeDatastore(b *testing.B) {
	const n = 20_000
	onEngines(b, func(b *testing.B, empty opener) {
		for b.Loop() {
			c, settle := empty(b)
			l := largeDatastore{b: b, c: c}
			l.fill(n)
			settle()
			l.move()
			l.remove()
		}
	})
}

type largeDatastore struct {
	b     *testing.B
	c     *catalog.Catalog
	store string
	seq   uint64
}

// timed runs f and reports its duration in milliseconds as a benchmark metric.
func (l *largeDatastore) timed(metric string, f func() error) {
	l.b.Helper()
	begun := time.Now()
	if err := f(); err != nil {
		l.b.Fatal(err)
	}
	l.b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, metric)
}

func (l *largeDatastore) fill(n int) {
	l.b.Helper()
	l.store = benchStore(l.b, l.c, "ws")
	l.timed("create-ms", func() error {
		for range n / 1000 {
			in := make([]catalog.NewDatasource, 1000)
			for i := range in {
				in[i] = document("ws", l.store)
			}
			if _, err := l.c.CreateDatasources(context.Background(), in); err != nil {
				return err
			}
		}
		return nil
	})
	l.timed("synch-ms", l.work)
}

func (l *largeDatastore) work() error {
	ctx := context.Background()
	for {
		jobs, err := l.c.Outbox(ctx, 200)
		if err != nil || len(jobs) == 0 {
			return err
		}
		evs := make([]domain.Event, len(jobs))
		for i := range jobs {
			l.seq++
			jobs[i].Generation = l.seq
			evs[i] = jobs[i].Event(domain.EventSynched, time.Now())
		}
		if err := l.c.PublishedAll(ctx, jobs); err != nil {
			return err
		}
		if _, err := l.c.ApplyAll(ctx, evs); err != nil {
			return err
		}
	}
}

func (l *largeDatastore) move() {
	l.b.Helper()
	ctx := context.Background()
	to := domain.EngineMilvus
	d, err := l.c.UpdateDatastore(ctx, "ws", l.store, domain.DatastorePatch{Type: &to})
	if err != nil {
		l.b.Fatal(err)
	}
	l.timed("issue-ms", func() error {
		for {
			if n, err := l.c.IssueMoves(ctx, l.store, d.Move.ID, 200); err != nil || n == 0 {
				return err
			}
		}
	})
	if err := l.work(); err != nil {
		l.b.Fatal(err)
	}
	l.timed("progress-ms", func() error {
		_, err := l.c.MoveProgress(ctx, l.store)
		return err
	})
	l.timed("finish-ms", func() error {
		if done, err := l.c.FinishMove(ctx, l.store, d.Move.ID); err != nil || !done {
			return fmt.Errorf("finished: %v, error: %w", done, err)
		}
		return nil
	})
}

func (l *largeDatastore) remove() {
	l.b.Helper()
	ctx := context.Background()
	l.timed("delete-ms", func() error {
		_, err := l.c.DeleteDatastore(ctx, "ws", l.store)
		return err
	})
	rounds := 0
	begun := time.Now()
	for more := true; more; rounds++ {
		var err error
		if more, err = l.c.RemoveDeleted(ctx); err != nil {
			l.b.Fatal(err)
		}
	}
	l.b.ReportMetric(float64(time.Since(begun).Milliseconds())/float64(rounds), "remove-round-ms")
}
