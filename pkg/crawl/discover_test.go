package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/testdata/site"
)

func discover(t testing.TB, c *Crawler, spec domain.CrawlSpec) (Discovery, []domain.Link, error) {
	t.Helper()
	var links []domain.Link
	d, err := c.Discover(context.Background(), spec, collect(&links))
	if err == nil && d.Found != len(links) {
		t.Errorf("Found is %d, emitted were %d", d.Found, len(links))
	}
	return d, links, err
}

var sitePages = []string{
	"/", "/about.html", "/contact.html", "/products/", "/products/fjordmast-3.html", "/products/nimbus-logger.html",
	"/products/kelp-sensor.html", "/news/skarv-lighthouse.html", "/downloads/nimbus-changelog.md", "/support/",
	"/support/calibrate-fjordmast.html", "/support/nimbus-error-codes.html", "/support/replace-battery.html",
	"/support/warranty.html",
}

func absolute(base string, paths ...string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		out = append(out, base+p)
	}
	return out
}

func TestDiscover_of_the_example_site(t *testing.T) {
	t.Parallel()
	s := serve(t, site.Handler())
	for name, tc := range map[string]struct {
		spec domain.CrawlSpec
		want []string
	}{
		"by its sitemap":       {domain.CrawlSpec{Sitemap: s.URL + "/sitemap.xml"}, sitePages},
		"by its sitemap index": {domain.CrawlSpec{Sitemap: s.URL + "/sitemap_index.xml"}, sitePages},
		"by its root":          {domain.CrawlSpec{URL: s.URL}, sitePages},
		"by a part of it": {domain.CrawlSpec{URL: s.URL + "/products/"},
			[]string{"/products/", "/products/fjordmast-3.html", "/products/nimbus-logger.html", "/products/kelp-sensor.html"}},
		"with patterns": {domain.CrawlSpec{URL: s.URL, Site: &domain.SiteScope{
			Root: s.URL, Include: []string{"/products/*", "*.md"}, Exclude: []string{"kelp-*"}}},
			[]string{"/products/", "/products/fjordmast-3.html", "/products/nimbus-logger.html", "/downloads/nimbus-changelog.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, links, err := discover(t, local(t), tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(absolute(s.URL, tc.want...), urls(links)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if d.Follow || len(d.Problems) > 0 {
				t.Errorf("got %+v", d)
			}
		})
	}
}

// crawlAll fetches the root and then the page for every new link, as the job stream would.
func crawlAll(t *testing.T, c *Crawler, root string) map[string]string {
	t.Helper()
	d, queue, err := discover(t, c, domain.CrawlSpec{URL: root})
	if err != nil || !d.Follow || !d.Scope.Follow {
		t.Fatalf("got %+v, %v", d, err)
	}
	result := map[string]string{}
	for len(queue) > 0 {
		l := queue[0]
		queue = queue[1:]
		if _, dup := result[l.URL]; dup {
			continue
		}
		p, _, err := fetch(t, c, PageRequest{URL: l.URL, WantLinks: true, Scope: &d.Scope, Depth: l.Depth})
		switch {
		case err != nil:
			result[l.URL] = wantError(t, err).Message
		case p.NoIndex:
			result[l.URL] = "noindex"
		default:
			result[l.URL] = "ok"
		}
		queue = append(queue, p.Links...)
	}
	return result
}

