package catalogtest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func adoptJob(w *world.World, j domain.Job) catalog.Adopted {
	w.T.Helper()
	what := world.Must(w.Adopt(w.Ctx, j))(w.T)
	return what
}

// lateJob returns a job from the job log that the database doesn't know. This happens if an older copy of the database
// has been restored.
func lateJob(w *world.World, d domain.Datasource, generation uint64) domain.Job {
	d.Original = &domain.Original{Key: "late", SHA256: "late", Size: 9, MIMEType: "text/plain", Name: "late.txt"}
	d.Name, d.CustomID, d.Metadata = "Late", "late", map[string]any{"v": "late"}
	j := domain.NewIngestJob(d, w.Settled())
	j.Generation = generation
	return j
}

func testAdoption(t *testing.T, open world.Open) {
	world.Run(t, open, "the job log of a catalog that lost nothing has nothing to take over, wherever jobs are", func(t *testing.T, w *world.World) {
		var log []domain.Job
		note := func(jobs ...domain.Job) { log = append(log, jobs...) }
		done, flying, failed, replaced, lost := w.CreateFile(), w.CreateFile(), w.CreateFile(), w.CreateFile(), w.CreateFile()
		page := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/a"},
		}
		page = w.Create(catalog.NewDatasource{Datasource: page, Job: domain.NewCrawlJob(page, w.Settled())})[0]
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		jobs := world.Must(w.Outbox(w.Ctx, 100))(t)
		for i := range jobs {
			w.Seq++
			jobs[i].Generation = w.Seq
			note(jobs[i])
			if jobs[i].DatasourceID != lost.ID { // the dispatcher died before recording this one
				world.OK(t, w.Published(w.Ctx, jobs[i], w.Seq))
			}
		}
		note(w.PublishAll()...)
		w.ApplyEvent(done, domain.EventSynched)
		w.ApplyEvent(failed, domain.EventError)
		for _, d := range []domain.Datasource{replaced, lost} {
			world.Must(w.ReplaceContent(w.Ctx, w.WS, d.ID, catalog.Replacement{Original: domain.Original{Key: "new"}, Job: domain.Job{ID: domain.NewID()}}))(t)
		}
		for _, p := range []domain.Datasource{page, w.PageAt(site, world.PageA)} {
			w.ApplyEvent(p, domain.EventFetched, world.Fetched("a"))
		}
		check := func() {
			t.Helper()
			for _, j := range log {
				before := w.Get(j.DatasourceID)
				world.Equal(t, catalog.NothingAdopted, adoptJob(w, j))
				world.Equal(t, before, w.Get(j.DatasourceID))
			}
		}
		check()
		note(w.PublishAll()...)
		check()
		move := setPlace(w, placeB).Move
		note(issue(w, move)...)
		check()
		world.Equal(t, domain.StatusPending, w.Get(flying.ID).Status)
	})
	world.Run(t, open, "a datasource that is known with older content takes over what the log has, once", func(t *testing.T, w *world.World) {
		d := w.Synch(w.CreateFile().ID)
		late := lateJob(w, d, w.Seq+50)
		world.Equal(t, catalog.AdoptedContent, adoptJob(w, late))
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, late))
		got := w.Get(d.ID)
		world.Equal(t, []any{"Late", "late", late.Metadata, late.Original, domain.StatusUnsynched, d.ActiveGeneration},
			[]any{got.Name, got.CustomID, got.Metadata, got.Original, got.Status, got.ActiveGeneration})
		jobs := world.Must(w.Outbox(w.Ctx, 10))(t)
		world.Equal(t, 1, len(jobs))
		world.Equal(t, true, jobs[0].ID != late.ID && !jobs[0].Force)
		world.Equal(t, late.Original, jobs[0].Original)
		mark := world.Must(w.MaxGeneration(w.Ctx))(t)
		world.Equal(t, late.Generation, mark)
		world.Equal(t, []string{d.Original.Key}, w.AllSweeps()[0].Originals)
	})
	world.Run(t, open, "what callers have accepted since is not taken back", func(t *testing.T, w *world.World) {
		d := w.Synch(w.CreateFile().ID)
		late := lateJob(w, d, w.Seq+50)
		newer, err := w.ReplaceContent(w.Ctx, w.WS, d.ID, catalog.Replacement{Original: domain.Original{Key: "newer"}, Job: domain.Job{ID: domain.NewID()}})
		world.OK(t, err)
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, late))
		world.Equal(t, newer, w.Get(d.ID))
	})
	world.Run(t, open, "a datasource that is unknown comes back with its datastore and its workspace, once", func(t *testing.T, w *world.World) {
		lost := domain.Datasource{ID: domain.NewID(), WorkspaceID: domain.NewID(), DatastoreID: domain.NewID(), Type: domain.TypeFile}
		j := lateJob(w, lost, 70)
		j.Places = []domain.Place{placeB}
		world.Equal(t, catalog.AdoptedUnknown, adoptJob(w, j))
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, j))
		store := world.Must(w.Datastore(w.Ctx, lost.WorkspaceID, lost.DatastoreID))(t)
		world.Equal(t, []any{"Recovered datastore", domain.Private, placeB}, []any{store.Name, store.Visibility, store.Serving()})
		got := world.Must(w.Datasource(w.Ctx, lost.WorkspaceID, lost.ID))(t)
		world.Equal(t, []any{"Late", "late", j.Original, domain.StatusUnsynched, "late.txt"},
			[]any{got.Name, got.CustomID, got.Original, got.Status, got.Config.FileName})
		world.Equal(t, []string{lost.ID}, w.OutboxIDs())
		second := lateJob(w, domain.Datasource{ID: domain.NewID(), WorkspaceID: lost.WorkspaceID, DatastoreID: lost.DatastoreID}, 71)
		world.Equal(t, catalog.AdoptedUnknown, adoptJob(w, second))
	})
	world.Run(t, open, "a site and its page come back as what they were", func(t *testing.T, w *world.World) {
		site := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeWebSite, Name: "Pumps",
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/", Include: []string{"/a*"}, MaxDepth: 3},
		}
		page := domain.Datasource{
			ID: domain.ChildID(site.ID, world.PageA), WorkspaceID: w.WS, DatastoreID: w.StoreID, GroupID: site.ID, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: world.PageA, Depth: 1},
		}
		jobs := []domain.Job{domain.NewCrawlJob(site, w.Settled()), domain.NewPageJob(site, page, "run", w.Settled())}
		jobs[1].Crawl.ETag, jobs[1].Crawl.LastModified = "lost", "yesterday"
		for i := range jobs {
			jobs[i].Generation = 80 + uint64(i)
			world.Equal(t, catalog.AdoptedUnknown, adoptJob(w, jobs[i]))
		}
		world.Equal(t, site.Config, w.Get(site.ID).Config)
		got := w.Get(page.ID)
		world.Equal(t, []any{site.ID, world.PageA, 1}, []any{got.GroupID, got.Config.SourceURL, got.Config.Depth})
		// The job must not make a conditional request, because a "not modified" response would leave the page empty.
		world.Equal(t, domain.CrawlSpec{URL: world.PageA, Depth: 1, Site: jobs[1].Crawl.Site}, *w.PublishAll()[1].Crawl)
		world.Equal(t, 1, w.ApplyEvent(w.Get(site.ID), domain.EventDiscovered, world.Links(world.PageA)).NewPages)
	})
	world.Run(t, open, "content that is being deleted does not return", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		jobs := w.PublishAll()
		late := lateJob(w, d, w.Seq+9)
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, late))
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, jobs[0]))
		second := lateJob(w, w.CreateFile(), w.Seq+10)
		world.Must(w.DeleteDatastore(w.Ctx, w.WS, w.StoreID))(t)
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, second))
	})
	world.Run(t, open, "a job that a deleted datasource still finishes leaves nothing in the log", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		j := w.PublishAll()[0]
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
		w.ClearSweeps()
		w.Clock.Advance(time.Minute)
		w.End(j, domain.EventSynched)
		world.Equal(t, true, w.AllSweeps()[0].Jobs)
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, j))
	})
	world.Run(t, open, "a job of another workspace's datastore, one of a move and one without content are left", func(t *testing.T, w *world.World) {
		j := lateJob(w, domain.Datasource{ID: domain.NewID(), WorkspaceID: w.NewWorkspace(), DatastoreID: w.StoreID}, 90)
		world.Equal(t, catalog.NothingAdopted, adoptJob(w, j))
		j.WorkspaceID = w.WS
		for _, change := range []func(*domain.Job){
			func(j *domain.Job) { j.Move = "move" },
			func(j *domain.Job) { j.Original = nil },
			func(j *domain.Job) { j.Kind = domain.JobCrawl },
		} {
			changed := j
			change(&changed)
			world.Equal(t, catalog.NothingAdopted, adoptJob(w, changed))
		}
		world.Equal(t, catalog.AdoptedUnknown, adoptJob(w, j))
	})
}
