package crawl

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/sitemap"
	"github.com/sluice/sluice/pkg/domain"
)

// hugeSite returns a site with five sitemaps of ten pages each. Every sitemap also lists pages outside the site.
func hugeSite(asked func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		base := "http://" + r.Host
		switch _, err := fmt.Sscanf(r.URL.Path, "/part%d.xml", &n); {
		case err == nil:
			asked()
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range 10 {
				fmt.Fprintf(w, "<url><loc>%s/%d/%d</loc></url><url><loc>https://elsewhere.example/%d</loc></url>", base, n, i, i)
			}
			fmt.Fprint(w, strings.Repeat(" ", 2_000), `</urlset>`)
		case r.URL.Path == "/index.xml":
			fmt.Fprint(w, `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range 5 {
				fmt.Fprintf(w, "<sitemap><loc>%s/part%d.xml</loc></sitemap>", base, i)
			}
			fmt.Fprint(w, `</sitemapindex>`)
		case r.URL.Path == "/robots.txt":
			fmt.Fprintf(w, "Sitemap: %s/index.xml\n", base)
		default:
			http.NotFound(w, r)
		}
	})
}

func TestDiscover_bounds_all_sitemaps_together(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits sitemap.Limits
		took   time.Duration // how far the clock advances with each file
		found  int
		says   string // "" if the list of pages is complete
	}{
		"files":                     {limits: sitemap.Limits{Files: 3}, found: 20, says: "3 files were read"},
		"entries, taken or not":     {limits: sitemap.Limits{Entries: 5 + 20 + 9}, found: 15, says: "34 addresses were read"},
		"bytes":                     {limits: sitemap.Limits{Bytes: 12 << 10}, says: "0 MiB were read"},
		"time":                      {limits: sitemap.Limits{Time: time.Hour}, took: 25 * time.Minute, found: 30, says: "4 files took 1h0m0s"},
		"what is within them stays": {limits: sitemap.Limits{Files: 6, Entries: 105, Bytes: 1 << 20, Time: time.Hour}, found: 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ahead atomic.Int64
			s := serve(t, hugeSite(func() { ahead.Add(int64(tc.took)) }))
			c := local(t, func(o *Options) {
				o.Sitemaps = tc.limits
				o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			})
			d, _, err := discover(t, c, domain.CrawlSpec{Sitemap: s.URL + "/index.xml"})
			if err != nil {
				t.Fatal(err)
			}
			if tc.found > 0 && d.Found != tc.found || d.Found == 0 || d.Found > 50 || d.Complete != (tc.says == "") {
				t.Errorf("found %d, complete: %t, %q", d.Found, d.Complete, d.Problems)
			}
			if tc.says != "" && (len(d.Problems) == 0 || !strings.Contains(d.Problems[0], "stopped at the limit for one site: "+tc.says)) {
				t.Errorf("it says %q", d.Problems)
			}
		})
	}
	t.Run("sitemaps that lead to no page within them are an error that says so", func(t *testing.T) {
		t.Parallel()
		s := serve(t, hugeSite(func() {}))
		c := local(t, func(o *Options) { o.Sitemaps.Files = 1 })
		_, _, err := discover(t, c, domain.CrawlSpec{Sitemap: s.URL + "/index.xml"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "1 files were read") {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("a site that was given by its root is then found by its links", func(t *testing.T) {
		t.Parallel()
		s := serve(t, hugeSite(func() {}))
		c := local(t, func(o *Options) { o.Sitemaps.Files = 1 })
		d, links, err := discover(t, c, domain.CrawlSpec{URL: s.URL})
		if err != nil || !d.Follow || len(links) != 1 || len(d.Problems) == 0 {
			t.Errorf("%+v, %v, %v", d, links, err)
		}
	})
}
