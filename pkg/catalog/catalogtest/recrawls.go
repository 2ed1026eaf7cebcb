package catalogtest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

const pageC = "https://pumps.example/c"

// manyPages are more than two batches of work on a site.
func manyPages() (p pages, urls []string) {
	p = pages{}
	for i := range 450 {
		url := fmt.Sprintf("https://pumps.example/many/%03d", i)
		p[url], urls = answer{content: url, same: true}, append(urls, url)
	}
	return p, urls
}

// listed makes a site of many pages, and crawls it.
func (w *world) listed(p pages, urls []string) domain.Datasource {
	w.t.Helper()
	site := w.createSite(domain.DatasourceConfig{})
	w.discover(site, urls)
	w.apply(site, domain.EventSynched, complete)
	w.play(p)
	return w.get(site.ID)
}

func (w *world) discover(site domain.Datasource, urls []string) {
	w.t.Helper()
	for group := range slices.Chunk(urls, domain.MaxLinksPerEvent) {
		w.apply(site, domain.EventDiscovered, links(group...))
	}
}

func testRecrawls(t *testing.T, open Open) {
	t.Run("pages that a complete sitemap does not list any more leave the datastore, in batches, before the site settles", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		p, urls := manyPages()
		site := w.listed(p, urls)
		site = w.again(site, complete, urls[:10]...)
		equal(t, domain.RestRemoved, w.get(site.ID).Crawl.Rest)
		for _, j := range w.publishAll() {
			w.end(j, domain.EventUnchanged)
		}
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
		equal(t, 3, w.work())
		got := w.get(site.ID)
		equal(t, domain.StatusSynched, got.Status)
		equal(t, domain.SiteProgress{Discovered: 10, Unchanged: 10, Removed: 440}, w.siteProgress(site.ID))
		equal(t, 0, w.work())
		swept := map[string]bool{}
		for _, s := range w.sweeps() {
			swept[s.DatasourceID] = true
		}
		equal(t, true, swept[domain.ChildID(site.ID, urls[11])])
		equal(t, false, swept[domain.ChildID(site.ID, urls[0])])
		// The limit counts what is there.
		equal(t, 1, w.apply(got, domain.EventDiscovered, links(urls[11])).NewPages)
	})
	t.Run("pages that an incomplete list lacks stay as they are", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "a", same: true}, pageB: {content: "b", same: true}}
		site := w.siteOf(p, pageA, pageB)
		w.again(site, partial, pageA)
		fetches, _ := w.play(p)
		equal(t, 1, fetches)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
		equal(t, domain.StatusSynched, w.page(site, pageB).Status)
	})
	t.Run("pages of a site whose links are followed are all asked, conditionally and once, though none shows a link", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{
			pageA: {content: "a", same: true, links: []string{pageB}},
			pageB: {content: "b", same: true, links: []string{pageC, pageA}},
			pageC: {content: "c", same: true},
		}
		site := w.follows(p, pageA, domain.DatasourceConfig{})
		equal(t, domain.SiteProgress{Discovered: 3, Fetched: 3}, w.siteProgress(site.ID))
		w.again(site, partial, pageA)
		fetches, ingests := w.play(p)
		equal(t, []int{3, 0}, []int{fetches, ingests})
		equal(t, domain.SiteProgress{Discovered: 3, Unchanged: 3}, w.siteProgress(site.ID))
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	t.Run("what an older crawl was to remove is not removed once a newer one has begun", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		p, urls := manyPages()
		site := w.listed(p, urls)
		w.again(site, complete, urls[0])
		for _, j := range w.publishAll() {
			w.end(j, domain.EventUnchanged)
		}
		tasks, err := w.SiteWork(w.ctx, catalog.SiteTask{}, 10)
		ok(t, err)
		_, err = w.WorkOnSite(w.ctx, tasks[0])
		ok(t, err)
		w.again(site, partial, urls[1])
		left := w.siteProgress(site.ID).Discovered
		_, err = w.WorkOnSite(w.ctx, tasks[0])
		ok(t, err)
		equal(t, left, w.siteProgress(site.ID).Discovered)
		w.play(p)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	t.Run("a page of a crawl that is not its site's newest adds no pages", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		old := w.publishAll()[0]
		site = w.requeue(site)
		w.publishAll()
		w.end(old, domain.EventDiscovered, links(pageB))
		w.isGone(domain.ChildID(site.ID, pageB))
		w.apply(site, domain.EventDiscovered, links(pageA))
		job := w.publishAll()[0]
		w.end(old, domain.EventDiscovered, links(pageB))
		w.isGone(domain.ChildID(site.ID, pageB))
		w.end(job, domain.EventDiscovered, links(pageB))
		equal(t, site.ID, w.page(site, pageB).GroupID)
	})
	t.Run("addresses that were not taken are counted by reason, those past the limit too", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{MaxPages: 1}, pageA)
		page := w.publishAll()[0]
		w.end(page, domain.EventDiscovered, links(pageB), func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 2} })
		w.apply(site, domain.EventSynched, func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 1, "excluded": 4} })
		equal(t, map[string]int{"another host": 3, "excluded": 4, "past the site's limit of pages": 1}, w.get(site.ID).Crawl.LeftOut)
		site = w.requeue(w.get(site.ID))
		equal(t, domain.Crawl{StartedAt: site.Crawl.StartedAt}, *site.Crawl)
	})
	t.Run("an address that is too many links away is counted, unless a shorter way to it is known", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{MaxDepth: 2}, pageA)
		page := w.publishAll()[0]
		deep := func(ev *domain.Event) { ev.Links = []domain.Link{{URL: pageA, Depth: 3}, {URL: pageB, Depth: 3}} }
		w.end(page, domain.EventDiscovered, deep, func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 2} })
		w.isGone(domain.ChildID(site.ID, pageB))
		w.end(page, domain.EventDiscovered, func(ev *domain.Event) { ev.LeftOut = map[string]int{"another host": 1} }) // and no link
		equal(t, map[string]int{"another host": 3, "too many links away from the root": 1}, w.get(site.ID).Crawl.LeftOut)
	})
	t.Run("a page found nearer to the root than at first is fetched again for its links, if they count, and once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{MaxDepth: 4})
		find := func(depth int) []domain.Job {
			w.apply(site, domain.EventDiscovered, func(ev *domain.Event) {
				ev.Follow, ev.Links = true, []domain.Link{{URL: pageA, Depth: depth}}
			})
			return w.publishAll()
		}
		w.apply(site, domain.EventDiscovered, func(ev *domain.Event) {
			ev.Follow, ev.Links = true, []domain.Link{{URL: pageA, Depth: 4}}
		})
		first := find(3) // while it waits in the outbox
		equal(t, []int{1, 3}, []int{len(first), first[0].Crawl.Depth})
		equal(t, domain.PageJobID(site.JobID, first[0].DatasourceID), first[0].ID)
		w.crawl(first[0], pages{pageA: {content: "a"}})
		w.play(nil)
		equal(t, 0, len(find(4)))
		equal(t, 3, w.page(site, pageA).Config.Depth)
		again := find(2)
		equal(t, []any{1, 2, ""}, []any{len(again), again[0].Crawl.Depth, again[0].Crawl.ETag})
		equal(t, 0, len(find(2)))
		equal(t, 0, len(find(3)))
		w.end(again[0], domain.EventDiscovered, links(pageB))
		w.crawl(again[0], pages{pageA: {content: "a"}})
		equal(t, []any{domain.StatusSynched, 2}, []any{w.page(site, pageA).Status, w.page(site, pageA).Config.Depth})
		equal(t, site.ID, w.page(site, pageB).GroupID)
	})
	t.Run("a page that was left out as too deep is fetched again when it is found at the greatest depth", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "a"}}
		site := w.createSite(domain.DatasourceConfig{MaxDepth: 4})
		find := func(depth int) {
			w.apply(site, domain.EventDiscovered, func(ev *domain.Event) {
				ev.Follow, ev.Links = true, []domain.Link{{URL: pageA, Depth: depth}}
			})
		}
		find(4)
		w.play(p)
		limit := 2
		_, err := w.UpdateWebConfig(w.ctx, w.ws, site.ID, domain.WebPatch{MaxDepth: &limit})
		ok(t, err)
		w.play(p)
		equal(t, []string{}, w.searchable(site, p))
		find(3) // still too deep
		fetches, _ := w.play(p)
		equal(t, []any{0, []string{}}, []any{fetches, w.searchable(site, p)})
		find(2)
		fetches, _ = w.play(p)
		equal(t, []any{1, []string{pageA}}, []any{fetches, w.searchable(site, p)})
		find(2)
		fetches, _ = w.play(p)
		equal(t, 0, fetches)
	})
	t.Run("when a page was changed, as its sitemap says, is kept", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{})
		at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		for range 2 {
			w.apply(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Links = []domain.Link{{URL: pageA, LastMod: at}} })
			equal(t, at, w.page(site, pageA).Config.LastMod)
			at = at.AddDate(0, 0, 1)
			site = w.requeue(w.get(site.ID))
			w.publishAll()
		}
	})
}

