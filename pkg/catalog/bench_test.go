//go:build unix

package catalog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// filled makes a catalog whose outbox holds n jobs, of ten workspaces, a share of them replays. It returns the ids of
// the first datasources.
func filled(b *testing.B, n int) (*catalog.Catalog, []domain.Datasource) {
	b.Helper()
	ctx := context.Background()
	c := open(b, catalog.Options{Path: filepath.Join(b.TempDir(), "catalog.db")})
	const workspaces, batch = 10, 1000
	var stores [workspaces]string
	for i := range stores {
		ws := fmt.Sprint("ws", i)
		if err := c.EnsureWorkspace(ctx, ws, ws); err != nil {
			b.Fatal(err)
		}
		d, err := c.CreateDatastore(ctx, domain.Datastore{ID: domain.NewID(), WorkspaceID: ws, EmbeddingModel: "m"})
		if err != nil {
			b.Fatal(err)
		}
		stores[i] = d.ID
	}
	var first []domain.Datasource
	for done := 0; done < n; done += batch {
		in := make([]catalog.NewDatasource, min(batch, n-done))
		for i := range in {
			w := (done/batch + i) % workspaces
			id := domain.NewID()
			in[i] = catalog.NewDatasource{
				Datasource: domain.Datasource{
					ID: id, WorkspaceID: fmt.Sprint("ws", w), DatastoreID: stores[w], Type: domain.TypeText, Name: "document " + id,
					Metadata: map[string]any{"author": "Kim", "source": "import"}, Original: &domain.Original{Key: id, SHA256: id},
				},
				Job:      domain.Job{ID: domain.NewID(), Kind: domain.JobIngest},
				Priority: catalog.Priority(i % 3),
			}
		}
		out, err := c.CreateDatasources(ctx, in)
		if err != nil {
			b.Fatal(err)
		}
		if len(first) < 10*batch {
			first = append(first, out...)
		}
	}
	return c, first
}

// cpuTimer reports the processor time of an operation beside its duration: on a busy machine only that can be compared.
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
	for _, n := range sizes {
		if testing.Short() && n > 10_000 {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, ds := filled(b, n)
			f(b, c, ds)
		})
	}
}

// BenchmarkCatalog times what the service does all the time. With -short the large catalog is left out.
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
		b.Run("Active 100", func(b *testing.B) {
			var ids []string
			for _, d := range ds[:100] {
				ids = append(ids, d.ID)
			}
			for cpu := startCPU(b); cpu.loop(); {
				if got, err := c.Active(ctx, ids); err != nil || len(got) != 100 {
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
				job.Generation, job.Places = uint64(i+1), []domain.Place{{Model: "m"}}
				ev := job.Event(domain.EventRunning, time.Now())
				for _, ev.Type = range []domain.EventType{domain.EventRunning, domain.EventSynched} {
					if _, err := c.Apply(ctx, ev); err != nil {
						b.Fatal(err)
					}
				}
			}
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
