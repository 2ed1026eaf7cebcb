package catalogtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func (w *world) stuck(silence time.Duration) []catalog.StuckDatasource {
	w.t.Helper()
	s, err := w.Stuck(w.ctx, w.clock.now().Add(-silence), 100)
	ok(w.t, err)
	return s
}

func testRescue(t *testing.T, open Open) {
	t.Run("what is in flight and silent too long is stuck; a sign of life helps", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		silent, lively, ended := w.createFile(), w.createFile(), w.createFile()
		w.publishAll()
		w.createFile() // waits in the outbox, however long
		w.clock.advance(time.Hour)
		w.apply(lively, domain.EventProgress, func(ev *domain.Event) { ev.Progress = &domain.Progress{Stage: "embedding"} })
		w.apply(ended, domain.EventSynched)
		got := w.stuck(time.Minute)
		equal(t, 1, len(got))
		equal(t, silent.ID, got[0].ID)
	})
	t.Run("a site that waits for pages is not stuck, one whose discovery is silent is", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.clock.advance(time.Hour)
		equal(t, []string{site.ID}, ids(w.stuck(time.Minute), func(s catalog.StuckDatasource) string { return s.ID }))
		w.apply(site, domain.EventSynched)
		w.clock.advance(time.Hour)
		equal(t, 0, len(w.stuck(time.Minute)))
	})
	t.Run("the job to put in place does what the lost one did, under another id", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{Include: []string{"/a*"}}, pageA)
		file := w.createFile()
		published := w.publishAll()
		w.clock.advance(time.Hour)
		lost := map[string]domain.Job{}
		for _, j := range published {
			lost[j.DatasourceID] = j
		}
		seen := 0
		for _, s := range w.stuck(time.Minute) {
			want, was := lost[s.ID]
			if !was {
				equal(t, site.ID, s.ID)
				continue
			}
			seen++
			equal(t, true, s.Job.ID != want.ID)
			want.ID, want.Generation = s.Job.ID, 0
			equal(t, want, s.Job)
		}
		equal(t, 2, seen)
		equal(t, file.ID, published[0].DatasourceID)
	})
	t.Run("reissuing puts the job into the outbox, and only in place of the one expected", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		w.clock.advance(time.Hour)
		s := w.stuck(time.Minute)[0]
		for _, want := range []bool{true, false} {
			done, err := w.Reissue(w.ctx, d.ID, d.JobID, s.Job)
			ok(t, err)
			equal(t, want, done)
		}
		equal(t, []string{d.ID}, w.outbox())
		equal(t, s.Job.ID, w.get(d.ID).JobID)
		equal(t, 0, len(w.stuck(0)))
		w.synch(d.ID)
		done, err := w.Reissue(w.ctx, d.ID, s.Job.ID, s.Job)
		ok(t, err)
		equal(t, false, done)
		done, err = w.Reissue(w.ctx, domain.NewID(), "any", s.Job)
		ok(t, err)
		equal(t, false, done)
	})
	t.Run("a reissued discovery does not ask again for the pages it had found", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.publishAll()
		done, err := w.Reissue(w.ctx, site.ID, site.JobID, domain.NewCrawlJob(site, w.settled()))
		ok(t, err)
		equal(t, true, done)
		w.publishAll()
		equal(t, 1, w.apply(w.get(site.ID), domain.EventDiscovered, links(pageA, pageB)).NewPages)
	})
	t.Run("every datasource of a datastore and every original is walked, past one batch", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		var in []catalog.NewDatasource
		want := map[string]bool{}
		for range 1100 {
			n := w.file()
			in, want[n.Datasource.ID] = append(in, n), true
		}
		w.create(in...)
		synched := w.synch(in[0].Datasource.ID)
		other := w.datastore(w.ws).ID
		elsewhere := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		got, keys := map[string]bool{}, map[string]bool{}
		ok(t, w.EachActive(w.ctx, w.store, func(a catalog.ActiveState) error {
			got[a.DatasourceID] = true
			if a.DatasourceID == synched.ID {
				equal(t, catalog.ActiveState{
					DatasourceID: synched.ID, Generation: synched.ActiveGeneration, Chunks: 2, Status: domain.StatusSynched,
				}, a)
			}
			return nil
		}))
		equal(t, want, got)
		ok(t, w.EachOriginal(w.ctx, func(o catalog.OriginalRef) error {
			keys[o.Key] = o.DatasourceID != "" && o.WorkspaceID != ""
			return nil
		}))
		equal(t, 1101, len(keys))
		equal(t, true, keys[elsewhere.Original.Key])
	})
	t.Run("a walk ends with the error of the function it calls", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.createFile()
		w.createFile()
		stop, calls := errors.New("enough"), 0
		err := w.EachOriginal(w.ctx, func(catalog.OriginalRef) error {
			calls++
			return stop
		})
		equal(t, true, errors.Is(err, stop))
		equal(t, 1, calls)
	})
	t.Run("a job to read a datasource again knows its kind", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{Exclude: []string{"/old/*"}}, pageA)
		file := w.createFile()
		j, err := w.NewJob(w.ctx, file, domain.JobIngest)
		ok(t, err)
		equal(t, file.Original, j.Original)
		j, err = w.NewJob(w.ctx, w.page(site, pageA), domain.JobCrawl)
		ok(t, err)
		equal(t, true, slices.Equal(j.Crawl.Site.Exclude, []string{"/old/*"}))
		j, err = w.NewJob(w.ctx, site, domain.JobCrawl)
		ok(t, err)
		equal(t, site.Config.SourceURL, j.Crawl.URL)
		_, err = w.NewJob(w.ctx, domain.Datasource{DatastoreID: domain.NewID()}, domain.JobIngest)
		code(t, domain.CodeNotFound, err)
	})
}
