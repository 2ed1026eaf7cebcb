package domain

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// crawled returns a page whose newest job is a crawl job while readers still see earlier content.
func crawled(change ...func(*Datasource)) Datasource {
	d := source(func(d *Datasource) {
		d.Type, d.Name = TypeWebPage, "Pumps"
		d.Original = &Original{Key: "old", SHA256: "a", MIMEType: "text/html", Name: "http://x/"}
		d.ActiveGeneration, d.Chunks, d.TextBytes, d.Fingerprint, d.LastSynch = 4, 2, 200, "print", &at
		d.Config = DatasourceConfig{SourceURL: "http://x/", SHA256: "a", FileSize: 3, ETag: `"a"`, MIMEType: "text/html"}
		d.Inputs = newIngestJob("j", *d, settled()).Inputs()
	})
	for _, f := range change {
		f(&d)
	}
	return d
}

func ofSite(d *Datasource) { d.GroupID = "site" }

func crawl(t EventType, change ...func(*Event)) Event {
	return event(t, "job-2", 7, func(ev *Event) {
		ev.JobKind, ev.Error = JobCrawl, "because"
		for _, f := range change {
			f(ev)
		}
	})
}

func brings(content string) func(*Event) {
	return func(ev *Event) {
		ev.Error = ""
		ev.Fetched = &Fetched{URL: "http://x/", Original: Original{Key: "new", SHA256: content, MIMEType: "text/html", Name: "http://x/"}}
	}
}

// everywhere returns a sweep for generations lower than `below` in all places.
func everywhere(below uint64) Sweep { return rows(Place{}, 0, below) }

