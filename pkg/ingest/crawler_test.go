package ingest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

// pageSHA256 is the SHA-256 of the page that newWeb serves.
const pageSHA256 = "ad758a95442fd97e623cb31b3863c3dd88acbcfbc081f581dd52d1cff0eb22fb"

func links(n int) []domain.Link {
	out := make([]domain.Link, n)
	for i := range out {
		out[i] = domain.Link{URL: fmt.Sprintf("https://pumps.example/%d", i), Depth: 1}
	}
	return out
}

func TestCrawlerKeepsAPageAndReportsIt(t *testing.T) {
	t.Parallel()
	w := newWeb(crawl.Page{URL: "https://pumps.example/b", Title: "Pumps", ETag: `"2"`, LastModified: "today", MIMEType: "text/html"})
	served, asked := w.fetch, crawl.PageRequest{}
	w.fetch = func(r crawl.PageRequest) (crawl.Page, error) {
		asked = r
		return served(r)
	}
	if err := w.handle(t, crawlJob()); err != nil {
		t.Fatal(err)
	}
	if asked.URL != "https://pumps.example/a" || asked.ETag != `"1"` || asked.LastModified != "yesterday" || asked.WantLinks || asked.Scope != nil {
		t.Errorf("asked for %+v", asked)
	}
	if diff := cmp.Diff([]string{originals.PageKey("page", 7, pageSHA256)}, w.kept); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]domain.EventType{domain.EventRunning, domain.EventFetched}, w.log.types()); diff != "" {
		t.Error(diff)
	}
	want := &domain.Fetched{
		Original: domain.Original{
			Key: originals.PageKey("page", 7, pageSHA256), SHA256: "of <p>Pumps", Size: 8, MIMEType: "text/html", Name: "https://pumps.example/b",
		},
		URL: "https://pumps.example/b", Title: "Pumps", ETag: `"2"`, LastModified: "today",
	}
	if diff := cmp.Diff(want, w.log.last(t, domain.EventFetched).Fetched); diff != "" {
		t.Error(diff)
	}
}

func TestCrawlerReportsTheSamePageForARedeliveredJob(t *testing.T) {
	t.Parallel()
	w := newWeb(crawl.Page{URL: "https://pumps.example/a", MIMEType: "text/html"})
	if err := w.handle(t, crawlJob()); err != nil {
		t.Fatal(err)
	}
	first := w.log.last(t, domain.EventFetched).Fetched.Original
	w.put = func(string, []byte, originals.PutOptions) (domain.Original, error) {
		return domain.Original{}, originals.ErrExists
	}
	if err := w.handle(t, crawlJob()); err != nil {
		t.Fatal(err)
	}
	again := w.log.last(t, domain.EventFetched).Fetched.Original
	first.SHA256 = pageSHA256 // the test double returns a different hash
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	later := crawlJob()
	later.Generation++
	if err := w.handle(t, later); err != nil {
		t.Fatal(err)
	}
	if w.kept[0] != w.kept[1] || w.kept[1] == w.kept[2] {
		t.Errorf("keys are %v, want one for each generation", w.kept)
	}
}

