package sitetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	root  = "https://pumps.example/"
	pageX = "https://pumps.example/long/way/x"
)

// activePages reports which of the pages have active content.
func activePages(w *world.World, site domain.Datasource, urls ...string) map[string]bool {
	w.T.Helper()
	out := map[string]bool{}
	for _, u := range urls {
		out[u] = w.PageAt(site, u).ActiveGeneration > 0
	}
	return out
}

func testDuplicates(t *testing.T, open world.Open) {
	for name, order := range map[string][]string{"the better first": {world.PageA, pageX}, "the better last": {pageX, world.PageA}} {
		world.Run(t, open, "of pages with the same content the one with the best address stays, "+name, func(t *testing.T, w *world.World) {
			p := world.Pages{world.PageA: {Content: "same"}, pageX: {Content: "same"}}
			site := siteOf(w, p, order...)
			world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
			x := w.PageAt(site, pageX)
			world.Equal(t, []any{domain.StatusSkipped, w.PageAt(site, world.PageA).ID, "It has the same content as " + world.PageA + "."},
				[]any{x.Status, x.DuplicateOf, x.Error})
			world.Equal(t, []any{domain.StatusSynched, 0}, []any{site.Status, len(site.Warnings)})
			world.Equal(t, int64(0), w.CountInFlight())
			// Another crawl gives the same result without indexing any page again.
			crawlAgain(w, site, complete, order...)
			fetches, ingests := w.RunWorkers(p)
			world.Equal(t, []int{2, 0}, []int{fetches, ingests})
			world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
		})
	}
	for name, order := range map[string][]string{"fetched first": {world.PageA, pageX}, "fetched last": {pageX, world.PageA}} {
		world.Run(t, open, "where a redirect ends stays, however long its address is, "+name, func(t *testing.T, w *world.World) {
			p := world.Pages{world.PageA: {Content: "same", LeadsTo: pageX}, pageX: {Content: "same"}}
			site := siteOf(w, p, order...)
			world.Equal(t, map[string]bool{world.PageA: false, pageX: true}, activePages(w, site, world.PageA, pageX))
			world.Equal(t, "It has the same content as "+pageX+".", w.PageAt(site, world.PageA).Error)
		})
		world.Run(t, open, "when the page that stayed begins to lead to another of its content, that takes its place, "+name, func(t *testing.T, w *world.World) {
			p := world.Pages{world.PageA: {Content: "same"}, pageX: {Content: "same"}}
			site := siteOf(w, p, world.PageA, pageX)
			p[world.PageA] = world.Answer{Content: "same", LeadsTo: pageX}
			crawlAgain(w, site, complete, order...)
			w.RunWorkers(p)
			world.Equal(t, map[string]bool{world.PageA: false, pageX: true}, activePages(w, site, world.PageA, pageX))
			world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
			crawlAgain(w, site, complete, order...)
			fetches, ingests := w.RunWorkers(p)
			world.Equal(t, []int{2, 0}, []int{fetches, ingests})
		})
	}
	world.Run(t, open, "a better address takes over, with all pages that were left out for the one before", func(t *testing.T, w *world.World) {
		worse := pageX + "/y"
		p := world.Pages{worse: {Content: "same"}, pageX: {Content: "same"}}
		site := siteOf(w, p, pageX, worse)
		p[world.PageA] = world.Answer{Content: "same"}
		site = crawlAgain(w, site, partial, world.PageA)
		job := w.PublishAll()[0]
		ev := job.Event(domain.EventFetched, w.Clock.Now())
		world.Found(job, "same")(&ev)
		done := world.Must(w.Apply(w.Ctx, ev))(t)
		world.Equal(t, []string{w.PageAt(site, pageX).ID}, done.Others)
		fetches, _ := w.RunWorkers(p)
		world.Equal(t, 0, fetches)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false, worse: false}, activePages(w, site, world.PageA, pageX, worse))
		world.Equal(t, w.PageAt(site, world.PageA).ID, w.PageAt(site, worse).DuplicateOf)
	})
	world.Run(t, open, "when the page that stayed changes, those left out for its content are fetched again", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "same"}, pageX: {Content: "same"}}
		site := siteOf(w, p, world.PageA, pageX)
		p[world.PageA] = world.Answer{Content: "new"}
		crawlAgain(w, site, partial, world.PageA)
		fetches, ingests := w.RunWorkers(p)
		world.Equal(t, []int{2, 2}, []int{fetches, ingests})
		world.Equal(t, map[string]bool{world.PageA: true, pageX: true}, activePages(w, site, world.PageA, pageX))
		world.Equal(t, "", w.PageAt(site, pageX).DuplicateOf)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	for name, lost := range map[string]world.Answer{"is skipped": {}, "is gone": {Fails: true}} {
		world.Run(t, open, "when the page that stayed "+name+", another takes its place", func(t *testing.T, w *world.World) {
			p := world.Pages{world.PageA: {Content: "same"}, pageX: {Content: "same"}}
			site := siteOf(w, p, world.PageA, pageX)
			p[world.PageA] = lost
			if lost.Fails {
				delete(p, world.PageA)
			}
			crawlAgain(w, site, partial, world.PageA)
			w.RunWorkers(p)
			world.Equal(t, true, w.PageAt(site, pageX).ActiveGeneration > 0)
			world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
		})
	}
	world.Run(t, open, "when the page that stayed is deleted, another takes its place", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "same"}, pageX: {Content: "same"}}
		site := siteOf(w, p, world.PageA, pageX)
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, w.PageAt(site, world.PageA).ID))(t)
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
		w.RunWorkers(p)
		world.Equal(t, true, w.PageAt(site, pageX).ActiveGeneration > 0)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	world.Run(t, open, "when the page that stays cannot be read, another takes its place", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "same"}, pageX: {Content: "same"}}
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, pageX)
		w.ApplyEvent(site, domain.EventSynched)
		for _, j := range w.PublishAll() {
			w.Crawl(j, p)
		}
		w.End(w.PublishAll()[0], domain.EventError, world.WithReason("it is encrypted"))
		world.Equal(t, domain.StatusRunning, w.Get(site.ID).Status)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: false, pageX: true}, activePages(w, site, world.PageA, pageX))
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	world.Run(t, open, "a page with content that fails for once keeps its place", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "same"}, pageX: {Content: "same"}}
		site := siteOf(w, p, world.PageA, pageX)
		crawlAgain(w, site, complete, world.PageA, pageX)
		_, ingests := w.RunWorkers(world.Pages{world.PageA: {Fails: true}, pageX: {Content: "same"}})
		world.Equal(t, 0, ingests)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
	})
	world.Run(t, open, "a page that names another as its own address is skipped, and the other becomes a page of the site", func(t *testing.T, w *world.World) {
		p := world.Pages{pageX: {Content: "x", Canonical: world.PageA}, world.PageA: {Content: "a", Same: true}}
		site := siteOf(w, p, pageX)
		x := w.PageAt(site, pageX)
		world.Equal(t, []any{domain.StatusSkipped, "Its canonical address is " + world.PageA + ".", w.PageAt(site, world.PageA).ID},
			[]any{x.Status, x.Error, x.DuplicateOf})
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
		// The canonical page remains part of the site even if the sitemap now lists only pageX.
		crawlAgain(w, site, complete, pageX)
		_, ingests := w.RunWorkers(p)
		world.Equal(t, 0, ingests)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
	})
	world.Run(t, open, "a page whose own address cannot be had stays itself", func(t *testing.T, w *world.World) {
		p := world.Pages{pageX: {Content: "x", Canonical: world.PageA}}
		site := siteOf(w, p, pageX)
		world.Equal(t, domain.StatusError, w.PageAt(site, world.PageA).Status)
		world.Equal(t, true, w.PageAt(site, pageX).ActiveGeneration > 0)
		crawlAgain(w, site, partial, pageX, world.PageA)
		_, ingests := w.RunWorkers(p)
		world.Equal(t, 0, ingests)
		world.Equal(t, true, w.PageAt(site, pageX).ActiveGeneration > 0)
	})
	world.Run(t, open, "a page whose own address does not exist is fetched again by a job that the stream has not seen, and none is lost", func(t *testing.T, w *world.World) {
		p := world.Pages{pageX: {Content: "x", Canonical: world.PageA}}
		site := w.CreateSite(domain.DatasourceConfig{}, pageX)
		w.ApplyEvent(site, domain.EventSynched, complete)
		first := w.PublishAll()[0]
		w.Crawl(first, p)
		world.Equal(t, domain.StatusSkipped, w.PageAt(site, pageX).Status)
		w.Crawl(w.PublishAll()[0], p) // 404
		w.WorkOnSites()
		again := w.PublishAll() // a new job, because the stream would drop one it already knows
		world.Equal(t, []any{1, w.PageAt(site, pageX).ID, false}, []any{len(again), again[0].DatasourceID, again[0].ID == first.ID})
		w.Crawl(again[0], p)
		w.RunWorkers(p)
		world.Equal(t, []any{domain.StatusSynched, true}, []any{w.PageAt(site, pageX).Status, w.PageAt(site, pageX).ActiveGeneration > 0})
		world.Equal(t, []any{domain.StatusError, domain.StatusSynched}, []any{w.PageAt(site, world.PageA).Status, w.Get(site.ID).Status})
		world.Equal(t, 0, len(w.StuckFor(-time.Hour)))
	})
	for name, content := range map[string]string{"other": "a", "the same": "x2"} {
		world.Run(t, open, "a page that begins to name an unknown address keeps its content until that has "+name+" content", func(t *testing.T, w *world.World) {
			p := world.Pages{pageX: {Content: "x"}, world.PageB: {Content: "b"}}
			site := siteOf(w, p, pageX, world.PageB)
			p[pageX] = world.Answer{Content: "x2", Canonical: world.PageA}
			p[world.PageA] = world.Answer{Content: content}
			site = crawlAgain(w, site, complete, pageX, world.PageB)
			for _, j := range w.PublishAll() {
				w.Crawl(j, p)
			}
			readable := func() { // must be true after every step
				t.Helper()
				world.Equal(t, true, activePages(w, site, pageX)[pageX] || activePages(w, site, world.PageA)[world.PageA])
			}
			for range 20 {
				readable()
				jobs := w.PublishAll()
				for _, j := range jobs {
					if j.Kind == domain.JobIngest {
						w.End(j, domain.EventSynched, world.Chunks(2))
					} else {
						w.Crawl(j, p)
					}
					readable()
				}
				if w.WorkOnSites() == 0 && len(jobs) == 0 {
					break
				}
			}
			x := w.PageAt(site, pageX)
			world.Equal(t, []any{domain.StatusSkipped, "Its canonical address is " + world.PageA + ".", w.PageAt(site, world.PageA).ID},
				[]any{x.Status, x.Error, x.DuplicateOf})
			world.Equal(t, map[string]bool{world.PageA: true, pageX: false, world.PageB: true}, activePages(w, site, world.PageA, pageX, world.PageB))
			world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
			world.Equal(t, int64(0), w.CountInFlight())
			crawlAgain(w, site, complete, pageX, world.PageB)
			_, ingests := w.RunWorkers(p)
			world.Equal(t, 0, ingests)
			world.Equal(t, map[string]bool{world.PageA: true, pageX: false, world.PageB: true}, activePages(w, site, world.PageA, pageX, world.PageB))
		})
	}
	world.Run(t, open, "a page that begins to name an address which cannot be had keeps its content, and is read once", func(t *testing.T, w *world.World) {
		p := world.Pages{pageX: {Content: "x"}}
		site := siteOf(w, p, pageX)
		p[pageX] = world.Answer{Content: "x2", Canonical: world.PageA}
		crawlAgain(w, site, partial, pageX)
		fetches, ingests := w.RunWorkers(p)
		world.Equal(t, []int{2, 1}, []int{fetches, ingests})
		world.Equal(t, map[string]bool{pageX: true, world.PageA: false}, activePages(w, site, pageX, world.PageA))
		world.Equal(t, []domain.Status{domain.StatusSynched, domain.StatusError, domain.StatusSynched},
			[]domain.Status{w.PageAt(site, pageX).Status, w.PageAt(site, world.PageA).Status, w.Get(site.ID).Status})
	})
	world.Run(t, open, "pages skipped as duplicates of a page that is removed are compared again", func(t *testing.T, w *world.World) {
		worse := pageX + "/y"
		p := world.Pages{pageX: {Content: "x"}, worse: {Content: "x"}}
		site := siteOf(w, p, pageX, worse)
		world.Equal(t, map[string]bool{pageX: true, worse: false}, activePages(w, site, pageX, worse))
		p[pageX], p[worse] = world.Answer{Content: "x2", Canonical: world.PageA}, world.Answer{Content: "x2", Canonical: world.PageA}
		p[world.PageA] = world.Answer{Content: "x2"}
		crawlAgain(w, site, partial, pageX)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false, worse: false}, activePages(w, site, world.PageA, pageX, worse))
		world.Equal(t, w.PageAt(site, world.PageA).ID, w.PageAt(site, worse).DuplicateOf)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	world.RunLong(t, open, "pages that start to name one canonical address yield to it, unless it is the root", func(t *testing.T, w *world.World) {
		p, all := world.Pages{}, []string{root}
		for i := range 199 {
			u := fmt.Sprintf("%sp%d", root, i)
			all = append(all, u)
			p[u] = world.Answer{Content: u, Canonical: root}
		}
		p[root] = world.Answer{Content: "r"}
		site := siteOf(w, p, all...)
		world.Equal(t, int64(len(all)), w.ProgressOf(site.ID).Fetched)
		for u := range p {
			p[u] = world.Answer{Content: u + " new", Canonical: world.PageA}
		}
		p[world.PageA] = world.Answer{Content: "a"}
		crawlAgain(w, site, partial, all...)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: true, root: false, all[1]: false, all[199]: false}, activePages(w, site, world.PageA, root, all[1], all[199]))
		world.Equal(t, []int64{1, 200}, []int64{w.ProgressOf(site.ID).Fetched, w.ProgressOf(site.ID).Skipped})
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
	})
	world.Run(t, open, "of two pages that name each other one stays, in every crawl the same", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "a", Canonical: world.PageB}, world.PageB: {Content: "b", Canonical: world.PageA}}
		site := siteOf(w, p, world.PageA, world.PageB)
		first := activePages(w, site, world.PageA, world.PageB)
		world.Equal(t, true, first[world.PageA] != first[world.PageB])
		for _, order := range [][]string{{world.PageA, world.PageB}, {world.PageB, world.PageA}} {
			crawlAgain(w, site, complete, order...)
			_, ingests := w.RunWorkers(p)
			world.Equal(t, 0, ingests)
			world.Equal(t, first, activePages(w, site, world.PageA, world.PageB))
		}
	})
	world.Run(t, open, "pages that name the root as canonical stay, except other spellings of the root", func(t *testing.T, w *world.World) {
		index := root + "index.html"
		p := world.Pages{root: {Content: "r"}, world.PageA: {Content: "a", Canonical: root}, index: {Content: "i", Canonical: root}}
		site := siteOf(w, p, root, world.PageA, index)
		world.Equal(t, map[string]bool{root: true, world.PageA: true, index: false}, activePages(w, site, root, world.PageA, index))
	})
	world.Run(t, open, "a named address does not pass the limit of pages", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{MaxPages: 1}, pageX)
		w.ApplyEvent(site, domain.EventSynched)
		w.RunWorkers(world.Pages{pageX: {Content: "x", Canonical: world.PageA}, world.PageA: {Content: "a"}})
		world.Equal(t, true, w.PageAt(site, pageX).ActiveGeneration > 0)
		w.IsGone(domain.ChildID(site.ID, world.PageA))
	})
	world.Run(t, open, "pages of different sites, and pages of their own, are no duplicates", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "same"}}
		one, other, single := siteOf(w, p, world.PageA), siteOf(w, p, world.PageA), w.CreatePage()
		w.RunWorkers(p)
		world.Equal(t, true, w.PageAt(one, world.PageA).ActiveGeneration > 0)
		world.Equal(t, true, w.PageAt(other, world.PageA).ActiveGeneration > 0)
		world.Equal(t, true, w.Get(single.ID).ActiveGeneration > 0)
	})
}
