package sitetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// fan returns n pages in one folder, and their addresses.
func fan(folder string, n int) (world.Pages, []string) {
	p, urls := world.Pages{}, []string{}
	for i := range n {
		u := fmt.Sprintf("https://pumps.example/%s/%03d", folder, i)
		p[u], urls = world.Answer{Content: u, Same: true}, append(urls, u)
	}
	return p, urls
}

func testRefused(t *testing.T, open world.Open) {
	const maxLeads = 60
	openLimited := func(t testing.TB, o catalog.Options) *catalog.Catalog {
		o.MaxLeadsPerSite = maxLeads
		return inSmallBatches(open)(t, o)
	}
	list := func(s ...string) *[]string { return &s }
	warning := func(limit int) []string {
		return []string{fmt.Sprintf("The site has more pages than its limit of %d; the rest were skipped.", limit)}
	}
	// mixed returns a site whose root links to nine tag pages and then to six posts. It also returns the posts'
	// addresses.
	mixed := func() (world.Pages, []string) {
		p, tags := fan("tag", 9)
		posts, urls := fan("post", 6)
		for u, a := range posts {
			p[u] = a
		}
		p[root] = world.Answer{Content: "r", Same: true, Links: append(tags, urls...)}
		return p, urls
	}
	world.Run(t, open, "pages that are excluded do not count for the limit of pages", func(t *testing.T, w *world.World) {
		p, posts := mixed()
		site := follows(w, p, root, domain.DatasourceConfig{MaxPages: 10})
		world.Equal(t, warning(10), w.Get(site.ID).Warnings)
		change(w, site, domain.WebPatch{Exclude: list("/tag/**")}, p)
		world.Equal(t, append(posts, root)[:6], searchable(w, site, p)[1:])
		world.Equal(t, []string(nil), w.Get(site.ID).Warnings)
		// The next crawl removes the excluded pages. They come back when the settings include them again.
		crawlAgain(w, site, partial, root)
		fetches, _ := w.RunWorkers(p)
		world.Equal(t, 7, fetches)
		world.Equal(t, domain.SiteProgress{Discovered: 7, Unchanged: 7, Removed: 9}, w.ProgressOf(site.ID))
		change(w, site, domain.WebPatch{Exclude: list()}, p)
		world.Equal(t, 10, len(searchable(w, site, p)))
		world.Equal(t, warning(10), w.Get(site.ID).Warnings)
	})
	world.Run(t, open, "a lower limit of pages leaves those out that are searchable only when there are too many of them", func(t *testing.T, w *world.World) {
		p, _ := mixed()
		site := follows(w, p, root, domain.DatasourceConfig{})
		limit := 8
		change(w, site, domain.WebPatch{Exclude: list("/tag/**"), MaxPages: &limit}, p)
		world.Equal(t, 7, len(searchable(w, site, p)))
		limit = 5
		change(w, site, domain.WebPatch{MaxPages: &limit}, p)
		world.Equal(t, 5, len(searchable(w, site, p)))
		world.Equal(t, warning(5), w.Get(site.ID).Warnings)
	})
	world.Run(t, open, "a narrower include follows pages in a row as a crawl does", func(t *testing.T, w *world.World) {
		p, all := linked("/1", "/2", "/3", "/4", "/5", "/blog/a")
		site := follows(w, p, root, domain.DatasourceConfig{MaxDepth: 10})
		world.Equal(t, 0, change(w, site, domain.WebPatch{Include: list("/blog/")}, p))
		world.Equal(t, []int{0, 1, 2, 3, domain.LeadsNowhere, domain.LeadsNowhere, 0}, leads(w, site, all))
		world.Equal(t, all[3]+" was read only for its links: not matched by an include pattern.", w.PageAt(site, all[3]).Error)
		world.Equal(t, all[4]+" was skipped: not matched by an include pattern.", w.PageAt(site, all[4]).Error)
		world.Equal(t, all[6:], searchable(w, site, p))
		crawlAgain(w, site, partial, root)
		w.RunWorkers(p)
		w.IsGone(domain.ChildID(site.ID, all[4]))
		world.Equal(t, []int{0, 1, 2, 3}, leads(w, site, all[:4]))
		world.Equal(t, all[6:], searchable(w, site, p))
	})
	world.RunLong(t, open, "a site has up to 1,000 pages read for their links, and counts the rest", func(t *testing.T, w *world.World) {
		_, urls := fan("old", domain.MaxLeads+50)
		site := w.CreateSite(domain.DatasourceConfig{Include: []string{"/docs/**"}})
		for group := range slices.Chunk(urls, domain.MaxLinksPerEvent) {
			w.ApplyEvent(site, domain.EventDiscovered, world.Links(group...), func(ev *domain.Event) { ev.Follow = true })
		}
		got := w.Get(site.ID)
		world.Equal(t, domain.MaxLeads, int(got.Progress.Total))
		world.Equal(t, map[string]int{domain.LeftNotIncluded: 50}, got.Crawl.LeftOut)
		world.Equal(t, 1, w.PageAt(site, urls[domain.MaxLeads-1]).Config.Lead)
		w.IsGone(domain.ChildID(site.ID, urls[domain.MaxLeads]))
	})
	world.Run(t, openLimited, "a narrower include has no more pages read for their links than a site may have", func(t *testing.T, w *world.World) {
		p, urls := fan("old", maxLeads+50)
		hubs, docs := fan("docs", 7)
		for i, u := range docs {
			hubs[u] = world.Answer{Content: u, Same: true, Links: urls[min(i*16, len(urls)):min((i+1)*16, len(urls))]}
			p[u] = hubs[u]
		}
		p[root] = world.Answer{Content: "r", Same: true, Links: docs}
		site := follows(w, p, root, domain.DatasourceConfig{})
		world.Equal(t, len(p), len(searchable(w, site, p)))
		world.Equal(t, 0, change(w, site, domain.WebPatch{Include: list("/docs/**")}, p))
		count := func() (leads int) {
			for _, u := range urls {
				d, err := w.Datasource(w.Ctx, w.WS, domain.ChildID(site.ID, u))
				if err == nil && d.Config.Lead <= domain.MaxLead {
					leads++
				}
			}
			return leads
		}
		world.Equal(t, maxLeads, count())
		crawlAgain(w, site, partial, root)
		w.RunWorkers(p)
		world.Equal(t, maxLeads, count())
		world.Equal(t, docs, searchable(w, site, p))
		world.Equal(t, int64(50), w.ProgressOf(site.ID).Removed)
	})
	world.Run(t, openLimited, "a narrower include has those pages read for their links that were found first", func(t *testing.T, w *world.World) {
		p, near := fan("near", maxLeads-10)
		more, far := fan("far", 40)
		hubs, docs := fan("docs", 11) // more than two batches
		for u, a := range more {
			p[u] = a
		}
		for i, u := range docs {
			a := hubs[u]
			a.Links = slices.Clone(docs[min(i+1, len(docs)):min(i+2, len(docs))])
			if i == len(docs)-1 {
				a.Links = far
			}
			for k := i; i < 5 && k < len(near); k += 5 {
				a.Links = append(a.Links, near[k])
			}
			p[u] = a
		}
		p[root] = world.Answer{Content: "r", Same: true, Links: docs[:1]}
		site := follows(w, p, root, domain.DatasourceConfig{MaxDepth: 100})
		world.Equal(t, 0, change(w, site, domain.WebPatch{Include: list("/docs/**")}, p))
		count := map[string]int{}
		for folder, urls := range map[string][]string{"near": near, "far": far} {
			for _, u := range urls {
				if lead := w.PageAt(site, u).Config.Lead; lead <= domain.MaxLead {
					count[folder]++
				}
			}
		}
		world.Equal(t, map[string]int{"near": len(near), "far": maxLeads - len(near)}, count)
	})
	world.Run(t, open, "a page that is gone does not come back by a link that is no more", func(t *testing.T, w *world.World) {
		p, all := linked("/a", "/b")
		site := follows(w, p, root, domain.DatasourceConfig{})
		delete(p, all[2])
		crawlAgain(w, site, partial, root)
		w.RunWorkers(p)
		w.IsGone(domain.ChildID(site.ID, all[2]))
		p[all[1]] = world.Answer{Content: "a without its link"}
		for range 2 {
			crawlAgain(w, site, partial, root)
			fetches, _ := w.RunWorkers(p)
			world.Equal(t, 2, fetches)
			w.IsGone(domain.ChildID(site.ID, all[2]))
		}
	})
	world.Run(t, open, "a page that is excluded does not lead on when the settings change", func(t *testing.T, w *world.World) {
		p, all := linked("/a", "/b")
		site := follows(w, p, root, domain.DatasourceConfig{Exclude: []string{"/b"}})
		world.Equal(t, 0, change(w, site, domain.WebPatch{Exclude: list("/a")}, p))
		w.IsGone(domain.ChildID(site.ID, all[2]))
		world.Equal(t, all[:1], searchable(w, site, p))
	})
	world.Run(t, open, "a site of a sitemap still says that its limit left pages out after its patterns change", func(t *testing.T, w *world.World) {
		p, urls := fan("list", 5)
		site := w.CreateSite(domain.DatasourceConfig{MaxPages: 3})
		discover(w, site, urls)
		w.ApplyEvent(site, domain.EventSynched, complete)
		w.RunWorkers(p)
		world.Equal(t, warning(3), w.Get(site.ID).Warnings)
		change(w, site, domain.WebPatch{Exclude: list("/other")}, p)
		world.Equal(t, warning(3), w.Get(site.ID).Warnings)
		// The next crawl finds other pages, so the site reaches its limit again.
		change(w, site, domain.WebPatch{Exclude: list("/other", "/list/000")}, p)
		world.Equal(t, warning(3), w.Get(site.ID).Warnings)
		crawlAgain(w, site, complete, urls...)
		w.RunWorkers(p)
		world.Equal(t, urls[1:4], searchable(w, site, p))
		more := 10
		change(w, site, domain.WebPatch{MaxPages: &more}, p)
		world.Equal(t, []string{"The site now includes more pages than before. Refresh it to find new pages in its sitemap."}, w.Get(site.ID).Warnings)
	})
	world.Run(t, open, "a page that comes back in the same crawl has a job with another id, as the stream drops repeated ids", func(t *testing.T, w *world.World) {
		p, all := linked("/a")
		site := w.CreateSite(domain.DatasourceConfig{})
		w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}} })
		w.ApplyEvent(site, domain.EventSynched)
		w.Crawl(w.PublishAll()[0], p)
		first := w.PageAt(site, all[1]).JobID
		w.RunWorkers(p)
		one, many := 1, 100
		change(w, site, domain.WebPatch{MaxPages: &one}, p)
		w.IsGone(domain.ChildID(site.ID, all[1]))
		world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, domain.WebPatch{MaxPages: &many}))(t)
		w.WorkOnSites()
		world.Equal(t, true, w.PageAt(site, all[1]).JobID != first)
		w.RunWorkers(p)
		world.Equal(t, all, searchable(w, site, p))
	})
	world.Run(t, open, "so has one that the fetch of another page brings back", func(t *testing.T, w *world.World) {
		p := world.Pages{
			root:        {Content: "r", Links: []string{world.PageA}},
			world.PageA: {Content: "a"},
			world.PageB: {Content: "b", Links: []string{world.PageA}},
		}
		site := w.CreateSite(domain.DatasourceConfig{})
		w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) {
			ev.Follow, ev.Links = true, []domain.Link{{URL: root}, {URL: world.PageB}}
		})
		w.ApplyEvent(site, domain.EventSynched)
		jobs := map[string]domain.Job{}
		for _, j := range w.PublishAll() {
			jobs[j.Crawl.URL] = j
		}
		w.Crawl(jobs[root], p)
		w.PublishAll()
		two, many := 2, 100
		world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, domain.WebPatch{MaxPages: &two}))(t)
		w.WorkOnSites()
		w.IsGone(domain.ChildID(site.ID, world.PageA))
		world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, domain.WebPatch{MaxPages: &many}))(t)
		w.Crawl(jobs[world.PageB], p) // before the site's links are evaluated again
		world.Equal(t, site.ID, w.PageAt(site, world.PageA).GroupID)
		w.RunWorkers(p)
		world.Equal(t, true, w.PageAt(site, world.PageA).ActiveGeneration > 0)
	})
}
