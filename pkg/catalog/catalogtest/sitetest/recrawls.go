package sitetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

const pageC = "https://pumps.example/c"

// smallBatch is the batch size in most tests of batches. Tests that stop a crawl use the default.
const smallBatch = 20

// inSmallBatches opens catalogs that process smallBatch pages of a site at a time. When applying changed settings to
// pages, they process a quarter of that.
func inSmallBatches(open world.Open) world.Open {
	return func(t testing.TB, o catalog.Options) *catalog.Catalog {
		o.SiteBatch = smallBatch
		return open(t, o)
	}
}

// twoBatches returns a site that takes more than two batches of this size to process.
func twoBatches(size int) (p world.Pages, urls []string) {
	p = world.Pages{}
	for i := range 2*size + size/4 {
		url := fmt.Sprintf("https://pumps.example/many/%03d", i)
		p[url], urls = world.Answer{Content: url, Same: true}, append(urls, url)
	}
	return p, urls
}

// listed creates a site from a list of urls and crawls it to the end.
func listed(w *world.World, p world.Pages, urls []string) domain.Datasource {
	w.T.Helper()
	site := w.CreateSite(domain.DatasourceConfig{})
	discover(w, site, urls)
	w.ApplyEvent(site, domain.EventSynched, complete)
	w.RunWorkers(p)
	return w.Get(site.ID)
}

func discover(w *world.World, site domain.Datasource, urls []string) {
	w.T.Helper()
	for group := range slices.Chunk(urls, domain.MaxLinksPerEvent) {
		w.ApplyEvent(site, domain.EventDiscovered, world.Links(group...))
	}
}