func TestDiscover_without_a_sitemap_finds_the_site_by_its_links(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "sitemap") {
			http.NotFound(w, r)
			return
		}
		site.Handler().ServeHTTP(w, r)
	}))
	got := crawlAll(t, local(t), s.URL)
	want := map[string]string{
		s.URL + "/drafts/next-year.html":    "noindex",
		s.URL + "/internal/price-list.html": s.URL + "/internal/price-list.html was not fetched: the site's robots.txt disallows it",
	}
	for _, p := range absolute(s.URL, sitePages...) {
		want[p] = "ok"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestDiscover_reads_sitemaps_of_every_kind(t *testing.T) {
	t.Parallel()
	var s *httptest.Server
	entry := func(p string) string { return s.URL + p }
	kinds := map[string]func() string{
		"/plain.txt": func() string { return "\ufeff" + entry("/a") + "\r\n\r\n" + entry("/b") + "\n" },
		"/rss": func() string {
			return `<rss version="2.0"><channel><link>` + entry("/") + `</link><item><title>A</title><link>` + entry("/a") +
				`</link></item><item><link> ` + entry("/b") + ` </link></item></channel></rss>`
		},
		"/rdf": func() string {
			return `<rdf:RDF xmlns:rdf="x" xmlns="http://purl.org/rss/1.0/"><channel><link>/c</link></channel><item><link>` +
				entry("/a") + `</link></item><item><link>` + entry("/b") + `</link></item></rdf:RDF>`
		},
		"/atom": func() string {
			return `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><link href="/self" rel="self"/><entry><link href="` +
				entry("/a") + `"/><link rel="edit" href="/edit"/></entry><entry><link rel="alternate" href="/b"/></entry></feed>`
		},
		"/urlset": func() string {
			return `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i"><url><loc>` +
				entry("/a") + `</loc><image:image><image:loc>` + entry("/image") + `</image:loc></image:image></url><url><loc><![CDATA[` +
				entry("/b") + `]]></loc></url></urlset>`
		},
		"/sloppy": func() string {
			return "\n <urlset><url><loc>" + entry("/a?utm_source=x&utm_medium=y") + "</loc></url><url><loc>" + entry("/b#c") + "</loc><br></url></urlset>"
		},
		"/packed.xml.gz": func() string {
			return string(crawltest.Gzip([]byte("<urlset><url><loc>" + entry("/a") + "</loc></url><url><loc>" + entry("/b") + "</loc></url></urlset>")))
		},
		"/latin": func() string {
			return `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>/a</loc></url><url><loc>/b</loc></url><!-- ` + "\xe9" + ` --></urlset>`
		},
	}
	s = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f, ok := kinds[r.URL.Path]; ok {
			_, _ = io.WriteString(w, f())
			return
		}
		http.NotFound(w, r)
	}))
	for path := range kinds {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			_, links, err := discover(t, local(t), domain.CrawlSpec{Sitemap: s.URL + path})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(absolute(s.URL, "/a", "/b"), urls(links)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiscover_refuses_foreign_hosts_with_a_count(t *testing.T) {
	t.Parallel()
	s := routes(t, map[string]string{
		"/mixed.xml":   "<urlset><url><loc>/a</loc></url><url><loc>http://other.example/b</loc></url><url><loc>ftp://x/</loc></url></urlset>",
		"/foreign.xml": "<urlset><url><loc>http://other.example/b</loc></url></urlset>",
		"/index.xml":   "<sitemapindex><sitemap><loc>http://other.example/s.xml</loc></sitemap><sitemap><loc>/mixed.xml</loc></sitemap></sitemapindex>",
		"/empty.xml":   "<urlset></urlset>",
	})
	c := local(t)
	d, links, err := discover(t, c, domain.CrawlSpec{Sitemap: s.URL + "/mixed.xml"})
	if err != nil || len(links) != 1 {
		t.Errorf("got %v, %v", links, err)
	}
	if diff := cmp.Diff(map[scope.Refusal]int{scope.RefusedHost: 1, scope.RefusedNoURL: 1}, d.Refused); diff != "" {
		t.Error(diff)
	}
	d, _, err = discover(t, c, domain.CrawlSpec{Sitemap: s.URL + "/index.xml"})
	if err != nil || d.Refused[scope.RefusedHost] != 2 || d.Found != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
	_, _, err = discover(t, c, domain.CrawlSpec{Sitemap: s.URL + "/foreign.xml"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "another host") {
		t.Errorf("got %+v", e)
	}
	d, _, err = discover(t, c, domain.CrawlSpec{Sitemap: s.URL + "/empty.xml"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "is empty") || d.Complete {
		t.Errorf("an empty sitemap is no empty site: got %+v, %+v", d, e)
	}
}

func TestDiscover_reports_an_unreachable_sitemap(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/down.xml", "/part/sitemap.xml":
			w.WriteHeader(http.StatusBadGateway)
		case "/html.xml":
			_, _ = io.WriteString(w, "<!doctype html><p>sorry")
		case "/broken.xml":
			_, _ = io.WriteString(w, "<urlset><url><")
		case "/index.xml":
			_, _ = io.WriteString(w, "<sitemapindex><sitemap><loc>/gone.xml</loc></sitemap><sitemap><loc>/good.xml</loc></sitemap></sitemapindex>")
		case "/index-down.xml":
			_, _ = io.WriteString(w, "<sitemapindex><sitemap><loc>/good.xml</loc></sitemap><sitemap><loc>/down.xml</loc></sitemap></sitemapindex>")
		case "/good.xml":
			_, _ = io.WriteString(w, "<urlset><url><loc>/a</loc></url></urlset>")
		default:
			http.NotFound(w, r)
		}
	}))
	for name, tc := range map[string]struct {
		spec      domain.CrawlSpec
		permanent bool
		says      string
	}{
		"one that answers 404 is for good":           {domain.CrawlSpec{Sitemap: s.URL + "/gone.xml"}, true, "404"},
		"one that answers 502 is tried again":        {domain.CrawlSpec{Sitemap: s.URL + "/down.xml"}, false, "502"},
		"one that is a page is for good":             {domain.CrawlSpec{Sitemap: s.URL + "/html.xml"}, true, "not a sitemap"},
		"one that breaks off is for good":            {domain.CrawlSpec{Sitemap: s.URL + "/broken.xml"}, true, "damaged"},
		"one in an index that is down is tried":      {domain.CrawlSpec{Sitemap: s.URL + "/index-down.xml"}, false, "502"},
		"one in a usual place that is down is tried": {domain.CrawlSpec{URL: s.URL + "/part/"}, false, "502"},
		"no address at all":                          {domain.CrawlSpec{}, true, "neither"},
		"an address that is none":                    {domain.CrawlSpec{Sitemap: "sitemap.xml"}, true, "not a web address"},
		"another scheme":                             {domain.CrawlSpec{URL: "file:///etc/passwd"}, true, "not a web address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := discover(t, local(t), tc.spec)
			if e := wantError(t, err); e.Permanent != tc.permanent || !strings.Contains(e.Message, tc.says) {
				t.Errorf("got %+v", e)
			}
		})
	}
	t.Run("one that breaks off after some pages is a problem worth telling", func(t *testing.T) {
		t.Parallel()
		s := routes(t, map[string]string{"/cut.xml": "<urlset><url><loc>/a</loc></url><url><loc>/b"})
		d, links, err := discover(t, local(t), domain.CrawlSpec{Sitemap: s.URL + "/cut.xml"})
		if err != nil || len(links) != 1 || len(d.Problems) != 1 || !strings.Contains(d.Problems[0], "damaged") {
			t.Errorf("got %+v, %v", d, err)
		}
	})
	t.Run("one in an index that is gone is a problem worth telling", func(t *testing.T) {
		t.Parallel()
		d, links, err := discover(t, local(t), domain.CrawlSpec{Sitemap: s.URL + "/index.xml"})
		if err != nil || len(links) != 1 || len(d.Problems) != 1 || !strings.Contains(d.Summary(), "404") {
			t.Errorf("got %+v, %v", d, err)
		}
	})
}

