package catalogtest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func testConcurrency(t *testing.T, open Open) {
	t.Run("dispatching, working, crawling, deleting and reading at once end with everything in its place", func(t *testing.T) {
		t.Parallel()
		newBustle(newWorld(t, open)).run()
	})
}

// bustle is a service in which everything happens at once, in every process that shares the catalog.
type bustle struct {
	*world
	processes []*catalog.Catalog
	site      domain.Datasource
	// stream is what dispatchers publish and workers take. Its capacity holds every job there can be.
	stream  chan domain.Job
	applied chan struct{} // something has changed since it was last received from

	mu        sync.Mutex
	published map[string]uint64 // job id → generation: a stream takes a job once, whoever publishes it
}

const uploaders, uploads = 4, 15

func newBustle(w *world, others ...*catalog.Catalog) *bustle {
	b := &bustle{
		world: w, processes: append([]*catalog.Catalog{w.Catalog}, others...),
		stream: make(chan domain.Job, 1000), applied: make(chan struct{}, 1), published: map[string]uint64{},
	}
	b.site = w.createSite(domain.DatasourceConfig{}) // its own job is published; the rest of its crawl is in run
	return b
}

func (b *bustle) run() {
	b.t.Helper()
	var uploading, working, dispatching sync.WaitGroup
	stop := make(chan struct{})
	for u := range uploaders {
		uploading.Go(func() { b.upload(u) })
	}
	for i := range max(3, len(b.processes)) {
		working.Go(func() { b.work(b.process(i)) })
	}
	for _, c := range b.processes {
		dispatching.Go(func() { b.dispatch(c, stop) })
	}
	uploading.Wait()
	if _, err := b.Apply(b.ctx, b.event(b.site, domain.EventSynched)); err != nil {
		b.t.Error(err)
	}
	b.waitSynched(b.applied, uploaders*uploads*4/5+uploaders*7+1)
	close(stop)
	dispatching.Wait()
	close(b.stream)
	working.Wait()
	equal(b.t, []string{}, b.outbox())
	equal(b.t, int64(0), b.inFlight())
	equal(b.t, domain.StatusSynched, b.get(b.site.ID).Status)
}

func (b *bustle) process(i int) *catalog.Catalog { return b.processes[i%len(b.processes)] }

// upload adds datasources, deletes some of them again, and finds pages.
func (b *bustle) upload(u int) {
	c := b.process(u)
	for i := range uploads {
		d, err := c.CreateDatasources(b.ctx, []catalog.NewDatasource{b.file()})
		if err != nil {
			b.t.Error(err)
			return
		}
		if _, err := c.Active(b.ctx, datasourceIDs(d)); err != nil {
			b.t.Error(err)
		}
		if i%5 == 4 {
			if _, err := b.process(u+1).DeleteDatasource(b.ctx, b.ws, d[0].ID); err != nil {
				b.t.Error(err)
			}
		}
		ev := b.event(b.site, domain.EventDiscovered, links(fmt.Sprintf("https://pumps.example/%d/%d", u, i%7)))
		if _, err := c.Apply(b.ctx, ev); err != nil {
			b.t.Error(err)
		}
	}
}

func (b *bustle) dispatch(c *catalog.Catalog, stop <-chan struct{}) {
	for {
		jobs, err := c.Outbox(b.ctx, 8)
		if err != nil {
			b.t.Error(err)
			return
		}
		for _, j := range jobs {
			if err := c.Published(b.ctx, j, b.publish(j)); err != nil {
				b.t.Error(err)
			}
		}
		if len(jobs) > 0 {
			continue
		}
		select {
		case <-c.OutboxWake():
		case <-stop:
			return
		}
	}
}

// publish puts the job into the stream, before Published, as in life: the worker may be faster.
func (b *bustle) publish(j domain.Job) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seq, duplicate := b.published[j.ID]; duplicate {
		return seq
	}
	j.Generation = 10 + uint64(len(b.published))
	b.published[j.ID] = j.Generation
	b.stream <- j
	return j.Generation
}

func (b *bustle) work(c *catalog.Catalog) {
	for j := range b.stream {
		ev := j.Event(domain.EventRunning, b.clock.now())
		evs := []domain.Event{ev, ev}
		evs[1].Type, evs[1].Chunks = domain.EventSynched, 1
		if j.Kind == domain.JobCrawl {
			evs[1].Type = domain.EventFetched
			evs[1].Fetched = &domain.Fetched{Original: domain.Original{Key: fmt.Sprint("page-", j.Generation)}}
		}
		if _, err := c.ApplyAll(b.ctx, evs); err != nil {
			b.t.Error(err)
		}
		select {
		case b.applied <- struct{}{}:
		default:
		}
	}
}

// waitSynched returns when the datastore holds so many datasources and all are synched.
func (w *world) waitSynched(applied <-chan struct{}, want int) {
	w.t.Helper()
	for {
		counts, err := w.DatastoreCounts(w.ctx, w.ws, w.store)
		ok(w.t, err)
		if counts[domain.StatusSynched] == int64(want) && len(counts) == 1 {
			return
		}
		select {
		case <-applied:
		case <-time.After(time.Minute):
			w.t.Fatalf("nothing happens any more; datasources by status: %v, want %d synched", counts, want)
		}
	}
}
