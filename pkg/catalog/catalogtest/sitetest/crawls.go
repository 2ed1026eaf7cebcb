package sitetest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// crawlAgain runs another crawl, which discovers the urls. change can modify the event that ends the crawl job.
func crawlAgain(w *world.World, site domain.Datasource, change func(*domain.Event), urls ...string) domain.Datasource {
	w.T.Helper()
	world.Must(w.Requeue(w.Ctx, w.WS, site.ID, domain.NewCrawlJob(site, w.Settled()), catalog.PriorityReplay))(w.T)
	w.PublishAll()
	site = w.Get(site.ID)
	follow := func(ev *domain.Event) { ev.Follow = site.FollowLinks }
	w.ApplyEvent(site, domain.EventDiscovered, world.Links(urls...), follow)
	w.ApplyEvent(site, domain.EventSynched, change)
	return site
}

func complete(ev *domain.Event) { ev.Complete = true }

func partial(*domain.Event) {}

// siteOf creates a site whose sitemap lists the urls, and crawls it.
func siteOf(w *world.World, p world.Pages, urls ...string) domain.Datasource {
	w.T.Helper()
	site := w.CreateSite(domain.DatasourceConfig{}, urls...)
	w.ApplyEvent(site, domain.EventSynched, complete)
	w.RunWorkers(p)
	return w.Get(site.ID)
}

// follows creates a site whose pages are found by following links from the root.
func follows(w *world.World, p world.Pages, root string, config domain.DatasourceConfig) domain.Datasource {
	w.T.Helper()
	site := w.CreateSite(config)
	w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}} })
	w.ApplyEvent(site, domain.EventSynched)
	w.RunWorkers(p)
	return w.Get(site.ID)
}

