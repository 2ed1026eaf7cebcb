package catalogtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	pageA = "https://pumps.example/a"
	pageB = "https://pumps.example/b"
)

// page is the site's page at the address.
func (w *world) page(site domain.Datasource, url string) domain.Datasource {
	w.t.Helper()
	return w.get(domain.ChildID(site.ID, url))
}

func testSites(t *testing.T, open Open) {
	t.Run("a datastore takes a site once, and names the one that it has", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		add := func(c domain.DatasourceConfig, change ...func(*domain.Datasource)) (domain.Datasource, error) {
			d := domain.Datasource{ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeWebSite, Config: c}
			for _, f := range change {
				f(&d)
			}
			out, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{{Datasource: d, Job: domain.NewCrawlJob(d, w.settled())}})
			if err != nil {
				return d, err
			}
			return out[0], nil
		}
		first, err := add(domain.DatasourceConfig{SourceURL: "https://pumps.example/docs/", Exclude: []string{"/old/", "/new/"}})
		ok(t, err)
		_, err = add(domain.DatasourceConfig{SourceURL: "http://www.pumps.example/docs", Exclude: []string{"/new/", "/old/"}, MaxPages: 3})
		code(t, domain.CodeConflict, err)
		equal(t, true, strings.Contains(err.Error(), first.ID))
		for _, other := range []domain.DatasourceConfig{
			{SourceURL: "https://pumps.example/docs/"},
			{SourceURL: "https://pumps.example/"},
			{SourceURL: "https://pumps.example/docs/", Exclude: []string{"/old/", "/new/"}, Sitemap: "https://pumps.example/sitemap.xml"},
			{Sitemap: "https://pumps.example/sitemap.xml"},
			{Sitemap: "https://pumps.example/sitemap.xml?of=blog"},
		} {
			_, err = add(other)
			ok(t, err)
		}
		elsewhere := w.datastore(w.ws).ID
		_, err = add(first.Config, func(d *domain.Datasource) { d.DatastoreID = elsewhere })
		ok(t, err)
		_, err = add(first.Config, func(d *domain.Datasource) { d.Type = domain.TypeWebPage })
		ok(t, err)
		_, err = w.DeleteDatasource(w.ctx, w.ws, first.ID)
		ok(t, err)
		_, err = add(first.Config)
		ok(t, err)
	})
	t.Run("a discovered page is a child with a crawl job of its own, once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{})
		for _, want := range []int{2, 0} {
			done := w.apply(site, domain.EventDiscovered, links(pageA, pageB, pageA))
			equal(t, want, done.NewPages)
		}
		page := w.page(site, pageA)
		equal(t, domain.TypeWebPage, page.Type)
		equal(t, site.ID, page.GroupID)
		equal(t, pageA, page.Config.SourceURL)
		equal(t, 1, page.Config.Depth)
		equal(t, site.Metadata, page.Metadata)
		jobs := w.publishAll()
		equal(t, 2, len(jobs))
		for _, j := range jobs {
			equal(t, domain.JobCrawl, j.Kind)
			equal(t, []domain.Place{serving}, j.Places)
			equal(t, site.Config.SourceURL, j.Crawl.Site.Root)
		}
		equal(t, 0, w.apply(site, domain.EventDiscovered, links(pageA, pageB)).NewPages)
		counts, err := w.SiteCounts(w.ctx, site.ID)
		ok(t, err)
		equal(t, map[domain.Status]int64{domain.StatusPending: 2}, counts)
	})
	t.Run("a page that links on adds to its site", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.publishAll()
		done := w.apply(w.page(site, pageA), domain.EventDiscovered, links(pageA, pageB))
		equal(t, 1, done.NewPages)
		equal(t, site.ID, w.page(site, pageB).GroupID)
	})
	t.Run("a site is synched when discovery is done and the last page has ended, by success or error", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA, pageB)
		w.publishAll()
		w.apply(w.page(site, pageA), domain.EventSynched)
		done := w.apply(site, domain.EventSynched)
		equal(t, domain.StatusRunning, done.Datasource.Status)
		running := w.get(site.ID)
		equal(t, domain.StatusRunning, running.Status)
		equal(t, domain.Progress{Stage: "crawling", Done: 1, Total: 2}, running.Progress)
		done = w.apply(w.page(site, pageB), domain.EventError)
		equal(t, domain.StatusSynched, done.Site.Status)
		got := w.get(site.ID)
		equal(t, domain.StatusSynched, got.Status)
		equal(t, w.clock.now(), *got.LastSynch)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a site whose pages have all ended is synched when its discovery ends", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.publishAll()
		w.apply(w.page(site, pageA), domain.EventSynched)
		equal(t, domain.StatusPending, w.get(site.ID).Status)
		done := w.apply(site, domain.EventSynched)
		equal(t, domain.StatusSynched, done.Datasource.Status)
	})
	t.Run("a page between fetch and ingest keeps its site waiting", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.publishAll()
		w.apply(site, domain.EventSynched)
		w.apply(w.page(site, pageA), domain.EventFetched, fetched("a"))
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
		w.synch(w.page(site, pageA).ID)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	t.Run("a page found after the end, or queued again, sets the site running again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.publishAll()
		a := w.page(site, pageA)
		w.apply(site, domain.EventSynched)
		w.apply(a, domain.EventSynched)
		done := w.apply(a, domain.EventDiscovered, links(pageB))
		equal(t, domain.StatusRunning, done.Site.Status)
		w.synch(w.page(site, pageB).ID)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
		_, err := w.Requeue(w.ctx, w.ws, a.ID, domain.NewCrawlJob(a, w.settled()), catalog.PriorityFresh)
		ok(t, err)
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
	})
	t.Run("deleting the page that was waited for ends the site's crawl", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.apply(site, domain.EventSynched)
		_, err := w.DeleteDatasource(w.ctx, w.ws, w.page(site, pageA).ID)
		ok(t, err)
		equal(t, domain.StatusError, w.get(site.ID).Status) // a site without pages is no success
	})
	t.Run("a site of which no page could be read ends in error, and recovers with its pages", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.publishAll()
		a := w.page(site, pageA)
		w.apply(site, domain.EventSynched)
		w.apply(a, domain.EventError, func(ev *domain.Event) { ev.Error = "it does not exist" })
		failed := w.get(site.ID)
		equal(t, domain.StatusError, failed.Status)
		equal(t, "None of the site's 1 pages could be read. One of them: it does not exist", failed.Error)
		_, err := w.Requeue(w.ctx, w.ws, a.ID, domain.NewCrawlJob(a, w.settled()), catalog.PriorityFresh)
		ok(t, err)
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
		w.publishAll()
		w.synch(a.ID)
		mended := w.get(site.ID)
		equal(t, domain.StatusSynched, mended.Status)
		equal(t, "", mended.Error)
	})
	t.Run("a site whose discovery failed stays in error whatever its pages do", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.publishAll()
		w.apply(site, domain.EventError, func(ev *domain.Event) { ev.Error = "the sitemap cannot be read" })
		w.apply(w.page(site, pageA), domain.EventSynched)
		equal(t, domain.StatusError, w.get(site.ID).Status)
	})
	for _, test := range []struct {
		sentence     string
		site, global int
	}{{"a site's own limit of pages", 3, 0}, {"the service's limit of pages", 0, 3}, {"the service's limit before a site's higher one", 9, 3}} {
		t.Run(test.sentence+" holds, and the site says so", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open, func(o *catalog.Options) { o.MaxPagesPerSite = test.global })
			site := w.createSite(domain.DatasourceConfig{MaxPages: test.site}, pageA, pageB)
			var more []string
			for i := range 5 {
				more = append(more, fmt.Sprintf("https://pumps.example/%d", i))
			}
			equal(t, 1, w.apply(site, domain.EventDiscovered, links(append(more, pageA)...)).NewPages)
			equal(t, 0, w.apply(site, domain.EventDiscovered, links(more[1:]...)).NewPages)
			for _, j := range w.publishAll() {
				w.apply(w.get(j.DatasourceID), domain.EventSynched)
			}
			w.apply(site, domain.EventSynched)
			got := w.get(site.ID)
			equal(t, domain.Progress{Done: 3, Total: 3}, got.Progress)
			equal(t, 1, len(got.Warnings))
			equal(t, true, strings.Contains(got.Warnings[0], "limit of 3"))

			a := w.page(site, pageA)
			_, err := w.Requeue(w.ctx, w.ws, a.ID, domain.NewCrawlJob(a, w.settled()), catalog.PriorityFresh)
			ok(t, err)
			w.synch(a.ID)
			equal(t, got.Warnings, w.get(site.ID).Warnings)

			_, err = w.Requeue(w.ctx, w.ws, site.ID, domain.NewCrawlJob(site, w.settled()), catalog.PriorityFresh)
			ok(t, err)
			w.publishAll()
			w.apply(w.get(site.ID), domain.EventSynched)
			equal(t, domain.StatusSynched, w.get(site.ID).Status)
			equal(t, 0, len(w.get(site.ID).Warnings))
		})
	}
	t.Run("a new crawl of the site asks for each page again, once, as a replay", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.synch(w.page(site, pageA).ID)
		w.apply(site, domain.EventSynched)
		before := w.page(site, pageA)
		_, err := w.Requeue(w.ctx, w.ws, site.ID, domain.NewCrawlJob(site, w.settled()), catalog.PriorityReplay)
		ok(t, err)
		equal(t, false, w.get(site.ID).DiscoveryDone)
		w.publishAll()
		site = w.get(site.ID)
		equal(t, 1, w.apply(site, domain.EventDiscovered, links(pageA)).NewPages)
		equal(t, 0, w.apply(site, domain.EventDiscovered, links(pageA)).NewPages)
		after := w.page(site, pageA)
		equal(t, domain.StatusUnsynched, after.Status)
		equal(t, before.ActiveGeneration, after.ActiveGeneration)
		upload := w.createFile()
		equal(t, []string{upload.ID, after.ID}, w.outbox())
	})
	t.Run("an upload of the same workspace passes the pages of a crawl", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.createSite(domain.DatasourceConfig{}, pageA, pageB)
		upload := w.createFile()
		jobs, err := w.Outbox(w.ctx, 1)
		ok(t, err)
		equal(t, upload.ID, jobs[0].DatasourceID)
	})
}
