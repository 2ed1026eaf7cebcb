package domain

import (
	"errors"
	"testing"
)

// pageOf returns a page of siteOfPages.
func pageOf(address, canonical string) Datasource {
	site := siteOfPages()
	return Datasource{
		ID: ChildID(site.ID, address), GroupID: site.ID, Type: TypeWebPage, Status: StatusSynched, Processing: Processing{ActiveGeneration: 1},
		Original: &Original{SHA256: address}, Config: DatasourceConfig{SourceURL: address, Canonical: canonical},
	}
}

func siteOfPages() Datasource {
	return Datasource{ID: "site", Type: TypeWebSite, Config: DatasourceConfig{SourceURL: "https://a.example/"}}
}

func TestNamesPage(t *testing.T) {
	t.Parallel()
	const root, a, b = "https://a.example/", "https://a.example/a", "https://a.example/b"
	for name, c := range map[string]struct {
		page  Datasource
		names string
		want  bool
	}{
		"no canonical address":               {pageOf(a, ""), b, false},
		"another page":                       {pageOf(a, b), b, true},
		"not that page":                      {pageOf(a, b), a, false},
		"the root, named by any page":        {pageOf(a, root), root, false},
		"the root, named by its other names": {pageOf("https://a.example/index.html", root), root, SameAddress("https://a.example/index.html", root)},
		"itself":                             {pageOf(a, a), a, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := siteOfPages()
			equal(t, c.want, site.HasCanonical(c.page.Config, ChildID(site.ID, c.names)))
		})
	}
}

func TestMayYieldTo(t *testing.T) {
	t.Parallel()
	page, target := pageOf("https://a.example/a", "https://a.example/b"), pageOf("https://a.example/b", "")
	with := func(d Datasource, change func(*Datasource)) Datasource { change(&d); return d }
	fresh := with(page, func(d *Datasource) { d.ActiveGeneration, d.Original = 0, nil })
	for name, c := range map[string]struct {
		page, target Datasource
		similar      bool
		want         bool
	}{
		"a similar page with content":              {page, target, true, true},
		"a page with another text":                 {page, target, false, false},
		"a page that is left out":                  {page, with(target, func(d *Datasource) { d.Status = StatusSkipped }), true, false},
		"a page that failed without content":       {page, with(target, func(d *Datasource) { d.Status, d.ActiveGeneration = StatusError, 0 }), true, false},
		"its own duplicate":                        {page, with(target, func(d *Datasource) { d.DuplicateOf = page.ID }), true, false},
		"a page that was never fetched":            {fresh, with(target, func(d *Datasource) { d.Status, d.ActiveGeneration, d.Original = StatusUnsynched, 0, nil }), false, true},
		"content never yields to what has none":    {page, with(target, func(d *Datasource) { d.Status, d.ActiveGeneration = StatusRunning, 0 }), true, false},
		"content yields to what is updated":        {page, with(target, func(d *Datasource) { d.Status = StatusRunning }), true, true},
		"a fresh page yields to what is worked on": {fresh, with(target, func(d *Datasource) { d.Status, d.ActiveGeneration = StatusRunning, 0 }), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, c.want, c.page.MayBeReplacedBy(c.target, c.similar))
		})
	}
}

func TestYields(t *testing.T) {
	t.Parallel()
	const a, b = "https://a.example/a", "https://a.example/b"
	site := siteOfPages()
	keeper := pageOf(b, "")
	equal(t, true, site.IsReplacedBy(pageOf(a, b), keeper, true))
	equal(t, false, site.IsReplacedBy(pageOf(a, b), keeper, false))
	equal(t, false, site.IsReplacedBy(pageOf(a, ""), keeper, true))
	equal(t, false, site.IsReplacedBy(keeper, keeper, true))
	equal(t, false, site.IsReplacedBy(pageOf(a, b), pageOf(b, a), true)) // each names the other as canonical
	stranger := pageOf(a, b)
	stranger.GroupID = "another"
	equal(t, false, site.IsReplacedBy(stranger, keeper, true))
}

