package catalogtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// mark is the highest generation that the catalog knows.
func (w *world) mark() uint64 {
	w.t.Helper()
	g, err := w.MaxGeneration(w.ctx)
	ok(w.t, err)
	return g
}

func testDeletion(t *testing.T, open Open) {
	t.Run("a deleted datasource is returned, gone, out of the outbox and swept", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		got, err := w.DeleteDatasource(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, d, got)
		_, err = w.Datasource(w.ctx, w.ws, d.ID)
		code(t, domain.CodeNotFound, err)
		equal(t, []string{}, w.outbox())
		active, err := w.Active(w.ctx, []string{d.ID})
		ok(t, err)
		equal(t, 0, len(active))
		sweeps := w.sweeps()
		equal(t, 1, len(sweeps))
		equal(t, domain.Sweep{
			ID: sweeps[0].ID, WorkspaceID: w.ws, DatastoreID: w.store, DatasourceID: d.ID, Below: w.mark() + 1,
			Originals: []string{d.Original.Key}, Jobs: true,
		}, sweeps[0].Sweep)
	})
	t.Run("a deleted datasource in flight no longer counts as in flight", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		_, err := w.DeleteDatasource(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a site goes with its pages, each of them swept", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA, pageB)
		w.publishAll()
		w.apply(w.page(site, pageA), domain.EventFetched, fetched("a"))
		_, err := w.DeleteDatasource(w.ctx, w.ws, site.ID)
		ok(t, err)
		left, _, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{}, catalog.Page{})
		ok(t, err)
		equal(t, 0, len(left))
		equal(t, []string{}, w.outbox())
		// Page a has been fetched. The jobs of the others are withdrawn first, before anything else is swept.
		swept, withdrawn, waiting := map[string][]string{}, []string{}, []string{site.ID, domain.ChildID(site.ID, pageB)}
		sweeps := w.sweeps()
		for _, s := range sweeps[:2] {
			withdrawn = append(withdrawn, s.DatasourceID)
			equal(t, []any{true, false}, []any{s.Crawls > 0, s.Jobs})
		}
		slices.Sort(withdrawn)
		slices.Sort(waiting)
		equal(t, waiting, withdrawn)
		for _, s := range sweeps[2:] {
			swept[s.DatasourceID] = s.Originals
			equal(t, true, s.Jobs)
			equal(t, w.mark()+1, s.Below)
		}
		equal(t, map[string][]string{site.ID: nil, domain.ChildID(site.ID, pageA): {"a"}, domain.ChildID(site.ID, pageB): nil}, swept)
	})
	t.Run("of a large site nobody sees anything once it is deleted, and its pages are removed in batches", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{})
		var urls []string
		for i := range 1_150 {
			urls = append(urls, fmt.Sprintf("https://pumps.example/p%d", i))
		}
		for part := range slices.Chunk(urls, domain.MaxLinksPerEvent) {
			w.apply(site, domain.EventDiscovered, links(part...))
		}
		last := w.page(site, urls[len(urls)-1])
		w.create(w.file()) // stays
		_, err := w.DeleteDatasource(w.ctx, w.ws, site.ID)
		ok(t, err)

		unseen := func() {
			t.Helper()
			left, _, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{}, catalog.Page{})
			ok(t, err)
			equal(t, 1, len(left))
			w.isGone(last.ID)
			active, err := w.Active(w.ctx, []string{last.ID})
			ok(t, err)
			equal(t, 0, len(active))
			ids, err := w.ResolveFilters(w.ctx, []string{w.store}, domain.Filters{DatasourceIDs: []string{last.ID, site.ID}})
			ok(t, err)
			equal(t, []string{}, ids)
			counts, err := w.DatastoreCounts(w.ctx, w.ws, w.store)
			ok(t, err)
			equal(t, map[domain.Status]int64{domain.StatusUnsynched: 1}, counts)
			_, err = w.DeleteDatasource(w.ctx, w.ws, last.ID)
			code(t, domain.CodeNotFound, err)
		}
		unseen()
		equal(t, 1, len(w.publishAll())) // the file's: no page of it is fetched any more
		w.clear()
		batches := 0
		for more := true; more; batches++ {
			more, err = w.RemoveDeleted(w.ctx)
			ok(t, err)
			if more {
				_, err = w.Datasource(w.ctx, w.ws, last.ID)
				code(t, domain.CodeNotFound, err)
			}
		}
		equal(t, 2, batches)
		swept := map[string]bool{}
		for {
			sweeps := w.sweeps()
			var ids []string
			for _, s := range sweeps {
				ids = append(ids, s.ID)
				swept[s.DatasourceID] = swept[s.DatasourceID] || s.Jobs
			}
			ok(t, w.FinishSweep(w.ctx, ids...))
			if len(sweeps) == 0 {
				break
			}
		}
		equal(t, true, swept[last.ID])
		more, err := w.RemoveDeleted(w.ctx)
		ok(t, err)
		equal(t, false, more)
		equal(t, []string{}, w.outbox())
	})
	t.Run("the sweep of a deleted page spares what a later crawl writes under the same id", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		page := w.synch(w.page(site, pageA).ID)
		_, err := w.DeleteDatasource(w.ctx, w.ws, page.ID)
		ok(t, err)
		w.apply(site, domain.EventDiscovered, links(pageA))
		w.isGone(page.ID) // its owner does not want it; the next crawl may find it
		site = w.requeue(w.get(site.ID))
		w.publishAll()
		w.apply(site, domain.EventDiscovered, links(pageA))
		again := w.synch(page.ID)
		sweeps := w.sweeps()
		equal(t, 1, len(sweeps))
		equal(t, true, sweeps[0].Below > page.ActiveGeneration && sweeps[0].Below <= again.ActiveGeneration)
	})
	t.Run("a deleted datastore takes everything in it, and is swept whole with its originals", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		agent := w.agent(w.store)
		var in []catalog.NewDatasource
		var keys []string
		for range 450 {
			in = append(in, w.file())
			keys = append(keys, in[len(in)-1].Datasource.Original.Key)
		}
		w.create(in...)
		kept := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = w.datastore(w.ws).ID })
		_, err := w.DeleteDatastore(w.ctx, w.ws, w.store)
		ok(t, err)
		_, err = w.Datastore(w.ctx, w.ws, w.store)
		code(t, domain.CodeNotFound, err)
		equal(t, []string{kept.ID}, w.outbox())
		left, _, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{}, catalog.Page{})
		ok(t, err)
		equal(t, []string{kept.ID}, datasourceIDs(left))
		a, err := w.Agent(w.ctx, w.ws, agent.ID)
		ok(t, err)
		equal(t, []string{}, a.DatastoreIDs)
		var swept []string
		whole := 0
		for _, s := range w.sweeps() {
			swept = append(swept, s.Originals...)
			if s.DatasourceID == "" {
				whole++
				equal(t, w.store, s.DatastoreID)
				equal(t, true, s.Jobs && s.Below == domain.AllGenerations)
			}
		}
		slices.Sort(swept)
		slices.Sort(keys)
		equal(t, keys, swept)
		equal(t, 1, whole)
		more, err := w.RemoveDeleted(w.ctx)
		ok(t, err)
		equal(t, false, more)
	})
	t.Run("a large datastore is gone for everybody at once, and is removed a part at a time", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		agent := w.agent(w.store)
		keys := map[string]bool{}
		var in []catalog.NewDatasource
		for range 1100 {
			in = append(in, w.file(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "sku" }))
			keys[in[len(in)-1].Datasource.Original.Key] = true
		}
		made := w.create(in...)
		flying := w.publishAll()[1050]
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		other := w.datastore(w.ws).ID
		kept := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		w.clock.advance(time.Hour)
		_, err := w.DeleteDatastore(w.ctx, w.ws, w.store)
		ok(t, err)
		last := made[len(made)-1]

		gone := func() {
			t.Helper()
			for _, ask := range []func() error{
				func() error { _, err := w.Datastore(w.ctx, w.ws, w.store); return err },
				func() error { _, err := w.DatastoreByID(w.ctx, w.store); return err },
				func() error { _, err := w.ServingPlace(w.ctx, w.store); return err },
				func() error { _, err := w.DatastoreCounts(w.ctx, w.ws, w.store); return err },
				func() error { _, err := w.DeleteDatastore(w.ctx, w.ws, w.store); return err },
				func() error { _, err := w.Datasource(w.ctx, w.ws, last.ID); return err },
				func() error { _, err := w.DatasourceByCustomID(w.ctx, w.ws, w.store, "sku"); return err },
				func() error { _, err := w.DeleteDatasource(w.ctx, w.ws, last.ID); return err },
				func() error { _, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{w.file()}); return err },
				func() error {
					_, err := w.Requeue(w.ctx, w.ws, last.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityFresh)
					return err
				},
			} {
				code(t, domain.CodeNotFound, ask())
			}
			active, err := w.Active(w.ctx, []string{last.ID})
			ok(t, err)
			equal(t, 0, len(active))
			list, next, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{}, catalog.Page{})
			ok(t, err)
			equal(t, []string{kept.ID}, datasourceIDs(list))
			equal(t, "", next)
			stores, _, err := w.Datastores(w.ctx, w.ws, catalog.Page{})
			ok(t, err)
			equal(t, 1, len(stores))
			equal(t, []string{kept.ID}, w.outbox())
			equal(t, int64(0), w.inFlight())
			equal(t, 0, len(w.stuck(0)))
			queued, _, err := w.Replay(w.ctx, catalog.ReplayFilter{WorkspaceID: w.ws, Fetch: true}, "")
			ok(t, err)
			equal(t, int64(1), queued)
			a, err := w.Agent(w.ctx, w.ws, agent.ID)
			ok(t, err)
			equal(t, []string{}, a.DatastoreIDs)
		}
		gone()
		w.clear()
		equal(t, catalog.Applied{}, w.apply(last, domain.EventSynched)) // its row may still be there
		equal(t, catalog.Applied{}, w.apply(site, domain.EventDiscovered, links(pageB)))
		w.end(flying, domain.EventError)
		for _, s := range w.sweeps() {
			equal(t, []any{"", domain.AllGenerations, true}, []any{s.DatasourceID, s.Below, s.Jobs})
		}
		for rounds := 1; ; rounds++ {
			more, err := w.RemoveDeleted(w.ctx)
			ok(t, err)
			gone()
			if !more {
				equal(t, true, rounds > 1)
				break
			}
		}
		for _, s := range w.sweeps() {
			for _, key := range s.Originals {
				delete(keys, key)
			}
		}
		equal(t, 500, len(keys)) // those of the first batch were swept with the deletion, which this test has cleared
	})
	t.Run("an event of a deleted datasource sweeps what its job wrote", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		_, err := w.DeleteDatasource(w.ctx, w.ws, d.ID)
		ok(t, err)
		for _, s := range w.sweeps() {
			ok(t, w.FinishSweep(w.ctx, s.ID))
		}
		for _, quiet := range []domain.EventType{domain.EventRunning, domain.EventProgress, domain.EventUnchanged} {
			equal(t, catalog.Applied{}, w.apply(d, quiet))
		}
		equal(t, 0, len(w.sweeps()))
		equal(t, catalog.Applied{}, w.apply(d, domain.EventSynched))
		w.apply(d, domain.EventFetched, fetched("late"))
		sweeps := w.sweeps()
		equal(t, 2, len(sweeps))
		equal(t, w.seq+1, sweeps[0].Below)
		equal(t, []string{"late"}, sweeps[1].Originals)
		for _, s := range sweeps { // the job too, but not one of a later datasource with the same id
			equal(t, []any{true, w.seq + 1}, []any{s.Jobs, s.Below})
		}
	})
	t.Run("an event of a deleted datastore sweeps the whole of it again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		_, err := w.DeleteDatastore(w.ctx, w.ws, w.store)
		ok(t, err)
		w.clear()
		w.apply(d, domain.EventSynched)
		sweeps := w.sweeps()
		equal(t, 1, len(sweeps))
		equal(t, "", sweeps[0].DatasourceID)
		equal(t, domain.AllGenerations, sweeps[0].Below)
	})
}

