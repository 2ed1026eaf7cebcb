package catalogtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// highestGeneration returns the highest generation the catalog knows.
func highestGeneration(w *world.World) uint64 {
	w.T.Helper()
	g := world.Must(w.MaxGeneration(w.Ctx))(w.T)
	return g
}

func testDeletion(t *testing.T, open world.Open) {
	world.Run(t, open, "a deleted datasource is returned, gone, out of the outbox and swept", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		got := world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, d, got)
		world.Refused(w.Datasource(w.Ctx, w.WS, d.ID))(t, domain.CodeNotFound)
		world.Equal(t, []string{}, w.OutboxIDs())
		active := world.Must(w.Active(w.Ctx, []string{d.ID}))(t)
		world.Equal(t, 0, len(active))
		sweeps := w.AllSweeps()
		world.Equal(t, 1, len(sweeps))
		world.Equal(t, domain.Sweep{
			ID: sweeps[0].ID, WorkspaceID: w.WS, DatastoreID: w.StoreID, DatasourceID: d.ID, Below: highestGeneration(w) + 1,
			Originals: []string{d.Original.Key}, Jobs: true,
		}, sweeps[0].Sweep)
	})
	world.Run(t, open, "a deleted datasource in flight no longer counts as in flight", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a site goes with its pages, each of them swept", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		w.PublishAll()
		w.ApplyEvent(w.PageAt(site, world.PageA), domain.EventFetched, world.Fetched("a"))
		_, err := w.DeleteDatasource(w.Ctx, w.WS, site.ID)
		world.OK(t, err)
		left, _, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, catalog.Page{})
		world.OK(t, err)
		world.Equal(t, 0, len(left))
		world.Equal(t, []string{}, w.OutboxIDs())
		// The first two sweeps withdraw the jobs for the site and page B. There is none for page A, which was already
		// fetched.
		swept, withdrawn, waiting := map[string][]string{}, []string{}, []string{site.ID, domain.ChildID(site.ID, world.PageB)}
		sweeps := w.AllSweeps()
		for _, s := range sweeps[:2] {
			withdrawn = append(withdrawn, s.DatasourceID)
			world.Equal(t, []any{true, false}, []any{s.Crawls > 0, s.Jobs})
		}
		slices.Sort(withdrawn)
		slices.Sort(waiting)
		world.Equal(t, waiting, withdrawn)
		for _, s := range sweeps[2:] {
			swept[s.DatasourceID] = s.Originals
			world.Equal(t, true, s.Jobs)
			world.Equal(t, highestGeneration(w)+1, s.Below)
		}
		world.Equal(t, map[string][]string{site.ID: nil, domain.ChildID(site.ID, world.PageA): {"a"}, domain.ChildID(site.ID, world.PageB): nil}, swept)
	})
	world.RunLong(t, open, "a deleted large site is invisible at once, and its pages are removed in batches", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{})
		var urls []string
		for i := range 1_150 {
			urls = append(urls, fmt.Sprintf("https://pumps.example/p%d", i))
		}
		for part := range slices.Chunk(urls, domain.MaxLinksPerEvent) {
			w.ApplyEvent(site, domain.EventDiscovered, world.Links(part...))
		}
		last := w.PageAt(site, urls[len(urls)-1])
		w.Create(w.File()) // not deleted
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, site.ID))(t)

		unseen := func() {
			t.Helper()
			left, _, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, catalog.Page{})
			world.OK(t, err)
			world.Equal(t, 1, len(left))
			w.IsGone(last.ID)
			active := world.Must(w.Active(w.Ctx, []string{last.ID}))(t)
			world.Equal(t, 0, len(active))
			ids := world.Must(w.ResolveFilters(w.Ctx, []string{w.StoreID}, domain.Filters{DatasourceIDs: []string{last.ID, site.ID}}))(t)
			world.Equal(t, []string{}, ids)
			counts := world.Must(w.DatastoreCounts(w.Ctx, w.WS, w.StoreID))(t)
			world.Equal(t, map[domain.Status]int64{domain.StatusUnsynched: 1}, counts)
			world.Refused(w.DeleteDatasource(w.Ctx, w.WS, last.ID))(t, domain.CodeNotFound)
		}
		unseen()
		world.Equal(t, 1, len(w.PublishAll())) // the file's job; no page of the site is fetched
		w.ClearSweeps()
		batches := 0
		for more := true; more; batches++ {
			more = world.Must(w.RemoveDeleted(w.Ctx))(t)
			if more {
				world.Refused(w.Datasource(w.Ctx, w.WS, last.ID))(t, domain.CodeNotFound)
			}
		}
		world.Equal(t, 2, batches)
		swept := map[string]bool{}
		for {
			sweeps := w.AllSweeps()
			var ids []string
			for _, s := range sweeps {
				ids = append(ids, s.ID)
				swept[s.DatasourceID] = swept[s.DatasourceID] || s.Jobs
			}
			world.OK(t, w.FinishSweep(w.Ctx, ids...))
			if len(sweeps) == 0 {
				break
			}
		}
		world.Equal(t, true, swept[last.ID])
		more := world.Must(w.RemoveDeleted(w.Ctx))(t)
		world.Equal(t, false, more)
		world.Equal(t, []string{}, w.OutboxIDs())
	})
	world.Run(t, open, "the sweep of a deleted page spares what a later crawl writes under the same id", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		page := w.Synch(w.PageAt(site, world.PageA).ID)
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, page.ID))(t)
		w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA))
		w.IsGone(page.ID) // the site's owner does not want it; the next crawl may find it
		site = w.FetchAgain(w.Get(site.ID))
		w.PublishAll()
		w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA))
		again := w.Synch(page.ID)
		sweeps := w.AllSweeps()
		world.Equal(t, 1, len(sweeps))
		world.Equal(t, true, sweeps[0].Below > page.ActiveGeneration && sweeps[0].Below <= again.ActiveGeneration)
	})
	world.Run(t, open, "a deleted datastore takes everything in it, and is swept whole with its originals", func(t *testing.T, w *world.World) {
		agent := NewAgent(w, w.StoreID)
		var in []catalog.NewDatasource
		var keys []string
		for range 450 {
			in = append(in, w.File())
			keys = append(keys, in[len(in)-1].Datasource.Original.Key)
		}
		w.Create(in...)
		kept := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = w.NewDatastore(w.WS).ID })
		_, err := w.DeleteDatastore(w.Ctx, w.WS, w.StoreID)
		world.OK(t, err)
		world.Refused(w.Datastore(w.Ctx, w.WS, w.StoreID))(t, domain.CodeNotFound)
		world.Equal(t, []string{kept.ID}, w.OutboxIDs())
		left, _, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, catalog.Page{})
		world.OK(t, err)
		world.Equal(t, []string{kept.ID}, world.DatasourceIDs(left))
		a := world.Must(w.Agent(w.Ctx, w.WS, agent.ID))(t)
		world.Equal(t, []string{}, a.DatastoreIDs)
		var swept []string
		whole := 0
		for _, s := range w.AllSweeps() {
			swept = append(swept, s.Originals...)
			if s.DatasourceID == "" {
				whole++
				world.Equal(t, w.StoreID, s.DatastoreID)
				world.Equal(t, true, s.Jobs && s.Below == domain.AllGenerations)
			}
		}
		slices.Sort(swept)
		slices.Sort(keys)
		world.Equal(t, keys, swept)
		world.Equal(t, 1, whole)
		more := world.Must(w.RemoveDeleted(w.Ctx))(t)
		world.Equal(t, false, more)
	})
	world.RunLong(t, open, "a large datastore is gone for everybody at once, and is removed a part at a time", func(t *testing.T, w *world.World) {
		agent := NewAgent(w, w.StoreID)
		keys := map[string]bool{}
		var in []catalog.NewDatasource
		for range 1100 {
			in = append(in, w.File(func(n *catalog.NewDatasource) { n.Datasource.CustomID = "sku" }))
			keys[in[len(in)-1].Datasource.Original.Key] = true
		}
		made := w.Create(in...)
		flying := w.PublishAll()[1050]
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		other := w.NewDatastore(w.WS).ID
		kept := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		w.Clock.Advance(time.Hour)
		world.Must(w.DeleteDatastore(w.Ctx, w.WS, w.StoreID))(t)
		last := made[len(made)-1]

		gone := func() {
			t.Helper()
			for _, ask := range []func() error{
				func() error { _, err := w.Datastore(w.Ctx, w.WS, w.StoreID); return err },
				func() error { _, err := w.DatastoreByID(w.Ctx, w.StoreID); return err },
				func() error { _, err := w.ServingPlace(w.Ctx, w.StoreID); return err },
				func() error { _, err := w.DatastoreCounts(w.Ctx, w.WS, w.StoreID); return err },
				func() error { _, err := w.DeleteDatastore(w.Ctx, w.WS, w.StoreID); return err },
				func() error { _, err := w.Datasource(w.Ctx, w.WS, last.ID); return err },
				func() error { _, err := w.DatasourceByCustomID(w.Ctx, w.WS, w.StoreID, "sku"); return err },
				func() error { _, err := w.DeleteDatasource(w.Ctx, w.WS, last.ID); return err },
				func() error { _, err := w.CreateDatasources(w.Ctx, []catalog.NewDatasource{w.File()}); return err },
				func() error {
					_, err := w.Requeue(w.Ctx, w.WS, last.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityFresh)
					return err
				},
			} {
				world.Code(t, domain.CodeNotFound, ask())
			}
			active, err := w.Active(w.Ctx, []string{last.ID})
			world.OK(t, err)
			world.Equal(t, 0, len(active))
			list, next, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{}, catalog.Page{})
			world.OK(t, err)
			world.Equal(t, []string{kept.ID}, world.DatasourceIDs(list))
			world.Equal(t, "", next)
			stores, _, err := w.Datastores(w.Ctx, w.WS, catalog.Page{})
			world.OK(t, err)
			world.Equal(t, 1, len(stores))
			world.Equal(t, []string{kept.ID}, w.OutboxIDs())
			world.Equal(t, int64(0), w.CountInFlight())
			world.Equal(t, 0, len(w.StuckFor(0)))
			queued, _, err := w.Replay(w.Ctx, catalog.ReplayFilter{WorkspaceID: w.WS, Fetch: true}, "")
			world.OK(t, err)
			world.Equal(t, int64(1), queued)
			a := world.Must(w.Agent(w.Ctx, w.WS, agent.ID))(t)
			world.Equal(t, []string{}, a.DatastoreIDs)
		}
		gone()
		w.ClearSweeps()
		world.Equal(t, catalog.Applied{}, w.ApplyEvent(last, domain.EventSynched)) // even if the datasource's row still exists
		world.Equal(t, catalog.Applied{}, w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageB)))
		w.End(flying, domain.EventError)
		for _, s := range w.AllSweeps() {
			world.Equal(t, []any{"", domain.AllGenerations, true}, []any{s.DatasourceID, s.Below, s.Jobs})
		}
		for rounds := 1; ; rounds++ {
			more := world.Must(w.RemoveDeleted(w.Ctx))(t)
			gone()
			if !more {
				world.Equal(t, true, rounds > 1)
				break
			}
		}
		for _, s := range w.AllSweeps() {
			for _, key := range s.Originals {
				delete(keys, key)
			}
		}
		world.Equal(t, 500, len(keys)) // ClearSweeps has deleted the sweeps with these keys
	})
	world.Run(t, open, "an event of a deleted datasource sweeps what its job wrote", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
		for _, s := range w.AllSweeps() {
			world.OK(t, w.FinishSweep(w.Ctx, s.ID))
		}
		for _, quiet := range []domain.EventType{domain.EventRunning, domain.EventProgress, domain.EventUnchanged} {
			world.Equal(t, catalog.Applied{}, w.ApplyEvent(d, quiet))
		}
		world.Equal(t, 0, len(w.AllSweeps()))
		world.Equal(t, catalog.Applied{}, w.ApplyEvent(d, domain.EventSynched))
		w.ApplyEvent(d, domain.EventFetched, world.Fetched("late"))
		sweeps := w.AllSweeps()
		world.Equal(t, 2, len(sweeps))
		world.Equal(t, w.Seq+1, sweeps[0].Below)
		world.Equal(t, []string{"late"}, sweeps[1].Originals)
		for _, s := range sweeps { // they remove this job but not that of a later datasource with the same id
			world.Equal(t, []any{true, w.Seq + 1}, []any{s.Jobs, s.Below})
		}
	})
	world.Run(t, open, "an event of a deleted datastore sweeps the whole of it again", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		world.Must(w.DeleteDatastore(w.Ctx, w.WS, w.StoreID))(t)
		w.ClearSweeps()
		w.ApplyEvent(d, domain.EventSynched)
		sweeps := w.AllSweeps()
		world.Equal(t, 1, len(sweeps))
		world.Equal(t, "", sweeps[0].DatasourceID)
		world.Equal(t, domain.AllGenerations, sweeps[0].Below)
	})
}

