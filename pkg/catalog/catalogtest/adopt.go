package catalogtest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func (w *world) adopt(j domain.Job) catalog.Adopted {
	w.t.Helper()
	what, err := w.Adopt(w.ctx, j)
	ok(w.t, err)
	return what
}

// lateJob is a job that the log has of a datasource, of after the copy of the database that was put in place.
func (w *world) lateJob(d domain.Datasource, generation uint64) domain.Job {
	d.Original = &domain.Original{Key: "late", SHA256: "late", Size: 9, MIMEType: "text/plain", Name: "late.txt"}
	d.Name, d.CustomID, d.Metadata = "Late", "late", map[string]any{"v": "late"}
	j := domain.NewIngestJob(d, w.settled())
	j.Generation = generation
	return j
}

func testAdoption(t *testing.T, open Open) {
	t.Run("the job log of a catalog that lost nothing has nothing to take over, wherever jobs are", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var log []domain.Job
		note := func(jobs ...domain.Job) { log = append(log, jobs...) }
		done, flying, failed, replaced, lost := w.createFile(), w.createFile(), w.createFile(), w.createFile(), w.createFile()
		page := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/a"},
		}
		page = w.create(catalog.NewDatasource{Datasource: page, Job: domain.NewCrawlJob(page, w.settled())})[0]
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		jobs, err := w.Outbox(w.ctx, 100)
		ok(t, err)
		for i := range jobs {
			w.seq++
			jobs[i].Generation = w.seq
			note(jobs[i])
			if jobs[i].DatasourceID != lost.ID { // the dispatcher has died before it could note this one
				ok(t, w.Published(w.ctx, jobs[i], w.seq))
			}
		}
		note(w.publishAll()...)
		w.apply(done, domain.EventSynched)
		w.apply(failed, domain.EventError)
		for _, d := range []domain.Datasource{replaced, lost} {
			_, err := w.ReplaceContent(w.ctx, w.ws, d.ID, catalog.Replacement{Original: domain.Original{Key: "new"}, Job: domain.Job{ID: domain.NewID()}})
			ok(t, err)
		}
		for _, p := range []domain.Datasource{page, w.page(site, pageA)} {
			w.apply(p, domain.EventFetched, fetched("a"))
		}
		check := func() {
			t.Helper()
			for _, j := range log {
				before := w.get(j.DatasourceID)
				equal(t, catalog.NothingAdopted, w.adopt(j))
				equal(t, before, w.get(j.DatasourceID))
			}
		}
		check()
		note(w.publishAll()...)
		check()
		move := w.send(elsewhere).Move
		note(w.issue(move)...)
		check()
		equal(t, domain.StatusPending, w.get(flying.ID).Status)
	})
	t.Run("a datasource that is known with older content takes over what the log has, once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.synch(w.createFile().ID)
		late := w.lateJob(d, w.seq+50)
		equal(t, catalog.AdoptedContent, w.adopt(late))
		equal(t, catalog.NothingAdopted, w.adopt(late))
		got := w.get(d.ID)
		equal(t, []any{"Late", "late", late.Metadata, late.Original, domain.StatusUnsynched, d.ActiveGeneration},
			[]any{got.Name, got.CustomID, got.Metadata, got.Original, got.Status, got.ActiveGeneration})
		jobs, err := w.Outbox(w.ctx, 10)
		ok(t, err)
		equal(t, 1, len(jobs))
		equal(t, true, jobs[0].ID != late.ID && !jobs[0].Force)
		equal(t, late.Original, jobs[0].Original)
		mark, err := w.MaxGeneration(w.ctx)
		ok(t, err)
		equal(t, late.Generation, mark)
		equal(t, []string{d.Original.Key}, w.sweeps()[0].Originals)
	})
	t.Run("what callers have accepted since is not taken back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.synch(w.createFile().ID)
		late := w.lateJob(d, w.seq+50)
		newer, err := w.ReplaceContent(w.ctx, w.ws, d.ID, catalog.Replacement{Original: domain.Original{Key: "newer"}, Job: domain.Job{ID: domain.NewID()}})
		ok(t, err)
		equal(t, catalog.NothingAdopted, w.adopt(late))
		equal(t, newer, w.get(d.ID))
	})
	t.Run("a datasource that is unknown comes back with its datastore and its workspace, once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		lost := domain.Datasource{ID: domain.NewID(), WorkspaceID: domain.NewID(), DatastoreID: domain.NewID(), Type: domain.TypeFile}
		j := w.lateJob(lost, 70)
		j.Places = []domain.Place{elsewhere}
		equal(t, catalog.AdoptedUnknown, w.adopt(j))
		equal(t, catalog.NothingAdopted, w.adopt(j))
		store, err := w.Datastore(w.ctx, lost.WorkspaceID, lost.DatastoreID)
		ok(t, err)
		equal(t, []any{"Recovered datastore", domain.Private, elsewhere}, []any{store.Name, store.Visibility, store.Serving()})
		got, err := w.Datasource(w.ctx, lost.WorkspaceID, lost.ID)
		ok(t, err)
		equal(t, []any{"Late", "late", j.Original, domain.StatusUnsynched, "late.txt"},
			[]any{got.Name, got.CustomID, got.Original, got.Status, got.Config.FileName})
		equal(t, []string{lost.ID}, w.outbox())
		second := w.lateJob(domain.Datasource{ID: domain.NewID(), WorkspaceID: lost.WorkspaceID, DatastoreID: lost.DatastoreID}, 71)
		equal(t, catalog.AdoptedUnknown, w.adopt(second))
	})
	t.Run("a site and its page come back as what they were", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeWebSite, Name: "Pumps",
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/", Include: []string{"/a*"}, MaxDepth: 3},
		}
		page := domain.Datasource{
			ID: domain.ChildID(site.ID, pageA), WorkspaceID: w.ws, DatastoreID: w.store, GroupID: site.ID, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: pageA, Depth: 1},
		}
		jobs := []domain.Job{domain.NewCrawlJob(site, w.settled()), domain.NewPageJob(site, page, "run", w.settled())}
		jobs[1].Crawl.ETag, jobs[1].Crawl.LastModified = "lost", "yesterday"
		for i := range jobs {
			jobs[i].Generation = 80 + uint64(i)
			equal(t, catalog.AdoptedUnknown, w.adopt(jobs[i]))
		}
		equal(t, site.Config, w.get(site.ID).Config)
		got := w.get(page.ID)
		equal(t, []any{site.ID, pageA, 1}, []any{got.GroupID, got.Config.SourceURL, got.Config.Depth})
		// "Not modified" would leave it without content.
		equal(t, domain.CrawlSpec{URL: pageA, Depth: 1, Site: jobs[1].Crawl.Site}, *w.publishAll()[1].Crawl)
		equal(t, 1, w.apply(w.get(site.ID), domain.EventDiscovered, links(pageA)).NewPages)
	})
	t.Run("what is being deleted does not come back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		jobs := w.publishAll()
		late := w.lateJob(d, w.seq+9)
		_, err := w.DeleteDatasource(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, catalog.NothingAdopted, w.adopt(late))
		equal(t, catalog.NothingAdopted, w.adopt(jobs[0]))
		second := w.lateJob(w.createFile(), w.seq+10)
		_, err = w.DeleteDatastore(w.ctx, w.ws, w.store)
		ok(t, err)
		equal(t, catalog.NothingAdopted, w.adopt(second))
	})
	t.Run("a job that a deleted datasource still finishes leaves nothing in the log", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		j := w.publishAll()[0]
		_, err := w.DeleteDatasource(w.ctx, w.ws, d.ID)
		ok(t, err)
		w.clear()
		w.clock.advance(time.Minute)
		w.end(j, domain.EventSynched)
		equal(t, true, w.sweeps()[0].Jobs)
		equal(t, catalog.NothingAdopted, w.adopt(j))
	})
	t.Run("a job of another workspace's datastore, one of a move and one without content are left", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		j := w.lateJob(domain.Datasource{ID: domain.NewID(), WorkspaceID: w.workspace(), DatastoreID: w.store}, 90)
		equal(t, catalog.NothingAdopted, w.adopt(j))
		j.WorkspaceID = w.ws
		for _, change := range []func(*domain.Job){
			func(j *domain.Job) { j.Move = "move" },
			func(j *domain.Job) { j.Original = nil },
			func(j *domain.Job) { j.Kind = domain.JobCrawl },
		} {
			changed := j
			change(&changed)
			equal(t, catalog.NothingAdopted, w.adopt(changed))
		}
		equal(t, catalog.AdoptedUnknown, w.adopt(j))
	})
}
