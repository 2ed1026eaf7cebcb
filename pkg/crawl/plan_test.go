package crawl

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl/crawltest"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
)

// planner returns a crawler for generated sites. Its low size limit keeps the sites' decompression bombs cheap.
func planner(t *testing.T) *Crawler {
	t.Helper()
	return local(t, func(o *Options) { o.MaxBody = 1 << 20 })
}

func planSite(t *testing.T, s *crawltest.Site, spec domain.CrawlSpec) (map[string]PlanEntry, PlanSummary) {
	t.Helper()
	spec.Site = &domain.SiteScope{Root: spec.URL, Exclude: s.Exclude(), MaxDepth: s.MaxDepth()}
	got := map[string]PlanEntry{}
	sum, err := planner(t).Plan(t.Context(), PlanRequest{Spec: spec, Check: true, pause: 10 * time.Millisecond}, func(e PlanEntry) error {
		if was, twice := got[e.URL]; twice {
			t.Errorf("told twice: %+v, %+v", was, e)
		}
		got[e.URL] = e
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, sum
}

// decisionOf returns the decision that a plan must reach for an address whose expected result in a crawl is e.
func decisionOf(e crawltest.Expectation) Decision {
	switch {
	case e.Outcome == crawltest.Synched:
		return PlanPage
	case e.Outcome == crawltest.Failed:
		return PlanError
	case e.Reason == crawltest.Duplicate, e.Reason == crawltest.Canonical:
		return PlanDuplicate
	case e.Outcome == crawltest.Skipped:
		return PlanSkipped
	default:
		return PlanLeftOut
	}
}

func comparePlan(t *testing.T, s *crawltest.Site, way crawltest.Way, got map[string]PlanEntry) {
	t.Helper()
	want := s.Expected(way)
	for u, e := range want {
		d := decisionOf(e)
		g, reported := got[u]
		switch {
		case d == PlanLeftOut && !reported: // never encountered, or reported in a different spelling
		case g.Decision != d:
			t.Errorf("%s: %q (%s), want %q (%s)", u, g.Decision, g.Reason, d, e.Reason)
		case e.InFavourOf != "" && !strings.Contains(g.Reason, e.InFavourOf+"."):
			t.Errorf("%s: %s, want it in favour of %s", u, g.Reason, e.InFavourOf)
		case d != PlanPage && g.Reason == "":
			t.Errorf("%s: %s without a reason", u, d)
		}
	}
	for u, g := range got {
		if _, known := want[u]; !known && g.Decision != PlanLeftOut {
			t.Errorf("%s: %q (%s), which nobody has expected", u, g.Decision, g.Reason)
		}
	}
	for _, r := range s.Requests() {
		if e, known := want[s.At(r.Path)]; known && e.Outcome == crawltest.LeftOut && !r.Foreign {
			t.Errorf("%s was asked for, which is to be left out: %s", r.Path, e.Reason)
		}
	}
}

func TestPlan_reports_each_address_of_a_site(t *testing.T) {
	t.Parallel()
	o := crawltest.Options{Seed: 5, Slow: 20 * time.Millisecond, BombBytes: 4 << 20}
	t.Run("by its links", func(t *testing.T) {
		t.Parallel()
		s := crawltest.Serve(t, o)
		got, sum := planSite(t, s, domain.CrawlSpec{URL: s.URL()})
		comparePlan(t, s, crawltest.ByLinks, got)
		if !sum.Follow || sum.Complete || sum.Decisions[PlanPage] != crawltest.MinPages || sum.Reasons[string(scope.RefusedTrap)] == 0 {
			t.Errorf("got %+v", sum)
		}
	})
	t.Run("by its sitemap", func(t *testing.T) {
		t.Parallel()
		s := crawltest.Serve(t, o)
		got, sum := planSite(t, s, domain.CrawlSpec{Sitemap: s.At(crawltest.SitemapPath)})
		comparePlan(t, s, crawltest.BySitemap, got)
		if sum.Follow || !sum.Complete || sum.Sitemaps != 7 || sum.Decisions[PlanPage] != len(s.Pages(crawltest.BySitemap)) {
			t.Errorf("got %+v", sum)
		}
		dated := 0
		for _, e := range got {
			if !e.LastMod.IsZero() {
				dated++
			}
		}
		if dated < len(got)/2 {
			t.Errorf("%d of %d addresses have a time", dated, len(got))
		}
	})
}

func TestPlan_of_a_sitemap_asks_for_no_page(t *testing.T) {
	t.Parallel()
	s := crawltest.Serve(t, crawltest.Options{Announce: true, CrawlDelay: time.Second})
	n := 0
	sum, err := planner(t).Plan(t.Context(), PlanRequest{Spec: domain.CrawlSpec{URL: s.URL()}, Limit: 50}, func(e PlanEntry) error {
		if e.Decision == PlanListed {
			n++
		}
		return nil
	})
	if err != nil || n != 50 || sum.Addresses != 50 || sum.Delay != time.Second || sum.Time != 50*time.Second || sum.Complete || sum.Reasons[string(scope.RefusedPageLimit)] == 0 {
		t.Errorf("%d, %+v, %v", n, sum, err)
	}
	for _, r := range s.Requests() {
		if !strings.HasPrefix(r.Path, "/maps/") && r.Path != "/robots.txt" {
			t.Errorf("asked for %s", r.Path)
		}
	}
}

func TestPlan_keeps_pages_whose_own_address_is_no_page(t *testing.T) {
	t.Parallel()
	page := func(canonical, text string) string {
		const same = "Oil the pump once a year before the winter comes and look at each valve while the water is cold."
		return "<!doctype html><title>x</title><link rel=canonical href='" + canonical + "'><p>" + same + "<p>" + text
	}
	s := routes(t, map[string]string{
		"/":    "<a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a> <a href=/d>d</a> <a href=/e>e</a>",
		"/e":   "<!doctype html><title>e</title><link rel=canonical href='/b'><p>Made of a template that names one page for all of them.",
		"/a":   page("/b", "one"),
		"/b":   page("/a", "two"),
		"/c":   page("/none", "three"),
		"/d":   page("/far", "four"),
		"/far": page("/far", "five"),
	})
	got := map[string]Decision{}
	_, err := local(t).Plan(t.Context(), PlanRequest{Spec: domain.CrawlSpec{URL: s.URL}}, func(e PlanEntry) error {
		got[strings.TrimPrefix(e.URL, s.URL)] = e.Decision
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Decision{
		"/": PlanPage, "/a": PlanDuplicate, "/b": PlanPage, "/c": PlanPage, "/none": PlanError, "/d": PlanDuplicate, "/far": PlanPage, "/e": PlanPage,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlan_ends_with_its_caller(t *testing.T) {
	t.Parallel()
	s := crawltest.Serve(t, crawltest.Options{})
	full := errors.New("no more")
	n := 0
	_, err := planner(t).Plan(t.Context(), PlanRequest{Spec: domain.CrawlSpec{URL: s.URL()}}, func(PlanEntry) error {
		if n++; n == 5 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || n != 5 {
		t.Errorf("%d entries, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = planner(t).Plan(ctx, PlanRequest{Spec: domain.CrawlSpec{URL: s.URL()}}, func(PlanEntry) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for name, u := range map[string]string{"a root that is not there": s.At("/f/missing-0"), "no address": "site"} {
		if _, err := planner(t).Plan(t.Context(), PlanRequest{Spec: domain.CrawlSpec{URL: u}}, func(PlanEntry) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPlan_prefers_where_a_redirect_ends(t *testing.T) {
	t.Parallel()
	long := "which leads to it from a short address that is listed on the first page of all"
	s := routes(t, map[string]string{
		"/":               "<a href=/r>r</a> <a href=/a>a</a> <a href=/q>q</a>",
		"/a":              "<a href=/long/way/page>page</a> <link rel=canonical href='/q'><p>that nothing names but a redirect, " + long,
		"/long/way/page":  "<p>the page itself",
		"/long/way/other": "<p>that nothing names but a redirect, " + long + " here",
	})
	s.Config.Handler = redirecting(s.Config.Handler, map[string]string{"/r": "/long/way/page", "/q": "/long/way/other"})
	got := map[string]Decision{}
	_, err := local(t).Plan(t.Context(), PlanRequest{Spec: domain.CrawlSpec{URL: s.URL}}, func(e PlanEntry) error {
		got[strings.TrimPrefix(e.URL, s.URL)] = e.Decision
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Decision{"/": PlanPage, "/a": PlanDuplicate, "/r": PlanDuplicate, "/long/way/page": PlanPage, "/q": PlanPage}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// redirecting returns a handler that redirects the paths in `to` and passes other requests to `next`.
func redirecting(next http.Handler, to map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if target := to[r.URL.Path]; target != "" {
			http.Redirect(w, r, target, http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func TestPlan_reads_pages_for_their_links_that_no_include_pattern_takes(t *testing.T) {
	t.Parallel()
	s := routes(t, map[string]string{
		"/":       "<a href=/list/1>1</a> <a href=/not/1>not</a><p>Home",
		"/list/1": "<a href=/blog/a>a</a> <a href=/list/2>2</a><p>The first list",
		"/list/2": "<a href=/blog/b>b</a> <a href=/list/3>3</a><p>The second list",
		"/list/3": "<a href=/list/4>4</a><p>The third list",
		"/list/4": "<a href=/blog/c>c</a><p>The fourth list",
		"/blog/a": "<p>A", "/blog/b": "<p>B", "/blog/c": "<p>C", "/not/1": "<a href=/blog/c>c</a><p>Not",
	})
	got, reasons := map[string]Decision{}, map[string]string{}
	_, err := local(t).Plan(t.Context(), PlanRequest{Spec: domain.CrawlSpec{
		URL: s.URL, Site: &domain.SiteScope{Root: s.URL + "/", Include: []string{"/blog/"}, Exclude: []string{"/not/"}, MaxDepth: 9},
	}}, func(e PlanEntry) error {
		at := strings.TrimPrefix(e.URL, s.URL)
		got[at], reasons[at] = e.Decision, e.Reason
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Decision{
		"/": PlanSkipped, "/list/1": PlanSkipped, "/list/2": PlanSkipped, "/list/3": PlanSkipped, "/list/4": PlanLeftOut,
		"/blog/a": PlanPage, "/blog/b": PlanPage, "/not/1": PlanLeftOut,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if reasons["/list/1"] != "It was read only for its links: not matched by an include pattern." || reasons["/not/1"] != string(scope.RefusedExcluded) {
		t.Errorf("got %v", reasons)
	}
}
