package crawl

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
)

func TestDiscover_reports_whether_a_sitemap_is_complete(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	s := crawltest.Serve(t, crawltest.Options{})
	for name, tc := range map[string]struct {
		path     string
		limit    int
		complete bool
		found    int // minimum number of links
		problem  string
	}{
		"all of them":                       {crawltest.SitemapPath, 0, true, crawltest.MinPages, ""},
		"an index that lists itself":        {crawltest.CyclePath, 0, true, 1, ""},
		"as many as one may list":           {crawltest.FullPath, 0, true, crawltest.FullEntries, ""},
		"more than one may list":            {crawltest.OverfullPath, 0, false, crawltest.FullEntries, "more than 50000 entries"},
		"one that breaks off":               {crawltest.IncompletePath, 0, false, crawltest.MinPages, "is damaged"},
		"feeds, which list what is new":     {crawltest.FeedsPath, 0, false, crawltest.MinPages, ""},
		"more than the site may have pages": {crawltest.SitemapPath, 10, false, 10, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := local(t, func(o *Options) { o.MaxPages = 100_000; o.MaxPages = cmp.Or(tc.limit, o.MaxPages) })
			// If a site is configured with only a sitemap, its root is the sitemap's address.
			at := s.At(tc.path)
			d, links, err := discover(t, c, domain.CrawlSpec{Sitemap: at, Site: &domain.SiteScope{Root: at}})
			if err != nil || d.Complete != tc.complete || len(links) < tc.found || d.Scope.Root != s.URL() {
				t.Errorf("%d links, %+v, %v", len(links), d, err)
			}
			if got := strings.Join(d.Problems, "; "); tc.problem == "" && got != "" || !strings.Contains(got, tc.problem) {
				t.Errorf("problems: %s", got)
			}
			for why, n := range d.LeftOut() {
				if n == 0 || d.Refused[scope.Refusal(why)] != n {
					t.Errorf("left out: %v of %v", d.LeftOut(), d.Refused)
				}
			}
		})
	}
}

func TestDiscover_goes_where_the_root_leads(t *testing.T) {
	t.Parallel()
	var s *httptest.Server
	s = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case !strings.HasPrefix(r.Host, "localhost"): // the old host redirects every address to the new host
			http.Redirect(w, r, other+r.URL.Path, http.StatusMovedPermanently)
		case r.URL.Path == "/sitemap.xml":
			_, _ = io.WriteString(w, "<urlset><url><loc>"+other+"/a</loc></url><url><loc>"+other+"/b</loc></url></urlset>")
		default:
			_, _ = io.WriteString(w, "<!doctype html><p>page")
		}
	}))
	moved := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	for name, spec := range map[string]domain.CrawlSpec{
		"whose sitemap is looked for": {URL: s.URL + "/"},
		"whose sitemap is given":      {URL: s.URL + "/", Sitemap: s.URL + "/sitemap.xml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, links, err := discover(t, local(t), spec)
			if err != nil || !d.Complete || d.Moved != moved+"/" || len(links) < 2 || links[0].URL != moved+"/a" || len(d.Refused) > 0 {
				t.Errorf("%v, %+v, %v", links, d, err)
			}
		})
	}
}