func TestDiscover_reads_robots_sitemaps_first_and_then_the_usual_places(t *testing.T) {
	t.Parallel()
	one := "<urlset><url><loc>/a</loc></url></urlset>"
	for name, pages := range map[string]map[string]string{
		"robots.txt names it, relative":  {"/robots.txt": "Sitemap: /hidden.xml", "/hidden.xml": one},
		"robots.txt names a missing one": {"/robots.txt": "Sitemap: /gone.xml", "/sitemap.xml": one},
		"sitemap_index.xml":              {"/sitemap_index.xml": "<sitemapindex><sitemap><loc>/s.xml</loc></sitemap></sitemapindex>", "/s.xml": one},
		"sitemap.txt":                    {"/sitemap.xml": "<html>soft 404", "/sitemap.txt": "/not-absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := routes(t, pages)
			d, links, err := discover(t, local(t), domain.CrawlSpec{URL: s.URL + "/"})
			if err != nil {
				t.Fatal(err)
			}
			if name == "sitemap.txt" { // its only line is not an address, so it is not a sitemap
				if !d.Follow || len(links) != 1 || links[0] != (domain.Link{URL: s.URL + "/"}) {
					t.Errorf("got %+v, %v", d, links)
				}
				return
			}
			if d.Follow || len(links) != 2 || links[0].URL != s.URL+"/a" || links[1].URL != s.URL+"/" {
				t.Errorf("got %+v, %v", d, links)
			}
		})
	}
}

