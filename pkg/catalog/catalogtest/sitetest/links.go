package sitetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// linked returns a chain of pages and their addresses. The root links to the first page, and each page links to the
// next.
func linked(paths ...string) (world.Pages, []string) {
	p, urls := world.Pages{}, []string{root}
	for _, path := range paths {
		urls = append(urls, "https://pumps.example"+path)
	}
	for i, u := range urls {
		p[u] = world.Answer{Content: u, Same: true, Links: slices.Clone(urls[min(i+1, len(urls)):min(i+2, len(urls))])}
	}
	return p, urls
}

// searchable returns the sorted addresses of all pages with content.
func searchable(w *world.World, site domain.Datasource, p world.Pages) []string {
	w.T.Helper()
	out := []string{}
	for _, u := range slices.Sorted(maps.Keys(p)) {
		d, err := w.Datasource(w.Ctx, w.WS, domain.ChildID(site.ID, u))
		if err == nil && d.ActiveGeneration > 0 {
			out = append(out, u)
		}
	}
	return out
}

// change patches a site's settings, runs all resulting jobs, and returns the number of fetches.
func change(w *world.World, site domain.Datasource, patch domain.WebPatch, p world.Pages) (fetches int) {
	w.T.Helper()
	world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, patch))(w.T)
	fetches, _ = w.RunWorkers(p)
	world.Equal(w.T, domain.StatusSynched, w.Get(site.ID).Status)
	return fetches
}

func testLinks(t *testing.T, open world.Open) {
	world.Run(t, open, "a page that was gone comes back when a page that has not changed still links to it", func(t *testing.T, w *world.World) {
		p, urls := linked("/a", "/b")
		site := follows(w, p, root, domain.DatasourceConfig{})
		world.Equal(t, urls, searchable(w, site, p))
		down := world.Pages{root: p[root]}
		crawlAgain(w, site, partial, root)
		w.RunWorkers(down)
		world.Equal(t, []string{root}, searchable(w, site, p))
		crawlAgain(w, site, partial, root)
		fetches, ingests := w.RunWorkers(p)
		world.Equal(t, []int{3, 2}, []int{fetches, ingests})
		world.Equal(t, urls, searchable(w, site, p))
		world.Equal(t, domain.SiteProgress{Discovered: 3, Fetched: 2, Unchanged: 1}, w.ProgressOf(site.ID))
	})
	world.Run(t, open, "a page whose links are not known is fetched whole, others conditionally", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{})
		w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}, {URL: world.PageA}} })
		w.ApplyEvent(site, domain.EventSynched)
		for _, j := range w.PublishAll() {
			w.End(j, domain.EventFetched, world.Found(j, j.Crawl.URL), func(ev *domain.Event) { ev.Fetched.LinksKnown = j.Crawl.URL == root })
		}
		w.RunWorkers(nil)
		crawlAgain(w, site, partial, root, world.PageA)
		asked := map[string]bool{}
		for _, j := range w.PublishAll() {
			asked[j.Crawl.URL] = j.Crawl.ETag != ""
		}
		world.Equal(t, map[string]bool{root: true, world.PageA: false}, asked)
	})
	world.Run(t, open, "the links of a fetch take the place of those of the fetch before", func(t *testing.T, w *world.World) {
		p, _ := linked("/a")
		site := follows(w, p, root, domain.DatasourceConfig{MaxDepth: 1, Exclude: []string{"/old/", "/new/"}})
		some := func(prefix string, n int) (urls []string) {
			for i := range n {
				urls = append(urls, fmt.Sprintf("https://pumps.example/%s/%d", prefix, i))
			}
			return urls
		}
		report := func(urls []string) {
			crawlAgain(w, site, partial, root)
			for _, j := range w.PublishAll() {
				if j.Crawl.URL != root {
					continue
				}
				groups := slices.Collect(slices.Chunk(urls, domain.MaxLinksPerEvent))
				for i, group := range groups {
					for range 2 { // events may be delivered twice
						w.End(j, domain.EventDiscovered, world.Links(group...), func(ev *domain.Event) { ev.Part, ev.Parts = i, len(groups) })
					}
				}
				w.End(j, domain.EventFetched, world.Found(j, fmt.Sprint(len(urls))), func(ev *domain.Event) { ev.Fetched.LinksKnown = true })
			}
			w.RunWorkers(p)
		}
		report(some("old", 450))
		report(some("new", 3))
		for _, u := range append(some("old", 450), some("new", 3)...) {
			p[u] = world.Answer{Content: u, Same: true}
		}
		p[root] = world.Answer{Content: "3", Same: true}
		none := []string{}
		change(w, site, domain.WebPatch{Exclude: &none}, p)
		world.Equal(t, append([]string{root, world.PageA}, some("new", 3)...), searchable(w, site, p))
	})
	world.Run(t, inSmallBatches(open), "a refresh of pages that have not changed asks for each of them once, conditionally", func(t *testing.T, w *world.World) {
		p, urls := twoBatches(smallBatch)
		for i, u := range urls {
			p[u] = world.Answer{Content: u, Same: true, Links: []string{urls[(i+1)%len(urls)], urls[(i*7)%len(urls)]}}
		}
		p[root] = world.Answer{Content: "r", Same: true, Links: urls[:smallBatch]}
		site := follows(w, p, root, domain.DatasourceConfig{MaxDepth: 500})
		for range 2 {
			crawlAgain(w, site, partial, root)
			fetches, ingests := w.RunWorkers(p)
			world.Equal(t, []int{46, 0}, []int{fetches, ingests})
			world.Equal(t, domain.SiteProgress{Discovered: 46, Unchanged: 46}, w.ProgressOf(site.ID))
		}
	})
}

