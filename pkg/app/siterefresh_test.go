package app

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
)

// crawledSite is a service that has crawled the generated site.
type crawledSite struct {
	*program
	site  *crawltest.Site
	way   crawltest.Way
	store string
	id    string
}

func newCrawledSite(t *testing.T, way crawltest.Way, env ...string) *crawledSite {
	t.Helper()
	c := &crawledSite{site: crawltest.Serve(t, siteOptions(t)), way: way}
	c.program = newProgram(t, append(crawlerSettings(), env...)...)
	c.start()
	c.store = c.newDatastore()
	c.id = c.addSite(c.store, c.site, way)
	c.checkSite(c.siteSettles(c.id, siteTimeout(t)), c.site, way)
	return c
}

// again refreshes the site and returns its settled datasource.
func (c *crawledSite) again() crawled {
	c.t.Helper()
	c.refresh(c.id)
	return c.siteSettles(c.id, siteTimeout(c.t))
}

var ingestJobs = regexp.MustCompile(`(?m)^sluice_jobs_total\{kind="ingest",.*\} (\d+)$`)

func (p *program) ingested() int {
	p.t.Helper()
	total := 0
	for _, m := range ingestJobs.FindAllStringSubmatch(p.body("/metrics"), -1) {
		n, err := strconv.Atoi(m[1])
		p.must(err)
		total += n
	}
	return total
}

// tokens returns the words that were in the pages before they were changed.
func (c *crawledSite) tokens(pages map[string]string, of []string) []string {
	var out []string
	for _, u := range of {
		out = append(out, pages[u])
	}
	return out
}

func TestAnUnchangedSiteCostsRequestsOnly(t *testing.T) {
	inWays(t, allWays(t), func(t *testing.T, way crawltest.Way) {
		model := newModelServer(t)
		c := newCrawledSite(t, way, "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny")
		embedded, ingested := model.requests.Load(), c.ingested()
		if embedded == 0 || ingested == 0 {
			t.Fatalf("the site has cost %d requests for embeddings and %d ingest jobs", embedded, ingested)
		}
		c.site.Forget()
		began := time.Now()
		site := c.again()
		t.Logf("refreshed in %v: %+v", time.Since(began).Round(time.Millisecond), *site.Crawl)
		if e, i := model.requests.Load(), c.ingested(); e != embedded || i != ingested {
			t.Errorf("nothing has changed, and the refresh took %d requests for embeddings and %d ingest jobs", e-embedded, i-ingested)
		}
		c.checkSite(site, c.site, way)
		pages := c.site.Pages(way)
		if site.Crawl.Unchanged != len(pages) || site.Crawl.Fetched != 0 || site.Crawl.Removed != 0 {
			t.Errorf("of %d pages none has changed: %+v", len(pages), *site.Crawl)
		}
		c.checkConditional(pages)
	})
}

// checkConditional checks that each page was requested once with a validator and found unchanged. Addresses that
// redirect may also be requested without one.
func (c *crawledSite) checkConditional(pages map[string]string) {
	c.t.Helper()
	root := strings.TrimSuffix(c.site.URL(), "/")
	fresh, asked, whole := 0, map[string]int{}, map[string]int{}
	for _, r := range c.site.Requests() {
		_, isPage := pages[root+r.Path]
		redirected := strings.HasPrefix(r.Path, "/r/")
		switch {
		case isPage && r.Conditional:
			asked[r.Path]++
		case isPage && !redirected:
			c.t.Errorf("%s was asked for without a condition: %+v", r.Path, r)
		}
		if r.Status == http.StatusNotModified {
			fresh++
		} else if !isPage || !r.Conditional {
			whole[r.Path]++
		}
	}
	if fresh != len(pages) {
		c.t.Errorf("%d pages were found unchanged by their validators, of %d", fresh, len(pages))
	}
	for u := range pages {
		if n := asked[strings.TrimPrefix(u, root)]; n != 1 {
			c.t.Errorf("%s was asked for %d times", u, n)
		}
	}
	other := 0
	for _, n := range whole {
		other += n
	}
	c.t.Logf("%d conditional requests for %d pages; %d more for %d other addresses: robots.txt, sitemaps, redirects, and pages that "+
		"are skipped or fail", fresh, len(pages), other, len(whole))
}