func TestDiscover_bounds_nesting_loops_and_pages(t *testing.T) {
	t.Parallel()
	index := func(to ...string) string {
		var b strings.Builder
		for _, u := range to {
			fmt.Fprintf(&b, "<sitemap><loc>%s</loc></sitemap>", u)
		}
		return "<sitemapindex>" + b.String() + "</sitemapindex>"
	}
	s := routes(t, map[string]string{
		"/1.xml":    index("/2.xml", "/1.xml"),
		"/2.xml":    index("/3.xml", "/1.xml"),
		"/3.xml":    index("/4.xml", "/good.xml"),
		"/4.xml":    index("/5.xml"),
		"/good.xml": "<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url><url><loc>/c</loc></url></urlset>",
	})
	d, links, err := discover(t, local(t), domain.CrawlSpec{Sitemap: s.URL + "/2.xml"})
	if err != nil || len(links) != 3 || d.Sitemaps != 5 || len(d.Problems) != 1 {
		t.Errorf("three levels and a loop: got %+v, %v", d, err)
	}
	_, _, err = discover(t, local(t), domain.CrawlSpec{Sitemap: s.URL + "/1.xml"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "nested") {
		t.Errorf("four levels: got %+v", e)
	}
	d, links, err = discover(t, local(t, func(o *Options) { o.MaxPages = 2 }), domain.CrawlSpec{Sitemap: s.URL + "/good.xml"})
	if err != nil || len(links) != 2 || d.Refused[scope.RefusedPageLimit] != 1 {
		t.Errorf("two pages: got %+v, %v", d, err)
	}
}

func TestDiscover_returns_the_error_of_emit(t *testing.T) {
	t.Parallel()
	s := serve(t, site.Handler())
	want := errors.New("stream is full")
	_, err := local(t).Discover(context.Background(), domain.CrawlSpec{URL: s.URL}, func([]domain.Link) error { return want })
	var e *Error
	if !errors.Is(err, want) || errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}

func TestDiscover_ends_with_its_context(t *testing.T) {
	t.Parallel()
	s := serve(t, site.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := local(t).Discover(ctx, domain.CrawlSpec{URL: s.URL}, func([]domain.Link) error { return nil })
	var e *Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}

func TestDiscover_of_a_full_sitemap_keeps_memory_flat(t *testing.T) {
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	// Not parallel, because it measures the heap.
	const entries = 50_000
	var peak atomic.Uint64
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sitemap.xml" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "<urlset>")
		pad := strings.Repeat("x", 200)
		for i := range entries + 10 {
			_, _ = fmt.Fprintf(w, "<url><loc>/%s/%d</loc><lastmod>2025-01-01</lastmod><priority>0.5</priority></url>\n", pad, i)
		}
		_, _ = io.WriteString(w, "</urlset>")
	}))
	c := local(t, func(o *Options) { o.MaxPages = 2 * entries })
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	n := 0
	d, err := c.Discover(context.Background(), domain.CrawlSpec{Sitemap: s.URL + "/sitemap.xml"}, func(l []domain.Link) error {
		if len(l) > domain.MaxLinksPerEvent {
			t.Errorf("%d links at once", len(l))
		}
		if n += len(l); n%10_000 == 0 {
			peak.Store(max(peak.Load(), heap()))
		}
		return nil
	})
	if err != nil || n != entries || d.Found != entries || len(d.Problems) != 1 {
		t.Fatalf("found %d, %v, %v", n, d.Problems, err)
	}
	if grown := int64(peak.Load()) - int64(before); grown > 8<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	} else {
		t.Logf("the heap grew by %d KiB", grown>>10)
	}
}