func testCrawls(t *testing.T, open world.Open) {
	world.Run(t, open, "a page that is gone leaves the datastore with its content, and its site counts it", func(t *testing.T, w *world.World) {
		site := siteOf(w, world.Pages{world.PageA: {Content: "a"}, world.PageB: {Content: "b"}}, world.PageA, world.PageB)
		gone := w.PageAt(site, world.PageB)
		w.ClearSweeps()
		crawlAgain(w, site, partial, world.PageA, world.PageB)
		jobs := w.PublishAll()
		for _, j := range jobs {
			if j.DatasourceID == gone.ID {
				done := world.Must(w.Apply(w.Ctx, j.Event(domain.EventGone, w.Clock.Now())))(t)
				world.Equal(t, []bool{true, true, true}, []bool{done.Found, done.Changed, done.Removed})
				world.Equal(t, gone.ID, done.Datasource.ID)
			} else {
				w.End(j, domain.EventUnchanged)
			}
		}
		w.IsGone(gone.ID)
		sweep := w.AllSweeps()[0]
		world.Equal(t, []any{gone.ID, w.Seq + 1, []string{gone.Original.Key}, true}, []any{sweep.DatasourceID, sweep.Below, sweep.Originals, sweep.Jobs})
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
		world.Equal(t, domain.SiteProgress{Discovered: 1, Unchanged: 1, Removed: 1}, w.ProgressOf(site.ID))
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a page that is gone does not come back with a link of the same crawl, but with the next crawl's", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "a", Links: []string{world.PageB}}, world.PageB: {Content: "b"}}
		site := follows(w, p, world.PageA, domain.DatasourceConfig{})
		delete(p, world.PageB)
		site = crawlAgain(w, site, partial, world.PageB)
		w.RunWorkers(p) // page A is fetched last; it links to a removed page
		w.IsGone(domain.ChildID(site.ID, world.PageB))
		world.Equal(t, domain.SiteProgress{Discovered: 1, Unchanged: 1, Removed: 1}, w.ProgressOf(site.ID))
		p[world.PageB] = world.Answer{Content: "b"}
		crawlAgain(w, site, partial, world.PageA)
		w.RunWorkers(p)
		world.Equal(t, domain.StatusSynched, w.PageAt(site, world.PageB).Status)
	})
	world.Run(t, open, "a page that never had content stays and says that it does not exist", func(t *testing.T, w *world.World) {
		site := siteOf(w, world.Pages{world.PageA: {Content: "a"}}, world.PageA, world.PageB)
		world.Equal(t, []any{domain.StatusError, world.PageB + " does not exist (404)."}, []any{w.PageAt(site, world.PageB).Status, w.PageAt(site, world.PageB).Error})
		got := w.Get(site.ID)
		world.Equal(t, []any{domain.StatusSynched, []string{"1 of 2 pages could not be read; each shows its error"}}, []any{got.Status, got.Warnings})
	})
	world.Run(t, open, "a page of its own that is gone stays without its content", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		d = w.FetchAgain(w.Get(d.ID))
		w.RunWorkers(world.Pages{})
		got := w.Get(d.ID)
		world.Equal(t, []any{domain.StatusError, uint64(0), (*domain.Original)(nil)}, []any{got.Status, got.ActiveGeneration, got.Original})
		world.Equal(t, uint64(0), w.ActiveOne(d.ID).ActiveGeneration)
	})
	world.Run(t, open, "a skipped page has nothing for readers any more, and is no failure of its site", func(t *testing.T, w *world.World) {
		site := siteOf(w, world.Pages{world.PageA: {Content: "a"}, world.PageB: {Content: "b"}}, world.PageA, world.PageB)
		before := w.PageAt(site, world.PageB)
		w.ClearSweeps()
		crawlAgain(w, site, partial, world.PageA, world.PageB)
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}, world.PageB: {}})
		got := w.PageAt(site, world.PageB)
		world.Equal(t, []any{domain.StatusSkipped, "It is marked noindex.", uint64(0), int64(0)},
			[]any{got.Status, got.Error, got.ActiveGeneration, got.Chunks})
		var below uint64
		var originals []string
		for _, s := range w.AllSweeps() {
			if s.DatasourceID == before.ID {
				below, originals = max(below, s.Below), append(originals, s.Originals...)
			}
		}
		world.Equal(t, []any{true, []string{before.Original.Key}}, []any{below > before.ActiveGeneration, originals})
		settled := w.Get(site.ID)
		world.Equal(t, []any{domain.StatusSynched, 0}, []any{settled.Status, len(settled.Warnings)})
		world.Equal(t, domain.SiteProgress{Discovered: 2, Unchanged: 1, Skipped: 1}, w.ProgressOf(site.ID))
		// A late event from the ingest job must not make the content active again.
		w.ApplyEvent(before, domain.EventSynched, func(ev *domain.Event) { ev.Generation = w.Seq + 1 })
		world.Equal(t, uint64(0), w.PageAt(site, world.PageB).ActiveGeneration)
	})
	world.Run(t, open, "a site whose pages are all left out ends in error and says why", func(t *testing.T, w *world.World) {
		site := siteOf(w, world.Pages{world.PageA: {}}, world.PageA)
		world.Equal(t, []any{domain.StatusError, "The site's only page was skipped: It is marked noindex."},
			[]any{site.Status, site.Error})
	})
	world.Run(t, open, "a page whose content was replaced by a text is fetched whole again", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		typed := catalog.Replacement{Original: domain.Original{Key: "typed", SHA256: "typed"}, Job: domain.Job{ID: domain.NewID()}}
		world.Must(w.ReplaceContent(w.Ctx, w.WS, d.ID, typed))(t)
		w.RunWorkers(world.Pages{})
		world.Equal(t, "typed", w.Get(d.ID).Original.SHA256)
		w.FetchAgain(w.Get(d.ID))
		w.RunWorkers(world.Pages{world.PageA: {Content: "a", Same: true}})
		got := w.Get(d.ID)
		world.Equal(t, []any{domain.StatusSynched, "a"}, []any{got.Status, got.Original.SHA256})
	})
	world.Run(t, open, "a postponed job leaves the stream and comes again as it was, not before its time", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		w.FetchAgain(w.Get(d.ID))
		job := w.PublishAll()[0]
		world.Equal(t, "a", job.Crawl.ETag)
		late := w.Event(w.Get(d.ID), domain.EventRunning)
		for range 2 {
			w.End(job, domain.EventPostponed, world.WithReason("the server is busy"), func(ev *domain.Event) {
				ev.Until, ev.Tries = w.Clock.Now().Add(time.Hour), 3
			})
		}
		got := w.Get(d.ID)
		world.Equal(t, []any{domain.StatusUnsynched, domain.StageRetrying, "the server is busy"}, []any{got.Status, got.Progress.Stage, got.Error})
		world.Equal(t, int64(0), w.CountInFlight())
		world.Equal(t, []string{}, w.OutboxIDs())
		world.Must(w.Apply(w.Ctx, late))(t)
		world.Equal(t, domain.StatusUnsynched, w.Get(d.ID).Status)
		w.Clock.Advance(time.Hour)
		again := w.PublishAll()[0]
		world.Equal(t, []any{domain.PostponedJobID(job.ID, job.Generation), 3, *job.Crawl, domain.JobCrawl},
			[]any{again.ID, again.Tries, *again.Crawl, again.Kind})
		w.End(again, domain.EventUnchanged)
		world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
	})
	world.Run(t, open, "jobs that are put off do not keep others of their workspace waiting", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		w.ApplyEvent(site, domain.EventSynched)
		jobs := w.PublishAll()
		w.End(jobs[0], domain.EventPostponed, func(ev *domain.Event) { ev.Until = w.Clock.Now().Add(time.Hour) })
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
		w.ApplyEvent(site, domain.EventDiscovered, world.Links("https://pumps.example/c"))
		world.Equal(t, []string{domain.ChildID(site.ID, "https://pumps.example/c")}, w.OutboxIDs())
	})
	world.Run(t, open, "a job that was put off waits from the time on that it was put off to", func(t *testing.T, w *world.World) {
		w.CreatePage()
		until := w.Clock.Now().Add(time.Hour)
		w.End(w.PublishAll()[0], domain.EventPostponed, func(ev *domain.Event) { ev.Until = until })
		due, _, err := w.OutboxBacklog(w.Ctx)
		world.OK(t, err)
		world.Equal(t, 0, due)
		w.Clock.Advance(time.Hour + time.Minute)
		due, oldest, err := w.OutboxBacklog(w.Ctx)
		world.OK(t, err)
		world.Equal(t, 1, due)
		world.Equal(t, until.UnixMicro(), oldest.UnixMicro())
	})
	world.Run(t, open, "a postponed event that says not until when, or what to fetch, is refused", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		for _, ev := range []domain.Event{
			w.Event(d, domain.EventPostponed, func(ev *domain.Event) { ev.JobKind, ev.Until = domain.JobCrawl, w.Clock.Now() }),
			w.Event(d, domain.EventPostponed, func(ev *domain.Event) { ev.JobKind, ev.Crawl = domain.JobCrawl, &domain.CrawlSpec{} }),
		} {
			world.Refused(w.Apply(w.Ctx, ev))(t, domain.CodeInvalid)
		}
	})
	world.Run(t, open, "a page of its own that is a sitemap becomes a site, which is crawled", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		job := w.PublishAll()[0]
		for range 2 {
			w.End(job, domain.EventSitemap)
		}
		got := w.Get(d.ID)
		world.Equal(t, []any{domain.TypeWebSite, world.PageA, "", domain.StatusUnsynched}, []any{got.Type, got.Config.Sitemap, got.Config.SourceURL, got.Status})
		crawl := w.PublishAll()
		world.Equal(t, []any{1, world.PageA, domain.TypeWebSite}, []any{len(crawl), crawl[0].Crawl.Sitemap, crawl[0].Type})
		w.End(crawl[0], domain.EventDiscovered, world.Links(world.PageB))
		w.End(crawl[0], domain.EventSynched, complete)
		w.RunWorkers(world.Pages{world.PageB: {Content: "b"}})
		world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
		world.Equal(t, domain.StatusSynched, w.PageAt(got, world.PageB).Status)
	})
	world.Run(t, open, "a sitemap among the pages of a site is skipped", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.End(w.PublishAll()[0], domain.EventSitemap)
		world.Equal(t, []any{domain.StatusSkipped, domain.TypeWebPage}, []any{w.PageAt(site, world.PageA).Status, w.PageAt(site, world.PageA).Type})
	})
	world.Run(t, open, "a page that is fetched as it was costs no ingest job, and its newest original stays", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		before := w.Get(d.ID)
		world.Equal(t, false, before.Unchanged)
		w.FetchAgain(before)
		w.ClearSweeps()
		fetches, ingests := w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		world.Equal(t, []int{1, 0}, []int{fetches, ingests})
		after := w.Get(d.ID)
		world.Equal(t, []any{true, domain.StatusSynched, before.ActiveGeneration}, []any{after.Unchanged, after.Status, after.ActiveGeneration})
		world.Equal(t, []string{before.Original.Key}, w.AllSweeps()[0].Originals)
		target := 200
		world.Must(w.UpdateDatastore(w.Ctx, w.WS, w.StoreID, domain.DatastorePatch{Chunking: &domain.ChunkingPatch{TargetTokens: &target}}))(t)
		w.FetchAgain(after)
		_, ingests = w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		world.Equal(t, 1, ingests) // the datastore's chunk sizes have changed
		job := world.Must(w.NewJob(w.Ctx, w.Get(d.ID), domain.JobCrawl))(t)
		job.Force = true
		world.Must(w.Requeue(w.Ctx, w.WS, d.ID, job, catalog.PriorityFresh))(t)
		_, ingests = w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		world.Equal(t, 1, ingests)
	})
	world.Run(t, open, "a page whose last content could not be read is read again though it has not changed", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		w.FetchAgain(w.Get(d.ID))
		w.Crawl(w.PublishAll()[0], world.Pages{world.PageA: {Content: "b"}})
		w.End(w.PublishAll()[0], domain.EventError)
		w.FetchAgain(w.Get(d.ID))
		_, ingests := w.RunWorkers(world.Pages{world.PageA: {Content: "b"}})
		world.Equal(t, 1, ingests)
	})
	world.Run(t, open, "what a fetch finds of a page's address is kept", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		j := w.PublishAll()[0]
		hops := []domain.Redirect{{URL: world.PageA, Status: 301}}
		w.End(j, domain.EventFetched, world.Found(j, "a"), func(ev *domain.Event) {
			ev.Fetched.URL, ev.Fetched.Redirects, ev.Fetched.Canonical, ev.Fetched.Rendered = world.PageB, hops, world.PageB, true
		})
		got := w.Get(d.ID).Config
		world.Equal(t, []any{world.PageB, hops, world.PageB, true}, []any{got.FinalURL, got.Redirects, got.Canonical, got.Rendered})
	})
}
