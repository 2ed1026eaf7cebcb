package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

// The tests in this file cover what programs written for Chaindesk need.

func TestUnknownFieldsOfAnAgentAreStored(t *testing.T) {
	t.Parallel()
	s := newService(t)
	sent := `"iconUrl": "https://a.example/i.png", "isQuality": true, "nothing": null, "ratio": 1.50, "big": 12345678901234567890, "interfaceConfig": {"theme": {"primaryColor": "#fff"}, "list": [1, "zwei", null]}, "größe": "日本 \ud83d\ude00"`
	kept := object{"iconUrl": "https://a.example/i.png", "isQuality": true, "nothing": nil, "ratio": json.Number("1.50"), "big": json.Number("12345678901234567890"),
		"interfaceConfig": map[string]any{"theme": map[string]any{"primaryColor": "#fff"}, "list": []any{json.Number("1"), "zwei", nil}}, "größe": "日本 😀"}
	extras := func(a *response) object {
		t.Helper()
		decoder := json.NewDecoder(strings.NewReader(string(a.body)))
		decoder.UseNumber()
		var all object
		must(t, decoder.Decode(&all))
		for _, name := range append([]string{"createdAt", "updatedAt", "allowedOrigins", "restrictKnowledge", "queryPlanning", "unsupportedSentences"}, agentFields...) {
			if _, there := all[name]; !there {
				t.Errorf("%s is missing: %s", name, a.body)
			}
			delete(all, name)
		}
		return all
	}
	made := s.call("POST", "/agents", `{"name": "Support", "id": "mine", "createdAt": 7, `+sent+`}`).want(201)
	id := made.object().id()
	if !domain.ValidID(id) {
		t.Fatalf("the id is %q", id)
	}
	for what, a := range map[string]*response{"made": made, "read": s.call("GET", "/agents/"+id, nil)} {
		if diff := cmp.Diff(kept, extras(a.want(200+a.status%2))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	list := s.call("GET", "/agents", nil).want(200).object().list("data")
	if object(list[0].(map[string]any))["iconUrl"] != "https://a.example/i.png" {
		t.Errorf("listed: %v", list)
	}
	// A patch changes only the extra fields it contains.
	kept["ratio"], kept["more"] = "none", []any{true}
	for _, body := range []string{`{"ratio": "none", "more": [true]}`, `{"name": "Sales", "more": [true]}`, `{"description": "d"}`} {
		if diff := cmp.Diff(kept, extras(s.call("PATCH", "/agents/"+id, body).want(200))); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", body, diff)
		}
	}
	// A client can send back an agent it has read.
	whole := s.call("GET", "/agents/"+id, nil).want(200)
	if diff := cmp.Diff(whole.object()["interfaceConfig"], s.call("PATCH", "/agents/"+id, string(whole.body)).want(200).object()["interfaceConfig"]); diff != "" {
		t.Error(diff)
	}
	// The total size of the extra fields is limited, and misspelt fields are still rejected.
	large := strings.Repeat("x", 10<<10)
	s.call("PATCH", "/agents/"+id, object{"name": "a", "first": large}).want(200)
	if got := s.call("PATCH", "/agents/"+id, object{"name": "b", "second": large}).fault("body"); !strings.Contains(got, "the limit is 16 KiB") {
		t.Errorf("got %q", got)
	}
	if got := s.call("GET", "/agents/"+id, nil).object(); got.text("name") != "a" || got["second"] != nil {
		t.Errorf("a rejected patch changed the agent: %v", got)
	}
	s.call("PATCH", "/agents/"+id, object{"name": "b", "first": nil, "second": large}).want(200)
	s.call("POST", "/agents", object{"name": "a", "first": large, "second": large}).fault("body")
	s.call("POST", "/agents", object{"name": "a", "temprature": 1}).fault("temprature")
	if got := s.call("DELETE", "/agents/"+id, nil).want(200).object(); got["iconUrl"] != "https://a.example/i.png" {
		t.Errorf("deleted: %v", got)
	}
}

func TestAQuestionAndItsAnswerAreContent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	qa := func(config object, more ...object) *response {
		return s.call("POST", "/datasources", with(object{"datastoreId": store, "type": "qa", "config": config}, more...))
	}
	made := qa(object{"question": " How long is the trial? ", "answer": "30 days.\n", "source_url": "https://a.example/faq"}, object{"custom_id": "trial"}).want(201).object()
	config, _ := made["config"].(map[string]any)
	if made.text("type") != "qa" || made.text("name") != "How long is the trial?" || made.text("customId") != "trial" || config["question"] != "How long is the trial?" || config["source_url"] != "https://a.example/faq" {
		t.Errorf("made: %v", made)
	}
	if got := string(s.call("GET", "/datasources/"+made.id()+"/original", nil).want(200).body); got != "How long is the trial?\n\n30 days." {
		t.Errorf("the original is %q", got)
	}
	if got := s.call("GET", "/datasources?type=qa", nil).want(200).object().list("data"); len(got) != 1 {
		t.Errorf("listed: %v", got)
	}
	if got := qa(object{"question": "q", "answer": "a"}, object{"name": "Trial"}).want(201).object().text("name"); got != "Trial" {
		t.Errorf("the name is %q", got)
	}
	for field, config := range map[string]object{
		"config.question":   {"answer": "a"},
		"config.answer":     {"question": "q", "answer": " "},
		"config.text":       {"question": "q", "answer": "a", "text": "t"},
		"config.source_url": {"question": "q", "answer": "a", "source_url": "ftp://a.example"},
		"config.refresh":    {"question": "q", "answer": "a", "refresh": "24h"},
		"config.anwser":     {"question": "q", "anwser": "a"},
	} {
		qa(config).fault(field)
	}
	qa(object{"question": strings.Repeat("q", 2001), "answer": "a"}).fault("config.question")
	if got := s.call("POST", "/datasources", object{"datastoreId": store, "type": "text", "config": object{"text": "t", "question": "q"}}).fault("config.question"); got != "only applies to a qa, not a text" {
		t.Errorf("got %q", got)
	}
}

