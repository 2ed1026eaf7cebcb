package app

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/crawl/scope"
)

// sitePages returns the size of the generated site, which is TEST_SITE_PAGES or, by default, a small number.
func sitePages(t testing.TB) int {
	t.Helper()
	text := os.Getenv("TEST_SITE_PAGES")
	if text == "" {
		return crawltest.MinPages
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("TEST_SITE_PAGES: %v", err)
	}
	return n
}

// siteOptions returns the generated site's options, the same for all tests. Oversized pages are just above
// maxPageBytes.
func siteOptions(t testing.TB) crawltest.Options {
	t.Helper()
	return crawltest.Options{Seed: 6, Pages: sitePages(t), BombBytes: 4 << 20}
}

// Maximum attempts per page. Together they take three seconds, which is enough for pages that fail twice.
const triesOfPages = 3

// allWays returns every way to discover a site or, in short runs, only discovery by links. It is for tests that hardly
// depend on how the site is discovered.
func allWays(t testing.TB) []crawltest.Way {
	if sitePages(t) == crawltest.MinPages {
		return []crawltest.Way{crawltest.ByLinks}
	}
	return []crawltest.Way{crawltest.ByLinks, crawltest.BySitemap}
}

// crawlerSettings lets a crawler access this machine without delays.
func crawlerSettings() []string {
	return []string{
		"SLUICE_ALLOW_PRIVATE_ADDRESSES=true", "SLUICE_CRAWL_DELAY=0s", "SLUICE_CRAWL_PER_HOST=0", "SLUICE_LIMIT_PAGE_BYTES=2MiB",
		"SLUICE_CRAWL_TRIES=" + strconv.Itoa(triesOfPages),
	}
}

func siteTimeout(t testing.TB) time.Duration {
	t.Helper()
	return 2*time.Minute + time.Duration(sitePages(t))*200*time.Millisecond
}

// crawled is a site's or page's datasource.
type crawled struct {
	source
	Config struct {
		SourceURL string `json:"source_url"`
	}
	Progress struct{ Stage string }
	Crawl    *struct {
		Discovered, Waiting, Fetched, Unchanged, Skipped, Failed, Removed int
		LeftOut                                                           map[string]int
	}
	Warnings []string
}

func (c crawled) settled() bool {
	return c.Status == "synched" || c.Status == "error" || c.Status == "skipped"
}

// addSite crawls the generated site and returns its datasource's id.
func (p *program) addSite(store string, s *crawltest.Site, way crawltest.Way) string {
	p.t.Helper()
	config := map[string]any{"max_depth": s.MaxDepth(), "exclude": s.Exclude(), "source_url": s.URL()}
	if way == crawltest.BySitemap {
		delete(config, "source_url")
		config["sitemap"] = s.At(crawltest.SitemapPath)
	}
	return p.addSiteWith(store, config)
}

func (p *program) addSiteWith(store string, config map[string]any) string {
	p.t.Helper()
	var site source
	p.must(p.post("/datasources", map[string]any{"datastoreId": store, "type": "web_site", "name": "site", "config": config}, &site))
	return site.ID
}

// refresh requests that the site be fetched again.
func (p *program) refresh(id string) {
	p.t.Helper()
	p.must(p.post("/datasources/"+id+"/resync", map[string]string{"mode": "refresh"}, nil))
}

func (p *program) site(id string) (c crawled, err error) {
	err = p.get("/datasources/"+id, &c)
	return c, err
}

// siteIs waits until `is` returns true for the site's datasource. It tolerates failed requests, because the process may
// be down.
func (p *program) siteIs(id, what string, timeout time.Duration, is func(crawled) bool) crawled {
	p.t.Helper()
	deadline := time.After(timeout)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	var last crawled
	for {
		c, err := p.site(id)
		if err == nil && is(c) {
			return c
		}
		if err != nil && !passes(err) {
			p.t.Fatal(err)
		}
		if err == nil {
			last = c
		}
		select {
		case <-deadline:
			p.t.Fatalf("after %v the site is not %s, but %s (%s): %+v\n%s", timeout, what, last.Status, last.Error, last.Crawl, p.waiting(last))
		case <-poll.C:
		}
	}
}

func (p *program) siteSettles(id string, timeout time.Duration) crawled {
	p.t.Helper()
	return p.siteIs(id, "settled", timeout, crawled.settled)
}

