package api_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func (s *service) upsert(datastore string, documents ...object) []any {
	s.Helper()
	return s.call("POST", "/api/datastores/upsert/"+datastore, object{"documents": documents}).want(200).object().list("ids")
}

func (s *service) read(id string) (domain.Datasource, string) {
	s.Helper()
	d, err := s.catalog.Datasource(s.Context(), s.ws, id)
	must(s.T, err)
	return d, s.originals.all()[d.Original.Key]
}

func TestUpsertAnswersIdsInTheOrderSent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	ids := s.upsert(datastore,
		object{"text": "one", "name": "One", "metadata": object{"source": "https://example.com/1", "author": "Ada", "date": "2026-05-04", "deep": object{"x": []int{1}}}},
		object{"text": "  two\nand more"}, object{"text": "three", "metadata": nil})
	for n, want := range []struct{ name, text string }{{"One", "one"}, {"two", "  two\nand more"}, {"three", "three"}} {
		d, text := s.read(ids[n].(string))
		if d.Name != want.name || text != want.text || d.Type != domain.TypeText || d.Status != domain.StatusUnsynched {
			t.Errorf("document %d is %+v with %q", n, d, text)
		}
	}
	d, _ := s.read(ids[0].(string))
	want := map[string]any{"source": "https://example.com/1", "author": "Ada", "date": "2026-05-04", "deep": map[string]any{"x": []any{1.0}}}
	if diff := cmp.Diff(want, d.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestUpsertReplacesByCustomID(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	custom := func(text string) object {
		return object{"text": text, "metadata": object{"custom_id": "doc-1", "v": text}}
	}
	first := s.upsert(datastore, custom("one"), object{"text": "other"})
	s.synch(first[0].(string), 1, 2)
	second := s.upsert(datastore, object{"text": "new"}, custom("two"), custom("three"))
	if second[1] != first[0] || second[2] != first[0] || second[0] == first[1] {
		t.Errorf("first %v, then %v", first, second)
	}
	d, text := s.read(first[0].(string))
	if text != "three" || d.Metadata["v"] != "three" || d.CustomID != "doc-1" || d.Name != "one" || d.ActiveGeneration != 1 {
		t.Errorf("%+v with %q", d, text)
	}
	elsewhere := s.upsert(s.newDatastore(), custom("one"))
	if elsewhere[0] == first[0] {
		t.Error("a document of another datastore was replaced")
	}
}

func TestConcurrentUpsertsOfOneCustomIDCreateOneDatasource(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			s.upsert(datastore, object{"text": fmt.Sprint("version ", n), "metadata": object{"custom_id": "one"}})
		})
	}
	wg.Wait()
	if n := len(s.call("GET", "/datasources", nil).object().list("data")); n != 1 {
		t.Errorf("%d datasources", n)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	update := func(fields object) {
		t.Helper()
		a := s.call("POST", "/datastores/update/"+s.datastore, with(object{"id": s.datasource}, fields)).want(200)
		if a.object().id() != s.datasource {
			t.Errorf("%s", a.body)
		}
	}
	update(object{"text": "new", "name": "Trial", "metadata": object{"author": "Ada", "custom_id": "c-1"}})
	d, text := s.read(s.datasource)
	if text != "new" || d.Name != "Trial" || d.Metadata["author"] != "Ada" || d.CustomID != "c-1" || d.ActiveGeneration != 1 || d.Status != domain.StatusUnsynched {
		t.Errorf("%+v with %q", d, text)
	}
	update(object{"text": "newer", "metadata": nil, "name": nil})
	if d, text := s.read(s.datasource); text != "newer" || d.Name != "Trial" || d.Metadata["author"] != "Ada" {
		t.Errorf("null has changed something: %+v with %q", d, text)
	}
	update(object{"text": "newer", "custom_id": "c-2"})
	if d, _ := s.read(s.datasource); d.CustomID != "c-2" || d.Metadata["custom_id"] != "c-2" || d.Metadata["author"] != "Ada" {
		t.Errorf("custom id %q, metadata %v", d.CustomID, d.Metadata)
	}
	update(object{"text": "newest", "metadata": object{}})
	if d, _ := s.read(s.datasource); len(d.Metadata) != 0 {
		t.Errorf("metadata was not replaced: %+v", d.Metadata)
	}
	site := s.call("POST", "/datasources", object{"datastoreId": s.datastore, "type": "web_site", "config": object{"source_url": "https://example.com"}}).want(201).object().id()
	s.call("POST", "/datastores/update/"+s.datastore, object{"id": site, "text": "t"}).problem(409)
	s.call("POST", "/datastores/update/"+s.datastore, object{"id": 5, "metadata": "x"}).fault("metadata")
}

func TestJSONDatasources(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	site := s.call("POST", "/api/datasources", object{
		"datastoreId": datastore, "type": "web_site", "custom_id": "s-1", "metadata": object{"team": "docs"},
		"config": object{"sitemap": " https://example.com/sitemap.xml ", "exclude": []string{"/private/*"}, "max_pages": 7.0, "text": "not of a site"},
	}, "Content-Type", "text/plain").want(201).object()
	want := map[string]any{"sitemap": "https://example.com/sitemap.xml", "exclude": []any{"/private/*"}, "max_pages": 7.0, "custom_id": "s-1"}
	if diff := cmp.Diff(want, site["config"]); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if site.text("name") != "https://example.com/sitemap.xml" || site.text("customId") != "s-1" {
		t.Errorf("%v", site)
	}
	jobs, err := s.catalog.Outbox(t.Context(), 1)
	must(t, err)
	if len(jobs) != 1 || jobs[0].Kind != domain.JobCrawl || jobs[0].Crawl.Sitemap != "https://example.com/sitemap.xml" || jobs[0].CustomID != "s-1" {
		t.Errorf("jobs %+v", jobs)
	}
	text := s.newText(datastore, "First line\nsecond", object{"custom_id": "t-1"})
	d, content := s.read(text)
	if d.Name != "First line" || content != "First line\nsecond" || d.CustomID != "t-1" || d.Original.MIMEType != "text/plain" {
		t.Errorf("%+v with %q", d, content)
	}
}

func TestResync(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	web := func(kind string) string {
		return s.call("POST", "/datasources", object{"datastoreId": s.datastore, "type": kind, "config": object{"source_url": "https://example.com"}}).want(201).object().id()
	}
	page, site := web("web_page"), web("web_site")
	queued := func(path string, body any) any {
		t.Helper()
		return s.call("POST", path, body).want(200).object()["queued"]
	}
	if n := queued("/datasources/"+s.datasource+"/resync", nil); n != 1.0 {
		t.Errorf("a text: %v", n)
	}
	if d, _ := s.read(s.datasource); d.Status != domain.StatusUnsynched || d.ActiveGeneration != 1 {
		t.Errorf("the text is %+v", d)
	}
	s.call("POST", "/datasources/"+page+"/resync", object{}).problem(409) // the page has not been fetched yet
	if n := queued("/datasources/"+page+"/resync", object{"mode": "refresh"}); n != 1.0 {
		t.Errorf("a page: %v", n)
	}
	if n := queued("/datasources/"+site+"/resync", object{"mode": "reindex"}); n != 0.0 {
		t.Errorf("a site without pages: %v", n)
	}
	if n := queued("/datastores/"+s.datastore+"/resync", object{"mode": "refresh"}); n != 4.0 {
		t.Errorf("a datastore with a text, a page and two sites, fetching: %v", n)
	}
	if n := queued("/datastores/"+s.datastore+"/resync", ""); n != 2.0 {
		t.Errorf("a datastore: %v", n) // the sites have no content of their own
	}
}
