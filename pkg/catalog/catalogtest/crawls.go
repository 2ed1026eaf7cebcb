package catalogtest

import (
	"cmp"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/textid"
)

// pages plays crawlers and ingestors: what each address of a site answers, by address. An address that is missing does not
// exist.
type pages map[string]answer

// answer is what a crawler finds at an address.
type answer struct {
	content   string // its hash; "": not to be indexed
	canonical string
	leadsTo   string // where a redirect ends; "": there is none
	same      bool   // the server says "not modified" when asked conditionally
	fails     bool
	links     []string
	text      string // by which it is compared with others; "": one that all such pages share, though their content differs
	hash      string // of the text; "": it is not known
}

// play publishes what waits and plays workers until nothing follows any more. It returns how many pages were fetched, and
// how many ingest jobs there were.
func (w *world) play(p pages) (fetches, ingests int) {
	w.t.Helper()
	for range 200 {
		jobs := w.publishAll()
		for _, j := range jobs {
			switch {
			case j.Kind == domain.JobIngest:
				ingests++
				w.end(j, domain.EventSynched, chunks(2))
			case j.Type == domain.TypeWebPage:
				fetches++
				w.crawl(j, p)
			}
		}
		if w.work() == 0 && len(jobs) == 0 {
			return fetches, ingests
		}
	}
	w.t.Fatal("jobs follow from jobs without end")
	return 0, 0
}

// crawl plays a crawler with one page.
func (w *world) crawl(j domain.Job, p pages) {
	w.t.Helper()
	a, exists := p[j.Crawl.URL]
	switch {
	case !exists:
		w.end(j, domain.EventGone, because(j.Crawl.URL+" does not exist (404)."))
	case a.fails:
		w.end(j, domain.EventError, because(j.Crawl.URL+" answers 500."))
	case a.same && j.Crawl.ETag != "":
		w.end(j, domain.EventUnchanged)
	default:
		if follow := j.Crawl.Site != nil && j.Crawl.Site.Follow; follow || len(a.links) > 0 {
			w.end(j, domain.EventDiscovered, links(a.links...), func(ev *domain.Event) {
				for i := range ev.Links {
					ev.Links[i].Depth = j.Crawl.Depth + 1
				}
				if follow {
					ev.Parts = 1
				}
			})
		}
		if s := j.Crawl.Site; s != nil && s.Refuses(s.Patterns(), j.Crawl.URL, j.Crawl.Depth) != "" {
			w.end(j, domain.EventSkipped, because("It is not taken."))
			return
		}
		if a.content == "" {
			w.end(j, domain.EventSkipped, because("It asks not to be indexed (noindex)."))
			return
		}
		w.end(j, domain.EventFetched, found(j, a.content), func(ev *domain.Event) {
			ev.Fetched.Canonical, ev.Fetched.LinksKnown = a.canonical, j.Crawl.Site != nil && j.Crawl.Site.Follow
			ev.Fetched.TextHash = a.hash
			ev.Fetched.Sketch = textid.Sketch(cmp.Or(a.text, "of one kind"))
			if a.leadsTo != "" {
				ev.Fetched.URL = a.leadsTo
			}
		})
	}
}

// work does all that there is to be done about sites, and returns how many batches that took.
func (w *world) work() (batches int) {
	w.t.Helper()
	for {
		tasks, err := w.SiteWork(w.ctx, catalog.SiteTask{}, 10)
		ok(w.t, err)
		if len(tasks) == 0 {
			return batches
		}
		_, err = w.WorkOnSite(w.ctx, tasks[0])
		ok(w.t, err)
		batches++
	}
}

func because(reason string) func(*domain.Event) {
	return func(ev *domain.Event) { ev.Error = reason }
}

// found is a page that was fetched, stored under a key of its own.
func found(j domain.Job, content string) func(*domain.Event) {
	return func(ev *domain.Event) {
		ev.Fetched = &domain.Fetched{
			Original: domain.Original{Key: domain.NewID(), SHA256: content, MIMEType: "text/html", Size: 9, Name: j.Crawl.URL},
			URL:      j.Crawl.URL, ETag: content,
		}
	}
}

// again begins another crawl of the site and plays its discovery.
func (w *world) again(site domain.Datasource, change func(*domain.Event), urls ...string) domain.Datasource {
	w.t.Helper()
	_, err := w.Requeue(w.ctx, w.ws, site.ID, domain.NewCrawlJob(site, w.settled()), catalog.PriorityReplay)
	ok(w.t, err)
	w.publishAll()
	site = w.get(site.ID)
	follow := func(ev *domain.Event) { ev.Follow = site.FollowLinks }
	w.apply(site, domain.EventDiscovered, links(urls...), follow)
	w.apply(site, domain.EventSynched, change)
	return site
}