// waiting lists the site's unsettled pages, for error messages.
func (p *program) waiting(site crawled) string {
	var b strings.Builder
	for _, page := range p.pagesOf(site.ID) {
		if !page.settled() {
			fmt.Fprintf(&b, "%s is %s (%s) %s\n", page.Config.SourceURL, page.Status, page.Progress.Stage, page.Error)
		}
	}
	return tail(b.String(), 4000)
}

func (p *program) pagesOf(siteID string) []crawled {
	p.t.Helper()
	var all []crawled
	q := url.Values{"groupId": {siteID}, "limit": {"200"}}
	for {
		var page struct {
			Data       []crawled
			NextCursor *string
		}
		p.must(p.get("/datasources?"+q.Encode(), &page))
		all = append(all, page.Data...)
		if page.NextCursor == nil {
			return all
		}
		q.Set("cursor", *page.NextCursor)
	}
}

// reasons maps each reason to part of the message that the service reports for it.
var reasons = map[crawltest.Reason]string{
	crawltest.NoIndex:      "is marked noindex",
	crawltest.Duplicate:    "It has the same content as ",
	crawltest.Canonical:    "Its canonical address is ",
	crawltest.SitemapPage:  "is a sitemap or a feed",
	crawltest.NotFound:     "does not exist",
	crawltest.Forbidden:    "was denied",
	crawltest.ServerError:  "500 Internal Server Error",
	crawltest.Broken:       "gave up after",
	crawltest.Loop:         "redirects ",
	crawltest.MovedAway:    "no longer belongs to the site",
	crawltest.TooLarge:     "too large",
	crawltest.WrongType:    "contains no text",
	crawltest.Empty:        "empty",
	crawltest.NeedsScripts: "JavaScript",
	crawltest.Robots:       "robots.txt disallows it",
}

// refusals maps reasons to the names under which a site counts skipped addresses. Alternative spellings of a page's
// address aren't counted.
var refusals = map[crawltest.Reason]scope.Refusal{
	crawltest.OtherHost: scope.RefusedHost,
	crawltest.NoAddress: scope.RefusedNoURL,
	crawltest.Trap:      scope.RefusedTrap,
	crawltest.TooDeep:   scope.RefusedDepth,
	crawltest.Media:     scope.RefusedMedia,
	crawltest.NoFollow:  scope.RefusedNoFollow,
	crawltest.Excluded:  scope.RefusedExcluded,
}

