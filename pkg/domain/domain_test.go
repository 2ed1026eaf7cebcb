package domain

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestDerivedIDsAreDeterministic(t *testing.T) {
	t.Parallel()
	equal(t, ChildID("site", "http://x/a"), ChildID("site", "http://x/a"))
	if ChildID("site", "http://x/a") == ChildID("site", "http://x/b") {
		t.Error("two pages share an id")
	}
	if DerivedID("a", "bc") == DerivedID("ab", "c") {
		t.Error("the parts of an id run into one another")
	}
	for _, id := range []string{NewID(), ChildID("s", "u"), IngestJobID("j", 1)} {
		if !ValidID(id) {
			t.Errorf("%q is not a valid id", id)
		}
	}
	for _, id := range []string{"", "x", "a.b", "../etc", "{" + NewID() + "}", "URN:UUID:" + NewID()} {
		if ValidID(id) {
			t.Errorf("%q passes as an id", id)
		}
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	equal(t, Code(""), CodeOf(nil))
	equal(t, CodeInternal, CodeOf(errors.New("x")))
	equal(t, CodeNotFound, CodeOf(fmt.Errorf("reading: %w", NotFound("agent", "1"))))
}

func TestWriteIncludesRead(t *testing.T) {
	t.Parallel()
	k := APIKey{Scopes: []Scope{ScopeWrite}}
	equal(t, true, k.Can(ScopeRead))
	equal(t, false, k.Can(ScopeQuery))
	equal(t, false, APIKey{Scopes: []Scope{ScopeRead}}.Can(ScopeWrite))
}

func TestPatchLeavesAbsentFields(t *testing.T) {
	t.Parallel()
	name, empty := "new", ""
	a := Agent{Name: "old", Description: "d", SystemPrompt: "s"}
	AgentPatch{Name: &name, SystemPrompt: &empty}.Apply(&a)
	equal(t, Agent{Name: "new", Description: "d"}, a)
	d := Datastore{Name: "old", Description: "d"}
	DatastorePatch{Name: &name}.Apply(&d)
	equal(t, Datastore{Name: "new", Description: "d"}, d)
}

func TestCrawlJobAsksConditionallyOnlyForWhatIsIndexed(t *testing.T) {
	t.Parallel()
	d := Datasource{ID: "p", Type: TypeWebPage, Config: DatasourceConfig{SourceURL: "http://x/", ETag: `"a"`}}
	equal(t, "", NewCrawlJob(d, settled()).Crawl.ETag)
	d.ActiveGeneration = 3
	for _, s := range []Status{StatusUnsynched, StatusPending, StatusRunning, StatusError} {
		d.Status = s // readers may not see the last fetch's content in these states
		equal(t, "", NewCrawlJob(d, settled()).Crawl.ETag)
	}
	d.Status = StatusSynched
	equal(t, `"a"`, NewCrawlJob(d, settled()).Crawl.ETag)
}

func TestPageJobIsTheSameForOneRunOfTheSite(t *testing.T) {
	t.Parallel()
	site := Datasource{ID: "s", Type: TypeWebSite, Config: DatasourceConfig{SourceURL: "http://x/"}, Processing: Processing{FollowLinks: true}}
	page := Datasource{ID: "p", Type: TypeWebPage, GroupID: "s", Config: DatasourceConfig{SourceURL: "http://x/a", Depth: 2}}
	job := NewPageJob(site, page, "run-1", settled())
	equal(t, job.ID, NewPageJob(site, page, "run-1", settled()).ID)
	if job.ID == NewPageJob(site, page, "run-2", settled()).ID {
		t.Error("two runs share a job")
	}
	equal(t, &SiteScope{Root: "http://x/", MaxDepth: DefaultMaxDepth, Follow: true}, job.Crawl.Site)
	equal(t, 2, job.Crawl.Depth)
}

func TestADatasourceIsOutdatedUntilItsChangeIsSearchable(t *testing.T) {
	t.Parallel()
	synched := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*Datasource)
		want   bool
	}{
		"never changed":             {func(d *Datasource) { d.Status = StatusError }, false},
		"changed and searchable":    {func(d *Datasource) { d.Config.ChangedAt = synched.Add(-time.Second) }, false},
		"indexed again":             {func(d *Datasource) { d.Status, d.Config.ChangedAt = StatusRunning, synched.Add(-time.Second) }, false},
		"replaced, in progress":     {func(d *Datasource) { d.Status, d.Config.ChangedAt = StatusPending, synched.Add(time.Second) }, true},
		"replaced by a broken file": {func(d *Datasource) { d.Status, d.Config.ChangedAt = StatusError, synched.Add(time.Second) }, true},
		"replaced before any content": {func(d *Datasource) {
			d.Status, d.Chunks, d.LastSynch, d.Config.ChangedAt = StatusPending, 0, nil, synched
		}, false},
	} {
		d := Datasource{Status: StatusSynched, Chunks: 5, LastSynch: &synched}
		test.change(&d)
		if got := d.IsOutdated(); got != test.want {
			t.Errorf("%s: outdated is %t", name, got)
		}
	}
}
