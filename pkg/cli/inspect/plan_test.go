package inspect_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/testdata/site"
)

// runPlanCommand runs "sluice crawler plan" on a local site.
func runPlanCommand(args ...string) (out, faults string, code int) {
	var stdout, stderr strings.Builder
	environ := []string{"SLUICE_ALLOW_PRIVATE_ADDRESSES=true", "SLUICE_CRAWL_DELAY=1ms"}
	code = app.Main(app.Crawler, append([]string{"plan"}, args...), environ, &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

func TestPlanShowsWhatACrawlWouldFetch(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(site.Handler())
	t.Cleanup(s.Close)
	for name, c := range map[string]struct {
		args []string
		out  []string // the output must contain these lines
	}{
		"the sitemap's pages, not fetched": {[]string{s.URL}, []string{
			"listed      0  " + s.URL + "/about.html", "       14  listed", "14 addresses, listed in 3 sitemap files",
		}},
		"the sitemap's pages, fetched": {[]string{"--fetch", s.URL}, []string{
			"page        0  " + s.URL + "/about.html", "       14  page", "14 addresses, listed in 3 sitemap files",
			"The pages were not parsed, so a crawl can still fail on damaged pages and pages without text. 1 of 14 pages is in a format other than HTML.",
		}},
		"some of them": {[]string{"--include", "/products/*", "--exclude", "kelp-*", s.URL}, []string{
			"listed      0  " + s.URL + "/products/nimbus-logger.html",
			"left out    0  " + s.URL + "/products/kelp-sensor.html  matched by an exclude pattern",
			"left out    0  " + s.URL + "/about.html  not matched by an include pattern",
		}},
		"no more than two": {[]string{"--max-pages", "2", "--sitemap", s.URL + "/sitemap.xml"}, []string{
			"2 addresses, listed in 1 sitemap file, which does not list every page", "        2  listed",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, faults, code := runPlanCommand(c.args...)
			if code != 0 || faults != "" {
				t.Fatalf("code %d: %s", code, faults)
			}
			for _, line := range c.out {
				if !strings.Contains("\n"+out, "\n"+line+"\n") {
					t.Errorf("%q is missing in\n%s", line, out)
				}
			}
		})
	}
}

func TestPlanAsJSONIsALineForEachAddressAndTheSummary(t *testing.T) {
	t.Parallel()
	s := crawltest.Serve(t, crawltest.Options{})
	out, faults, code := runPlanCommand("--json", "--sitemap", s.At(crawltest.IncompletePath))
	if code != 0 || !strings.Contains(faults, "sluice crawler: warning: "+s.At("/maps/torn.xml")+" is damaged") {
		t.Fatalf("code %d: %s", code, faults)
	}
	listed := 0
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines[:len(lines)-1] {
		var e crawl.PlanEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.URL == "" || e.Decision == "" {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Decision == crawl.PlanListed {
			listed++
		}
	}
	var last struct{ Summary crawl.PlanSummary }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Summary.Complete || last.Summary.Addresses != listed || listed < crawltest.MinPages {
		t.Errorf("%d listed: %s, %v", listed, lines[len(lines)-1], err)
	}
}

func TestPlanSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := crawltest.Serve(t, crawltest.Options{})
	for name, c := range map[string]struct {
		args   []string
		code   int
		faults string // standard error must begin with this text
	}{
		"a site whose root is not there": {[]string{s.At("/f/missing-0")}, 1, "sluice crawler: " + s.At("/f/missing-0") + " does not exist"},
		"a sitemap that lists nothing":   {[]string{"--sitemap", s.At(crawltest.EmptyPath)}, 1, "sluice crawler: the sitemap " + s.At(crawltest.EmptyPath) + " is empty"},
		"an address that is none":        {[]string{"site"}, 1, `sluice crawler: the site's root address "site"`},
		"no site":                        {nil, 2, "sluice crawler: specify a site"},
		"two sites":                      {[]string{s.URL(), s.URL()}, 2, "sluice crawler: unexpected argument"},
		"a limit below nothing":          {[]string{"--max-pages", "-1", s.URL()}, 2, "sluice crawler: --max-pages -1: must be"},
		"an unknown flag":                {[]string{"--deep", s.URL()}, 2, "sluice crawler: flag provided but not defined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, faults, code := runPlanCommand(c.args...); code != c.code || !strings.HasPrefix(faults, c.faults) || out != "" {
				t.Errorf("code %d, %q, %q", code, faults, out)
			}
		})
	}
	if out, faults, code := runPlanCommand("--help"); code != 0 || !strings.HasPrefix(out, "usage: sluice crawler plan") || faults != "" {
		t.Errorf("--help: code %d, %q, %q", code, out, faults)
	}
}