func original(key string) Sweep {
	return Sweep{WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src", Originals: []string{key}}
}

func TestApplyToWebContent(t *testing.T) {
	t.Parallel()
	emptied := func(t *testing.T, d Datasource) {
		t.Helper()
		equal(t, []any{uint64(0), int64(0), int64(0), "", "", (*Original)(nil), "", "", uint64(7)},
			[]any{d.ActiveGeneration, d.Chunks, d.TextBytes, d.Fingerprint, d.Inputs, d.Original, d.Config.ETag, d.Config.SHA256, d.Fence})
	}
	tests := map[string]struct {
		before Datasource
		event  Event
		check  func(t *testing.T, d Datasource, out Outcome)
	}{
		"a skipped page loses its content up to its job's generation, and says why": {
			before: crawled(ofSite), event: crawl(EventSkipped),
			check: func(t *testing.T, d Datasource, out Outcome) {
				emptied(t, d)
				equal(t, []any{StatusSkipped, "because"}, []any{d.Status, d.Error})
				equal(t, Outcome{Changed: true, Settled: true, Sweeps: []Sweep{everywhere(8), original("old")}}, out)
			},
		},
		"a page that never had content is skipped without a sweep": {
			before: source(func(d *Datasource) { d.Type, d.Runs = TypeWebPage, 0 }), event: crawl(EventSkipped),
			check: func(t *testing.T, _ Datasource, out Outcome) {
				equal(t, []Sweep(nil), out.Sweeps)
			},
		},
		"what a datastore moves to is swept of a skipped page as well": {
			before: crawled(func(d *Datasource) { d.Target, d.MoveID = &Target{Generation: 9}, "move" }), event: crawl(EventSkipped),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, everywhere(10), out.Sweeps[0])
				equal(t, []any{(*Target)(nil), ""}, []any{d.Target, d.MoveID})
			},
		},
		"content of an overtaken job does not come back to a page that was skipped": {
			before: source(func(d *Datasource) { d.Type, d.Status, d.JobID = TypeWebPage, StatusSkipped, "" }),
			event:  event(EventSynched, "job-1", 9, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(0), d.ActiveGeneration)
				equal(t, []Sweep{rows(here, 9, 10)}, out.Sweeps)
			},
		},
		"what an overtaken job wrote before it failed goes, when the page was skipped meanwhile": {
			before: source(func(d *Datasource) { d.Type, d.Status, d.JobID = TypeWebPage, StatusSkipped, "" }),
			event:  event(EventError, "job-1", 9, nil),
			check: func(t *testing.T, _ Datasource, out Outcome) {
				equal(t, Outcome{Sweeps: []Sweep{rows(here, 0, 10)}}, out)
			},
		},
		"a page of a site that is gone leaves, with what it has": {
			before: crawled(ofSite), event: crawl(EventGone),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, Outcome{Changed: true, Settled: true, Removed: true}, out)
				equal(t, "old", d.Original.Key) // kept for the sweep queued by the removal
			},
		},
		"a page of a site that is gone and had content once leaves": {
			before: source(func(d *Datasource) { d.Type, d.GroupID, d.LastSynch = TypeWebPage, "site", &at }), event: crawl(EventGone),
			check: func(t *testing.T, _ Datasource, out Outcome) { equal(t, true, out.Removed) },
		},
		"a page of a site that never had content stays with the reason": {
			before: source(func(d *Datasource) { d.Type, d.GroupID = TypeWebPage, "site" }), event: crawl(EventGone),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []any{false, StatusError, "because"}, []any{out.Removed, d.Status, d.Error})
			},
		},
		"a page of its own that is gone stays without its content": {
			before: crawled(), event: crawl(EventGone),
			check: func(t *testing.T, d Datasource, out Outcome) {
				emptied(t, d)
				equal(t, []any{false, StatusError, "because"}, []any{out.Removed, d.Status, d.Error})
			},
		},
		"a postponed job is another job that does the same, later": {
			before: crawled(), event: crawl(EventPostponed, func(ev *Event) {
				ev.Crawl, ev.Tries, ev.Until = &CrawlSpec{URL: "http://x/", ETag: `"a"`, Depth: 2}, 3, at.Add(time.Hour)
			}),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []any{StatusUnsynched, StageRetrying, "because", uint64(4), 1}, []any{d.Status, d.Progress.Stage, d.Error, d.ActiveGeneration, d.Runs})
				equal(t, PostponedJobID("job-2", 7), d.JobID)
				equal(t, []any{d.JobID, JobCrawl, 3, `"a"`, 2, at.Add(time.Hour), true},
					[]any{out.Next.ID, out.Next.Kind, out.Next.Tries, out.Next.Crawl.ETag, out.Next.Crawl.Depth, out.NotBefore, out.Settled})
			},
		},
		"a job that waits its turn without fault shows none": {
			before: crawled(), event: crawl(EventPostponed, func(ev *Event) { ev.Error, ev.Crawl, ev.Until = "", &CrawlSpec{}, at }),
			check: func(t *testing.T, d Datasource, _ Outcome) { equal(t, []any{"", ""}, []any{d.Error, d.Progress.Stage}) },
		},
		"no job is put off for longer than a day": {
			before: crawled(), event: crawl(EventPostponed, func(ev *Event) { ev.Crawl, ev.Until = &CrawlSpec{}, at.AddDate(1, 0, 0) }),
			check: func(t *testing.T, _ Datasource, out Outcome) { equal(t, at.Add(MaxPostponed), out.NotBefore) },
		},
		"a sitemap added as a page becomes a site whose crawl is next": {
			before: crawled(), event: crawl(EventSitemap),
			check: func(t *testing.T, d Datasource, out Outcome) {
				emptied(t, d)
				equal(t, []any{TypeWebSite, "http://x/", "", StatusUnsynched, at}, []any{d.Type, d.Config.Sitemap, d.Config.SourceURL, d.Status, d.Crawl.StartedAt})
				equal(t, []any{SitemapJobID("job-2", 7), d.JobID, TypeWebSite, "http://x/", true},
					[]any{out.Next.ID, out.Next.ID, out.Next.Type, out.Next.Crawl.Sitemap, out.Begins})
			},
		},
		"a sitemap among the pages of a site is skipped": {
			before: crawled(ofSite), event: crawl(EventSitemap),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []any{StatusSkipped, TypeWebPage, true}, []any{d.Status, d.Type, out.Next == nil})
			},
		},
		"a page fetched as readers see it is unchanged, and its newest original stays": {
			before: crawled(), event: crawl(EventFetched, brings("a")),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []any{StatusSynched, true, "new", uint64(4)}, []any{d.Status, d.Unchanged, d.Original.Key, d.ActiveGeneration})
				equal(t, true, d.Config.ChangedAt.IsZero())
				equal(t, Outcome{Changed: true, Settled: true, Sweeps: []Sweep{original("old")}}, out)
			},
		},
		"a page fetched with other content is read": {
			before: crawled(func(d *Datasource) { d.Unchanged = true }), event: crawl(EventFetched, brings("b")),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []any{StatusRunning, false, JobIngest}, []any{d.Status, d.Unchanged, out.Next.Kind})
				equal(t, []any{false, true}, []any{d.Config.ChangedAt.IsZero(), out.Next.ChangedAt.Equal(d.Config.ChangedAt)})
			},
		},
		"a page fetched as it was, of which it is not known what readers see, is read": {
			before: crawled(func(d *Datasource) { d.Inputs = "" }), event: crawl(EventFetched, brings("a")),
			check: func(t *testing.T, _ Datasource, out Outcome) { equal(t, JobIngest, out.Next.Kind) },
		},
		"a page fetched as it was, of which readers see nothing, is read": {
			before: crawled(func(d *Datasource) { d.ActiveGeneration = 0 }), event: crawl(EventFetched, brings("a")),
			check: func(t *testing.T, _ Datasource, out Outcome) { equal(t, JobIngest, out.Next.Kind) },
		},
		"a page that was found unchanged is not fetched by another run of its job": {
			before: crawled(func(d *Datasource) { d.Status = StatusSynched }), event: crawl(EventFetched, brings("b")),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, Outcome{Sweeps: []Sweep{original("new")}}, out)
				equal(t, "old", d.Original.Key)
			},
		},
		"a fetch tells where the page lies, at most ten hops away": {
			before: crawled(), event: crawl(EventFetched, brings("b"), func(ev *Event) {
				ev.Fetched.URL, ev.Fetched.Canonical, ev.Fetched.Rendered = "http://x/b", "http://x/c", true
				ev.Fetched.Redirects = make([]Redirect, 30)
			}),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, []any{"http://x/b", "http://x/c", true, 10}, []any{d.Config.FinalURL, d.Config.Canonical, d.Config.Rendered, len(d.Config.Redirects)})
			},
		},
		"a page that has not changed says so": {
			before: crawled(func(d *Datasource) { d.DuplicateOf = "other" }), event: crawl(EventUnchanged, func(ev *Event) { ev.Error = "" }),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, []any{StatusSynched, true, ""}, []any{d.Status, d.Unchanged, d.DuplicateOf})
			},
		},
		"the end of a complete list has what it lacks removed": {
			before: source(func(d *Datasource) { d.Type = TypeWebSite }),
			event:  crawl(EventSynched, func(ev *Event) { ev.Complete, ev.LeftOut = true, map[string]int{"excluded": 2} }),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, Crawl{StartedAt: at, MissingPages: RestRemoved, LeftOut: map[string]int{"excluded": 2}}, *d.Crawl)
			},
		},
		"the end of a list that may lack pages leaves them": {
			before: source(func(d *Datasource) { d.Type = TypeWebSite }), event: crawl(EventSynched),
			check: func(t *testing.T, d Datasource, _ Outcome) { equal(t, RestKept, d.Crawl.MissingPages) },
		},
		"where links are followed, pages that were not come upon are asked": {
			before: source(func(d *Datasource) { d.Type, d.FollowLinks = TypeWebSite, true }), event: crawl(EventSynched, func(ev *Event) { ev.Complete = true }),
			check: func(t *testing.T, d Datasource, _ Outcome) { equal(t, RestRefetched, d.Crawl.MissingPages) },
		},
		"what an overtaken job of a site discovers is nothing": {
			before: source(func(d *Datasource) { d.Type, d.JobID = TypeWebSite, "job-3" }),
			event:  crawl(EventDiscovered, func(ev *Event) { ev.Links, ev.Follow = []Link{{URL: "http://x/"}}, true }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, Outcome{}, out)
				equal(t, false, d.FollowLinks)
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := test.before
			out := Apply(&d, settled(), test.event)
			test.check(t, d, out)
		})
	}
}