// checkSite compares a crawled site's datasources with the expected ones. Each page must exist once, with the right
// result and reason, and nothing else may exist.
func (p *program) checkSite(site crawled, s *crawltest.Site, way crawltest.Way) {
	p.t.Helper()
	want, got := map[string]string{}, map[string]string{}
	counts := map[string]int{}
	expected := s.Expected(way)
	for u, e := range expected {
		if e.Outcome != crawltest.LeftOut && e.Outcome != crawltest.Removed {
			want[u] = string(e.Outcome)
			counts[string(e.Outcome)]++
		}
	}
	for _, page := range p.pagesOf(site.ID) {
		u := page.Config.SourceURL
		if was, twice := got[u]; twice {
			p.t.Errorf("%s is there twice: %s and %s", u, was, page.Status)
		}
		got[u] = page.Status
		e := expected[u]
		if words := reasons[e.Reason] + e.InFavourOf; page.Status == string(e.Outcome) && !strings.Contains(page.Error, words) {
			p.t.Errorf("%s is %s, and the reason is not %q but %q", u, page.Status, words, page.Error)
		}
		if page.Status == "synched" && page.Chunks == 0 {
			p.t.Errorf("%s is synched and has no text", u)
		}
		if page.Status != want[u] {
			p.t.Errorf("%s is %s: %s", u, page.Status, page.Error)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		p.t.Errorf("pages (-want +got):\n%s", diff)
	}
	if site.Status != "synched" || site.Error != "" || site.Crawl == nil {
		p.t.Fatalf("the site is %s: %s", site.Status, site.Error)
	}
	c := site.Crawl
	shown := map[string]int{"synched": c.Fetched + c.Unchanged, "skipped": c.Skipped, "error": c.Failed}
	if diff := gocmp.Diff(counts, shown); diff != "" || c.Waiting != 0 || c.Discovered != len(want) {
		p.t.Errorf("the site tells %+v of itself; pages (-want +got):\n%s", *c, diff)
	}
}

// checkLeftOut checks that addresses outside the site were never requested and that they were counted by reason.
func (p *program) checkLeftOut(site crawled, s *crawltest.Site, way crawltest.Way) {
	p.t.Helper()
	asked := s.Times()
	expected := map[crawltest.Reason]bool{}
	for u, e := range s.Expected(way) {
		if e.Outcome != crawltest.LeftOut {
			continue
		}
		expected[e.Reason] = true
		if path, own := strings.CutPrefix(u, strings.TrimSuffix(s.URL(), "/")); own && asked[path] > 0 {
			p.t.Errorf("%s was asked for %d times (%s)", u, asked[path], e.Reason)
		}
	}
	for reason := range expected {
		if words, counted := refusals[reason]; counted && site.Crawl.LeftOut[string(words)] == 0 {
			p.t.Errorf("nothing is left out because of %q (%s): %v", words, reason, site.Crawl.LeftOut)
		}
	}
	for _, r := range s.Requests() {
		// A page on the site may redirect to the other host, because that host may redirect back.
		if r.Foreign && r.Path != "/robots.txt" && !strings.HasPrefix(r.Path, "/landing/") {
			p.t.Errorf("%s of the other host was asked for", r.Path)
		}
	}
}

// checkFacts searches for a word from each page or, on a large site, from some of the pages. Each word must be found in
// its page and nowhere else.
func (p *program) checkFacts(site crawled, store string, s *crawltest.Site, way crawltest.Way) {
	p.t.Helper()
	ids := map[string]string{}
	for _, page := range p.pagesOf(site.ID) {
		ids[page.Config.SourceURL] = page.ID
	}
	expected := s.Expected(way)
	pages := slices.DeleteFunc(slices.Sorted(maps.Keys(expected)), func(u string) bool { return expected[u].Outcome != crawltest.Synched })
	const limit = 400
	step := len(pages)/limit + 1
	for i, u := range pages {
		if i%step != 0 {
			continue
		}
		e := expected[u]
		whole := false
		for _, f := range p.query(store, e.Token, 5) {
			switch words := strings.Join(strings.Fields(f.Text), " "); {
			case !strings.Contains(words, e.Token):
			case f.DatasourceID != ids[u]:
				p.t.Errorf("the word of %s is found in %s", u, f.Source)
			case strings.Contains(words, e.Sentence):
				whole = true
			}
		}
		if !whole {
			p.t.Errorf("%s is not found by %q", u, e.Sentence)
		}
	}
}

// checkGone checks that the words are no longer found.
func (p *program) checkGone(store string, tokens ...string) {
	p.t.Helper()
	for _, token := range tokens {
		for _, f := range p.query(store, token, 5) {
			if strings.Contains(f.Text, token) {
				p.t.Errorf("%s is still found, in %s", token, f.Source)
			}
		}
	}
}

// memory returns the process's peak resident memory as reported by Linux, or "" on other systems.
func (p *program) memory() string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// maxRequests lists the addresses that were requested more than once, for the log.
func maxRequests(times map[string]int) string {
	var out []string
	for path, n := range times {
		if n > 1 {
			out = append(out, fmt.Sprintf("%s %d×", path, n))
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return strings.Join(out, ", ")
}

func TestASiteIsCrawledExactly(t *testing.T) {
	inWays(t, []crawltest.Way{crawltest.ByLinks, crawltest.BySitemap}, func(t *testing.T, way crawltest.Way) {
		s := crawltest.Serve(t, siteOptions(t))
		p := newProgram(t, crawlerSettings()...)
		p.start()
		store := p.newDatastore()
		began := time.Now()
		id := p.addSite(store, s, way)
		site := p.siteSettles(id, siteTimeout(t))
		t.Logf("%d addresses in %v, %d requests: %+v", site.Crawl.Discovered, time.Since(began).Round(time.Millisecond), len(s.Requests()), *site.Crawl)
		t.Logf("the process took %s of memory at most", p.memory())
		t.Logf("asked for more often: %.3000s", maxRequests(s.Times()))
		p.checkSite(site, s, way)
		p.checkLeftOut(site, s, way)
		p.checkFacts(site, store, s, way)
	})
}

// inWays runs the test once for each way to discover a site.
func inWays(t *testing.T, ways []crawltest.Way, test func(t *testing.T, way crawltest.Way)) {
	t.Parallel()
	for _, way := range ways {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			test(t, way)
		})
	}
}
