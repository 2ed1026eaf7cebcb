package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/jobs"
)

// plainSite returns the configuration for the generated site without its special pages.
func plainSite(s *crawltest.Site, pages int) map[string]any {
	return map[string]any{"source_url": s.URL(), "max_pages": pages, "exclude": []string{"/lab/"}}
}

// TestTwoCrawlersShareOnePace crawls a site with two crawler processes. Together they must not exceed the pace allowed
// for one.
func TestTwoCrawlersShareOnePace(t *testing.T) {
	t.Parallel()
	const (
		delay = 50 * time.Millisecond
		pages = 60
	)
	c := newCrawlers(t, 2, "SLUICE_CRAWL_DELAY="+delay.String(), "SLUICE_CRAWL_PER_HOST=1")
	published := c.watchPageJobs(t)
	s := crawltest.Serve(t, siteOptions(t))
	store := c.api.newDatastore()
	began := time.Now()
	site := c.api.siteSettles(c.api.addSiteWith(store, plainSite(s, pages)), siteTimeout(t))
	took := time.Since(began)
	// A page is fetched again for its links if a shorter path to it is found later. It then counts as unchanged.
	if nearer := published().nearer(site.ID); site.Crawl.Fetched+site.Crawl.Unchanged != pages || site.Crawl.Unchanged > nearer {
		t.Errorf("%+v, and %d pages to be fetched again", *site.Crawl, nearer)
	}
	if s.Peak() != 1 {
		t.Errorf("%d requests at once", s.Peak())
	}
	requests := s.Requests()
	slices.SortFunc(requests, func(a, b crawltest.Request) int { return a.Start.Compare(b.Start) })
	// The time between a slot being granted and the request arriving varies. A few requests may be closer together than
	// the delay, but not on average. Uncoordinated crawlers would send twice as many.
	const slack = 4 * delay
	shortest := time.Hour
	for i := range requests {
		for k := i + 1; k < len(requests); k++ {
			apart := requests[k].Start.Sub(requests[i].Start)
			if minimum := time.Duration(k-i)*delay - slack; apart < minimum {
				t.Fatalf("requests %d to %d came within %v, which is to take %v at least:\n%s", i, k, apart, minimum, timetable(requests))
			}
			if k == i+1 {
				shortest = min(shortest, apart)
			}
		}
	}
	for i, p := range c.all {
		if !strings.Contains(p.body("/metrics"), `sluice_jobs_total{kind="crawl",result="done"}`) {
			t.Errorf("crawler %d has done nothing", i)
		}
	}
	t.Logf("%d requests in %v, %.1f a second of %.0f; the closest two %v apart",
		len(requests), took.Round(time.Millisecond), float64(len(requests))/took.Seconds(), float64(time.Second/delay), shortest.Round(time.Millisecond))
}

// timetable lists the times of the requests, for error messages.
func timetable(requests []crawltest.Request) string {
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&b, "%v %s, for %v\n", r.Start.Sub(requests[0].Start).Round(time.Millisecond), r.Path, r.End.Sub(r.Start).Round(time.Millisecond))
	}
	return b.String()
}

// TestADueSiteIsRefetched simulates the NATS message sent when a site is due for a refresh.
func TestADueSiteIsRefetched(t *testing.T) {
	t.Parallel()
	const pages = 20
	addr := freeAddress(t)
	p := newProgram(t, append(crawlerSettings(), "SLUICE_NATS_LISTEN="+addr, "SLUICE_NATS_TOKEN=hush")...)
	p.start()
	s := crawltest.Serve(t, siteOptions(t))
	store := p.newDatastore()
	config := plainSite(s, pages)
	config["refresh"] = "10m"
	id := p.addSiteWith(store, config)
	p.siteSettles(id, siteTimeout(t))
	s.Forget()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := jobs.Connect(ctx, jobs.ConnectOptions{
		URL: "nats://" + addr, Token: "hush", Name: "test", Log: slog.New(slog.DiscardHandler),
	})
	p.must(err)
	defer conn.Close()
	_, err = conn.JetStream().Publish(ctx, "due."+store+"."+id, nil)
	p.must(err)
	waitForRequests(t, s, 1)
	if site := p.siteSettles(id, siteTimeout(t)); site.Crawl.Unchanged != pages || site.Crawl.Fetched != 0 {
		t.Errorf("%+v", *site.Crawl)
	}
}