func TestADatastoreShowsItsNewestDatasources(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store, other := s.newDatastore(), s.newDatastore()
	s.newText(other, "elsewhere")
	if got := s.call("GET", "/datastores/"+store, nil).want(200).object().list("datasources"); len(got) != 0 {
		t.Errorf("of an empty one: %v", got)
	}
	var newest string
	for n := range 60 {
		newest = s.newText(store, fmt.Sprint("text ", n))
	}
	got := s.call("GET", "/datastores/"+store, nil).want(200).object().list("datasources")
	if len(got) != 50 || object(got[0].(map[string]any)).id() != newest {
		t.Errorf("%d, the first %v", len(got), got[0])
	}
	if _, there := s.call("GET", "/datastores", nil).want(200).object().list("data")[0].(map[string]any)["datasources"]; there {
		t.Error("a list of datastores has their datasources")
	}
}

func TestManyDatasourcesAreDeletedAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	stranger := s.stranger()
	store := s.newDatastore()
	first, second, site, kept := s.newText(store, "a"), s.newText(store, "b"), s.newSite(store, object{}), s.newText(store, "c")
	theirs := stranger.newText(stranger.newDatastore(), "d")
	got := s.call("POST", "/datasources/bulk-delete", object{"ids": []string{first, theirs, second, first, unusedID, site, "no id", strings.ToUpper(kept)}}).want(200).object()
	if diff := cmp.Diff([]any{first, second, site}, got.list("deleted")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{theirs, unusedID, "no id", strings.ToUpper(kept)}, got.list("notFound")); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{first, second, site} {
		s.call("GET", "/datasources/"+id, nil).problem(404)
	}
	s.call("GET", "/datasources/"+kept, nil).want(200)
	stranger.call("GET", "/datasources/"+theirs, nil).want(200)
	if again := s.call("POST", "/datasources/bulk-delete", object{"ids": []string{first}}).want(200).object(); len(again.list("deleted")) != 0 {
		t.Errorf("deleted twice: %v", again)
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = unusedID
	}
	for _, body := range []object{{}, {"ids": []string{}}, {"ids": many}, {"ids": "x"}} {
		s.call("POST", "/datasources/bulk-delete", body).fault("ids")
	}
	s.call("POST", "/datasources/bulk-delete", object{"ids": []string{kept}, "datastoreId": store}).fault("datastoreId")
	read := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeRead}}))
	read.call("POST", "/datasources/bulk-delete", object{"ids": []string{kept}}).problem(403)
	s.call("GET", "/datasources/bulk-delete", nil).problem(404)
}

func TestADatasourceIsResynched(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	text, site := s.newText(store, "a"), s.newSite(store, object{})
	s.synch(text, 1, 1)
	jobOf := func(id string) string {
		d, err := s.catalog.Datasource(t.Context(), s.ws, id)
		must(t, err)
		return d.JobID
	}
	for _, id := range []string{text, site} {
		before := jobOf(id)
		if got := s.call("POST", "/datasources/"+id+"/synch", nil).want(200).object(); got.id() != id || got.text("status") != "unsynched" {
			t.Errorf("%v", got)
		}
		if jobOf(id) == before {
			t.Error("no new job was made")
		}
	}
	s.stranger().call("POST", "/datasources/"+text+"/synch", nil).problem(404)
	read := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeRead}}))
	read.call("POST", "/datasources/"+text+"/synch", nil).problem(403)
}

func TestAKeyCanReadItsWorkspace(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	query := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Name: "site", Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: agent}))
	for name, by := range map[string]*service{"a key that may write": s, "a key of one agent": query} {
		got := by.call("GET", "/api/me", nil).want(200).object()
		key, _ := got["key"].(map[string]any)
		if got.id() != s.ws || got.text("name") != "test" || key["id"] == "" || key["hint"] == "" {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := s.stranger().call("GET", "/me", nil).want(200).object(); got.id() == s.ws {
		t.Errorf("a stranger is told %v", got)
	}
	s.as("sk_wrong").call("GET", "/me", nil).problem(403)
}
