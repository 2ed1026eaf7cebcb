package api_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// testSealer records the headers it receives and replaces their values.
type testSealer struct{ given map[string]string }

func (h *testSealer) Seal(workspaceID, address string, headers map[string]string) (*domain.SiteAccess, error) {
	if workspaceID == "" {
		return nil, errors.New("no workspace")
	}
	h.given = headers
	a := &domain.SiteAccess{Origin: address, Sealed: []byte("sealed")}
	for name := range headers {
		a.Names = append(a.Names, name)
	}
	return a, nil
}

func TestHeadersOfASiteAreSealedAndNeverReturned(t *testing.T) {
	t.Parallel()
	keys := &testSealer{}
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Sealer = keys })
	store := s.newDatastore()
	const secret = "very-secret-value"
	body := object{"datastoreId": store, "type": "web_page", "config": object{"source_url": "https://pumps.example/a", "headers": object{"cookie": secret}}}
	created := s.call("POST", "/datasources", body).want(201)
	id := created.object().id()
	if diff := cmp.Diff(map[string]string{"Cookie": secret}, keys.given); diff != "" {
		t.Errorf("sealed (-want +got):\n%s", diff)
	}
	check := func(a *response, names ...any) {
		t.Helper()
		config, _ := a.object()["config"].(map[string]any)
		got, _ := config["header_names"].([]any)
		if diff := cmp.Diff(names, got); diff != "" || config["access"] != nil || config["headers"] != nil {
			t.Errorf("names (-want +got):\n%s\nof %s", diff, a.body)
		}
		for _, hidden := range []string{secret, "sealed", "c2VhbGVk"} {
			if strings.Contains(string(a.body), hidden) {
				t.Errorf("the answer shows %q: %s", hidden, a.body)
			}
		}
	}
	check(created, "Cookie")
	check(s.call("GET", "/datasources/"+id, nil).want(200), "Cookie")
	stored, err := s.catalog.Datasource(t.Context(), s.ws, id)
	must(t, err)
	job := domain.NewCrawlJob(stored, domain.Datastore{})
	if job.Crawl.Access == nil || string(job.Crawl.Access.Sealed) != "sealed" {
		t.Errorf("its job carries %+v", job.Crawl.Access)
	}
	all, err := json.Marshal(stored)
	must(t, err)
	if strings.Contains(string(all), secret) {
		t.Errorf("stored as %s", all)
	}
	check(s.call("PATCH", "/datasources/"+id, object{"config": object{"refresh": "24h"}}).want(200), "Cookie")
	check(s.call("PATCH", "/datasources/"+id, object{"config": object{"headers": object{"Authorization": secret}}}).want(200), "Authorization")
	check(s.call("PATCH", "/datasources/"+id, object{"name": "Pumps", "config": object{"headers": object{}}}).want(200))
	if strings.Contains(s.log.String(), secret) {
		t.Error("the log shows the value")
	}
}

func TestHeadersThatMayNotBeSentAreRefusedWithoutTheirValues(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Sealer = &testSealer{} })
	store := s.newDatastore()
	page := s.call("POST", "/datasources", object{"datastoreId": store, "type": "web_page", "config": object{"source_url": "https://pumps.example/a"}}).want(201).object().id()
	const secret = "very-secret-value"
	for name, headers := range map[string]any{
		"a line break": object{"Cookie": secret + "\r\nX: y"}, "Host": object{"Host": secret}, "hop by hop": object{"Connection": secret},
		"no object": secret, "a list": []string{secret}, "a number": object{"Cookie": 1717.1717}, "a list in it": object{"Cookie": []string{secret}},
	} {
		for path, body := range map[string]object{
			"POST /datasources":          {"datastoreId": store, "type": "web_page", "config": object{"source_url": "https://pumps.example/b", "headers": headers}},
			"PATCH /datasources/" + page: {"config": object{"headers": headers}},
		} {
			method, at, _ := strings.Cut(path, " ")
			a := s.call(method, at, body).want(400)
			if text := string(a.body); !strings.Contains(text, "config.headers") || strings.Contains(text, secret) || strings.Contains(text, "17.17") {
				t.Errorf("%s, %s: %s", name, path, text)
			}
		}
	}
	s.call("POST", "/datasources", object{"datastoreId": store, "type": "text", "config": object{"text": "x", "headers": object{"Cookie": secret}}}).want(400)
}

func TestWithoutAKeyHeadersAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	body := object{"datastoreId": s.newDatastore(), "type": "web_page", "config": object{"source_url": "https://pumps.example/a", "headers": object{"Cookie": "a"}}}
	if p := s.call("POST", "/datasources", body).problem(400); !strings.Contains(p.Detail, "SLUICE_SECRET_KEY") {
		t.Errorf("the way out is not said: %+v", p)
	}
}
