package catalogtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

func testRescue(t *testing.T, open world.Open) {
	world.Run(t, open, "a job without a sign of life for too long is stuck", func(t *testing.T, w *world.World) {
		silent, lively, ended := w.CreateFile(), w.CreateFile(), w.CreateFile()
		w.PublishAll()
		w.CreateFile() // never stuck, because its job is in the outbox
		w.Clock.Advance(time.Hour)
		w.ApplyEvent(lively, domain.EventProgress, func(ev *domain.Event) { ev.Progress = &domain.Progress{Stage: "embedding"} })
		w.ApplyEvent(ended, domain.EventSynched)
		got := w.StuckFor(time.Minute)
		world.Equal(t, 1, len(got))
		world.Equal(t, silent.ID, got[0].ID)
	})
	world.Run(t, open, "a site that waits for pages is not stuck, one whose discovery is silent is", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.Clock.Advance(time.Hour)
		world.Equal(t, []string{site.ID}, lists.Map(w.StuckFor(time.Minute), func(s catalog.StuckDatasource) string { return s.ID }))
		w.ApplyEvent(site, domain.EventSynched)
		w.Clock.Advance(time.Hour)
		world.Equal(t, 0, len(w.StuckFor(time.Minute)))
	})
	world.Run(t, open, "the job to put in place does what the lost one did, under another id", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{Include: []string{"/a*"}}, world.PageA)
		file := w.CreateFile()
		published := w.PublishAll()
		w.Clock.Advance(time.Hour)
		lost := map[string]domain.Job{}
		for _, j := range published {
			lost[j.DatasourceID] = j
		}
		seen := 0
		for _, s := range w.StuckFor(time.Minute) {
			want, was := lost[s.ID]
			if !was {
				world.Equal(t, site.ID, s.ID)
				continue
			}
			seen++
			world.Equal(t, true, s.Job.ID != want.ID)
			want.ID, want.Generation = s.Job.ID, 0
			world.Equal(t, want, s.Job)
		}
		world.Equal(t, 2, seen)
		world.Equal(t, file.ID, published[0].DatasourceID)
	})
	world.Run(t, open, "reissuing puts the job into the outbox, and only in place of the one expected", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		w.Clock.Advance(time.Hour)
		s := w.StuckFor(time.Minute)[0]
		for _, want := range []bool{true, false} {
			done := world.Must(w.Reissue(w.Ctx, d.ID, d.JobID, s.Job))(t)
			world.Equal(t, want, done)
		}
		world.Equal(t, []string{d.ID}, w.OutboxIDs())
		world.Equal(t, s.Job.ID, w.Get(d.ID).JobID)
		world.Equal(t, 0, len(w.StuckFor(0)))
		w.Synch(d.ID)
		done := world.Must(w.Reissue(w.Ctx, d.ID, s.Job.ID, s.Job))(t)
		world.Equal(t, false, done)
		done = world.Must(w.Reissue(w.Ctx, domain.NewID(), "any", s.Job))(t)
		world.Equal(t, false, done)
	})
	world.Run(t, open, "a reissued discovery does not ask again for the pages it had found", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.PublishAll()
		done := world.Must(w.Reissue(w.Ctx, site.ID, site.JobID, domain.NewCrawlJob(site, w.Settled())))(t)
		world.Equal(t, true, done)
		w.PublishAll()
		world.Equal(t, 1, w.ApplyEvent(w.Get(site.ID), domain.EventDiscovered, world.Links(world.PageA, world.PageB)).NewPages)
	})
	world.RunLong(t, open, "every datasource of a datastore and every original is walked, past one batch", func(t *testing.T, w *world.World) {
		var in []catalog.NewDatasource
		want := map[string]bool{}
		for range 1100 {
			n := w.File()
			in, want[n.Datasource.ID] = append(in, n), true
		}
		w.Create(in...)
		synched := w.Synch(in[0].Datasource.ID)
		other := w.NewDatastore(w.WS).ID
		elsewhere := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		got, keys := map[string]bool{}, map[string]bool{}
		world.OK(t, w.EachActive(w.Ctx, w.StoreID, func(a catalog.ActiveState) error {
			got[a.DatasourceID] = true
			if a.DatasourceID == synched.ID {
				world.Equal(t, catalog.ActiveState{
					DatasourceID: synched.ID, Generation: synched.ActiveGeneration, Chunks: 2, Status: domain.StatusSynched,
				}, a)
			}
			return nil
		}))
		world.Equal(t, want, got)
		world.OK(t, w.EachOriginal(w.Ctx, func(o catalog.OriginalRef) error {
			keys[o.Key] = o.DatasourceID != "" && o.WorkspaceID != ""
			return nil
		}))
		world.Equal(t, 1101, len(keys))
		world.Equal(t, true, keys[elsewhere.Original.Key])
	})
	world.Run(t, open, "a walk ends with the error of the function it calls", func(t *testing.T, w *world.World) {
		w.CreateFile()
		w.CreateFile()
		stop, calls := errors.New("enough"), 0
		err := w.EachOriginal(w.Ctx, func(catalog.OriginalRef) error {
			calls++
			return stop
		})
		world.Equal(t, true, errors.Is(err, stop))
		world.Equal(t, 1, calls)
	})
	world.Run(t, open, "a job to read a datasource again knows its kind", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{Exclude: []string{"/old/*"}}, world.PageA)
		file := w.CreateFile()
		j := world.Must(w.NewJob(w.Ctx, file, domain.JobIngest))(t)
		world.Equal(t, file.Original, j.Original)
		j = world.Must(w.NewJob(w.Ctx, w.PageAt(site, world.PageA), domain.JobCrawl))(t)
		world.Equal(t, true, slices.Equal(j.Crawl.Site.Exclude, []string{"/old/*"}))
		j = world.Must(w.NewJob(w.Ctx, site, domain.JobCrawl))(t)
		world.Equal(t, site.Config.SourceURL, j.Crawl.URL)
		world.Refused(w.NewJob(w.Ctx, domain.Datasource{DatastoreID: domain.NewID()}, domain.JobIngest))(t, domain.CodeNotFound)
	})
}
