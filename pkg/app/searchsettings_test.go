package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSearchSettings sets synonyms, boosts and pins with the command line and checks their effect on queries.
func TestSearchSettings(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	var store struct{ ID string }
	p.must(p.post("/datastores", map[string]any{"name": "Vehicles"}, &store))
	p.must(p.post("/datastores/upsert/"+store.ID, map[string]any{"documents": []map[string]any{
		{"text": "The automobile must be parked behind the hall.", "name": "auto", "custom_id": "auto"},
		{"text": "Lunch is served at noon in the canteen.", "name": "lunch", "custom_id": "lunch", "metadata": map[string]any{"team": "kitchen"}},
		{"text": "Dinner is served at noon in summer.", "name": "dinner", "custom_id": "dinner", "metadata": map[string]any{"team": "night"}},
	}}, nil))
	p.settled(store.ID, time.Minute)
	find := func(query string, more ...func(map[string]any)) (names []string) {
		t.Helper()
		body := map[string]any{"query": query, "mode": "lexical", "highlights": true}
		for _, f := range more {
			f(body)
		}
		var found []struct {
			Name       string           `json:"datasource_name"`
			Highlights []map[string]int `json:"highlights"`
		}
		p.must(p.post("/datastores/"+store.ID+"/query", body, &found))
		for _, f := range found {
			names = append(names, fmt.Sprintf("%s %d", f.Name, len(f.Highlights)))
		}
		return names
	}
	if got := find("car"); len(got) != 0 {
		t.Errorf("without synonyms: %v", got)
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(args ...string) string {
		t.Helper()
		out, errs, exit := p.api(t.Context(), append([]string{"datastores"}, args...)...)
		if exit != 0 {
			t.Fatalf("%v: exit code %d: %s", args, exit, errs)
		}
		return out
	}
	rules := file("synonyms.txt", "\xef\xbb\xbf# vehicles\r\ncar, automobile\r\n\r\nsupper => dinner\n")
	if out := run("synonyms", "Vehicles", rules); out != "stored 2 rules as version 1\n" {
		t.Errorf("importing synonyms says %q", out)
	}
	if out := run("synonyms", "Vehicles"); out != "car, automobile\nsupper => dinner\n" {
		t.Errorf("the synonyms are %q", out)
	}
	if got := find("car"); !slices.Equal(got, []string{"auto 1"}) {
		t.Errorf("with synonyms: %v", got)
	}
	if _, errs, exit := p.api(t.Context(), "datastores", "synonyms", "Vehicles", file("broken.txt", "# a comment\n\nalone\n")); exit == 0 || !strings.Contains(errs, "broken.txt:3: has fewer than two terms") {
		t.Errorf("a broken rule: %d %q", exit, errs)
	}
	settings, err := json.Marshal(map[string]any{
		"boosts": []any{map[string]any{"type": "value", "key": "team", "value": "night", "factor": 3}},
		"pins":   []any{map[string]any{"query": "lunch noon", "documents": []any{map[string]any{"customId": "auto"}}}, map[string]any{"query": "canteen", "match": "contains", "block": []any{map[string]any{"customId": "lunch"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if before := find("noon"); !slices.Contains(before, "lunch 1") || len(before) != 2 {
		t.Errorf("without boosts: %v", before)
	}
	run("settings", "Vehicles", file("settings.json", string(settings)))
	if got := find("noon"); len(got) != 2 || got[0] != "dinner 1" {
		t.Errorf("with a boost: %v", got)
	}
	if got := find("lunch noon", func(body map[string]any) { body["boosts"] = []any{} }); len(got) != 3 || got[0] != "auto 0" || got[1] != "lunch 2" {
		t.Errorf("with a pin: %v", got)
	}
	byTeam := func(body map[string]any) {
		body["filters"] = map[string]any{"type": "exists", "key": "team"}
	}
	if got := find("lunch noon", byTeam); len(got) != 2 || got[0] == "auto 0" {
		t.Errorf("a pin passes a filter: %v", got)
	}
	if got := find("canteen"); len(got) != 0 {
		t.Errorf("a hidden document is found: %v", got)
	}
	if out := run("settings", "Vehicles", "--versions"); strings.Count(out, "\n") != 3 {
		t.Errorf("the versions are %q", out)
	}
	run("settings", "Vehicles", "--restore", "1")
	if got := find("car"); !slices.Equal(got, []string{"auto 1"}) {
		t.Errorf("after the restoration: %v", got)
	}
	if got := find("canteen"); len(got) != 1 {
		t.Errorf("after the restoration, a document is hidden: %v", got)
	}
}
