package catalogtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// fan is a site whose root links to pages in a folder, by number.
func fan(folder string, n int) (pages, []string) {
	p, urls := pages{}, []string{}
	for i := range n {
		u := fmt.Sprintf("https://pumps.example/%s/%03d", folder, i)
		p[u], urls = answer{content: u, same: true}, append(urls, u)
	}
	return p, urls
}

func testRefused(t *testing.T, open Open) {
	list := func(s ...string) *[]string { return &s }
	warning := func(limit int) []string {
		return []string{fmt.Sprintf("The site has more pages than its limit of %d; the rest was left out.", limit)}
	}
	// mixed is a site of nine tags and then six posts, all of them linked from the root.
	mixed := func() (pages, []string) {
		p, tags := fan("tag", 9)
		posts, urls := fan("post", 6)
		for u, a := range posts {
			p[u] = a
		}
		p[root] = answer{content: "r", same: true, links: append(tags, urls...)}
		return p, urls
	}
	t.Run("pages that are excluded do not count for the limit of pages", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, posts := mixed()
		site := w.follows(p, root, domain.DatasourceConfig{MaxPages: 10})
		equal(t, warning(10), w.get(site.ID).Warnings)
		w.change(site, domain.WebPatch{Exclude: list("/tag/**")}, p)
		equal(t, append(posts, root)[:6], w.searchable(site, p)[1:])
		equal(t, []string(nil), w.get(site.ID).Warnings)
		// They leave with the next crawl, and come back when they are taken again.
		w.again(site, partial, root)
		fetches, _ := w.play(p)
		equal(t, 7, fetches)
		equal(t, domain.SiteProgress{Discovered: 7, Unchanged: 7, Removed: 9}, w.siteProgress(site.ID))
		w.change(site, domain.WebPatch{Exclude: list()}, p)
		equal(t, 10, len(w.searchable(site, p)))
		equal(t, warning(10), w.get(site.ID).Warnings)
	})
	t.Run("a lower limit of pages leaves those out that are searchable only when there are too many of them", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, _ := mixed()
		site := w.follows(p, root, domain.DatasourceConfig{})
		limit := 8
		w.change(site, domain.WebPatch{Exclude: list("/tag/**"), MaxPages: &limit}, p)
		equal(t, 7, len(w.searchable(site, p)))
		limit = 5
		w.change(site, domain.WebPatch{MaxPages: &limit}, p)
		equal(t, 5, len(w.searchable(site, p)))
		equal(t, warning(5), w.get(site.ID).Warnings)
	})
	t.Run("a narrower include follows pages in a row as a crawl does", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/1", "/2", "/3", "/4", "/5", "/blog/a")
		site := w.follows(p, root, domain.DatasourceConfig{MaxDepth: 10})
		equal(t, 0, w.change(site, domain.WebPatch{Include: list("/blog/")}, p))
		equal(t, []int{0, 1, 2, 3, domain.LeadsNowhere, domain.LeadsNowhere, 0}, w.leads(site, all))
		equal(t, all[3]+" is read for its links alone: not matched by an include pattern.", w.page(site, all[3]).Error)
		equal(t, all[4]+" is left out: not matched by an include pattern.", w.page(site, all[4]).Error)
		equal(t, all[6:], w.searchable(site, p))
		w.again(site, partial, root)
		w.play(p)
		w.isGone(domain.ChildID(site.ID, all[4]))
		equal(t, []int{0, 1, 2, 3}, w.leads(site, all[:4]))
		equal(t, all[6:], w.searchable(site, p))
	})
	t.Run("a narrower include has no more pages read for their links than a site may have", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		p, urls := fan("old", domain.MaxLeads+50)
		hubs, docs := fan("docs", 7)
		for i, u := range docs {
			hubs[u] = answer{content: u, same: true, links: urls[min(i*200, len(urls)):min((i+1)*200, len(urls))]}
			p[u] = hubs[u]
		}
		p[root] = answer{content: "r", same: true, links: docs}
		site := w.follows(p, root, domain.DatasourceConfig{})
		equal(t, len(p), len(w.searchable(site, p)))
		equal(t, 0, w.change(site, domain.WebPatch{Include: list("/docs/**")}, p))
		count := func() (leads int) {
			for _, u := range urls {
				d, err := w.Datasource(w.ctx, w.ws, domain.ChildID(site.ID, u))
				if err == nil && d.Config.Lead <= domain.MaxLead {
					leads++
				}
			}
			return leads
		}
		equal(t, domain.MaxLeads, count())
		w.again(site, partial, root)
		w.play(p)
		equal(t, domain.MaxLeads, count())
		equal(t, docs, w.searchable(site, p))
		equal(t, int64(50), w.siteProgress(site.ID).Removed)
	})
	t.Run("a narrower include has those pages read for their links that were found first", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		p, near := fan("near", domain.MaxLeads-100)
		more, far := fan("far", domain.MaxLinksPerEvent)
		hubs, docs := fan("docs", 61) // more than one batch
		for u, a := range more {
			p[u] = a
		}
		for i, u := range docs {
			a := hubs[u]
			a.links = slices.Clone(docs[min(i+1, len(docs)):min(i+2, len(docs))])
			if i == len(docs)-1 {
				a.links = far
			}
			for k := i; i < 5 && k < len(near); k += 5 {
				a.links = append(a.links, near[k])
			}
			p[u] = a
		}
		p[root] = answer{content: "r", same: true, links: docs[:1]}
		site := w.follows(p, root, domain.DatasourceConfig{MaxDepth: 100})
		equal(t, 0, w.change(site, domain.WebPatch{Include: list("/docs/**")}, p))
		count := map[string]int{}
		for folder, urls := range map[string][]string{"near": near, "far": far} {
			for _, u := range urls {
				if lead := w.page(site, u).Config.Lead; lead <= domain.MaxLead {
					count[folder]++
				}
			}
		}
		equal(t, map[string]int{"near": len(near), "far": domain.MaxLeads - len(near)}, count)
	})
	t.Run("a page that is gone does not come back by a link that is no more", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/a", "/b")
		site := w.follows(p, root, domain.DatasourceConfig{})
		delete(p, all[2])
		w.again(site, partial, root)
		w.play(p)
		w.isGone(domain.ChildID(site.ID, all[2]))
		p[all[1]] = answer{content: "a without its link"}
		for range 2 {
			w.again(site, partial, root)
			fetches, _ := w.play(p)
			equal(t, 2, fetches)
			w.isGone(domain.ChildID(site.ID, all[2]))
		}
	})
	t.Run("a page that is excluded does not lead on when the settings change", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/a", "/b")
		site := w.follows(p, root, domain.DatasourceConfig{Exclude: []string{"/b"}})
		equal(t, 0, w.change(site, domain.WebPatch{Exclude: list("/a")}, p))
		w.isGone(domain.ChildID(site.ID, all[2]))
		equal(t, all[:1], w.searchable(site, p))
	})
	t.Run("a site of a sitemap still says that its limit left pages out after its patterns change", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, urls := fan("list", 5)
		site := w.createSite(domain.DatasourceConfig{MaxPages: 3})
		w.discover(site, urls)
		w.apply(site, domain.EventSynched, complete)
		w.play(p)
		equal(t, warning(3), w.get(site.ID).Warnings)
		w.change(site, domain.WebPatch{Exclude: list("/other")}, p)
		equal(t, warning(3), w.get(site.ID).Warnings)
		// Excluded pages make room for others at the next crawl.
		w.change(site, domain.WebPatch{Exclude: list("/other", "/list/000")}, p)
		equal(t, warning(3), w.get(site.ID).Warnings)
		w.again(site, complete, urls...)
		w.play(p)
		equal(t, urls[1:4], w.searchable(site, p))
		more := 10
		w.change(site, domain.WebPatch{MaxPages: &more}, p)
		equal(t, []string{"The site takes more pages than before. Refresh it to find those that its sitemap lists."}, w.get(site.ID).Warnings)
	})
	t.Run("a page that comes back in the same crawl has a job with another id, as the stream drops repeated ids", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/a")
		site := w.createSite(domain.DatasourceConfig{})
		w.apply(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}} })
		w.apply(site, domain.EventSynched)
		w.crawl(w.publishAll()[0], p)
		first := w.page(site, all[1]).JobID
		w.play(p)
		one, many := 1, 100
		w.change(site, domain.WebPatch{MaxPages: &one}, p)
		w.isGone(domain.ChildID(site.ID, all[1]))
		_, err := w.UpdateWebConfig(w.ctx, w.ws, site.ID, domain.WebPatch{MaxPages: &many})
		ok(t, err)
		w.work()
		equal(t, true, w.page(site, all[1]).JobID != first)
		w.play(p)
		equal(t, all, w.searchable(site, p))
	})
	t.Run("so has one that the fetch of another page brings back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{
			root:  {content: "r", links: []string{pageA}},
			pageA: {content: "a"},
			pageB: {content: "b", links: []string{pageA}},
		}
		site := w.createSite(domain.DatasourceConfig{})
		w.apply(site, domain.EventDiscovered, func(ev *domain.Event) {
			ev.Follow, ev.Links = true, []domain.Link{{URL: root}, {URL: pageB}}
		})
		w.apply(site, domain.EventSynched)
		jobs := map[string]domain.Job{}
		for _, j := range w.publishAll() {
			jobs[j.Crawl.URL] = j
		}
		w.crawl(jobs[root], p)
		w.publishAll()
		two, many := 2, 100
		_, err := w.UpdateWebConfig(w.ctx, w.ws, site.ID, domain.WebPatch{MaxPages: &two})
		ok(t, err)
		w.work()
		w.isGone(domain.ChildID(site.ID, pageA))
		_, err = w.UpdateWebConfig(w.ctx, w.ws, site.ID, domain.WebPatch{MaxPages: &many})
		ok(t, err)
		w.crawl(jobs[pageB], p) // before the links that are stored are evaluated
		equal(t, site.ID, w.page(site, pageA).GroupID)
		w.play(p)
		equal(t, true, w.page(site, pageA).ActiveGeneration > 0)
	})
}
