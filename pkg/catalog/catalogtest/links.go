package catalogtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// linked is a site with a chain of pages: the root links to the first, and each page links to the next.
func linked(paths ...string) (pages, []string) {
	p, urls := pages{}, []string{root}
	for _, path := range paths {
		urls = append(urls, "https://pumps.example"+path)
	}
	for i, u := range urls {
		p[u] = answer{content: u, same: true, links: slices.Clone(urls[min(i+1, len(urls)):min(i+2, len(urls))])}
	}
	return p, urls
}

// searchable returns the addresses of the site's pages with content, sorted.
func (w *world) searchable(site domain.Datasource, p pages) []string {
	w.t.Helper()
	out := []string{}
	for _, u := range slices.Sorted(maps.Keys(p)) {
		d, err := w.Datasource(w.ctx, w.ws, domain.ChildID(site.ID, u))
		if err == nil && d.ActiveGeneration > 0 {
			out = append(out, u)
		}
	}
	return out
}

// change changes the settings of a site and runs the work that follows.
func (w *world) change(site domain.Datasource, patch domain.WebPatch, p pages) (fetches int) {
	w.t.Helper()
	_, err := w.UpdateWebConfig(w.ctx, w.ws, site.ID, patch)
	ok(w.t, err)
	fetches, _ = w.play(p)
	equal(w.t, domain.StatusSynched, w.get(site.ID).Status)
	return fetches
}

func testLinks(t *testing.T, open Open) {
	t.Run("a page that was gone comes back when a page that has not changed still links to it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, urls := linked("/a", "/b")
		site := w.follows(p, root, domain.DatasourceConfig{})
		equal(t, urls, w.searchable(site, p))
		down := pages{root: p[root]}
		w.again(site, partial, root)
		w.play(down)
		equal(t, []string{root}, w.searchable(site, p))
		w.again(site, partial, root)
		fetches, ingests := w.play(p)
		equal(t, []int{3, 2}, []int{fetches, ingests})
		equal(t, urls, w.searchable(site, p))
		equal(t, domain.SiteProgress{Discovered: 3, Fetched: 2, Unchanged: 1}, w.siteProgress(site.ID))
	})
	t.Run("a page whose links are not known is fetched whole, others conditionally", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{})
		w.apply(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}, {URL: pageA}} })
		w.apply(site, domain.EventSynched)
		for _, j := range w.publishAll() {
			w.end(j, domain.EventFetched, found(j, j.Crawl.URL), func(ev *domain.Event) { ev.Fetched.LinksKnown = j.Crawl.URL == root })
		}
		w.play(nil)
		w.again(site, partial, root, pageA)
		asked := map[string]bool{}
		for _, j := range w.publishAll() {
			asked[j.Crawl.URL] = j.Crawl.ETag != ""
		}
		equal(t, map[string]bool{root: true, pageA: false}, asked)
	})
	t.Run("the links of a fetch take the place of those of the fetch before", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, _ := linked("/a")
		site := w.follows(p, root, domain.DatasourceConfig{MaxDepth: 1, Exclude: []string{"/old/", "/new/"}})
		some := func(prefix string, n int) (urls []string) {
			for i := range n {
				urls = append(urls, fmt.Sprintf("https://pumps.example/%s/%d", prefix, i))
			}
			return urls
		}
		report := func(urls []string) {
			w.again(site, partial, root)
			for _, j := range w.publishAll() {
				if j.Crawl.URL != root {
					continue
				}
				groups := slices.Collect(slices.Chunk(urls, domain.MaxLinksPerEvent))
				for i, group := range groups {
					for range 2 { // events may be delivered twice
						w.end(j, domain.EventDiscovered, links(group...), func(ev *domain.Event) { ev.Part, ev.Parts = i, len(groups) })
					}
				}
				w.end(j, domain.EventFetched, found(j, fmt.Sprint(len(urls))), func(ev *domain.Event) { ev.Fetched.LinksKnown = true })
			}
			w.play(p)
		}
		report(some("old", 450))
		report(some("new", 3))
		for _, u := range append(some("old", 450), some("new", 3)...) {
			p[u] = answer{content: u, same: true}
		}
		p[root] = answer{content: "3", same: true}
		none := []string{}
		w.change(site, domain.WebPatch{Exclude: &none}, p)
		equal(t, append([]string{root, pageA}, some("new", 3)...), w.searchable(site, p))
	})
	t.Run("a refresh of pages that have not changed asks for each of them once, conditionally", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		p, urls := manyPages()
		for i, u := range urls {
			p[u] = answer{content: u, same: true, links: []string{urls[(i+1)%len(urls)], urls[(i*7)%len(urls)]}}
		}
		p[root] = answer{content: "r", same: true, links: urls[:domain.MaxLinksPerEvent]}
		site := w.follows(p, root, domain.DatasourceConfig{MaxDepth: 500})
		for range 2 {
			w.again(site, partial, root)
			fetches, ingests := w.play(p)
			equal(t, []int{451, 0}, []int{fetches, ingests})
			equal(t, domain.SiteProgress{Discovered: 451, Unchanged: 451}, w.siteProgress(site.ID))
		}
	})
}

