package api_test

import (
	"strings"
	"testing"
)

func TestADatasourceIsRenamedAndRelabelled(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	id := s.newText(store, "The kettle holds three litres.", object{"name": "Kettle", "metadata": object{"team": "kitchen"}})
	other := s.newText(store, "The pump is blue.", object{"metadata": object{"custom_id": "pump"}})
	s.synch(id, 1, 1)

	got := s.call("PATCH", "/datasources/"+id, object{"name": " The kettle ", "metadata": object{"team": "canteen", "custom_id": "kettle"}}).want(200).object()
	if got.text("name") != "The kettle" || got.text("status") != "unsynched" || got.text("customId") != "kettle" {
		t.Errorf("%v", got)
	}
	if read := s.call("GET", "/datasources/"+id, nil).object(); read["metadata"].(map[string]any)["team"] != "canteen" {
		t.Errorf("%v", read)
	}
	d, err := s.catalog.Datasource(s.Context(), s.ws, id)
	must(t, err)
	if d.ActiveGeneration != 1 {
		t.Errorf("the datasource is no longer searchable: %+v", d)
	}
	// A patch leaves fields it does not contain unchanged.
	if got := s.call("PATCH", "/datasources/"+id, object{"name": "Kettle"}).want(200).object(); got.text("customId") != "kettle" || got["metadata"].(map[string]any)["team"] != "canteen" {
		t.Errorf("%v", got)
	}
	site := s.newSite(store, nil)
	if got := s.call("PATCH", "/datasources/"+site, object{"name": "Pumps", "config": object{"refresh": "24h"}}).want(200).object(); got.text("name") != "Pumps" {
		t.Errorf("%v", got)
	}
	s.call("PATCH", "/datasources/"+site, object{"metadata": object{"a": "b"}}).problem(409)
	// If anything in a patch is rejected, nothing is changed.
	s.call("PATCH", "/datasources/"+site, object{"metadata": object{"a": "b"}, "config": object{"refresh": "48h"}}).problem(409)
	s.call("PATCH", "/datasources/"+site, object{"name": " ", "config": object{"refresh": "48h"}}).problem(400)
	if config := s.call("GET", "/datasources/"+site, nil).object()["config"].(map[string]any); config["refresh"] != "24h" {
		t.Errorf("%v", config)
	}
	s.call("PATCH", "/datasources/"+id, object{"name": "Pot", "config": object{"refresh": "24h"}}).problem(400)
	if got := s.call("GET", "/datasources/"+id, nil).object(); got.text("name") != "Kettle" {
		t.Errorf("%v", got)
	}
	for name, body := range map[string]object{
		"name":               {"name": " "},
		"metadata":           {"metadata": object{"a": strings.Repeat("x", 20<<10)}},
		"metadata.custom_id": {"metadata": object{"custom_id": 7}},
	} {
		s.call("PATCH", "/datasources/"+id, body).fault(name)
	}
	s.stranger().call("PATCH", "/datasources/"+other, object{"name": "mine"}).problem(404)
}

func TestAKeyCanReadItsScopes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	key := func(fields object) *service {
		return s.as(s.call("POST", "/keys", with(object{"name": "k"}, fields)).want(201).object().text("key"))
	}
	for want, holder := range map[string]*service{
		"write": key(object{}), "read": key(object{"scopes": []string{"read"}}), "query": key(object{"scopes": []string{"query"}, "agentId": agent}),
	} {
		me := holder.call("GET", "/keys/current", nil).want(200).object()
		if scopes := texts(me.list("scopes")); len(scopes) != 1 || scopes[0] != want || me.text("key") != "" || (want == "query") != (me.text("agentId") == agent) {
			t.Errorf("%s: %v", want, me)
		}
	}
	s.as("").call("GET", "/keys/current", nil).problem(403)
	s.as("sk_of_nobody_0123456789").call("GET", "/keys/current", nil).problem(403)
}
