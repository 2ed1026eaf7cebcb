package sitetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testSites(t *testing.T, open world.Open) {
	world.Run(t, open, "a datastore takes a site once, and names the one that it has", func(t *testing.T, w *world.World) {
		add := func(c domain.DatasourceConfig, change ...func(*domain.Datasource)) (domain.Datasource, error) {
			d := domain.Datasource{ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeWebSite, Config: c}
			for _, f := range change {
				f(&d)
			}
			out, err := w.CreateDatasources(w.Ctx, []catalog.NewDatasource{{Datasource: d, Job: domain.NewCrawlJob(d, w.Settled())}})
			if err != nil {
				return d, err
			}
			return out[0], nil
		}
		first, err := add(domain.DatasourceConfig{SourceURL: "https://pumps.example/docs/", Exclude: []string{"/old/", "/new/"}})
		world.OK(t, err)
		_, err = add(domain.DatasourceConfig{SourceURL: "http://www.pumps.example/docs", Exclude: []string{"/new/", "/old/"}, MaxPages: 3})
		world.Code(t, domain.CodeConflict, err)
		world.Equal(t, true, strings.Contains(err.Error(), first.ID))
		for _, other := range []domain.DatasourceConfig{
			{SourceURL: "https://pumps.example/docs/"},
			{SourceURL: "https://pumps.example/"},
			{SourceURL: "https://pumps.example/docs/", Exclude: []string{"/old/", "/new/"}, Sitemap: "https://pumps.example/sitemap.xml"},
			{Sitemap: "https://pumps.example/sitemap.xml"},
			{Sitemap: "https://pumps.example/sitemap.xml?of=blog"},
		} {
			world.Must(add(other))(t)
		}
		elsewhere := w.NewDatastore(w.WS).ID
		world.Must(add(first.Config, func(d *domain.Datasource) { d.DatastoreID = elsewhere }))(t)
		world.Must(add(first.Config, func(d *domain.Datasource) { d.Type = domain.TypeWebPage }))(t)
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, first.ID))(t)
		world.Must(add(first.Config))(t)
	})
	world.Run(t, open, "a discovered page is a child with a crawl job of its own, once", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{})
		for _, want := range []int{2, 0} {
			done := w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA, world.PageB, world.PageA))
			world.Equal(t, want, done.NewPages)
		}
		page := w.PageAt(site, world.PageA)
		world.Equal(t, domain.TypeWebPage, page.Type)
		world.Equal(t, site.ID, page.GroupID)
		world.Equal(t, world.PageA, page.Config.SourceURL)
		world.Equal(t, 1, page.Config.Depth)
		world.Equal(t, site.Metadata, page.Metadata)
		jobs := w.PublishAll()
		world.Equal(t, 2, len(jobs))
		for _, j := range jobs {
			world.Equal(t, domain.JobCrawl, j.Kind)
			world.Equal(t, []domain.Place{world.Serving}, j.Places)
			world.Equal(t, site.Config.SourceURL, j.Crawl.Site.Root)
		}
		world.Equal(t, 0, w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA, world.PageB)).NewPages)
		world.Equal(t, domain.SiteProgress{Discovered: 2, Waiting: 2}, w.ProgressOf(site.ID))
	})
	world.Run(t, open, "a page that links on adds to its site", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.PublishAll()
		done := w.ApplyEvent(w.PageAt(site, world.PageA), domain.EventDiscovered, world.Links(world.PageA, world.PageB))
		world.Equal(t, 1, done.NewPages)
		world.Equal(t, site.ID, w.PageAt(site, world.PageB).GroupID)
	})
	world.Run(t, open, "a site is synched when discovery is done and the last page has ended, by success or error", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		w.PublishAll()
		w.ApplyEvent(w.PageAt(site, world.PageA), domain.EventSynched)
		done := w.ApplyEvent(site, domain.EventSynched)
		world.Equal(t, domain.StatusRunning, done.Datasource.Status)
		running := w.Get(site.ID)
		world.Equal(t, domain.StatusRunning, running.Status)
		world.Equal(t, domain.Progress{Stage: "crawling", Done: 1, Total: 2}, running.Progress)
		done = w.ApplyEvent(w.PageAt(site, world.PageB), domain.EventError)
		world.Equal(t, domain.StatusSynched, done.Site.Status)
		got := w.Get(site.ID)
		world.Equal(t, domain.StatusSynched, got.Status)
		world.Equal(t, w.Clock.Now(), *got.LastSynch)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a site whose pages have all ended is synched when its discovery ends", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.PublishAll()
		w.ApplyEvent(w.PageAt(site, world.PageA), domain.EventSynched)
		world.Equal(t, domain.StatusPending, w.Get(site.ID).Status)
		done := w.ApplyEvent(site, domain.EventSynched)
		world.Equal(t, domain.StatusSynched, done.Datasource.Status)
	})
	world.Run(t, open, "a page between fetch and ingest keeps its site waiting", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.PublishAll()
		w.ApplyEvent(site, domain.EventSynched)
		w.ApplyEvent(w.PageAt(site, world.PageA), domain.EventFetched, world.Fetched("a"))
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
		w.Synch(w.PageAt(site, world.PageA).ID)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	world.Run(t, open, "a page found after the end, or queued again, sets the site running again", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.PublishAll()
		a := w.PageAt(site, world.PageA)
		w.ApplyEvent(site, domain.EventSynched)
		w.ApplyEvent(a, domain.EventSynched)
		done := w.ApplyEvent(a, domain.EventDiscovered, world.Links(world.PageB))
		world.Equal(t, domain.StatusRunning, done.Site.Status)
		w.Synch(w.PageAt(site, world.PageB).ID)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
		world.Must(w.Requeue(w.Ctx, w.WS, a.ID, domain.NewCrawlJob(a, w.Settled()), catalog.PriorityFresh))(t)
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
	})
	world.Run(t, open, "deleting the page that was waited for ends the site's crawl", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.ApplyEvent(site, domain.EventSynched)
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, w.PageAt(site, world.PageA).ID))(t)
		world.Equal(t, domain.StatusError, w.Get(site.ID).Status) // a site without pages is an error
	})
	world.Run(t, open, "a site of which no page could be read ends in error, and recovers with its pages", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.PublishAll()
		a := w.PageAt(site, world.PageA)
		w.ApplyEvent(site, domain.EventSynched)
		w.ApplyEvent(a, domain.EventError, func(ev *domain.Event) { ev.Error = "it does not exist" })
		failed := w.Get(site.ID)
		world.Equal(t, domain.StatusError, failed.Status)
		world.Equal(t, "The site's only page could not be read: it does not exist", failed.Error)
		world.Must(w.Requeue(w.Ctx, w.WS, a.ID, domain.NewCrawlJob(a, w.Settled()), catalog.PriorityFresh))(t)
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
		w.PublishAll()
		w.Synch(a.ID)
		repaired := w.Get(site.ID)
		world.Equal(t, domain.StatusSynched, repaired.Status)
		world.Equal(t, "", repaired.Error)
	})
	world.Run(t, open, "a site whose discovery failed stays in error whatever its pages do", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.PublishAll()
		w.ApplyEvent(site, domain.EventError, func(ev *domain.Event) { ev.Error = "the sitemap cannot be read" })
		w.ApplyEvent(w.PageAt(site, world.PageA), domain.EventSynched)
		world.Equal(t, domain.StatusError, w.Get(site.ID).Status)
	})
	for _, test := range []struct {
		sentence     string
		site, global int
	}{{"a site's own limit of pages", 3, 0}, {"the service's limit of pages", 0, 3}, {"the service's limit before a site's higher one", 9, 3}} {
		t.Run(test.sentence+" holds, and the site says so", func(t *testing.T) {
			t.Parallel()
			w := world.New(t, open, func(o *catalog.Options) { o.MaxPagesPerSite = test.global })
			site := w.CreateSite(domain.DatasourceConfig{MaxPages: test.site}, world.PageA, world.PageB)
			var more []string
			for i := range 5 {
				more = append(more, fmt.Sprintf("https://pumps.example/%d", i))
			}
			world.Equal(t, 1, w.ApplyEvent(site, domain.EventDiscovered, world.Links(append(more, world.PageA)...)).NewPages)
			world.Equal(t, 0, w.ApplyEvent(site, domain.EventDiscovered, world.Links(more[1:]...)).NewPages)
			for _, j := range w.PublishAll() {
				w.ApplyEvent(w.Get(j.DatasourceID), domain.EventSynched)
			}
			w.ApplyEvent(site, domain.EventSynched)
			got := w.Get(site.ID)
			world.Equal(t, domain.Progress{Done: 3, Total: 3}, got.Progress)
			world.Equal(t, 1, len(got.Warnings))
			world.Equal(t, true, strings.Contains(got.Warnings[0], "limit of 3"))

			a := w.PageAt(site, world.PageA)
			world.Must(w.Requeue(w.Ctx, w.WS, a.ID, domain.NewCrawlJob(a, w.Settled()), catalog.PriorityFresh))(t)
			w.Synch(a.ID)
			world.Equal(t, got.Warnings, w.Get(site.ID).Warnings)

			world.Must(w.Requeue(w.Ctx, w.WS, site.ID, domain.NewCrawlJob(site, w.Settled()), catalog.PriorityFresh))(t)
			w.PublishAll()
			w.ApplyEvent(w.Get(site.ID), domain.EventSynched)
			world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
			world.Equal(t, 0, len(w.Get(site.ID).Warnings))
		})
	}
	world.Run(t, open, "a new crawl of the site asks for each page again, once, as a replay", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.Synch(w.PageAt(site, world.PageA).ID)
		w.ApplyEvent(site, domain.EventSynched)
		before := w.PageAt(site, world.PageA)
		world.Must(w.Requeue(w.Ctx, w.WS, site.ID, domain.NewCrawlJob(site, w.Settled()), catalog.PriorityReplay))(t)
		world.Equal(t, false, w.Get(site.ID).DiscoveryDone)
		w.PublishAll()
		site = w.Get(site.ID)
		world.Equal(t, 1, w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA)).NewPages)
		world.Equal(t, 0, w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA)).NewPages)
		after := w.PageAt(site, world.PageA)
		world.Equal(t, domain.StatusUnsynched, after.Status)
		world.Equal(t, before.ActiveGeneration, after.ActiveGeneration)
		upload := w.CreateFile()
		world.Equal(t, []string{upload.ID, after.ID}, w.OutboxIDs())
	})
	world.Run(t, open, "an upload of the same workspace passes the pages of a crawl", func(t *testing.T, w *world.World) {
		w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		upload := w.CreateFile()
		jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
		world.Equal(t, upload.ID, jobs[0].DatasourceID)
	})
}
