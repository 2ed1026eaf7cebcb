package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestSearchSettings(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/api"} {
		s := newService(t)
		path := base + "/datastores/" + s.newDatastore() + "/search-settings"
		first := s.call("GET", path, nil).want(200)
		if got := string(first.body); strings.TrimSpace(got) != `{"version":0,"createdAt":null,"synonyms":[],"stopWords":[],"keepWords":[],"boosts":[],"pins":[],"warnings":[]}` || first.header.Get("ETag") != `"0"` {
			t.Errorf("before any change: %s %s", first.header.Get("ETag"), got)
		}
		made := s.call("PUT", path, object{
			"synonyms": []string{"car, automobile", "laptop => notebook"}, "stopWords": []string{"please"},
			"boosts": []object{{"type": "value", "key": "team", "value": "docs"}},
			"pins":   []object{{"query": "opening hours", "documents": []object{{"customId": "faq"}, {"datasourceId": domain.NewID(), "chunk": 3}}}},
		}, "If-Match", `"0"`).want(200)
		o := made.object()
		if o["version"] != 1.0 || made.header.Get("ETag") != `"1"` || len(o.list("synonyms")) != 2 || len(o.list("warnings")) != 2 ||
			!strings.Contains(string(made.body), `"boosts":[{"type":"value","key":"team","value":"docs"}]`) && !strings.Contains(string(made.body), `"key":"team"`) {
			t.Errorf("stored as %s", made.body)
		}
		if got := s.call("GET", path, nil).want(200); string(got.body) != string(made.body) {
			t.Errorf("read as %s", got.body)
		}
		s.call("PUT", path, object{}, "If-Match", `"0"`).want(409)
		if fault := s.call("PUT", path, object{}, "If-Match", "three").want(400).fault("If-Match"); !strings.HasPrefix(fault, `is "three"; it must be the ETag`) {
			t.Errorf("an If-Match that is no version: %q", fault)
		}
		for _, wrong := range []string{`"3`, `3"`, `+3`, `-1`, `""`, `W/3`, `"1234567890123456789"`} {
			s.call("PUT", path, object{}, "If-Match", wrong).want(400)
		}
		s.call("PUT", path, object{}, "If-Match", `W/"1"`).want(200)
		if got := s.call("GET", path+"?version=1", nil).want(200); string(got.body) != string(made.body) {
			t.Errorf("the first version is %s", got.body)
		}
		if got := s.call("POST", path+"/restore", object{"version": 1}).want(200).object(); got["version"] != 3.0 || len(got.list("synonyms")) != 2 {
			t.Errorf("restored as %v", got)
		}
		for i := range 20 {
			s.call("PUT", path, object{"stopWords": []string{fmt.Sprintf("word%d", i)}}).want(200)
		}
		versions := s.call("GET", path+"/versions", nil).want(200).object().list("data")
		if len(versions) != 20 || versions[0].(map[string]any)["version"] != 23.0 {
			t.Errorf("%d versions: %v", len(versions), versions)
		}
		s.call("POST", path+"/restore", object{"version": 1}).want(404)
		for field, body := range map[string]object{
			"synonyms[0]":          {"synonyms": []string{"car"}},
			"synonyms":             {"synonyms": "car, automobile"},
			"stopWords[0]":         {"stopWords": []string{"two words"}},
			"boosts[0].pivot":      {"boosts": []object{{"type": "number", "key": "k"}}},
			"pins[0].query":        {"pins": []object{{"query": "?!", "block": []object{{"customId": "a"}}}}},
			"pins[0].match":        {"pins": []object{{"query": "q", "match": "near"}}},
			"pins[0].documents[0]": {"pins": []object{{"query": "q", "documents": []object{{}}}}},
			"pin":                  {"pin": []object{}},
		} {
			if fault := s.call("PUT", path, body).want(400).fault(field); fault == "" {
				t.Errorf("%v: no fault in %s", body, field)
			}
		}
	}
}

func TestOnlyKeysThatMayWriteChangeSearchSettings(t *testing.T) {
	t.Parallel()
	s := newService(t)
	path := "/datastores/" + s.newDatastore(object{"visibility": "public"}) + "/search-settings"
	reader := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeRead}}))
	reader.call("GET", path, nil).want(200)
	reader.call("PUT", path, object{}).want(403)
	reader.call("POST", path+"/restore", object{"version": 1}).want(403)
	anyone := s.as("")
	anyone.call("GET", path, nil).want(403)
	anyone.call("PUT", path, object{}).want(403)
}