func testStops(t *testing.T, open Open) {
	t.Run("stopping a crawl withdraws what waits, in the outbox and in the stream, lets what was fetched be read, and settles the site", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, urls := manyPages()
		site := w.listed(p, urls[:3])
		site = w.requeue(site)
		discovery := w.publishAll()[0]
		site = w.get(site.ID)
		w.discover(site, urls[:2])
		asked := map[string]domain.Job{}
		for _, j := range w.publishAll() {
			asked[j.Crawl.URL] = j
		}
		read, running := asked[urls[0]], asked[urls[1]]
		w.crawl(read, pages{urls[0]: {content: "new"}})
		ingest := w.publishAll()[0]
		w.discover(site, urls)
		w.clear()
		for range 2 {
			got, err := w.StopCrawl(w.ctx, w.ws, site.ID)
			ok(t, err)
			equal(t, []any{domain.StatusRunning, true}, []any{got.Status, got.Crawl.Stopped()})
			equal(t, []string{}, w.outbox())
		}
		stopped := w.page(site, urls[1])
		equal(t, []any{domain.StatusSynched, "", true}, []any{stopped.Status, stopped.JobID, stopped.ActiveGeneration > 0})
		equal(t, int64(1), w.inFlight()) // the one that is read
		swept := map[string]domain.Sweep{}
		for _, s := range w.sweeps() {
			s.ID = ""
			swept[s.DatasourceID] = s.Sweep
		}
		of := func(id string, generation uint64) domain.Sweep {
			return domain.Sweep{WorkspaceID: w.ws, DatastoreID: w.store, DatasourceID: id, Crawls: generation + 1}
		}
		equal(t, map[string]domain.Sweep{site.ID: of(site.ID, discovery.Generation), stopped.ID: of(stopped.ID, running.Generation)}, swept)
		left := w.page(site, urls[100])
		equal(t, []any{domain.StatusSkipped, "The crawl was stopped before this page was fetched."}, []any{left.Status, left.Error})
		w.end(running, domain.EventDiscovered, links(pageA))
		w.apply(site, domain.EventDiscovered, links(pageA)) // its discovery is overtaken
		w.apply(site, domain.EventSynched, complete)
		w.isGone(domain.ChildID(site.ID, pageA))
		// What comes of the withdrawn job changes nothing, and what it has fetched goes.
		w.clear()
		ev := running.Event(domain.EventFetched, w.clock.now())
		found(running, "new")(&ev)
		_, err := w.Apply(w.ctx, ev)
		ok(t, err)
		equal(t, []string{ev.Fetched.Original.Key}, w.sweeps()[0].Originals)
		for _, typ := range []domain.EventType{domain.EventRunning, domain.EventUnchanged, domain.EventGone, domain.EventError, domain.EventSkipped} {
			w.end(running, typ)
		}
		equal(t, stopped, w.page(site, urls[1]))
		w.end(ingest, domain.EventSynched, chunks(2))
		equal(t, 0, len(w.stuck(-time.Hour)))
		w.play(nil)
		got := w.get(site.ID)
		equal(t, []any{domain.StatusSynched, []string{"The crawl was stopped before all pages were fetched."}}, []any{got.Status, got.Warnings})
		equal(t, int64(0), w.inFlight())
		again, err := w.StopCrawl(w.ctx, w.ws, site.ID)
		ok(t, err)
		equal(t, got, again)
		// The next crawl is a whole one.
		site = w.again(site, complete, urls[:200]...)
		w.play(p)
		equal(t, []any{domain.StatusSynched, 0}, []any{w.get(site.ID).Status, len(w.get(site.ID).Warnings)})
		equal(t, int64(200), w.siteProgress(site.ID).Discovered)
	})
	t.Run("a page that is asked for since the crawl was stopped is waited for, though its fetch is put off", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA, pageB)
		w.apply(site, domain.EventSynched, complete)
		running := w.publishAll()
		_, err := w.StopCrawl(w.ctx, w.ws, site.ID)
		ok(t, err)
		later := func(ev *domain.Event) {
			ev.Until, ev.Tries, ev.Error = w.clock.now().Add(time.Hour), 1, "the server is busy"
		}
		w.end(running[0], domain.EventPostponed, later)
		a := w.get(running[0].DatasourceID)
		equal(t, []any{domain.StatusSkipped, "The crawl was stopped before this page was fetched."}, []any{a.Status, a.Error})
		equal(t, []string{}, w.outbox())
		equal(t, domain.StatusError, w.get(site.ID).Status)
		w.requeue(a)
		w.end(w.publishAll()[0], domain.EventPostponed, later)
		equal(t, domain.StatusUnsynched, w.get(a.ID).Status)
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
	})
	t.Run("when a page is stopped before it was ever fetched, those that named it as their own address are fetched again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageX: {content: "x", canonical: pageA}}
		site := w.createSite(domain.DatasourceConfig{}, pageX)
		w.apply(site, domain.EventSynched)
		w.crawl(w.publishAll()[0], p)
		_, err := w.StopCrawl(w.ctx, w.ws, w.page(site, pageA).ID)
		ok(t, err)
		w.play(p)
		equal(t, map[string]bool{pageA: false, pageX: true}, w.kept(site, pageA, pageX))
	})
	t.Run("a stop goes on by itself when the process that was asked dies over it", func(t *testing.T) {
		t.Parallel()
		ctx, die := context.WithCancel(t.Context())
		defer die()
		var left atomic.Int64 // readings of the clock until it dies
		w := newWorld(t, open, func(o *catalog.Options) {
			now := o.Now
			o.Now = func() time.Time {
				if left.Add(-1) == 0 {
					die()
				}
				return now()
			}
		})
		_, urls := manyPages()
		site := w.createSite(domain.DatasourceConfig{})
		w.discover(site, urls[:1])
		running := w.publishAll()
		w.discover(site, urls)
		left.Store(300) // in its second batch
		_, err := w.StopCrawl(ctx, w.ws, site.ID)
		equal(t, true, err != nil)
		equal(t, 249, len(w.outbox()))
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
		// A page whose turn has not come yet is not waited for either, should its fetch be put off meanwhile.
		at := slices.IndexFunc(running, func(j domain.Job) bool { return j.Type == domain.TypeWebPage })
		equal(t, domain.StatusPending, w.page(site, urls[0]).Status)
		w.end(running[at], domain.EventPostponed, func(ev *domain.Event) { ev.Until = w.clock.now().Add(time.Hour) })
		equal(t, domain.StatusSkipped, w.page(site, urls[0]).Status)
		equal(t, 249, len(w.outbox()))
		w.work()
		equal(t, []string{}, w.outbox())
		equal(t, domain.StatusError, w.get(site.ID).Status)
	})
	t.Run("stopping the pages of a site whose discovery failed leaves it with its reason", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.apply(site, domain.EventError, because("the sitemap cannot be read"))
		got, err := w.StopCrawl(w.ctx, w.ws, site.ID)
		ok(t, err)
		equal(t, []any{domain.StatusError, "the sitemap cannot be read"}, []any{got.Status, got.Error})
		equal(t, domain.StatusSkipped, w.page(site, pageA).Status)
		equal(t, []string{}, w.outbox())
	})
	t.Run("a page of its own that waits is stopped, one that has been fetched is read", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		got, err := w.StopCrawl(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, domain.StatusSkipped, got.Status)
		w.requeue(d)
		w.play(pages{pageA: {content: "a"}})
		w.requeue(w.get(d.ID))
		got, err = w.StopCrawl(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, domain.StatusSynched, got.Status)
		w.requeue(w.get(d.ID))
		w.publishAll()
		got, err = w.StopCrawl(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, domain.StatusSynched, got.Status)
		w.requeue(w.get(d.ID))
		w.crawl(w.publishAll()[0], pages{pageA: {content: "new"}})
		ingest := w.publishAll()[0]
		got, err = w.StopCrawl(w.ctx, w.ws, d.ID)
		ok(t, err)
		equal(t, domain.StatusRunning, got.Status)
		equal(t, ingest.ID, got.JobID)
	})
	t.Run("stopping what is unknown, of another workspace, or no web content fails", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site, file := w.createSite(domain.DatasourceConfig{}), w.createFile()
		_, err := w.StopCrawl(w.ctx, w.workspace(), site.ID)
		code(t, domain.CodeNotFound, err)
		_, err = w.StopCrawl(w.ctx, w.ws, domain.NewID())
		code(t, domain.CodeNotFound, err)
		_, err = w.StopCrawl(w.ctx, w.ws, file.ID)
		code(t, domain.CodeInvalid, err)
	})
}
