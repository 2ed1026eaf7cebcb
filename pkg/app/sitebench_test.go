package app

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
)

// BenchmarkSite measures how fast a local server's pages become searchable (pages/s), from the request to the end of
// the crawl, without delays between requests. fetches/s covers only the time from the first request to the last. For
// fetching alone, and for a comparison with plain colly, see the crawl package's benchmarks.
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