func TestCrawlerReportsPages(t *testing.T) {
	t.Parallel()
	const running, discovered, fetched = domain.EventRunning, domain.EventDiscovered, domain.EventFetched
	tests := map[string]struct {
		page  crawl.Page
		group string // id of the job's site
		want  []domain.EventType
		links []int // number of links in each discovered event

		leftOut int // number of addresses left out
	}{
		"a page that has not changed is not kept": {
			page: crawl.Page{NotModified: true}, want: []domain.EventType{running, domain.EventUnchanged},
		},
		"links go before the page, for the page's event may end the site's crawl": {
			page: crawl.Page{Links: links(2)}, want: []domain.EventType{running, discovered, fetched}, links: []int{2},
		},
		"a page without a link that is taken tells which are left out": {
			page: crawl.Page{Refused: map[scope.Refusal]int{scope.RefusedIncluded: 3}}, want: []domain.EventType{running, discovered, fetched}, links: []int{0},
			leftOut: 3,
		},
		"many links go in several events": {
			page: crawl.Page{Links: links(2*domain.MaxLinksPerEvent + 1)}, want: []domain.EventType{running, discovered, discovered, discovered, fetched},
			links: []int{domain.MaxLinksPerEvent, domain.MaxLinksPerEvent, 1},
		},
		"a page that asks not to be indexed is not, but its links are taken": {
			page: crawl.Page{NoIndex: true, Links: links(1), URL: "https://pumps.example/a"},
			want: []domain.EventType{running, discovered, domain.EventSkipped}, links: []int{1},
		},
		"a page of a site is done in a moment, which is not worth an event of its own": {
			page: crawl.Page{Links: links(2)}, group: "site", want: []domain.EventType{discovered, fetched}, links: []int{2},
		},
		"what was added as a page and is a sitemap becomes a site": {
			page: crawl.Page{IsSitemap: true}, want: []domain.EventType{running, domain.EventSitemap},
		},
		"a feed among the pages of a site is none": {
			page: crawl.Page{IsSitemap: true}, group: "site", want: []domain.EventType{domain.EventSkipped},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := newWeb(test.page), crawlJob()
			job.GroupID = test.group
			if err := w.handle(t, job); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, w.log.types()); diff != "" {
				t.Error(diff)
			}
			var groups []int
			var all []domain.Link
			leftOut := 0
			for _, ev := range w.log.events {
				if ev.Type == discovered {
					groups, all = append(groups, len(ev.Links)), append(all, ev.Links...)
					leftOut += ev.LeftOut[string(scope.RefusedIncluded)]
				}
			}
			if leftOut != test.leftOut {
				t.Errorf("%d addresses are left out, want %d", leftOut, test.leftOut)
			}
			if diff := cmp.Diff(test.links, groups); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.page.Links, all); diff != "" {
				t.Error(diff)
			}
			if kept := len(w.kept) > 0; kept != (test.want[len(test.want)-1] == fetched) {
				t.Errorf("kept %v", w.kept)
			}
		})
	}
}

func TestCrawlerLeavesOutFilesWithoutText(t *testing.T) {
	t.Parallel()
	picture := &crawl.Error{Permanent: true, Message: "https://pumps.example/a contains no text: its type is image/png", Err: crawl.ErrNoText}
	for name, test := range map[string]struct {
		group, root string
		skipped     bool
	}{
		"a page of a site":   {group: "site", root: "https://pumps.example/", skipped: true},
		"the root of a site": {group: "site", root: "https://pumps.example/a"},
		"a page of its own":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := &web{fetch: func(crawl.PageRequest) (crawl.Page, error) { return crawl.Page{}, picture }}, crawlJob()
			if job.GroupID = test.group; test.root != "" {
				job.Crawl.Site = &domain.SiteScope{Root: test.root}
			}
			err := w.handle(t, job)
			if !test.skipped {
				if !reflect.DeepEqual(err, jobs.Permanent(picture)) {
					t.Errorf("err = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if ev := w.log.last(t, domain.EventSkipped); ev.Error != picture.Message {
				t.Errorf("the reason is %q", ev.Error)
			}
		})
	}
}

