package app

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
)

// TestAStoppedCrawlMakesNoMoreRequests ends a slow site's crawl halfway, either by stopping it or by deleting the site.
// By then, the job stream holds jobs for all of the site's pages.
func TestAStoppedCrawlMakesNoMoreRequests(t *testing.T) {
	t.Parallel()
	const (
		pace  = 400 * time.Millisecond
		pages = 50
		// late is how many more addresses may be fetched after the crawl ends, because crawlers already had them in
		// flight or had just received their jobs.
		atOnce, late = 2, 4
	)
	tests := map[string]struct{ end, after func(p *program, id string) }{
		"when it is stopped": {
			end: func(p *program, id string) { p.must(p.post("/datasources/"+id+"/stop", struct{}{}, nil)) },
			after: func(p *program, id string) {
				site := p.siteSettles(id, 30*time.Second)
				if site.Status != "synched" || site.Crawl.Waiting != 0 || site.Crawl.Skipped == 0 {
					p.t.Errorf("the site is %s (%s): %+v", site.Status, site.Error, *site.Crawl)
				}
			},
		},
		"when it is deleted": {
			end:   func(p *program, id string) { p.must(p.delete("/datasources/" + id)) },
			after: func(*program, string) {},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, append(crawlerSettings(), "SLUICE_CRAWL_DELAY="+pace.String(), "SLUICE_CRAWL_PER_HOST=1",
				"SLUICE_CRAWL_CONCURRENCY="+strconv.Itoa(atOnce))...)
			p.start()
			s := crawltest.Serve(t, siteOptions(t))
			store := p.newDatastore()
			config := plainSite(s, pages)
			config["sitemap"] = s.At(crawltest.SitemapPath)
			delete(config, "source_url")
			id := p.addSiteWith(store, config)
			p.siteIs(id, "under way", siteTimeout(t), func(c crawled) bool { return c.Crawl != nil && c.Crawl.Fetched >= 2 && c.Crawl.Waiting > pages/2 })
			test.end(p, id)
			before := s.Answered()
			test.after(p, id)
			// This page is on the same host, so it is fetched after everything that is still in the stream.
			var page source
			p.must(p.post("/datasources", map[string]any{
				"datastoreId": store, "type": "web_page", "name": "page", "config": map[string]any{"source_url": s.URL()},
			}, &page))
			p.siteSettles(page.ID, 30*time.Second)
			redirected := func(r crawltest.Request) bool { return r.Status/100 == 3 }               // crawlers follow redirects, so one address may take several requests
			if after := slices.DeleteFunc(s.Requests()[before:], redirected); len(after)-1 > late { // minus the page added above
				t.Errorf("%d addresses were fetched after the end, want %d at most: %+v", len(after)-1, late, after)
			}
		})
	}
}