func testScopes(t *testing.T, open world.Open) {
	list := func(s ...string) *[]string { return &s }
	none, deep, shallow, few, many := list(), 10, 1, 2, 100
	for name, test := range map[string]struct {
		config       domain.DatasourceConfig
		narrow, wide domain.WebPatch
		kept         []string // pages of /a, /a/b, /c and /c/d kept under the narrow settings
	}{
		"exclude": {
			config: domain.DatasourceConfig{Exclude: []string{"/c", "/c/"}}, kept: []string{"/a", "/a/b"},
			narrow: domain.WebPatch{Exclude: list("/c", "/c/")}, wide: domain.WebPatch{Exclude: none},
		},
		"max_depth": {
			config: domain.DatasourceConfig{MaxDepth: 1}, kept: []string{"/a"},
			narrow: domain.WebPatch{MaxDepth: &shallow}, wide: domain.WebPatch{MaxDepth: &deep},
		},
		"max_pages": {
			config: domain.DatasourceConfig{MaxPages: 2}, kept: []string{"/a"},
			narrow: domain.WebPatch{MaxPages: &few}, wide: domain.WebPatch{MaxPages: &many},
		},
	} {
		world.Run(t, open, "a change of "+name+" is applied at once, both ways, and stays", func(t *testing.T, w *world.World) {
			p, all := linked("/a", "/a/b", "/c", "/c/d")
			narrow := []string{root}
			for _, path := range test.kept {
				narrow = append(narrow, "https://pumps.example"+path)
			}
			site := follows(w, p, root, test.config)
			world.Equal(t, narrow, searchable(w, site, p))
			change(w, site, test.wide, p)
			world.Equal(t, all, searchable(w, site, p))
			world.Equal(t, []string(nil), w.Get(site.ID).Warnings)
			for range 2 {
				world.Equal(t, 0, change(w, site, test.narrow, p))
				world.Equal(t, narrow, searchable(w, site, p))
				crawlAgain(w, site, partial, root)
				w.RunWorkers(p)
				world.Equal(t, narrow, searchable(w, site, p))
				change(w, site, test.wide, p)
				world.Equal(t, all, searchable(w, site, p))
				crawlAgain(w, site, partial, root)
				w.RunWorkers(p)
				world.Equal(t, all, searchable(w, site, p))
			}
			world.Equal(t, int64(0), w.CountInFlight())
		})
	}
	world.Run(t, open, "pages that no include pattern takes are read for their links, and are searchable when one takes them", func(t *testing.T, w *world.World) {
		p, all := linked("/list/1", "/list/2", "/blog/a", "/tag/x", "/blog/b")
		site := follows(w, p, root, domain.DatasourceConfig{Include: []string{"/blog/"}, MaxDepth: 10})
		blog := []string{all[3], all[5]}
		world.Equal(t, blog, searchable(w, site, p))
		world.Equal(t, []int{0, 1, 2, 0, 1, 0}, leads(w, site, all))
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
		crawlAgain(w, site, partial, root)
		w.RunWorkers(p)
		world.Equal(t, blog, searchable(w, site, p))
		change(w, site, domain.WebPatch{Include: list()}, p)
		world.Equal(t, slices.Sorted(slices.Values(all)), searchable(w, site, p))
		world.Equal(t, []int{0, 0, 0, 0, 0, 0}, leads(w, site, all))
		world.Equal(t, 0, change(w, site, domain.WebPatch{Include: list("/list/")}, p))
		world.Equal(t, all[1:3], searchable(w, site, p))
	})
	world.Run(t, open, "at most three pages in a row are read only for their links", func(t *testing.T, w *world.World) {
		p, all := linked("/1", "/2", "/3", "/4", "/blog/a")
		site := follows(w, p, root, domain.DatasourceConfig{Include: []string{"/blog/"}, MaxDepth: 10})
		w.IsGone(domain.ChildID(site.ID, all[4]))
		world.Equal(t, 1, w.Get(site.ID).Crawl.LeftOut[domain.LeftNotIncluded])
		// Once the root links to the fourth page, that page's links are followed again.
		p[root] = world.Answer{Content: "new", Links: []string{all[1], all[3]}}
		crawlAgain(w, site, partial, root)
		w.RunWorkers(p)
		world.Equal(t, []string{all[5]}, searchable(w, site, p))
	})
	world.Run(t, open, "pages that are read for their links alone do not count as pages of the site's limit", func(t *testing.T, w *world.World) {
		p, all := linked("/list/1", "/list/2", "/blog/a", "/blog/b", "/blog/c")
		site := follows(w, p, root, domain.DatasourceConfig{Include: []string{"/blog/"}, MaxDepth: 10, MaxPages: 3})
		world.Equal(t, all[3:5], searchable(w, site, p)) // with the root, three pages
		world.Equal(t, []string{"The site has more pages than its limit of 3; the rest were skipped."}, w.Get(site.ID).Warnings)
	})
	world.Run(t, open, "waiting pages are fetched with the changed settings", func(t *testing.T, w *world.World) {
		p, all := linked("/a", "/b")
		site := w.CreateSite(domain.DatasourceConfig{})
		w.ApplyEvent(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}} })
		w.ApplyEvent(site, domain.EventSynched)
		w.Crawl(w.PublishAll()[0], p)
		old := w.PublishAll() // the root's ingest job, and the crawl job of /a
		world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, domain.WebPatch{Exclude: list("/a")}))(t)
		w.WorkOnSites()
		for _, j := range old {
			if j.Kind == domain.JobCrawl {
				w.Crawl(j, p) // the result is rejected
			} else {
				w.End(j, domain.EventSynched, world.Chunks(2))
			}
		}
		w.RunWorkers(p)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
		world.Equal(t, domain.StatusSkipped, w.PageAt(site, all[1]).Status)
		world.Equal(t, all[1]+" was skipped: matched by an exclude pattern.", w.PageAt(site, all[1]).Error)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a site whose pages a sitemap lists leaves out at once what it does not take any more, and says how the others come", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "a", Same: true}, world.PageB: {Content: "b", Same: true}}
		site := siteOf(w, p, world.PageA, world.PageB)
		world.Equal(t, 0, change(w, site, domain.WebPatch{Exclude: list("/b")}, p))
		world.Equal(t, []string{world.PageA}, searchable(w, site, p))
		world.Equal(t, []string(nil), w.Get(site.ID).Warnings)
		change(w, site, domain.WebPatch{Exclude: list()}, p)
		world.Equal(t, []string{world.PageA, world.PageB}, searchable(w, site, p))
		world.Equal(t, []string{"The site now includes more pages than before. Refresh it to find new pages in its sitemap."}, w.Get(site.ID).Warnings)
		crawlAgain(w, site, complete, world.PageA, world.PageB)
		w.RunWorkers(p)
		world.Equal(t, []string(nil), w.Get(site.ID).Warnings)
	})
	t.Run("a site that takes more pages while its sitemap is read says how the others come", func(t *testing.T) {
		t.Parallel()
		more := []string{"The site now includes more pages than before. Refresh it to find new pages in its sitemap."}
		for _, test := range []struct {
			follow bool
			patch  domain.WebPatch
			want   []string
		}{
			{patch: domain.WebPatch{Exclude: list()}, want: append([]string{"2 left out"}, more...)},
			{patch: domain.WebPatch{Exclude: list("/b", "/c")}, want: []string{"2 left out"}},
			{patch: domain.WebPatch{Exclude: list()}, follow: true, want: []string{"2 left out"}},
		} {
			w := world.New(t, open)
			p := world.Pages{world.PageA: {Content: "a", Same: true}}
			site := w.CreateSite(domain.DatasourceConfig{Exclude: []string{"/b"}})
			w.ApplyEvent(site, domain.EventDiscovered, world.Links(world.PageA), func(ev *domain.Event) { ev.Follow = test.follow })
			world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, test.patch))(t)
			w.ApplyEvent(w.Get(site.ID), domain.EventSynched, func(ev *domain.Event) { ev.Warnings = []string{"2 left out"} })
			w.RunWorkers(p)
			world.Equal(t, test.want, w.Get(site.ID).Warnings)
			crawlAgain(w, site, partial, world.PageA)
			w.RunWorkers(p)
			world.Equal(t, []string(nil), w.Get(site.ID).Warnings)
		}
	})
	world.Run(t, open, "a change of the settings of a site that was stopped fetches nothing", func(t *testing.T, w *world.World) {
		p, all := linked("/a", "/b")
		site := follows(w, p, root, domain.DatasourceConfig{Exclude: []string{"/b"}})
		crawlAgain(w, site, partial, root)
		world.Must(w.StopCrawl(w.Ctx, w.WS, site.ID))(t)
		world.Equal(t, 0, change(w, site, domain.WebPatch{Exclude: list("/a")}, p))
		world.Equal(t, all[:1], searchable(w, site, p))
	})
}

// leads returns Config.Lead for the page at each url; see domain.DatasourceConfig.
func leads(w *world.World, site domain.Datasource, urls []string) (out []int) {
	w.T.Helper()
	for _, u := range urls {
		out = append(out, w.PageAt(site, u).Config.Lead)
	}
	return out
}