func TestCanonicalCycle(t *testing.T) {
	t.Parallel()
	const base = "https://a.example/"
	site := siteOfPages()
	broken := errors.New("broken")
	// cycle calls CanonicalCycle. pages maps each page (a letter) to its canonical page.
	cycle := func(t *testing.T, pages map[string]string, from, back string) (bool, error) {
		t.Helper()
		byID := map[string]*Datasource{}
		for p, names := range pages {
			if names != "" {
				names = base + names
			}
			d := pageOf(base+p, names)
			byID[d.ID] = &d
		}
		return site.CanonicalCycle(*byID[ChildID(site.ID, base+from)], ChildID(site.ID, base+back), func(id string) (*Datasource, error) {
			if id == ChildID(site.ID, base+"broken") {
				return nil, broken
			}
			return byID[id], nil
		})
	}
	for name, c := range map[string]struct {
		pages map[string]string
		want  bool
		err   error
	}{
		"the target names nobody":           {map[string]string{"b": ""}, false, nil},
		"the target names itself":           {map[string]string{"b": "b"}, false, nil},
		"the two name each other":           {map[string]string{"b": "a"}, false, nil},
		"three in a ring":                   {map[string]string{"b": "c", "c": "a"}, true, nil},
		"a ring that it is not in":          {map[string]string{"b": "c", "c": "d", "d": "c"}, false, nil},
		"a chain that leaves what is known": {map[string]string{"b": "c"}, false, nil},
		"a page that cannot be read":        {map[string]string{"b": "broken"}, false, broken},
		"a ring that is too long to follow": {map[string]string{"b": "1", "1": "2", "2": "3", "3": "4", "4": "5", "5": "6", "6": "7", "7": "8", "8": "a"}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := cycle(t, c.pages, "b", "a")
			if got != c.want || !errors.Is(err, c.err) {
				t.Fatalf("%v, %v", got, err)
			}
		})
	}
}

func TestBestPage(t *testing.T) {
	t.Parallel()
	equal(t, -1, BestPage(nil))
	equal(t, 1, BestPage([]DatasourceConfig{{SourceURL: "https://a.example/long"}, {SourceURL: "https://a.example/a"}, {SourceURL: "https://a.example/b"}}))
}

func TestAPageChangeAffectsPagesLeftOutForIt(t *testing.T) {
	t.Parallel()
	const a, b = "https://a.example/a", "https://a.example/b"
	site := siteOfPages()
	keeper := pageOf(b, "")
	with := func(d Datasource, change func(*Datasource)) Datasource { change(&d); return d }
	fresh := with(keeper, func(d *Datasource) { d.Original, d.ActiveGeneration = nil, 0 })
	for name, c := range map[string]struct {
		before, after Datasource
		want          PageChange
	}{
		"nothing new":        {keeper, keeper, PageSame},
		"no page of a site":  {fresh, with(keeper, func(d *Datasource) { d.GroupID = "" }), PageSame},
		"left out":           {keeper, with(keeper, func(d *Datasource) { d.Status = StatusSkipped }), PageLost},
		"failed, with old":   {keeper, with(keeper, func(d *Datasource) { d.Status = StatusError }), PageSame},
		"failed, with none":  {fresh, with(fresh, func(d *Datasource) { d.Status = StatusError }), PageLost},
		"fetched first":      {fresh, keeper, PageKnown},
		"fetched, with news": {keeper, with(keeper, func(d *Datasource) { d.Original = &Original{SHA256: "new"} }), PageDiffers},
		"leads elsewhere":    {keeper, with(keeper, func(d *Datasource) { d.Config.FinalURL = a }), PageDiffers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, c.want, c.after.ChangeFrom(c.before))
		})
	}
	skipped := func(canonical string) Datasource {
		return with(pageOf(a, canonical), func(d *Datasource) { d.Status = StatusSkipped })
	}
	for name, c := range map[string]struct {
		page    Datasource
		change  PageChange
		similar bool
		want    bool
	}{
		"its page has no content":                     {skipped(b), PageLost, true, true},
		"it is not left out any more":                 {pageOf(a, b), PageLost, true, false},
		"it belongs to another site":                  {with(skipped(b), func(d *Datasource) { d.GroupID = "another" }), PageLost, true, false},
		"other content, and it names the page":        {skipped(b), PageDiffers, true, false},
		"other content, named, but unlike":            {skipped(b), PageDiffers, false, true},
		"other content, a mere duplicate":             {skipped(""), PageDiffers, true, true},
		"first content, named, alike":                 {skipped(b), PageKnown, true, false},
		"first content, named, and unlike":            {skipped(b), PageKnown, false, true},
		"first content is no matter of others' texts": {skipped(""), PageKnown, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, c.want, site.FetchesAgain(c.page, keeper.ID, c.change, c.similar))
		})
	}
}

