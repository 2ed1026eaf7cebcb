package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
)

// Token for the NATS server shared by a test's processes.
const natsToken = "hush"

// Number of pages a crawler process fetches at once in these tests.
const crawlersAtOnce = 4

// crawlers is an api process with the embedded engines, and several separate crawler processes.
type crawlers struct {
	api  *program
	all  []*program
	nats string // address of the api process's NATS server
}

// newCrawlers starts an api process and n crawlers with env as additional settings.
func newCrawlers(t testing.TB, n int, env ...string) *crawlers {
	t.Helper()
	addr := freeAddress(t)
	shared := slices.Concat(crawlerSettings(), []string{"SLUICE_NATS_TOKEN=" + natsToken, "SLUICE_CRAWL_CONCURRENCY=" + strconv.Itoa(crawlersAtOnce)}, env)
	with := func(more ...string) []string { return slices.Concat(shared, more) }
	c := &crawlers{nats: addr, api: newProgram(t, with("SLUICE_NATS_LISTEN="+addr, "SLUICE_WORKERS=false")...)}
	c.api.start()
	for range n {
		p := newProgram(t, with("NATS_URL=nats://"+addr)...)
		p.shape = Crawler
		p.start()
		c.all = append(c.all, p)
	}
	return c
}

// crawlKills returns how many crawlers to kill: TEST_SITE_KILLS, or three by default.
func crawlKills(t testing.TB) int {
	t.Helper()
	text := os.Getenv("TEST_SITE_KILLS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("TEST_SITE_KILLS: %v", err)
	}
	return n
}

// crawl crawls the site and returns the settled datasource, its datastore and the time taken. It calls disturb, if set,
// during the crawl.
func (c *crawlers) crawl(t *testing.T, s *crawltest.Site, way crawltest.Way, disturb func()) (site crawled, store string, took time.Duration) {
	t.Helper()
	store = c.api.newDatastore()
	began := time.Now()
	id := c.api.addSite(store, s, way)
	if disturb != nil {
		disturb()
	}
	return c.api.siteSettles(id, siteTimeout(t)), store, time.Since(began)
}

// waitForRequests waits until the site has answered n requests.
func waitForRequests(t *testing.T, s *crawltest.Site, n int) {
	t.Helper()
	deadline := time.After(siteTimeout(t))
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for s.Answered() < n {
		select {
		case <-deadline:
			t.Fatalf("the site has answered %d requests, not %d", s.Answered(), n)
		case <-poll.C:
		}
	}
}

// TestKilledCrawlersLoseNothing kills crawlers at random moments while several of them crawl a site. The result must be
// the same as without kills, and only pages in flight during a kill may be fetched again.
func TestKilledCrawlersLoseNothing(t *testing.T) {
	inWays(t, allWays(t), testKilledCrawlers)
}

