package app

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
)

// BenchmarkSite is how fast pages of a local server become searchable, from the request to crawl the site to the end,
// politeness off: pages/s. fetches/s is the same for the time in which pages were asked for. How fast pages are fetched
// and nothing else, beside plain colly, is for the benchmarks of package crawl.
func BenchmarkSite(b *testing.B) {
	s := crawltest.Serve(b, siteOptions(b))
	p := newProgram(b, crawlerSettings()...)
	p.start()
	pages, fetches := 0, 0
	var whole, fetching time.Duration
	for b.Loop() {
		store := p.newDatastore()
		s.Forget()
		began := time.Now()
		site := p.siteSettles(p.addSiteWith(store, plainSite(s, sitePages(b))), siteTimeout(b))
		whole += time.Since(began)
		pages += site.Crawl.Fetched
		requests := s.Requests()
		fetches += len(requests)
		fetching += requests[len(requests)-1].End.Sub(requests[0].Start)
	}
	b.ReportMetric(float64(pages)/whole.Seconds(), "pages/s")
	b.ReportMetric(float64(fetches)/fetching.Seconds(), "fetches/s")
}