func testScopes(t *testing.T, open Open) {
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
		t.Run("a change of "+name+" is applied at once, both ways, and stays", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			p, all := linked("/a", "/a/b", "/c", "/c/d")
			narrow := []string{root}
			for _, path := range test.kept {
				narrow = append(narrow, "https://pumps.example"+path)
			}
			site := w.follows(p, root, test.config)
			equal(t, narrow, w.searchable(site, p))
			w.change(site, test.wide, p)
			equal(t, all, w.searchable(site, p))
			equal(t, []string(nil), w.get(site.ID).Warnings)
			for range 2 {
				equal(t, 0, w.change(site, test.narrow, p))
				equal(t, narrow, w.searchable(site, p))
				w.again(site, partial, root)
				w.play(p)
				equal(t, narrow, w.searchable(site, p))
				w.change(site, test.wide, p)
				equal(t, all, w.searchable(site, p))
				w.again(site, partial, root)
				w.play(p)
				equal(t, all, w.searchable(site, p))
			}
			equal(t, int64(0), w.inFlight())
		})
	}
	t.Run("pages that no include pattern takes are read for their links, and are searchable when one takes them", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/list/1", "/list/2", "/blog/a", "/tag/x", "/blog/b")
		site := w.follows(p, root, domain.DatasourceConfig{Include: []string{"/blog/"}, MaxDepth: 10})
		blog := []string{all[3], all[5]}
		equal(t, blog, w.searchable(site, p))
		equal(t, []int{0, 1, 2, 0, 1, 0}, w.leads(site, all))
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
		w.again(site, partial, root)
		w.play(p)
		equal(t, blog, w.searchable(site, p))
		w.change(site, domain.WebPatch{Include: list()}, p)
		equal(t, slices.Sorted(slices.Values(all)), w.searchable(site, p))
		equal(t, []int{0, 0, 0, 0, 0, 0}, w.leads(site, all))
		equal(t, 0, w.change(site, domain.WebPatch{Include: list("/list/")}, p))
		equal(t, all[1:3], w.searchable(site, p))
	})
	t.Run("no more than three pages in a row are read for their links alone", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/1", "/2", "/3", "/4", "/blog/a")
		site := w.follows(p, root, domain.DatasourceConfig{Include: []string{"/blog/"}, MaxDepth: 10})
		w.isGone(domain.ChildID(site.ID, all[4]))
		equal(t, 1, w.get(site.ID).Crawl.LeftOut[domain.LeftNotIncluded])
		// A shorter path to the last page makes its links count again.
		p[root] = answer{content: "new", links: []string{all[1], all[3]}}
		w.again(site, partial, root)
		w.play(p)
		equal(t, []string{all[5]}, w.searchable(site, p))
	})
	t.Run("pages that are read for their links alone do not count as pages of the site's limit", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/list/1", "/list/2", "/blog/a", "/blog/b", "/blog/c")
		site := w.follows(p, root, domain.DatasourceConfig{Include: []string{"/blog/"}, MaxDepth: 10, MaxPages: 3})
		equal(t, all[3:5], w.searchable(site, p)) // the third is the root
		equal(t, []string{"The site has more pages than its limit of 3; the rest was left out."}, w.get(site.ID).Warnings)
	})
	t.Run("a change while pages wait has them fetched by the new settings", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/a", "/b")
		site := w.createSite(domain.DatasourceConfig{})
		w.apply(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Follow, ev.Links = true, []domain.Link{{URL: root}} })
		w.apply(site, domain.EventSynched)
		w.crawl(w.publishAll()[0], p)
		old := w.publishAll() // the root's ingest job, and the crawl job of /a
		_, err := w.UpdateWebConfig(w.ctx, w.ws, site.ID, domain.WebPatch{Exclude: list("/a")})
		ok(t, err)
		w.work()
		for _, j := range old {
			if j.Kind == domain.JobCrawl {
				w.crawl(j, p) // its result is refused
			} else {
				w.end(j, domain.EventSynched, chunks(2))
			}
		}
		w.play(p)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
		equal(t, domain.StatusSkipped, w.page(site, all[1]).Status)
		equal(t, all[1]+" is left out: matched by an exclude pattern.", w.page(site, all[1]).Error)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a site whose pages a sitemap lists leaves out at once what it does not take any more, and says how the others come", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "a", same: true}, pageB: {content: "b", same: true}}
		site := w.siteOf(p, pageA, pageB)
		equal(t, 0, w.change(site, domain.WebPatch{Exclude: list("/b")}, p))
		equal(t, []string{pageA}, w.searchable(site, p))
		equal(t, []string(nil), w.get(site.ID).Warnings)
		w.change(site, domain.WebPatch{Exclude: list()}, p)
		equal(t, []string{pageA, pageB}, w.searchable(site, p))
		equal(t, []string{"The site takes more pages than before. Refresh it to find those that its sitemap lists."}, w.get(site.ID).Warnings)
		w.again(site, complete, pageA, pageB)
		w.play(p)
		equal(t, []string(nil), w.get(site.ID).Warnings)
	})
	t.Run("a site that takes more pages while its sitemap is read says how the others come", func(t *testing.T) {
		t.Parallel()
		more := []string{"The site takes more pages than before. Refresh it to find those that its sitemap lists."}
		for _, test := range []struct {
			follow bool
			patch  domain.WebPatch
			want   []string
		}{
			{patch: domain.WebPatch{Exclude: list()}, want: append([]string{"2 left out"}, more...)},
			{patch: domain.WebPatch{Exclude: list("/b", "/c")}, want: []string{"2 left out"}},
			{patch: domain.WebPatch{Exclude: list()}, follow: true, want: []string{"2 left out"}},
		} {
			w := newWorld(t, open)
			p := pages{pageA: {content: "a", same: true}}
			site := w.createSite(domain.DatasourceConfig{Exclude: []string{"/b"}})
			w.apply(site, domain.EventDiscovered, links(pageA), func(ev *domain.Event) { ev.Follow = test.follow })
			_, err := w.UpdateWebConfig(w.ctx, w.ws, site.ID, test.patch)
			ok(t, err)
			w.apply(w.get(site.ID), domain.EventSynched, func(ev *domain.Event) { ev.Warnings = []string{"2 left out"} })
			w.play(p)
			equal(t, test.want, w.get(site.ID).Warnings)
			w.again(site, partial, pageA)
			w.play(p)
			equal(t, []string(nil), w.get(site.ID).Warnings)
		}
	})
	t.Run("a change of the settings of a site that was stopped fetches nothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p, all := linked("/a", "/b")
		site := w.follows(p, root, domain.DatasourceConfig{Exclude: []string{"/b"}})
		w.again(site, partial, root)
		_, err := w.StopCrawl(w.ctx, w.ws, site.ID)
		ok(t, err)
		equal(t, 0, w.change(site, domain.WebPatch{Exclude: list("/a")}, p))
		equal(t, all[:1], w.searchable(site, p))
	})
}

// leads returns the Lead of each page, by address.
func (w *world) leads(site domain.Datasource, urls []string) (out []int) {
	w.t.Helper()
	for _, u := range urls {
		out = append(out, w.page(site, u).Config.Lead)
	}
	return out
}