func testRecrawls(t *testing.T, open world.Open) {
	world.Run(t, inSmallBatches(open), "pages that a complete sitemap does not list any more leave the datastore, in batches, before the site settles", func(t *testing.T, w *world.World) {
		p, urls := twoBatches(smallBatch)
		site := listed(w, p, urls)
		site = crawlAgain(w, site, complete, urls[0])
		world.Equal(t, domain.RestRemoved, w.Get(site.ID).Crawl.MissingPages)
		for _, j := range w.PublishAll() {
			w.End(j, domain.EventUnchanged)
		}
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
		world.Equal(t, 3, w.WorkOnSites())
		got := w.Get(site.ID)
		world.Equal(t, domain.StatusSynched, got.Status)
		world.Equal(t, domain.SiteProgress{Discovered: 1, Unchanged: 1, Removed: 44}, w.ProgressOf(site.ID))
		world.Equal(t, 0, w.WorkOnSites())
		swept := map[string]bool{}
		for _, s := range w.AllSweeps() {
			swept[s.DatasourceID] = true
		}
		world.Equal(t, true, swept[domain.ChildID(site.ID, urls[11])])
		world.Equal(t, false, swept[domain.ChildID(site.ID, urls[0])])
		// A removed page no longer counts towards the limit.
		world.Equal(t, 1, w.ApplyEvent(got, domain.EventDiscovered, world.Links(urls[11])).NewPages)
	})
	world.Run(t, open, "pages that an incomplete list lacks stay as they are", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "a", Same: true}, world.PageB: {Content: "b", Same: true}}
		site := siteOf(w, p, world.PageA, world.PageB)
		crawlAgain(w, site, partial, world.PageA)
		fetches, _ := w.RunWorkers(p)
		world.Equal(t, 1, fetches)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
		world.Equal(t, domain.StatusSynched, w.PageAt(site, world.PageB).Status)
	})
	world.Run(t, open, "pages of a site whose links are followed are all asked, conditionally and once, though none shows a link", func(t *testing.T, w *world.World) {
		p := world.Pages{
			world.PageA: {Content: "a", Same: true, Links: []string{world.PageB}},
			world.PageB: {Content: "b", Same: true, Links: []string{pageC, world.PageA}},
			pageC:       {Content: "c", Same: true},
		}
		site := follows(w, p, world.PageA, domain.DatasourceConfig{})
		world.Equal(t, domain.SiteProgress{Discovered: 3, Fetched: 3}, w.ProgressOf(site.ID))
		crawlAgain(w, site, partial, world.PageA)
		fetches, ingests := w.RunWorkers(p)
		world.Equal(t, []int{3, 0}, []int{fetches, ingests})
		world.Equal(t, domain.SiteProgress{Discovered: 3, Unchanged: 3}, w.ProgressOf(site.ID))
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	world.Run(t, inSmallBatches(open), "what an older crawl was to remove is not removed once a newer one has begun", func(t *testing.T, w *world.World) {
		p, urls := twoBatches(smallBatch)
		site := listed(w, p, urls)
		crawlAgain(w, site, complete, urls[0])
		for _, j := range w.PublishAll() {
			w.End(j, domain.EventUnchanged)
		}
		tasks := world.Must(w.SiteWork(w.Ctx, catalog.SiteTask{}, 10))(t)
		world.Must(w.WorkOnSite(w.Ctx, tasks[0]))(t)
		crawlAgain(w, site, partial, urls[1])
		left := w.ProgressOf(site.ID).Discovered
		world.Must(w.WorkOnSite(w.Ctx, tasks[0]))(t)
		world.Equal(t, left, w.ProgressOf(site.ID).Discovered)
		w.RunWorkers(p)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	world.Run(t, open, "a page of a crawl that is not its site's newest adds no pages", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		old := w.PublishAll()[0]
		site = w.FetchAgain(site)
		w.PublishAll()
		w.End(old, domain.EventDiscovered, world.Links(world.PageB))
		w.IsGone(domain.ChildID(site.ID, world.PageB))
		w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA))
		job := w.PublishAll()[0]
		w.End(old, domain.EventDiscovered, world.Links(world.PageB))
		w.IsGone(domain.ChildID(site.ID, world.PageB))
		w.End(job, domain.EventDiscovered, world.Links(world.PageB))
		world.Equal(t, site.ID, w.PageAt(site, world.PageB).GroupID)
	})
	world.Run(t, open, "addresses that were not taken are counted by reason, those past the limit too", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{MaxPages: 1}, world.PageA)
		page := w.PublishAll()[0]
		w.End(page, domain.EventDiscovered, world.Links(world.PageB), func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 2} })
		w.ApplyEvent(site, domain.EventSynched, func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 1, "excluded": 4} })
		world.Equal(t, map[string]int{"another host": 3, "excluded": 4, "beyond the site's page limit": 1}, w.Get(site.ID).Crawl.LeftOut)
		site = w.FetchAgain(w.Get(site.ID))
		world.Equal(t, domain.Crawl{StartedAt: site.Crawl.StartedAt}, *site.Crawl)
	})
	world.Run(t, open, "an address that is too many links away is counted, unless a shorter way to it is known", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{MaxDepth: 2}, world.PageA)
		page := w.PublishAll()[0]
		deep := func(ev *domain.Event) {
			ev.Links = []domain.Link{{URL: world.PageA, Depth: 3}, {URL: world.PageB, Depth: 3}}
		}
		w.End(page, domain.EventDiscovered, deep, func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 2} })
		w.IsGone(domain.ChildID(site.ID, world.PageB))
		w.End(page, domain.EventDiscovered, func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 1} }) // it reports no links
		world.Equal(t, map[string]int{"another host": 3, "too many links away from the root": 1}, w.Get(site.ID).Crawl.LeftOut)
	})
	world.Run(t, open, "a page found nearer to the root than at first is fetched again for its links, if they count, and once", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{MaxDepth: 4})
		find := func(depth int) []domain.Job {
			w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) {
				ev.Follow, ev.Links = true, []domain.Link{{URL: world.PageA, Depth: depth}}
			})
			return w.PublishAll()
		}
		w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) {
			ev.Follow, ev.Links = true, []domain.Link{{URL: world.PageA, Depth: 4}}
		})
		first := find(3) // while it waits in the outbox
		world.Equal(t, []int{1, 3}, []int{len(first), first[0].Crawl.Depth})
		world.Equal(t, domain.PageJobID(site.JobID, first[0].DatasourceID), first[0].ID)
		w.Crawl(first[0], world.Pages{world.PageA: {Content: "a"}})
		w.RunWorkers(nil)
		world.Equal(t, 0, len(find(4)))
		world.Equal(t, 3, w.PageAt(site, world.PageA).Config.Depth)
		again := find(2)
		world.Equal(t, []any{1, 2, ""}, []any{len(again), again[0].Crawl.Depth, again[0].Crawl.ETag})
		world.Equal(t, 0, len(find(2)))
		world.Equal(t, 0, len(find(3)))
		w.End(again[0], domain.EventDiscovered, world.Links(world.PageB))
		w.Crawl(again[0], world.Pages{world.PageA: {Content: "a"}})
		world.Equal(t, []any{domain.StatusSynched, 2}, []any{w.PageAt(site, world.PageA).Status, w.PageAt(site, world.PageA).Config.Depth})
		world.Equal(t, site.ID, w.PageAt(site, world.PageB).GroupID)
	})
	world.Run(t, open, "a page that was left out as too deep is fetched again when it is found at the greatest depth", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "a"}}
		site := w.CreateSite(domain.DatasourceConfig{MaxDepth: 4})
		find := func(depth int) {
			w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) {
				ev.Follow, ev.Links = true, []domain.Link{{URL: world.PageA, Depth: depth}}
			})
		}
		find(4)
		w.RunWorkers(p)
		limit := 2
		world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, domain.WebPatch{MaxDepth: &limit}))(t)
		w.RunWorkers(p)
		world.Equal(t, []string{}, searchable(w, site, p))
		find(3) // still too deep
		fetches, _ := w.RunWorkers(p)
		world.Equal(t, []any{0, []string{}}, []any{fetches, searchable(w, site, p)})
		find(2)
		fetches, _ = w.RunWorkers(p)
		world.Equal(t, []any{1, []string{world.PageA}}, []any{fetches, searchable(w, site, p)})
		find(2)
		fetches, _ = w.RunWorkers(p)
		world.Equal(t, 0, fetches)
	})
	world.Run(t, open, "when a page was changed, as its sitemap says, is kept", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{})
		at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		for range 2 {
			w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Links = []domain.Link{{URL: world.PageA, LastMod: at}} })
			world.Equal(t, at, w.PageAt(site, world.PageA).Config.LastMod)
			at = at.AddDate(0, 0, 1)
			site = w.FetchAgain(w.Get(site.ID))
			w.PublishAll()
		}
	})
}

