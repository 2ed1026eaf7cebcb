package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// crawled applies the event that a crawler sends with the result of a datasource's crawl.
func (s *service) crawled(id string, t domain.EventType, change func(*domain.Event)) {
	s.Helper()
	d, err := s.catalog.Datasource(s.Context(), s.ws, id)
	must(s.T, err)
	store, err := s.catalog.DatastoreByID(s.Context(), d.DatastoreID)
	must(s.T, err)
	job := domain.NewCrawlJob(d, store)
	job.ID, job.Generation = d.JobID, 1
	ev := job.Event(t, s.clock.Now())
	change(&ev)
	_, err = s.catalog.Apply(s.Context(), ev)
	must(s.T, err)
}

func TestASiteShowsTheProgressOfItsPages(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	site := s.newSite(store, object{})
	if crawl := s.call("GET", "/datasources/"+site, nil).want(200).object()["crawl"]; crawl == nil {
		t.Error("a site that waits for its crawl shows no crawl")
	}
	s.crawled(site, domain.EventDiscovered, func(ev *domain.Event) {
		ev.Links = []domain.Link{{URL: "https://pumps.example/a"}, {URL: "https://pumps.example/b"}, {URL: "https://pumps.example/c"}}
		ev.LeftOut = map[string]int{"another host": 2}
	})
	skipped, failed := domain.ChildID(site, "https://pumps.example/a"), domain.ChildID(site, "https://pumps.example/b")
	s.crawled(skipped, domain.EventSkipped, func(ev *domain.Event) { ev.Error = "it asks not to be indexed" })
	s.crawled(failed, domain.EventError, func(ev *domain.Event) { ev.Error = "it is too large" })

	check := func(got any) {
		t.Helper()
		crawl, _ := got.(map[string]any)
		delete(crawl, "startedAt")
		want := map[string]any{
			"discovered": 3.0, "waiting": 1.0, "fetched": 0.0, "unchanged": 0.0, "skipped": 1.0, "failed": 1.0, "removed": 0.0,
			"stopped": false, "leftOut": map[string]any{"another host": 2.0},
		}
		if diff := cmp.Diff(want, crawl); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check(s.call("GET", "/datasources/"+site, nil).want(200).object()["crawl"])
	list := s.call("GET", "/datasources?type=web_site", nil).want(200).object().list("data")
	check(list[0].(map[string]any)["crawl"])

	pages := s.call("GET", "/datasources?status=skipped&groupId="+site, nil).want(200).object().list("data")
	if len(pages) != 1 || pages[0].(map[string]any)["error"] != "it asks not to be indexed" || pages[0].(map[string]any)["crawl"] != nil {
		t.Errorf("the skipped pages are %v", pages)
	}
	check(s.call("DELETE", "/datasources/"+site, nil).want(200).object()["crawl"])
}

func TestACrawlCanBeStopped(t *testing.T) {
	t.Parallel()
	s := newService(t)
	site := s.newSite(s.newDatastore(), object{})
	s.crawled(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Links = []domain.Link{{URL: "https://pumps.example/a"}} })
	for range 2 { // stopping the crawl again changes nothing
		got := s.call("POST", "/datasources/"+site+"/stop", nil).want(200).object()
		if crawl, _ := got["crawl"].(map[string]any); crawl["stopped"] != true {
			t.Errorf("the response contains %v", got)
		}
	}
	page := s.call("GET", "/datasources/"+domain.ChildID(site, "https://pumps.example/a"), nil).want(200).object()
	if page["status"] != "skipped" {
		t.Errorf("the page that waited is %v: %v", page["status"], page["error"])
	}
	s.stranger().call("POST", "/datasources/"+site+"/stop", nil).want(404)
}

func TestWebContentIsRefetchedOnSchedule(t *testing.T) {
	t.Parallel()
	notified := 0
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Scheduled = func() { notified++ } })
	store := s.newDatastore()
	site := s.newSite(store, object{"refresh": " 0 3 * * 1-5 ", "exclude": []string{"/old/"}})
	config := func(a *response) object { return a.want(200).object()["config"].(map[string]any) }
	if got := config(s.call("GET", "/datasources/"+site, nil)); got["refresh"] != "0 3 * * 1-5" {
		t.Errorf("the config is %v", got)
	}
	got := config(s.call("PATCH", "/datasources/"+site, object{"config": object{"refresh": "7d", "max_pages": 20}}))
	if got["refresh"] != "7d" || got["max_pages"] != 20.0 || len(got["exclude"].([]any)) != 1 {
		t.Errorf("after the patch the config is %v", got)
	}
	got = config(s.call("PATCH", "/datasources/"+site, object{"config": object{"refresh": ""}}))
	if got["refresh"] != nil || got["max_pages"] != 20.0 {
		t.Errorf("after the schedule was taken away the config is %v", got)
	}
	if notified != 3 {
		t.Errorf("the scheduler was told %d times of three changes", notified)
	}
	refreshes, _, err := s.catalog.Refreshes(t.Context(), "", 10)
	must(t, err)
	if diff := cmp.Diff([]catalog.Refresh(nil), refreshes); diff != "" {
		t.Error(diff)
	}

	for name, body := range map[string]object{
		"more often than is allowed": {"config": object{"refresh": "1m"}},
		"neither interval nor cron":  {"config": object{"refresh": "daily at noon"}},
		"no text":                    {"config": object{"refresh": 5}},
	} {
		if p := s.call("PATCH", "/datasources/"+site, body).problem(400); !names(p.Errors, "config.refresh") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for _, spec := range []string{"1m", "daily at noon"} {
		got := s.call("PATCH", "/datasources/"+site, object{"config": object{"refresh": spec}}).fault("config.refresh")
		if strings.Contains(got, "config.refresh") {
			t.Errorf("of %s is said twice which field it is: %s", spec, got)
		}
	}
	unknown := s.call("PATCH", "/datasources/"+site, object{"config": object{"exlude": []string{"/a/"}}}).fault("config.exlude")
	if want := "is unknown; did you mean config.exclude?"; unknown != want {
		t.Errorf("got %q, want %q", unknown, want)
	}
	s.call("PATCH", "/datasources/"+site, object{"config": object{}, "colour": "red"}).want(200)
	text := s.newText(store, "The trial lasts 30 days.")
	s.call("PATCH", "/datasources/"+text, object{"config": object{"refresh": "24h"}}).problem(400)
	s.call("POST", "/datasources", object{"datastoreId": store, "type": "text", "config": object{"text": "x", "refresh": "24h"}}).problem(400)
	s.stranger().call("PATCH", "/datasources/"+site, object{"config": object{"refresh": "24h"}}).want(404)
}