func TestSiteReach(t *testing.T) {
	t.Parallel()
	reach := func(change func(*SiteReach)) *SiteReach {
		c := DatasourceConfig{SourceURL: "https://a.example/", Include: []string{"/docs/**"}, Exclude: []string{"/docs/old/**"}, MaxDepth: 3}
		r := &SiteReach{Scope: c.Scope(true), Limit: 2, Pages: 1, MaxLeads: 5}
		change(r)
		return r
	}
	same := func(*SiteReach) {}
	for name, c := range map[string]struct {
		reach *SiteReach
		path  string
		depth int
		lead  int
		why   string
		gets  int
	}{
		"a page that is included":            {reach(same), "docs/a", 1, 1, "", 0},
		"the root, whatever the patterns":    {reach(same), "", 9, 9, "", 0},
		"a page that is excluded":            {reach(same), "docs/old/a", 1, 1, LeftExcluded, 0},
		"a page that is too deep":            {reach(same), "docs/a", 4, 1, LeftTooDeep, 0},
		"a page that may lead to others":     {reach(same), "news", 1, 1, "", 1},
		"but not at the end of the depth":    {reach(same), "news", 3, 1, LeftNotIncluded, 0},
		"but not after too many of its kind": {reach(same), "news", 1, MaxLead + 1, LeftNotIncluded, 0},
		"but not when there are too many":    {reach(func(r *SiteReach) { r.Leads = 5 }), "news", 1, 1, LeftNotIncluded, 0},
		"one less is not too many":           {reach(func(r *SiteReach) { r.Leads = 4 }), "news", 1, 1, "", 1},
		"but not by a sitemap":               {reach(func(r *SiteReach) { r.Scope.Follow = false }), "news", 1, 1, LeftNotIncluded, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why, lead := c.reach.Judge(Link{URL: "https://a.example/" + c.path, Depth: c.depth}, c.lead)
			equal(t, c.why, why)
			equal(t, c.gets, lead)
		})
	}
	t.Run("pages that are read for their links do not fill the site", func(t *testing.T) {
		t.Parallel()
		r := reach(same)
		r.Add(1)
		equal(t, false, r.Full())
		equal(t, int64(1), r.Leads)
		r.Add(0)
		equal(t, true, r.Full())
	})
	t.Run("a page that comes to lead on says so", func(t *testing.T) {
		t.Parallel()
		r := reach(func(r *SiteReach) { r.Refused = 1 })
		page := Datasource{Status: StatusSkipped, Config: DatasourceConfig{SourceURL: "https://a.example/news", Lead: LeadsNowhere}}
		r.SetLead(&page, 1)
		equal(t, 1, page.Config.Lead)
		equal(t, r.Scope.LeftOutReason(LeftNotIncluded, page.Config.SourceURL), page.Error)
		equal(t, int64(1), r.Refused)
		equal(t, int64(1), r.Leads)
		r.SetLead(&page, 0)
		equal(t, int64(0), r.Refused)
		equal(t, int64(0), r.Leads)
	})
}
