package api_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// textFields maps the string fields in Chaindesk's API to a pattern for their values. Clients generated from that API
// parse dates and enums strictly, so a field may be absent but not null or empty.
var textFields = map[string]*regexp.Regexp{
	"id": anyText, "name": anyText, "description": anyText, "text": anyText, "source": anyText, "answer": anyText,
	"datasource_id": anyText, "datasource_name": anyText, "conversationId": anyText, "visitorId": anyText, "groupId": anyText,
	"systemPrompt": anyText, "userPrompt": anyText, "promptTemplate": anyText, "source_url": anyText, "sitemap": anyText,
	"promptType": regexp.MustCompile(`^(raw|customer_support)$`),
	"modelName":  regexp.MustCompile(`^llm_(3_5_turbo|3_5_turbo_16k|4|4_32k)$`),
	"visibility": regexp.MustCompile(`^(public|private)$`),
	"type":       regexp.MustCompile(`^\w+$`),
	"status":     regexp.MustCompile(`^\w+$`),
	"createdAt":  dateFirst,
	"updatedAt":  dateFirst,
	"lastSynch":  regexp.MustCompile(`^\d{4}-\d\d-\d\d$`),
}

var (
	anyText   = regexp.MustCompile(``)
	dateFirst = regexp.MustCompile(`^\d{4}-\d\d-\d\d`)
)

// textFaults returns the fields in a response that are not strings or don't match their pattern.
func textFaults(at string, value any) []string {
	var faults []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			faults = append(faults, textFaults(at+"[]", item)...)
		}
	case map[string]any:
		for name, field := range v {
			if name == "metadata" { // the caller's metadata
				continue
			}
			if form := textFields[name]; form != nil {
				if text, isText := field.(string); !isText || !form.MatchString(text) {
					raw, _ := json.Marshal(field)
					faults = append(faults, at+"."+name+": "+string(raw))
				}
				continue
			}
			faults = append(faults, textFaults(at+"."+name, field)...)
		}
	}
	return faults
}

// checkTexts checks the string fields in a response, if its path also exists in Chaindesk's API.
func checkTexts(t *testing.T, path string, a *response) {
	t.Helper()
	kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !slices.Contains([]string{"agents", "datastores", "datasources", "conversations"}, kind) || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		return
	}
	var value any
	must(t, json.Unmarshal(a.body, &value))
	for _, fault := range textFaults("", value) {
		t.Errorf("%s: not a string of its form: %s", path, fault)
	}
}

// TestTextFieldsAreNeverNull checks each kind of datasource before and after processing, in every response that
// contains it.
func TestTextFieldsAreNeverNull(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	site := s.newSite(store, object{})
	s.crawled(site, domain.EventDiscovered, func(ev *domain.Event) { ev.Links = []domain.Link{{URL: "https://pumps.example/a"}} })
	text := s.newText(store, "The trial lasts 30 days.")
	upload := s.upload(part{"file", "a.txt", "The trial lasts 30 days."}, part{name: "datastoreId", text: store}).want(201)
	checkTexts(t, "/datasources", upload)
	pages := s.call("GET", "/datasources?groupId="+site, nil).want(200).object().list("data")
	if len(pages) != 1 || object(pages[0].(map[string]any)).text("groupId") != site {
		t.Fatalf("the pages of the site are %v", pages)
	}
	for _, path := range []string{"/datasources", "/datasources/" + site, "/datasources/" + text} {
		checkTexts(t, path, s.call("GET", path, nil).want(200))
	}
	before := s.call("GET", "/datasources/"+text, nil).object()
	if _, there := before["lastSynch"]; there || before["groupId"] != "" {
		t.Errorf("before it is searchable, a text that is of no site has %v", before)
	}
	s.synch(text, 1, 3)
	if after := s.call("GET", "/datasources/"+text, nil).object(); after.text("lastSynch") != "2026-05-04" {
		t.Errorf("a text that is searchable has %v", after)
	}

	agent := s.newAgent()
	checkTexts(t, "/agents", s.call("GET", "/agents/"+agent, nil).want(200))
	// An agent sent back unchanged stays the same.
	read := s.call("GET", "/agents/"+agent, nil).object()
	patched := s.call("PATCH", "/agents/"+agent, read).want(200).object()
	checkTexts(t, "/agents", s.call("GET", "/agents", nil).want(200))
	if patched.text("promptType") != "raw" || patched.text("promptTemplate") != "" {
		t.Errorf("the agent is %v", patched)
	}
}