func complete(ev *domain.Event) { ev.Complete = true }
func partial(*domain.Event)     {}

// siteOf makes a site whose sitemap lists what p has, and crawls it.
func (w *world) siteOf(p pages, urls ...string) domain.Datasource {
	w.t.Helper()
	site := w.createSite(domain.DatasourceConfig{}, urls...)
	w.apply(site, domain.EventSynched, complete)
	w.play(p)
	return w.get(site.ID)
}

// follows makes a site whose pages are found by links, from the first.
func (w *world) follows(p pages, root string, config domain.DatasourceConfig) domain.Datasource {
	w.t.Helper()
	site := w.createSite(config)
	w.apply(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}} })
	w.apply(site, domain.EventSynched)
	w.play(p)
	return w.get(site.ID)
}

func (w *world) siteProgress(id string) domain.SiteProgress {
	w.t.Helper()
	p, err := w.SiteProgress(w.ctx, id)
	ok(w.t, err)
	return p[id]
}

// isGone demands that there is no such datasource.
func (w *world) isGone(id string) {
	w.t.Helper()
	_, err := w.Datasource(w.ctx, w.ws, id)
	code(w.t, domain.CodeNotFound, err)
}

// single makes a page of its own.
func (w *world) single(change ...func(*domain.Datasource)) domain.Datasource {
	w.t.Helper()
	d := domain.Datasource{
		ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeWebPage, Name: pageA,
		Config: domain.DatasourceConfig{SourceURL: pageA},
	}
	for _, f := range change {
		f(&d)
	}
	return w.create(catalog.NewDatasource{Datasource: d, Job: domain.NewCrawlJob(d, w.settled())})[0]
}

func (w *world) requeue(d domain.Datasource) domain.Datasource {
	w.t.Helper()
	job, err := w.NewJob(w.ctx, d, domain.JobCrawl)
	ok(w.t, err)
	d, err = w.Requeue(w.ctx, w.ws, d.ID, job, catalog.PriorityFresh)
	ok(w.t, err)
	return d
}