func TestARefreshFollowsTheSite(t *testing.T) {
	inWays(t, []crawltest.Way{crawltest.ByLinks, crawltest.BySitemap}, func(t *testing.T, way crawltest.Way) {
		c := newCrawledSite(t, way)
		before := c.site.Pages(way)
		ingested := c.ingested()
		changed, removed, added := c.site.Change(5), c.site.Remove(4), c.site.Add(6)
		originals, heirs := c.site.RemoveOriginals(2)
		unlisted := c.site.Unlist(3)
		gone := slices.Concat(removed, originals)
		if way == crawltest.BySitemap {
			gone = append(gone, unlisted...)
		}
		site := c.again()
		c.checkSite(site, c.site, way)
		if n := site.Crawl.Removed; n != len(gone) {
			t.Errorf("%d pages have left the datastore, not %d", n, len(gone))
		}
		fresh := len(changed) + len(added) + len(heirs) + 1 // plus the page that links to the added pages
		if n := c.ingested() - ingested; n != fresh {
			t.Errorf("%d ingest jobs for %d changed, %d added pages and %d duplicates", n, len(changed)+1, len(added), len(heirs))
		}
		c.checkFacts(site, c.store, c.site, way)
		words := c.tokens(before, append(changed, removed...))
		if way == crawltest.BySitemap {
			words = append(words, c.tokens(before, unlisted)...)
		}
		c.checkGone(c.store, words...)
		t.Logf("%+v", *site.Crawl)
	})
}

func TestAnUnavailableSiteLosesNothing(t *testing.T) {
	inWays(t, allWays(t), func(t *testing.T, way crawltest.Way) {
		c := newCrawledSite(t, way)
		before := c.site.Pages(way)

		c.site.Forget()
		c.site.Down(true) // before the first page is requested
		c.refresh(c.id)
		waitForRequests(t, c.site, 1)
		c.site.Down(false)
		site := c.siteSettles(c.id, siteTimeout(t))
		c.checkSite(site, c.site, way)
		if site.Crawl.Unchanged != len(before) {
			t.Errorf("%d pages have not changed: %+v", len(before), *site.Crawl)
		}

		changed := c.site.Change(5) // next, the site goes down in the middle of the crawl
		c.site.Forget()
		c.refresh(c.id)
		waitForRequests(t, c.site, len(before)/4)
		c.site.Down(true)
		up := len(c.site.Requests())
		waitForRequests(t, c.site, up+crawlersAtOnce) // so that some requests fail
		c.siteIs(c.id, "waiting for its host", time.Minute, func(s crawled) bool { return !s.settled() })
		still := slices.Sorted(maps.Keys(before))[:20]
		for _, u := range still {
			if words := c.query(c.store, before[u], 5); !slices.ContainsFunc(words, func(f fragment) bool { return strings.Contains(f.Text, before[u]) }) {
				// A changed page may have been fetched before the site went down.
				if !slices.Contains(changed, u) {
					t.Errorf("%s is not found while its site is down", u)
				}
			}
		}
		c.site.Down(false)
		site = c.siteSettles(c.id, siteTimeout(t))
		c.checkSite(site, c.site, way)
		c.checkFacts(site, c.store, c.site, way)
		if site.Crawl.Removed != 0 {
			t.Errorf("%d pages have left the datastore", site.Crawl.Removed)
		}
		if n := site.Crawl.Fetched; n != len(changed) {
			t.Errorf("%d pages count as changed, %d have: %+v", n, len(changed), *site.Crawl)
		}
	})
}