func testSweeps(t *testing.T, open world.Open) {
	world.Run(t, open, "a sweep stays until it is finished", func(t *testing.T, w *world.World) {
		want := domain.Sweep{ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, DatasourceID: "d", Below: 7, Originals: []string{"a", "b"}}
		world.OK(t, w.QueueSweep(w.Ctx, want))
		for range 2 {
			world.Equal(t, want, w.AllSweeps()[0].Sweep)
		}
		world.OK(t, w.FinishSweep(w.Ctx, want.ID))
		world.Equal(t, 0, len(w.AllSweeps()))
		world.OK(t, w.FinishSweep(w.Ctx, want.ID))
	})
	world.Run(t, open, "a deferred sweep is not offered before its time, and counts its attempts", func(t *testing.T, w *world.World) {
		world.OK(t, w.QueueSweep(w.Ctx, domain.Sweep{DatastoreID: w.StoreID}))
		id := w.AllSweeps()[0].ID
		for range 2 {
			world.OK(t, w.DeferSweep(w.Ctx, id, w.Clock.Now().Add(time.Minute), "the index does not answer"))
			world.Equal(t, 0, len(w.AllSweeps()))
			w.Clock.Advance(time.Minute)
		}
		world.Equal(t, 2, w.AllSweeps()[0].Attempts)
	})
	world.Run(t, open, "sweeps that were never deferred come first, at most as many as requested", func(t *testing.T, w *world.World) {
		var want []string
		for i := range 4 {
			id := fmt.Sprint("sweep-", i)
			want = append(want, id)
			world.OK(t, w.QueueSweep(w.Ctx, domain.Sweep{ID: id, DatastoreID: w.StoreID}))
		}
		world.OK(t, w.DeferSweep(w.Ctx, "sweep-0", w.Clock.Now(), "busy"))
		got := world.Must(w.Sweeps(w.Ctx, 3))(t)
		world.Equal(t, want[1:], lists.Map(got, func(s catalog.SweepTask) string { return s.ID }))
	})
	world.Run(t, open, "two sweeps alike are two: the first may be under way", func(t *testing.T, w *world.World) {
		for range 2 {
			world.OK(t, w.QueueSweep(w.Ctx, domain.Sweep{DatastoreID: w.StoreID, DatasourceID: "d", Below: 4}))
		}
		world.Equal(t, 2, len(w.AllSweeps()))
	})
	world.Run(t, open, "a commit that queues a sweep wakes", func(t *testing.T, w *world.World) {
		<-w.SweepWake() // the signal sent on opening
		d := w.CreateFile()
		select {
		case <-w.SweepWake():
			t.Fatal("woken by a new datasource")
		default:
		}
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
		<-w.SweepWake()
	})
}