func testSweeps(t *testing.T, open Open) {
	t.Run("a sweep stays until it is finished", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		want := domain.Sweep{ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, DatasourceID: "d", Below: 7, Originals: []string{"a", "b"}}
		ok(t, w.QueueSweep(w.ctx, want))
		for range 2 {
			equal(t, want, w.sweeps()[0].Sweep)
		}
		ok(t, w.FinishSweep(w.ctx, want.ID))
		equal(t, 0, len(w.sweeps()))
		ok(t, w.FinishSweep(w.ctx, want.ID))
	})
	t.Run("a deferred sweep is not offered before its time, and counts its attempts", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		ok(t, w.QueueSweep(w.ctx, domain.Sweep{DatastoreID: w.store}))
		id := w.sweeps()[0].ID
		for range 2 {
			ok(t, w.DeferSweep(w.ctx, id, w.clock.now().Add(time.Minute), "the index does not answer"))
			equal(t, 0, len(w.sweeps()))
			w.clock.advance(time.Minute)
		}
		equal(t, 2, w.sweeps()[0].Attempts)
	})
	t.Run("sweeps never deferred come first, and no more than asked for", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var want []string
		for i := range 4 {
			id := fmt.Sprint("sweep-", i)
			want = append(want, id)
			ok(t, w.QueueSweep(w.ctx, domain.Sweep{ID: id, DatastoreID: w.store}))
		}
		ok(t, w.DeferSweep(w.ctx, "sweep-0", w.clock.now(), "busy"))
		got, err := w.Sweeps(w.ctx, 3)
		ok(t, err)
		equal(t, want[1:], ids(got, func(s catalog.SweepTask) string { return s.ID }))
	})
	t.Run("two sweeps alike are two: the first may be under way", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		for range 2 {
			ok(t, w.QueueSweep(w.ctx, domain.Sweep{DatastoreID: w.store, DatasourceID: "d", Below: 4}))
		}
		equal(t, 2, len(w.sweeps()))
	})
	t.Run("a commit that queues a sweep wakes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		<-w.SweepWake() // of opening
		d := w.createFile()
		select {
		case <-w.SweepWake():
			t.Fatal("woken by a new datasource")
		default:
		}
		_, err := w.DeleteDatasource(w.ctx, w.ws, d.ID)
		ok(t, err)
		<-w.SweepWake()
	})
}
