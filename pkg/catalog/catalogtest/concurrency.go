package catalogtest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testConcurrency(t *testing.T, open world.Open) {
	t.Run("dispatching, working, crawling, deleting and reading at once end with everything in its place", func(t *testing.T) {
		t.Parallel()
		newConcurrentService(world.New(t, open)).run()
	})
}

// concurrentService simulates a service whose processes share a catalog.
type concurrentService struct {
	*world.World
	processes []*catalog.Catalog
	site      domain.Datasource
	// stream passes published jobs to the workers. Publishing never blocks.
	stream  chan domain.Job
	applied chan struct{} // signals a change

	mu        sync.Mutex
	published map[string]uint64 // maps each job id to its generation; the stream accepts each job once, whoever publishes it
}

const uploaders, uploads = 4, 15

func newConcurrentService(w *world.World, others ...*catalog.Catalog) *concurrentService {
	b := &concurrentService{
		World: w, processes: append([]*catalog.Catalog{w.Catalog}, others...),
		stream: make(chan domain.Job, 1000), applied: make(chan struct{}, 1), published: map[string]uint64{},
	}
	b.site = w.CreateSite(domain.DatasourceConfig{}) // the site's own job is published; run does the rest of the crawl
	return b
}

func (b *concurrentService) run() {
	b.T.Helper()
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
	if _, err := b.Apply(b.Ctx, b.Event(b.site, domain.EventSynched)); err != nil {
		b.T.Error(err)
	}
	waitSynched(b.World, b.applied, uploaders*uploads*4/5+uploaders*7+1)
	close(stop)
	dispatching.Wait()
	close(b.stream)
	working.Wait()
	world.Equal(b.T, []string{}, b.OutboxIDs())
	world.Equal(b.T, int64(0), b.CountInFlight())
	world.Equal(b.T, domain.StatusSynched, b.Get(b.site.ID).Status)
}

func (b *concurrentService) process(i int) *catalog.Catalog { return b.processes[i%len(b.processes)] }

// upload adds datasources, deletes some of them, and reports new pages for the site.
func (b *concurrentService) upload(u int) {
	c := b.process(u)
	for i := range uploads {
		d, err := c.CreateDatasources(b.Ctx, []catalog.NewDatasource{b.File()})
		if err != nil {
			b.T.Error(err)
			return
		}
		if _, err := c.ActiveOf(b.Ctx, world.DatasourceIDs(d)); err != nil {
			b.T.Error(err)
		}
		if i%5 == 4 {
			if _, err := b.process(u+1).DeleteDatasource(b.Ctx, b.WS, d[0].ID); err != nil {
				b.T.Error(err)
			}
		}
		ev := b.Event(b.site, domain.EventDiscovered, world.Links(fmt.Sprintf("https://pumps.example/%d/%d", u, i%7)))
		if _, err := c.Apply(b.Ctx, ev); err != nil {
			b.T.Error(err)
		}
	}
}

func (b *concurrentService) dispatch(c *catalog.Catalog, stop <-chan struct{}) {
	for {
		jobs, err := c.Outbox(b.Ctx, 8)
		if err != nil {
			b.T.Error(err)
			return
		}
		for _, j := range jobs {
			if err := c.Published(b.Ctx, j, b.publish(j)); err != nil {
				b.T.Error(err)
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

// publish adds the job to the stream. As in production, a worker may finish the job before Published is called.
func (b *concurrentService) publish(j domain.Job) uint64 {
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

func (b *concurrentService) work(c *catalog.Catalog) {
	for j := range b.stream {
		ev := j.Event(domain.EventRunning, b.Clock.Now())
		evs := []domain.Event{ev, ev}
		evs[1].Type, evs[1].Chunks = domain.EventSynched, 1
		if j.Kind == domain.JobCrawl {
			evs[1].Type = domain.EventFetched
			evs[1].Fetched = &domain.Fetched{Original: domain.Original{Key: fmt.Sprint("page-", j.Generation)}}
		}
		if _, err := c.ApplyAll(b.Ctx, evs); err != nil {
			b.T.Error(err)
		}
		select {
		case b.applied <- struct{}{}:
		default:
		}
	}
}

// waitSynched waits until the datastore has `want` datasources and all of them are synched.
func waitSynched(w *world.World, applied <-chan struct{}, want int) {
	w.T.Helper()
	for {
		counts := world.Must(w.DatastoreCounts(w.Ctx, w.WS, w.StoreID))(w.T)
		if counts[domain.StatusSynched] == int64(want) && len(counts) == 1 {
			return
		}
		select {
		case <-applied:
		case <-time.After(time.Minute):
			w.T.Fatalf("nothing happens any more; datasources by status: %v, want %d synched", counts, want)
		}
	}
}