func TestDiscover_reads_sitemaps_that_are_listed_among_pages(t *testing.T) {
	t.Parallel()
	urlset := func(locs ...string) string {
		return "<urlset><url><loc>" + strings.Join(locs, "</loc></url><url><loc>") + "</loc></url></urlset>"
	}
	for name, tc := range map[string]struct {
		pages    map[string]string
		want     []string
		complete bool
	}{
		"another sitemap":           {map[string]string{"/s.xml": urlset("/a", "/s2.xml"), "/s2.xml": urlset("/b")}, []string{"/a", "/b"}, true},
		"a text of addresses":       {map[string]string{"/s.xml": urlset("/a", "/sitemap-2.txt"), "/sitemap-2.txt": "URL/b\n"}, []string{"/a", "/b"}, true},
		"an index":                  {map[string]string{"/s.xml": urlset("/i.xml"), "/i.xml": "<sitemapindex><sitemap><loc>/s2.xml</loc></sitemap></sitemapindex>", "/s2.xml": urlset("/b")}, []string{"/b"}, true},
		"itself":                    {map[string]string{"/s.xml": urlset("/s.xml", "/a")}, []string{"/a"}, true},
		"a page that is XML":        {map[string]string{"/s.xml": urlset("/a", "/book.xml"), "/book.xml": "<book/>"}, []string{"/a", "/book.xml"}, true},
		"a page that is gone":       {map[string]string{"/s.xml": urlset("/a", "/gone.xml")}, []string{"/a", "/gone.xml"}, true},
		"a feed":                    {map[string]string{"/s.xml": urlset("/a", "/news.xml"), "/news.xml": "<rss><channel><item><link>URL/b</link></item></channel></rss>"}, []string{"/a", "/news.xml"}, true},
		"a sitemap of another host": {map[string]string{"/s.xml": urlset("/a", "http://e.invalid/s2.xml")}, []string{"/a"}, true},
		"many pages that are XML":   {map[string]string{"/s.xml": urlset("/1.xml", "/2.xml", "/3.xml", "/4.xml", "/s2.xml"), "/s2.xml": urlset("/b")}, []string{"/1.xml", "/2.xml", "/3.xml", "/4.xml", "/s2.xml"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var root string
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, ok := tc.pages[r.URL.Path]
				if !ok {
					http.NotFound(w, r)
					return
				}
				_, _ = io.WriteString(w, strings.ReplaceAll(body, "URL", root))
			}))
			root = s.URL
			d, links, err := discover(t, local(t), domain.CrawlSpec{Sitemap: root + "/s.xml"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range links {
				got = append(got, strings.TrimPrefix(l.URL, root))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || d.Complete != tc.complete {
				t.Errorf("complete: %t, problems: %v, %s", d.Complete, d.Problems, diff)
			}
		})
	}
}

func TestDiscover_takes_translations_without_counting_those_of_other_hosts(t *testing.T) {
	t.Parallel()
	s := routes(t, map[string]string{"/s.xml": `<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>/en/</loc>` +
		`<xhtml:link rel="alternate" hreflang="de" href="/de/"/><xhtml:link rel="alternate" hreflang="fr" href="http://e.invalid/fr/"/></url></urlset>`})
	d, links, err := discover(t, local(t), domain.CrawlSpec{Sitemap: s.URL + "/s.xml"})
	if err != nil || len(d.Refused) != 0 {
		t.Errorf("got %+v, %v", d, err)
	}
	if diff := cmp.Diff([]string{s.URL + "/en/", s.URL + "/de/"}, urls(links)); diff != "" {
		t.Error(diff)
	}
}
