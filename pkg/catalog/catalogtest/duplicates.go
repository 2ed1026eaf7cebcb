package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	root  = "https://pumps.example/"
	pageX = "https://pumps.example/long/way/x"
)

// kept tells which of the addresses have content that readers see.
func (w *world) kept(site domain.Datasource, urls ...string) map[string]bool {
	w.t.Helper()
	out := map[string]bool{}
	for _, u := range urls {
		out[u] = w.page(site, u).ActiveGeneration > 0
	}
	return out
}

func testDuplicates(t *testing.T, open Open) {
	for name, order := range map[string][]string{"the better first": {pageA, pageX}, "the better last": {pageX, pageA}} {
		t.Run("of pages with the same content the one with the best address stays, "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			p := pages{pageA: {content: "same"}, pageX: {content: "same"}}
			site := w.siteOf(p, order...)
			equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
			x := w.page(site, pageX)
			equal(t, []any{domain.StatusSkipped, w.page(site, pageA).ID, "It has the same content as " + pageA + "."},
				[]any{x.Status, x.DuplicateOf, x.Error})
			equal(t, []any{domain.StatusSynched, 0}, []any{site.Status, len(site.Warnings)})
			equal(t, int64(0), w.inFlight())
			// Again it is the same, and nothing is read for it.
			w.again(site, complete, order...)
			fetches, ingests := w.play(p)
			equal(t, []int{2, 0}, []int{fetches, ingests})
			equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
		})
	}
	for name, order := range map[string][]string{"fetched first": {pageA, pageX}, "fetched last": {pageX, pageA}} {
		t.Run("where a redirect ends stays, however long its address is, "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			p := pages{pageA: {content: "same", leadsTo: pageX}, pageX: {content: "same"}}
			site := w.siteOf(p, order...)
			equal(t, map[string]bool{pageA: false, pageX: true}, w.kept(site, pageA, pageX))
			equal(t, "It has the same content as "+pageX+".", w.page(site, pageA).Error)
		})
		t.Run("when the page that stayed begins to lead to another of its content, that takes its place, "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			p := pages{pageA: {content: "same"}, pageX: {content: "same"}}
			site := w.siteOf(p, pageA, pageX)
			p[pageA] = answer{content: "same", leadsTo: pageX}
			w.again(site, complete, order...)
			w.play(p)
			equal(t, map[string]bool{pageA: false, pageX: true}, w.kept(site, pageA, pageX))
			equal(t, domain.StatusSynched, w.get(site.ID).Status)
			w.again(site, complete, order...)
			fetches, ingests := w.play(p)
			equal(t, []int{2, 0}, []int{fetches, ingests})
		})
	}
	t.Run("a better address takes over, with all pages that were left out for the one before", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		worse := pageX + "/y"
		p := pages{worse: {content: "same"}, pageX: {content: "same"}}
		site := w.siteOf(p, pageX, worse)
		p[pageA] = answer{content: "same"}
		site = w.again(site, partial, pageA)
		job := w.publishAll()[0]
		ev := job.Event(domain.EventFetched, w.clock.now())
		found(job, "same")(&ev)
		done, err := w.Apply(w.ctx, ev)
		ok(t, err)
		equal(t, []string{w.page(site, pageX).ID}, done.Others)
		fetches, _ := w.play(p)
		equal(t, 0, fetches)
		equal(t, map[string]bool{pageA: true, pageX: false, worse: false}, w.kept(site, pageA, pageX, worse))
		equal(t, w.page(site, pageA).ID, w.page(site, worse).DuplicateOf)
	})
	t.Run("when the page that stayed changes, those left out for its content are fetched again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "same"}, pageX: {content: "same"}}
		site := w.siteOf(p, pageA, pageX)
		p[pageA] = answer{content: "new"}
		w.again(site, partial, pageA)
		fetches, ingests := w.play(p)
		equal(t, []int{2, 2}, []int{fetches, ingests})
		equal(t, map[string]bool{pageA: true, pageX: true}, w.kept(site, pageA, pageX))
		equal(t, "", w.page(site, pageX).DuplicateOf)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	for name, lost := range map[string]answer{"is skipped": {}, "is gone": {fails: true}} {
		t.Run("when the page that stayed "+name+", another takes its place", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			p := pages{pageA: {content: "same"}, pageX: {content: "same"}}
			site := w.siteOf(p, pageA, pageX)
			p[pageA] = lost
			if lost.fails {
				delete(p, pageA)
			}
			w.again(site, partial, pageA)
			w.play(p)
			equal(t, true, w.page(site, pageX).ActiveGeneration > 0)
			equal(t, domain.StatusSynched, w.get(site.ID).Status)
		})
	}
	t.Run("when the page that stayed is deleted, another takes its place", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "same"}, pageX: {content: "same"}}
		site := w.siteOf(p, pageA, pageX)
		_, err := w.DeleteDatasource(w.ctx, w.ws, w.page(site, pageA).ID)
		ok(t, err)
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
		w.play(p)
		equal(t, true, w.page(site, pageX).ActiveGeneration > 0)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	t.Run("when the page that stays cannot be read, another takes its place", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "same"}, pageX: {content: "same"}}
		site := w.createSite(domain.DatasourceConfig{}, pageA, pageX)
		w.apply(site, domain.EventSynched)
		for _, j := range w.publishAll() {
			w.crawl(j, p)
		}
		w.end(w.publishAll()[0], domain.EventError, because("it is encrypted"))
		equal(t, domain.StatusRunning, w.get(site.ID).Status)
		w.play(p)
		equal(t, map[string]bool{pageA: false, pageX: true}, w.kept(site, pageA, pageX))
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	t.Run("a page with content that fails for once keeps its place", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "same"}, pageX: {content: "same"}}
		site := w.siteOf(p, pageA, pageX)
		w.again(site, complete, pageA, pageX)
		_, ingests := w.play(pages{pageA: {fails: true}, pageX: {content: "same"}})
		equal(t, 0, ingests)
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
	})
	t.Run("a page that names another as its own address is skipped, and the other becomes a page of the site", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageX: {content: "x", canonical: pageA}, pageA: {content: "a", same: true}}
		site := w.siteOf(p, pageX)
		x := w.page(site, pageX)
		equal(t, []any{domain.StatusSkipped, "It says that its address is " + pageA + ".", w.page(site, pageA).ID},
			[]any{x.Status, x.Error, x.DuplicateOf})
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
		// The sitemap lists the other address only, which keeps this one in the site.
		w.again(site, complete, pageX)
		_, ingests := w.play(p)
		equal(t, 0, ingests)
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
	})
	t.Run("a page whose own address cannot be had stays itself", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageX: {content: "x", canonical: pageA}}
		site := w.siteOf(p, pageX)
		equal(t, domain.StatusError, w.page(site, pageA).Status)
		equal(t, true, w.page(site, pageX).ActiveGeneration > 0)
		w.again(site, partial, pageX, pageA)
		_, ingests := w.play(p)
		equal(t, 0, ingests)
		equal(t, true, w.page(site, pageX).ActiveGeneration > 0)
	})
	t.Run("a page whose own address does not exist is fetched again by a job that the stream has not seen, and none is lost", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageX: {content: "x", canonical: pageA}}
		site := w.createSite(domain.DatasourceConfig{}, pageX)
		w.apply(site, domain.EventSynched, complete)
		first := w.publishAll()[0]
		w.crawl(first, p)
		equal(t, domain.StatusSkipped, w.page(site, pageX).Status)
		w.crawl(w.publishAll()[0], p) // 404
		w.work()
		again := w.publishAll() // which fails for a job that the stream has had
		equal(t, []any{1, w.page(site, pageX).ID, false}, []any{len(again), again[0].DatasourceID, again[0].ID == first.ID})
		w.crawl(again[0], p)
		w.play(p)
		equal(t, []any{domain.StatusSynched, true}, []any{w.page(site, pageX).Status, w.page(site, pageX).ActiveGeneration > 0})
		equal(t, []any{domain.StatusError, domain.StatusSynched}, []any{w.page(site, pageA).Status, w.get(site.ID).Status})
		equal(t, 0, len(w.stuck(-time.Hour)))
	})
	for name, content := range map[string]string{"other": "a", "the same": "x2"} {
		t.Run("a page that begins to name an unknown address keeps its content until that has "+name+" content", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			p := pages{pageX: {content: "x"}, pageB: {content: "b"}}
			site := w.siteOf(p, pageX, pageB)
			p[pageX] = answer{content: "x2", canonical: pageA}
			p[pageA] = answer{content: content}
			site = w.again(site, complete, pageX, pageB)
			for _, j := range w.publishAll() {
				w.crawl(j, p)
			}
			readable := func() { // every step of the way
				t.Helper()
				equal(t, true, w.kept(site, pageX)[pageX] || w.kept(site, pageA)[pageA])
			}
			for range 20 {
				readable()
				jobs := w.publishAll()
				for _, j := range jobs {
					if j.Kind == domain.JobIngest {
						w.end(j, domain.EventSynched, chunks(2))
					} else {
						w.crawl(j, p)
					}
					readable()
				}
				if w.work() == 0 && len(jobs) == 0 {
					break
				}
			}
			x := w.page(site, pageX)
			equal(t, []any{domain.StatusSkipped, "It says that its address is " + pageA + ".", w.page(site, pageA).ID},
				[]any{x.Status, x.Error, x.DuplicateOf})
			equal(t, map[string]bool{pageA: true, pageX: false, pageB: true}, w.kept(site, pageA, pageX, pageB))
			equal(t, domain.StatusSynched, w.get(site.ID).Status)
			equal(t, int64(0), w.inFlight())
			w.again(site, complete, pageX, pageB)
			_, ingests := w.play(p)
			equal(t, 0, ingests)
			equal(t, map[string]bool{pageA: true, pageX: false, pageB: true}, w.kept(site, pageA, pageX, pageB))
		})
	}
	t.Run("a page that begins to name an address which cannot be had keeps its content, and is read once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageX: {content: "x"}}
		site := w.siteOf(p, pageX)
		p[pageX] = answer{content: "x2", canonical: pageA}
		w.again(site, partial, pageX)
		fetches, ingests := w.play(p)
		equal(t, []int{2, 1}, []int{fetches, ingests})
		equal(t, map[string]bool{pageX: true, pageA: false}, w.kept(site, pageX, pageA))
		equal(t, []domain.Status{domain.StatusSynched, domain.StatusError, domain.StatusSynched},
			[]domain.Status{w.page(site, pageX).Status, w.page(site, pageA).Status, w.get(site.ID).Status})
	})
	t.Run("pages that were left out for one which makes way are judged anew", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		worse := pageX + "/y"
		p := pages{pageX: {content: "x"}, worse: {content: "x"}}
		site := w.siteOf(p, pageX, worse)
		equal(t, map[string]bool{pageX: true, worse: false}, w.kept(site, pageX, worse))
		p[pageX], p[worse] = answer{content: "x2", canonical: pageA}, answer{content: "x2", canonical: pageA}
		p[pageA] = answer{content: "x2"}
		w.again(site, partial, pageX)
		w.play(p)
		equal(t, map[string]bool{pageA: true, pageX: false, worse: false}, w.kept(site, pageA, pageX, worse))
		equal(t, w.page(site, pageA).ID, w.page(site, worse).DuplicateOf)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	t.Run("many pages that begin to name one address make way for it, but for those that name the root", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		p, all := pages{}, []string{root}
		for i := range 199 {
			u := fmt.Sprintf("%sp%d", root, i)
			all = append(all, u)
			p[u] = answer{content: u, canonical: root}
		}
		p[root] = answer{content: "r"}
		site := w.siteOf(p, all...)
		equal(t, int64(len(all)), w.siteProgress(site.ID).Fetched)
		for u := range p {
			p[u] = answer{content: u + " new", canonical: pageA}
		}
		p[pageA] = answer{content: "a"}
		w.again(site, partial, all...)
		w.play(p)
		equal(t, map[string]bool{pageA: true, root: false, all[1]: false, all[199]: false}, w.kept(site, pageA, root, all[1], all[199]))
		equal(t, []int64{1, 200}, []int64{w.siteProgress(site.ID).Fetched, w.siteProgress(site.ID).Skipped})
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
	})
	t.Run("of two pages that name each other one stays, in every crawl the same", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "a", canonical: pageB}, pageB: {content: "b", canonical: pageA}}
		site := w.siteOf(p, pageA, pageB)
		first := w.kept(site, pageA, pageB)
		equal(t, true, first[pageA] != first[pageB])
		for _, order := range [][]string{{pageA, pageB}, {pageB, pageA}} {
			w.again(site, complete, order...)
			_, ingests := w.play(p)
			equal(t, 0, ingests)
			equal(t, first, w.kept(site, pageA, pageB))
		}
	})
	t.Run("pages that name the root as their address stay, but for other spellings of the root", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		index := root + "index.html"
		p := pages{root: {content: "r"}, pageA: {content: "a", canonical: root}, index: {content: "i", canonical: root}}
		site := w.siteOf(p, root, pageA, index)
		equal(t, map[string]bool{root: true, pageA: true, index: false}, w.kept(site, root, pageA, index))
	})
	t.Run("a named address does not pass the limit of pages", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{MaxPages: 1}, pageX)
		w.apply(site, domain.EventSynched)
		w.play(pages{pageX: {content: "x", canonical: pageA}, pageA: {content: "a"}})
		equal(t, true, w.page(site, pageX).ActiveGeneration > 0)
		w.isGone(domain.ChildID(site.ID, pageA))
	})
	t.Run("pages of different sites, and pages of their own, are no duplicates", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "same"}}
		one, other, single := w.siteOf(p, pageA), w.siteOf(p, pageA), w.single()
		w.play(p)
		equal(t, true, w.page(one, pageA).ActiveGeneration > 0)
		equal(t, true, w.page(other, pageA).ActiveGeneration > 0)
		equal(t, true, w.get(single.ID).ActiveGeneration > 0)
	})
}