func TestCrawlerAsksForLinksOnlyWhereTheyAreFollowed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		site *domain.SiteScope
		want bool
		max  int // maximum depth of accepted links
	}{
		"a page of its own":               {},
		"a page of a site with a sitemap": {site: &domain.SiteScope{MaxDepth: 5}, max: 5},
		"a page of a site found by links": {site: &domain.SiteScope{MaxDepth: 5, Follow: true}, want: true, max: 5},
		"a page as deep as the site may be read, for the catalog to count what is beyond": {
			site: &domain.SiteScope{MaxDepth: 2, Follow: true}, want: true, max: 3,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := newWeb(crawl.Page{}), crawlJob()
			job.Crawl.Site, job.Crawl.Depth = test.site, 2
			served := w.fetch
			w.fetch = func(r crawl.PageRequest) (crawl.Page, error) {
				if r.WantLinks != test.want || (r.Scope == nil) != (test.site == nil) || r.Depth != 2 {
					t.Errorf("asked with %+v", r)
				}
				if r.Scope != nil && r.Scope.MaxDepth != test.max {
					t.Errorf("links up to depth %d are asked for", r.Scope.MaxDepth)
				}
				return served(r)
			}
			if err := w.handle(t, job); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestCrawlerReportsASite(t *testing.T) {
	t.Parallel()
	type group struct {
		Links  int
		Follow bool
	}
	tests := map[string]struct {
		groups []int
		found  crawl.Discovery
		want   []group
	}{
		"pages of a sitemap are not asked for links": {
			groups: []int{200, 200, 3}, want: []group{{200, false}, {200, false}, {3, false}},
		},
		"the root of a site without a sitemap says that links are followed": {
			groups: []int{1}, found: crawl.Discovery{Follow: true}, want: []group{{1, true}},
		},
		"a site without pages ends all the same": {},
		"a sitemap that lists every page says so": {
			groups: []int{2}, found: crawl.Discovery{Complete: true}, want: []group{{2, false}},
		},
		"sitemaps that could not be read are told": {
			groups: []int{1}, found: crawl.Discovery{Problems: []string{"b.xml is broken"}}, want: []group{{1, false}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &web{discover: func(_ domain.CrawlSpec, emit func([]domain.Link) error) (crawl.Discovery, error) {
				for _, n := range test.groups {
					if err := emit(links(n)); err != nil {
						return crawl.Discovery{}, err
					}
				}
				return test.found, nil
			}}
			job := crawlJob()
			job.Type = domain.TypeWebSite
			if err := w.handle(t, job); err != nil {
				t.Fatal(err)
			}
			if w.log.events[0].Progress.Stage != "discovering" {
				t.Errorf("the first event is %+v", w.log.events[0])
			}
			var got []group
			for _, ev := range w.log.events {
				if ev.Type == domain.EventDiscovered {
					got = append(got, group{len(ev.Links), ev.Follow})
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			end := w.log.last(t, domain.EventSynched)
			if diff := cmp.Diff(test.found.Problems, end.Warnings); diff != "" || end.Complete != test.found.Complete {
				t.Errorf("complete: %v, %s", end.Complete, diff)
			}
		})
	}
}

func TestCrawlerDoesNotReportTheEndOfADiscoveryThatFailed(t *testing.T) {
	t.Parallel()
	w := &web{discover: func(_ domain.CrawlSpec, emit func([]domain.Link) error) (crawl.Discovery, error) {
		return crawl.Discovery{}, errors.Join(emit(links(1)), &crawl.Error{Message: "the sitemap cannot be had"})
	}}
	job := crawlJob()
	job.Type = domain.TypeWebSite
	if err := w.handle(t, job); !jobs.IsRescheduled(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.EventType{domain.EventRunning, domain.EventPostponed}, w.log.types()); diff != "" {
		t.Error(diff)
	}
}

func TestCrawlerLeavesOutPagesThatTheSiteDoesNotTakeAnyMore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		depth int
		site  domain.SiteScope
		why   string
	}{
		"one that a pattern excludes":       {1, domain.SiteScope{Exclude: []string{"/a*"}}, "https://pumps.example/a was skipped: matched by an exclude pattern."},
		"one that no pattern includes":      {1, domain.SiteScope{Include: []string{"/b/"}}, "https://pumps.example/a was skipped: not matched by an include pattern."},
		"one that is too deep now":          {3, domain.SiteScope{Follow: true, MaxDepth: 2}, "https://pumps.example/a was skipped: too many links away from the root."},
		"nor what the patterns have always": {1, domain.SiteScope{Include: []string{"/a"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := newWeb(crawl.Page{}), crawlJob()
			test.site.Root = "https://pumps.example/"
			job.GroupID, job.Crawl.Depth, job.Crawl.Site = "site", test.depth, &test.site
			job.Crawl.URL = "https://pumps.example/a"
			if err := w.handle(t, job); err != nil {
				t.Fatal(err)
			}
			if test.why == "" {
				w.log.last(t, domain.EventFetched)
			} else if ev := w.log.last(t, domain.EventSkipped); ev.Error != test.why {
				t.Errorf("it says %q", ev.Error)
			}
		})
	}
}

func TestCrawlerOpensTheHeadersOfItsSite(t *testing.T) {
	t.Parallel()
	sealed := &domain.SiteAccess{Origin: "https://pumps.example", Sealed: []byte("sealed")}
	job := crawlJob()
	job.Crawl.Access = sealed
	for name, test := range map[string]struct {
		open func(string, domain.SiteAccess) (*crawl.Access, error)
		says string // expected part of the error; "": no error
	}{
		"with its key": {func(ws string, a domain.SiteAccess) (*crawl.Access, error) {
			return crawl.NewAccess(a.Origin, map[string]string{"Cookie": ws})
		}, ""},
		"with another key": {func(string, domain.SiteAccess) (*crawl.Access, error) { return nil, errors.New("sealed") }, "send config.headers again"},
		"without a key":    {nil, "set SLUICE_SECRET_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(crawl.Page{URL: "https://pumps.example/a", MIMEType: "text/html"})
			c := Crawler{Web: w, Originals: w, Events: &w.log, Now: now, Access: test.open}
			err := c.Handle(t.Context(), job)
			switch {
			case test.says == "" && err != nil:
				t.Errorf("got %v", err)
			case test.says != "" && (!jobs.IsPermanent(err) || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCrawlerReportsLinksThatAreToBeStored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		links, parts int
	}{
		"a page without any says so": {0, 1},
		"a few":                      {3, 1},
		"more than an event takes":   {domain.MaxLinksPerEvent*2 + 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := newWeb(crawl.Page{Links: links(test.links), TextHash: "text", Sketch: []byte{1}}), crawlJob()
			job.GroupID, job.Crawl.Site = "site", &domain.SiteScope{Root: "https://pumps.example/", Follow: true, MaxDepth: 5}
			served := w.fetch
			w.fetch = func(r crawl.PageRequest) (crawl.Page, error) {
				if !r.PastPatterns {
					t.Error("the patterns are left to the crawler, which knows them as they were")
				}
				return served(r)
			}
			if err := w.handle(t, job); err != nil {
				t.Fatal(err)
			}
			for i, ev := range w.log.events[:test.parts] {
				if ev.Type != domain.EventDiscovered || ev.Part != i || ev.Parts != test.parts {
					t.Errorf("event %d is %s, part %d of %d", i, ev.Type, ev.Part, ev.Parts)
				}
			}
			f := w.log.last(t, domain.EventFetched).Fetched
			if !f.LinksKnown || f.TextHash != "text" || len(f.Sketch) != 1 {
				t.Errorf("fetched %+v", f)
			}
		})
	}
}

func TestCrawlerReadsPagesForTheirLinksAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url  string
		site domain.SiteScope
	}{
		"one that no pattern includes":   {"https://pumps.example/a", domain.SiteScope{Include: []string{"/b/"}}},
		"the root that none includes":    {"https://pumps.example/", domain.SiteScope{Include: []string{"/b/"}}},
		"the root that a pattern leaves": {"https://pumps.example/", domain.SiteScope{Exclude: []string{"/"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := newWeb(crawl.Page{Links: links(2)}), crawlJob()
			test.site.Root, test.site.Follow, test.site.MaxDepth = "https://pumps.example/", true, 5
			job.GroupID, job.Crawl.Site, job.Crawl.URL = "site", &test.site, test.url
			served := w.fetch
			w.fetch = func(r crawl.PageRequest) (crawl.Page, error) {
				if r.ETag != "" || r.LastModified != "" {
					t.Error("the request is conditional, so the response may contain no links")
				}
				return served(r)
			}
			if err := w.handle(t, job); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]domain.EventType{domain.EventDiscovered, domain.EventSkipped}, w.log.types()); diff != "" {
				t.Error(diff)
			}
			if ev := w.log.last(t, domain.EventSkipped); !strings.HasPrefix(ev.Error, test.url+" was read only for its links: ") || len(w.kept) > 0 {
				t.Errorf("the error is %q, and %d pages are stored", ev.Error, len(w.kept))
			}
		})
	}
}