func testCrawls(t *testing.T, open Open) {
	t.Run("a page that is gone leaves the datastore with its content, and its site counts it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.siteOf(pages{pageA: {content: "a"}, pageB: {content: "b"}}, pageA, pageB)
		gone := w.page(site, pageB)
		w.clear()
		w.again(site, partial, pageA, pageB)
		jobs := w.publishAll()
		for _, j := range jobs {
			if j.DatasourceID == gone.ID {
				done, err := w.Apply(w.ctx, j.Event(domain.EventGone, w.clock.now()))
				ok(t, err)
				equal(t, []bool{true, true, true}, []bool{done.Found, done.Changed, done.Removed})
				equal(t, gone.ID, done.Datasource.ID)
			} else {
				w.end(j, domain.EventUnchanged)
			}
		}
		w.isGone(gone.ID)
		sweep := w.sweeps()[0]
		equal(t, []any{gone.ID, w.seq + 1, []string{gone.Original.Key}, true}, []any{sweep.DatasourceID, sweep.Below, sweep.Originals, sweep.Jobs})
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
		equal(t, domain.SiteProgress{Discovered: 1, Unchanged: 1, Removed: 1}, w.siteProgress(site.ID))
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a page that is gone does not come back with a link of the same crawl, but with the next crawl's", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "a", links: []string{pageB}}, pageB: {content: "b"}}
		site := w.follows(p, pageA, domain.DatasourceConfig{})
		delete(p, pageB)
		site = w.again(site, partial, pageB)
		w.play(p) // the first page is asked last, and links to what is gone
		w.isGone(domain.ChildID(site.ID, pageB))
		equal(t, domain.SiteProgress{Discovered: 1, Unchanged: 1, Removed: 1}, w.siteProgress(site.ID))
		p[pageB] = answer{content: "b"}
		w.again(site, partial, pageA)
		w.play(p)
		equal(t, domain.StatusSynched, w.page(site, pageB).Status)
	})
	t.Run("a page that never had content stays and says that it does not exist", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.siteOf(pages{pageA: {content: "a"}}, pageA, pageB)
		equal(t, []any{domain.StatusError, pageB + " does not exist (404)."}, []any{w.page(site, pageB).Status, w.page(site, pageB).Error})
		got := w.get(site.ID)
		equal(t, []any{domain.StatusSynched, []string{"1 of 2 pages could not be read; each says why"}}, []any{got.Status, got.Warnings})
	})
	t.Run("a page of its own that is gone stays without its content", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		w.play(pages{pageA: {content: "a"}})
		d = w.requeue(w.get(d.ID))
		w.play(pages{})
		got := w.get(d.ID)
		equal(t, []any{domain.StatusError, uint64(0), (*domain.Original)(nil)}, []any{got.Status, got.ActiveGeneration, got.Original})
		equal(t, uint64(0), w.active(d.ID).ActiveGeneration)
	})
	t.Run("a skipped page has nothing for readers any more, and is no failure of its site", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.siteOf(pages{pageA: {content: "a"}, pageB: {content: "b"}}, pageA, pageB)
		before := w.page(site, pageB)
		w.clear()
		w.again(site, partial, pageA, pageB)
		w.play(pages{pageA: {content: "a"}, pageB: {}})
		got := w.page(site, pageB)
		equal(t, []any{domain.StatusSkipped, "It asks not to be indexed (noindex).", uint64(0), int64(0)},
			[]any{got.Status, got.Error, got.ActiveGeneration, got.Chunks})
		var below uint64
		var originals []string
		for _, s := range w.sweeps() {
			if s.DatasourceID == before.ID {
				below, originals = max(below, s.Below), append(originals, s.Originals...)
			}
		}
		equal(t, []any{true, []string{before.Original.Key}}, []any{below > before.ActiveGeneration, originals})
		settled := w.get(site.ID)
		equal(t, []any{domain.StatusSynched, 0}, []any{settled.Status, len(settled.Warnings)})
		equal(t, domain.SiteProgress{Discovered: 2, Unchanged: 1, Skipped: 1}, w.siteProgress(site.ID))
		// A late word of the ingestor brings nothing back, and what it may have written goes.
		w.apply(before, domain.EventSynched, func(ev *domain.Event) { ev.Generation = w.seq + 1 })
		equal(t, uint64(0), w.page(site, pageB).ActiveGeneration)
	})
	t.Run("a site whose pages are all left out ends in error and says why", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.siteOf(pages{pageA: {}}, pageA)
		equal(t, []any{domain.StatusError, "All of the site's 1 pages are left out. One of them: It asks not to be indexed (noindex)."},
			[]any{site.Status, site.Error})
	})
	t.Run("a page whose content was replaced by a text is fetched whole again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		w.play(pages{pageA: {content: "a"}})
		typed := catalog.Replacement{Original: domain.Original{Key: "typed", SHA256: "typed"}, Job: domain.Job{ID: domain.NewID()}}
		_, err := w.ReplaceContent(w.ctx, w.ws, d.ID, typed)
		ok(t, err)
		w.play(pages{})
		equal(t, "typed", w.get(d.ID).Original.SHA256)
		w.requeue(w.get(d.ID))
		w.play(pages{pageA: {content: "a", same: true}})
		got := w.get(d.ID)
		equal(t, []any{domain.StatusSynched, "a"}, []any{got.Status, got.Original.SHA256})
	})
	t.Run("a postponed job leaves the stream and comes again as it was, not before its time", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		w.play(pages{pageA: {content: "a"}})
		w.requeue(w.get(d.ID))
		job := w.publishAll()[0]
		equal(t, "a", job.Crawl.ETag)
		late := w.event(w.get(d.ID), domain.EventRunning)
		for range 2 {
			w.end(job, domain.EventPostponed, because("the server is busy"), func(ev *domain.Event) {
				ev.Until, ev.Tries = w.clock.now().Add(time.Hour), 3
			})
		}
		got := w.get(d.ID)
		equal(t, []any{domain.StatusUnsynched, domain.StageRetrying, "the server is busy"}, []any{got.Status, got.Progress.Stage, got.Error})
		equal(t, int64(0), w.inFlight())
		equal(t, []string{}, w.outbox())
		_, err := w.Apply(w.ctx, late)
		ok(t, err)
		equal(t, domain.StatusUnsynched, w.get(d.ID).Status)
		w.clock.advance(time.Hour)
		again := w.publishAll()[0]
		equal(t, []any{domain.PostponedJobID(job.ID, job.Generation), 3, *job.Crawl, domain.JobCrawl},
			[]any{again.ID, again.Tries, *again.Crawl, again.Kind})
		w.end(again, domain.EventUnchanged)
		equal(t, domain.StatusSynched, w.get(d.ID).Status)
	})
	t.Run("jobs that are put off do not keep others of their workspace waiting", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA, pageB)
		w.apply(site, domain.EventSynched)
		jobs := w.publishAll()
		w.end(jobs[0], domain.EventPostponed, func(ev *domain.Event) { ev.Until = w.clock.now().Add(time.Hour) })
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
		w.apply(site, domain.EventDiscovered, links("https://pumps.example/c"))
		equal(t, []string{domain.ChildID(site.ID, "https://pumps.example/c")}, w.outbox())
	})
	t.Run("a job that was put off waits from the time on that it was put off to", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.single()
		until := w.clock.now().Add(time.Hour)
		w.end(w.publishAll()[0], domain.EventPostponed, func(ev *domain.Event) { ev.Until = until })
		due, _, err := w.OutboxBacklog(w.ctx)
		ok(t, err)
		equal(t, 0, due)
		w.clock.advance(time.Hour + time.Minute)
		due, oldest, err := w.OutboxBacklog(w.ctx)
		ok(t, err)
		equal(t, 1, due)
		equal(t, until.UnixMicro(), oldest.UnixMicro())
	})
	t.Run("a postponed event that says not until when, or what to fetch, is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		for _, ev := range []domain.Event{
			w.event(d, domain.EventPostponed, func(ev *domain.Event) { ev.Until = w.clock.now() }),
			w.event(d, domain.EventPostponed, func(ev *domain.Event) { ev.Crawl = &domain.CrawlSpec{} }),
		} {
			_, err := w.Apply(w.ctx, ev)
			code(t, domain.CodeInvalid, err)
		}
	})
	t.Run("a page of its own that is a sitemap becomes a site, which is crawled", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		job := w.publishAll()[0]
		for range 2 {
			w.end(job, domain.EventSitemap)
		}
		got := w.get(d.ID)
		equal(t, []any{domain.TypeWebSite, pageA, "", domain.StatusUnsynched}, []any{got.Type, got.Config.Sitemap, got.Config.SourceURL, got.Status})
		crawl := w.publishAll()
		equal(t, []any{1, pageA, domain.TypeWebSite}, []any{len(crawl), crawl[0].Crawl.Sitemap, crawl[0].Type})
		w.end(crawl[0], domain.EventDiscovered, links(pageB))
		w.end(crawl[0], domain.EventSynched, complete)
		w.play(pages{pageB: {content: "b"}})
		equal(t, domain.StatusSynched, w.get(d.ID).Status)
		equal(t, domain.StatusSynched, w.page(got, pageB).Status)
	})
	t.Run("a sitemap among the pages of a site is skipped", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		w.end(w.publishAll()[0], domain.EventSitemap)
		equal(t, []any{domain.StatusSkipped, domain.TypeWebPage}, []any{w.page(site, pageA).Status, w.page(site, pageA).Type})
	})
	t.Run("a page that is fetched as it was costs no ingest job, and its newest original stays", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		w.play(pages{pageA: {content: "a"}})
		before := w.get(d.ID)
		equal(t, false, before.Unchanged)
		w.requeue(before)
		w.clear()
		fetches, ingests := w.play(pages{pageA: {content: "a"}})
		equal(t, []int{1, 0}, []int{fetches, ingests})
		after := w.get(d.ID)
		equal(t, []any{true, domain.StatusSynched, before.ActiveGeneration}, []any{after.Unchanged, after.Status, after.ActiveGeneration})
		equal(t, []string{before.Original.Key}, w.sweeps()[0].Originals)
		target := 200
		_, err := w.UpdateDatastore(w.ctx, w.ws, w.store, domain.DatastorePatch{Chunking: &domain.ChunkingPatch{TargetTokens: &target}})
		ok(t, err)
		w.requeue(after)
		_, ingests = w.play(pages{pageA: {content: "a"}})
		equal(t, 1, ingests) // it is cut otherwise now
		job, err := w.NewJob(w.ctx, w.get(d.ID), domain.JobCrawl)
		ok(t, err)
		job.Force = true
		_, err = w.Requeue(w.ctx, w.ws, d.ID, job, catalog.PriorityFresh)
		ok(t, err)
		_, ingests = w.play(pages{pageA: {content: "a"}})
		equal(t, 1, ingests)
	})
	t.Run("a page whose last content could not be read is read again though it has not changed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		w.play(pages{pageA: {content: "a"}})
		w.requeue(w.get(d.ID))
		w.crawl(w.publishAll()[0], pages{pageA: {content: "b"}})
		w.end(w.publishAll()[0], domain.EventError)
		w.requeue(w.get(d.ID))
		_, ingests := w.play(pages{pageA: {content: "b"}})
		equal(t, 1, ingests)
	})
	t.Run("what a fetch finds of a page's address is kept", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single()
		j := w.publishAll()[0]
		hops := []domain.Redirect{{URL: pageA, Status: 301}}
		w.end(j, domain.EventFetched, found(j, "a"), func(ev *domain.Event) {
			ev.Fetched.URL, ev.Fetched.Redirects, ev.Fetched.Canonical, ev.Fetched.Rendered = pageB, hops, pageB, true
		})
		got := w.get(d.ID).Config
		equal(t, []any{pageB, hops, pageB, true}, []any{got.FinalURL, got.Redirects, got.Canonical, got.Rendered})
	})
}