func testKilledCrawlers(t *testing.T, way crawltest.Way) {
	const crawlersOfAll = 3
	kills := crawlKills(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	c := newCrawlers(t, crawlersOfAll)
	calm := crawltest.Serve(t, siteOptions(t))
	site, _, took := c.crawl(t, calm, way, nil)
	c.api.checkSite(site, calm, way)
	t.Logf("undisturbed: %d addresses, %d requests in %v", site.Crawl.Discovered, calm.Answered(), took.Round(time.Millisecond))
	t.Logf("more than once: %.2000s", maxRequests(calm.Times()))

	published := c.watchPageJobs(t)
	s := crawltest.Serve(t, siteOptions(t))
	stops := 0 // number of times the api process is killed, along with its NATS server
	site, store, took := c.crawl(t, s, way, func() {
		for i := range kills {
			waitForRequests(t, s, (i+1)*sitePages(t)/(kills+1)+random.IntN(20))
			victim := c.all[random.IntN(len(c.all))]
			victim.kill()
			victim.start()
			if i%4 == 3 {
				stops++
				c.api.kill()
				c.api.start()
			}
		}
	})
	c.api.checkSite(site, s, way)
	c.api.checkLeftOut(site, s, way)
	c.api.checkFacts(site, store, s, way)
	nearer := published().nearer(site.ID)
	again := fetchedAgain(calm, s)
	for path, n := range again {
		if n > kills+stops+nearer {
			t.Errorf("%s was fetched %d times more than without kills", path, n)
		}
	}
	extra := 0
	for _, n := range withoutHops(t, s, again) {
		extra += n
	}
	t.Logf("killed %d crawlers and %d api processes: %d requests in %v, of which %d again, %d of them for shorter ways that were found late: %v",
		kills, stops, s.Answered(), took.Round(time.Millisecond), extra, nearer, again)
	t.Logf("the api process took %s of memory at most", c.api.memory())
	if limit := (kills + stops*crawlersOfAll) * crawlersAtOnce; extra > limit+nearer {
		t.Errorf("%d pages were fetched again, %d for their links, and at most %d were under way at the kills", extra, nearer, limit)
	}
}

// crawlJobs holds the jobs published in the crawl lane.
type crawlJobs []domain.Job

// watchPageJobs starts recording the jobs that crawlers receive. The returned function returns those received so far.
func (c *crawlers) watchPageJobs(t *testing.T) func() crawlJobs {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := jobs.Connect(ctx, jobs.ConnectOptions{
		URL: "nats://" + c.nats, Token: natsToken, Name: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	server := conn.JetStream().Conn()
	heard, err := server.SubscribeSync("jobs.crawl.*.*")
	if err == nil {
		err = server.FlushTimeout(time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() (seen crawlJobs) {
		t.Helper()
		if err := server.FlushTimeout(time.Minute); err != nil {
			t.Fatal(err)
		}
		for {
			n, _, err := heard.Pending()
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				return seen
			}
			m, err := heard.NextMsg(time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var job domain.Job
			if err := json.Unmarshal(m.Data, &job); err != nil {
				t.Fatalf("a job that cannot be read: %v", err)
			}
			seen = append(seen, job)
		}
	}
}

// nearer returns the number of pages that were fetched again because a shorter path to them was found. That happens
// when slow or killed crawlers discover pages in a different order.
func (j crawlJobs) nearer(siteID string) int {
	var run string // id of the site's job, which identifies the crawl
	for _, job := range j {
		if job.DatasourceID == siteID {
			run = job.ID
		}
	}
	found := map[string]bool{}
	for _, job := range j {
		if job.GroupID == siteID && job.ID == domain.NearerJobID(domain.PageJobID(run, job.DatasourceID), job.Crawl.Depth) {
			found[job.ID] = true
		}
	}
	return len(found)
}

// withoutHops removes requests for addresses that another requested address redirects to. A chain of redirects fetches
// only one page, so only its first request counts.
func withoutHops(t *testing.T, s *crawltest.Site, requests map[string]int) map[string]int {
	t.Helper()
	rest := maps.Clone(requests)
	for path, n := range requests {
		seen := map[string]bool{path: true}
		for at := leadsTo(t, s, path); rest[at] > 0 && !seen[at]; at = leadsTo(t, s, at) {
			seen[at] = true
			rest[at] -= min(n, rest[at])
		}
	}
	return rest
}

// leadsTo returns the address within the site that path redirects to, or "".
func leadsTo(t *testing.T, s *crawltest.Site, path string) string {
	t.Helper()
	if !strings.HasPrefix(path, "/r") {
		return "" // other paths do not redirect; some of them are slow or break the connection
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.At(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	to, err := res.Location()
	if err != nil || to.Host != req.URL.Host {
		return ""
	}
	return to.RequestURI()
}

// fetchedAgain returns, for each path, how many more requests it received than in an undisturbed crawl. It ignores
// robots.txt, sitemaps and the page that resets connections, because a reset may hit other connections too.
func fetchedAgain(calm, s *crawltest.Site) map[string]int {
	usual := calm.Times()
	again := map[string]int{}
	for path, n := range s.Times() {
		if path == "/robots.txt" || path == "/f/reset" || strings.HasPrefix(path, "/maps/") {
			continue
		}
		if n > usual[path] {
			again[path] = n - usual[path]
		}
	}
	return again
}