func testStops(t *testing.T, open world.Open) {
	world.Run(t, open, "stopping a crawl withdraws waiting pages from outbox and stream, indexes fetched pages, and settles the site", func(t *testing.T, w *world.World) {
		p, urls := twoBatches(catalog.DefaultSiteBatch)
		site := listed(w, p, urls[:3])
		site = w.FetchAgain(site)
		discovery := w.PublishAll()[0]
		site = w.Get(site.ID)
		discover(w, site, urls[:2])
		asked := map[string]domain.Job{}
		for _, j := range w.PublishAll() {
			asked[j.Crawl.URL] = j
		}
		read, running := asked[urls[0]], asked[urls[1]]
		w.Crawl(read, world.Pages{urls[0]: {Content: "new"}})
		ingest := w.PublishAll()[0]
		discover(w, site, urls)
		w.ClearSweeps()
		for range 2 {
			got := world.Must(w.StopCrawl(w.Ctx, w.WS, site.ID))(t)
			world.Equal(t, []any{domain.StatusRunning, true}, []any{got.Status, got.Crawl.Stopped()})
			world.Equal(t, []string{}, w.OutboxIDs())
		}
		stopped := w.PageAt(site, urls[1])
		world.Equal(t, []any{domain.StatusSynched, "", true}, []any{stopped.Status, stopped.JobID, stopped.ActiveGeneration > 0})
		world.Equal(t, int64(1), w.CountInFlight()) // the page being processed
		swept := map[string]domain.Sweep{}
		for _, s := range w.AllSweeps() {
			s.ID = ""
			swept[s.DatasourceID] = s.Sweep
		}
		of := func(id string, generation uint64) domain.Sweep {
			return domain.Sweep{WorkspaceID: w.WS, DatastoreID: w.StoreID, DatasourceID: id, Crawls: generation + 1}
		}
		world.Equal(t, map[string]domain.Sweep{site.ID: of(site.ID, discovery.Generation), stopped.ID: of(stopped.ID, running.Generation)}, swept)
		left := w.PageAt(site, urls[100])
		world.Equal(t, []any{domain.StatusSkipped, "The crawl was stopped before this page was fetched."}, []any{left.Status, left.Error})
		w.End(running, domain.EventDiscovered, world.Links(world.PageA))
		w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA)) // ignored: the site's own discovery
		w.ApplyEvent(site, domain.EventSynched, complete)
		w.IsGone(domain.ChildID(site.ID, world.PageA))
		// Events from withdrawn jobs have no effect, and a withdrawn job's results are swept.
		w.ClearSweeps()
		ev := running.Event(domain.EventFetched, w.Clock.Now())
		world.Found(running, "new")(&ev)
		world.Must(w.Apply(w.Ctx, ev))(t)
		world.Equal(t, []string{ev.Fetched.Original.Key}, w.AllSweeps()[0].Originals)
		for _, typ := range []domain.EventType{domain.EventRunning, domain.EventUnchanged, domain.EventGone, domain.EventError, domain.EventSkipped} {
			w.End(running, typ)
		}
		world.Equal(t, stopped, w.PageAt(site, urls[1]))
		w.End(ingest, domain.EventSynched, world.Chunks(2))
		world.Equal(t, 0, len(w.StuckFor(-time.Hour)))
		w.RunWorkers(nil)
		got := w.Get(site.ID)
		world.Equal(t, []any{domain.StatusSynched, []string{"The crawl was stopped before all pages were fetched."}}, []any{got.Status, got.Warnings})
		world.Equal(t, int64(0), w.CountInFlight())
		again := world.Must(w.StopCrawl(w.Ctx, w.WS, site.ID))(t)
		world.Equal(t, got, again)
		// The stop does not affect the next crawl.
		site = crawlAgain(w, site, complete, urls[:200]...)
		w.RunWorkers(p)
		world.Equal(t, []any{domain.StatusSynched, 0}, []any{w.Get(site.ID).Status, len(w.Get(site.ID).Warnings)})
		world.Equal(t, int64(200), w.ProgressOf(site.ID).Discovered)
	})
	world.Run(t, open, "a page that is asked for since the crawl was stopped is waited for, though its fetch is put off", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		w.ApplyEvent(site, domain.EventSynched, complete)
		running := w.PublishAll()
		world.Must(w.StopCrawl(w.Ctx, w.WS, site.ID))(t)
		later := func(ev *domain.Event) {
			ev.Until, ev.Tries, ev.Error = w.Clock.Now().Add(time.Hour), 1, "the server is busy"
		}
		w.End(running[0], domain.EventPostponed, later)
		a := w.Get(running[0].DatasourceID)
		world.Equal(t, []any{domain.StatusSkipped, "The crawl was stopped before this page was fetched."}, []any{a.Status, a.Error})
		world.Equal(t, []string{}, w.OutboxIDs())
		world.Equal(t, domain.StatusError, w.Get(site.ID).Status)
		w.FetchAgain(a)
		w.End(w.PublishAll()[0], domain.EventPostponed, later)
		world.Equal(t, domain.StatusUnsynched, w.Get(a.ID).Status)
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
	})
	world.Run(t, open, "when a page is stopped before it was ever fetched, those that named it as their own address are fetched again", func(t *testing.T, w *world.World) {
		p := world.Pages{pageX: {Content: "x", Canonical: world.PageA}}
		site := w.CreateSite(domain.DatasourceConfig{}, pageX)
		w.ApplyEvent(site, domain.EventSynched)
		w.Crawl(w.PublishAll()[0], p)
		world.Must(w.StopCrawl(w.Ctx, w.WS, w.PageAt(site, world.PageA).ID))(t)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: false, pageX: true}, activePages(w, site, world.PageA, pageX))
	})
	t.Run("a stop continues after its process was killed", func(t *testing.T) {
		t.Parallel()
		ctx, die := context.WithCancel(t.Context())
		defer die()
		var left atomic.Int64 // clock readings until the process dies
		w := world.New(t, open, func(o *catalog.Options) {
			now := o.Now
			o.Now = func() time.Time {
				if left.Add(-1) == 0 {
					die()
				}
				return now()
			}
		})
		_, urls := twoBatches(catalog.DefaultSiteBatch)
		site := w.CreateSite(domain.DatasourceConfig{})
		discover(w, site, urls[:1])
		running := w.PublishAll()
		discover(w, site, urls)
		left.Store(300) // the process dies in the second batch
		_, err := w.StopCrawl(ctx, w.WS, site.ID)
		world.Equal(t, true, err != nil)
		world.Equal(t, 249, len(w.OutboxIDs()))
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
		// The crawl has been stopped, but the stop hasn't been applied to this page yet. If the page's fetch is
		// postponed now, the page must not keep waiting.
		at := slices.IndexFunc(running, func(j domain.Job) bool { return j.Type == domain.TypeWebPage })
		world.Equal(t, domain.StatusPending, w.PageAt(site, urls[0]).Status)
		w.End(running[at], domain.EventPostponed, func(ev *domain.Event) { ev.Until = w.Clock.Now().Add(time.Hour) })
		world.Equal(t, domain.StatusSkipped, w.PageAt(site, urls[0]).Status)
		world.Equal(t, 249, len(w.OutboxIDs()))
		w.WorkOnSites()
		world.Equal(t, []string{}, w.OutboxIDs())
		world.Equal(t, domain.StatusError, w.Get(site.ID).Status)
	})
	world.Run(t, open, "stopping the pages of a site whose discovery failed leaves it with its reason", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		w.ApplyEvent(site, domain.EventError, world.WithReason("the sitemap cannot be read"))
		got := world.Must(w.StopCrawl(w.Ctx, w.WS, site.ID))(t)
		world.Equal(t, []any{domain.StatusError, "the sitemap cannot be read"}, []any{got.Status, got.Error})
		world.Equal(t, domain.StatusSkipped, w.PageAt(site, world.PageA).Status)
		world.Equal(t, []string{}, w.OutboxIDs())
	})
	world.Run(t, open, "a page of its own that waits is stopped, one that has been fetched is read", func(t *testing.T, w *world.World) {
		d := w.CreatePage()
		got := world.Must(w.StopCrawl(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, domain.StatusSkipped, got.Status)
		w.FetchAgain(d)
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		w.FetchAgain(w.Get(d.ID))
		got = world.Must(w.StopCrawl(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, domain.StatusSynched, got.Status)
		w.FetchAgain(w.Get(d.ID))
		w.PublishAll()
		got = world.Must(w.StopCrawl(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, domain.StatusSynched, got.Status)
		w.FetchAgain(w.Get(d.ID))
		w.Crawl(w.PublishAll()[0], world.Pages{world.PageA: {Content: "new"}})
		ingest := w.PublishAll()[0]
		got = world.Must(w.StopCrawl(w.Ctx, w.WS, d.ID))(t)
		world.Equal(t, domain.StatusRunning, got.Status)
		world.Equal(t, ingest.ID, got.JobID)
	})
	world.Run(t, open, "stopping an unknown datasource, one of another workspace, or one without web content fails", func(t *testing.T, w *world.World) {
		site, file := w.CreateSite(domain.DatasourceConfig{}), w.CreateFile()
		world.Refused(w.StopCrawl(w.Ctx, w.NewWorkspace(), site.ID))(t, domain.CodeNotFound)
		world.Refused(w.StopCrawl(w.Ctx, w.WS, domain.NewID()))(t, domain.CodeNotFound)
		world.Refused(w.StopCrawl(w.Ctx, w.WS, file.ID))(t, domain.CodeInvalid)
	})
}