func TestTheEndOfACrawlCountsOnceAndOnlyForItsNewestJob(t *testing.T) {
	t.Parallel()
	for _, typ := range []EventType{EventSkipped, EventGone, EventPostponed, EventSitemap} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			ev := crawl(typ, func(ev *Event) { ev.Crawl, ev.Until = &CrawlSpec{}, at })
			for name, before := range map[string]Datasource{
				"of an overtaken job": crawled(func(d *Datasource) { d.JobID = "job-3" }),
				"after synched":       crawled(func(d *Datasource) { d.Status = StatusSynched }),
				"after an error":      crawled(func(d *Datasource) { d.Status = StatusError }),
				"after it was left":   crawled(func(d *Datasource) { d.Status = StatusSkipped }),
			} {
				d := before
				equal(t, Outcome{}, Apply(&d, settled(), ev))
				if t.Failed() {
					t.Log(name)
				}
				equal(t, before, d)
			}
			d := crawled()
			Apply(&d, settled(), ev)
			once := d
			equal(t, Outcome{}, Apply(&once, settled(), ev).withoutRemoval())
			equal(t, d, once)
		})
	}
}

// withoutRemoval returns the outcome o. If o removes the datasource, it returns an empty outcome, because no event
// applies to a removed datasource.
func (o Outcome) withoutRemoval() Outcome {
	if o.Removed {
		return Outcome{}
	}
	return o
}

