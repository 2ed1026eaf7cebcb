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
		w := newWorld(t, open)
		const uploaders, each = 4, 15
		// The stream: what the dispatcher publishes, workers take. Its capacity holds every job there can be.
		stream := make(chan domain.Job, 1000)
		applied := make(chan struct{}, 1) // something has changed since it was last received from
		var uploads, workers, dispatcher sync.WaitGroup
		stop := make(chan struct{})

		site := w.createSite(domain.DatasourceConfig{}) // its own job is published; the rest of its crawl is below
		for u := range uploaders {
			uploads.Go(func() {
				for i := range each {
					d, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{w.file()})
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := w.Active(w.ctx, datasourceIDs(d)); err != nil {
						t.Error(err)
					}
					if i%5 == 4 {
						if _, err := w.DeleteDatasource(w.ctx, w.ws, d[0].ID); err != nil {
							t.Error(err)
						}
					}
					ev := w.event(site, domain.EventDiscovered, links(fmt.Sprintf("https://pumps.example/%d/%d", u, i%7)))
					if _, err := w.Apply(w.ctx, ev); err != nil {
						t.Error(err)
					}
				}
			})
		}
		dispatcher.Go(func() {
			var seq uint64 = 10
			for {
				jobs, err := w.Outbox(w.ctx, 8)
				if err != nil {
					t.Error(err)
					return
				}
				for _, j := range jobs {
					seq++
					j.Generation = seq
					stream <- j // before Published, as in life: the worker may be faster
					if err := w.Published(w.ctx, j, seq); err != nil {
						t.Error(err)
					}
				}
				if len(jobs) > 0 {
					continue
				}
				select {
				case <-w.OutboxWake():
				case <-stop:
					return
				}
			}
		})
		for range 3 {
			workers.Go(func() {
				for j := range stream {
					ev := j.Event(domain.EventRunning, w.clock.now())
					evs := []domain.Event{ev, ev}
					evs[1].Type, evs[1].Chunks = domain.EventSynched, 1
					if j.Kind == domain.JobCrawl {
						evs[1].Type = domain.EventFetched
						evs[1].Fetched = &domain.Fetched{Original: domain.Original{Key: fmt.Sprint("page-", j.Generation)}}
					}
					if _, err := w.ApplyAll(w.ctx, evs); err != nil {
						t.Error(err)
					}
					select {
					case applied <- struct{}{}:
					default:
					}
				}
			})
		}
		uploads.Wait()
		if _, err := w.Apply(w.ctx, w.event(site, domain.EventSynched)); err != nil {
			t.Error(err)
		}
		w.waitSynched(applied, uploaders*each*4/5+uploaders*7+1)
		close(stop)
		dispatcher.Wait()
		close(stream)
		workers.Wait()
		equal(t, []string{}, w.outbox())
		equal(t, int64(0), w.inFlight())
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
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