func TestSiteKeepsABoundedNumberOfReasons(t *testing.T) {
	t.Parallel()
	d := Datasource{Type: TypeWebSite, Crawl: &Crawl{LeftOut: map[string]int{"kept": 1}}}
	shared := d
	many := map[string]int{"kept": 1}
	for i := range 3 * maxLeftOut {
		many[fmt.Sprint("reason ", i)] = 1
	}
	equal(t, true, d.AddLeftOut(many))
	equal(t, maxLeftOut, len(d.Crawl.LeftOut))
	equal(t, 2, d.Crawl.LeftOut["kept"])
	equal(t, map[string]int{"kept": 1}, shared.Crawl.LeftOut)
	equal(t, false, d.AddLeftOut(nil))
}

func TestInputs(t *testing.T) {
	t.Parallel()
	job := NewIngestJob(crawled(), settled())
	same := job
	same.ID, same.Places, same.Previous = "other", nil, nil
	equal(t, job.Inputs(), same.Inputs())
	for name, change := range map[string]func(*Job){
		"content":  func(j *Job) { j.Original = &Original{SHA256: "b", MIMEType: "text/html", Name: "http://x/"} },
		"type":     func(j *Job) { j.Original = &Original{SHA256: "a", MIMEType: "text/plain", Name: "http://x/"} },
		"address":  func(j *Job) { j.Original = &Original{SHA256: "a", MIMEType: "text/html", Name: "http://x/b"} },
		"name":     func(j *Job) { j.Name = "other" },
		"id":       func(j *Job) { j.CustomID = "other" },
		"metadata": func(j *Job) { j.Metadata = map[string]any{"a": 1} },
		"chunking": func(j *Job) { j.Chunking.TargetTokens = 9 },
	} {
		other := job
		if change(&other); other.Inputs() == job.Inputs() {
			t.Errorf("jobs that differ in their %s have the same inputs", name)
		}
	}
	equal(t, "", Job{Original: &Original{Key: "k"}}.Inputs())
	equal(t, job.Inputs(), job.Event(EventSynched, at).Inputs)
	equal(t, "", job.Event(EventRunning, at).Inputs)
	spec := &CrawlSpec{URL: "http://x/"}
	equal(t, spec, Job{Kind: JobCrawl, Crawl: spec}.Event(EventPostponed, at).Crawl)
}

func TestSettlePagesWithPagesLeftOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pages    SiteProgress
		stopped  bool
		status   Status
		error    string
		warnings int
	}{
		"left out pages are no failures":               {pages: SiteProgress{Discovered: 3, Skipped: 2}, status: StatusSynched},
		"all left out":                                 {pages: SiteProgress{Discovered: 3, Skipped: 3}, status: StatusError, error: "All of the site's 3 pages were skipped. Example: why"},
		"some failed and the others left out":          {pages: SiteProgress{Discovered: 3, Skipped: 1, Failed: 2}, status: StatusError, error: "The site has no readable page: of 3 pages, 2 could not be read and 1 were skipped. Example: why"},
		"some failed, some left out, one could be had": {pages: SiteProgress{Discovered: 3, Skipped: 1, Failed: 1}, status: StatusSynched, warnings: 1},
		"stopped":                      {pages: SiteProgress{Discovered: 3, Skipped: 1}, stopped: true, status: StatusSynched, warnings: 1},
		"stopped before there was any": {stopped: true, status: StatusError, error: "The crawl was stopped before any page was found.", warnings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Datasource{Type: TypeWebSite, Status: StatusRunning, Crawl: &Crawl{}}
			if test.stopped {
				d.Crawl.StoppedAt = at
			}
			equal(t, true, d.SettlePages(test.pages, "why", at))
			equal(t, []any{test.status, test.error, test.warnings}, []any{d.Status, d.Error, len(d.Warnings)})
			equal(t, false, d.SettlePages(test.pages, "why", at))
		})
	}
	d := Datasource{Type: TypeWebSite, Status: StatusRunning}
	d.SettlePages(SiteProgress{Discovered: 40, Failed: 12}, "why", at)
	if !strings.HasPrefix(d.Warnings[0], "12 of 40 pages could not be read") {
		t.Error(d.Warnings)
	}
}

func TestALateUnchangedEventDoesNotSynchAPageThatWasLeftOut(t *testing.T) {
	t.Parallel()
	d := Datasource{ID: "p", Type: TypeWebPage, GroupID: "s", Processing: Processing{JobID: "j"}, Status: StatusSkipped, Error: "It repeats another."}
	out := Apply(&d, Datastore{}, Event{Type: EventUnchanged, JobKind: JobCrawl, JobID: "j", DatasourceID: "p", Generation: 3})
	if d.Status != StatusSkipped || d.Error == "" || out.Changed || out.Settled {
		t.Errorf("%+v, %+v", d, out)
	}
}

func TestBetter_of_two_pages_with_the_same_content(t *testing.T) {
	t.Parallel()
	page := func(url string, depth int, final string) DatasourceConfig {
		return DatasourceConfig{SourceURL: url, Depth: depth, FinalURL: final}
	}
	for name, c := range map[string]struct{ better, worse DatasourceConfig }{
		"one without a redirect":             {page("http://x/long/way", 3, ""), page("http://x/r", 1, "http://x/elsewhere")},
		"where a redirect ended":             {page("http://x/long/way", 3, "http://x/more"), page("http://x/r", 1, "http://x/long/way")},
		"fewer links from the root":          {page("http://x/long/way", 1, ""), page("http://x/r", 2, "")},
		"the shorter address":                {page("http://x/b", 1, "http://x/c"), page("http://x/aa", 1, "http://x/c")},
		"the first of equal ones":            {page("http://x/a", 1, ""), page("http://x/b", 1, "")},
		"the shorter of two in each other's": {page("http://x/b", 1, "http://x/aa"), page("http://x/aa", 1, "http://x/b")},
	} {
		if !c.better.IsBetterThan(c.worse) || c.worse.IsBetterThan(c.better) {
			t.Errorf("%s does not come first", name)
		}
	}
}
