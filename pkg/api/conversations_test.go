package api_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// talk stores a conversation with alternating questions and answers and returns its id. Each answer has one source.
func (s *service) talk(agent, visitor string, texts ...string) string {
	s.Helper()
	id := domain.NewID()
	_, err := s.catalog.EnsureConversation(s.Context(), domain.Conversation{ID: id, WorkspaceID: s.ws, AgentID: agent, VisitorID: visitor})
	must(s.T, err)
	for i, text := range texts {
		m := domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: text}
		if i%2 == 1 {
			source := fragment
			source.Citation = 1
			m.Role, m.Sources = domain.RoleAssistant, []domain.Fragment{source}
		}
		must(s.T, s.catalog.AppendMessages(s.Context(), id, m))
	}
	return id
}

func TestConversationsAreSearched(t *testing.T) {
	t.Parallel()
	s := newService(t)
	sales, support := s.newAgent(), s.newAgent()
	first := s.talk(sales, "anna", "What does it cost?", "Ten euros [1].")
	s.clock.advance(time.Hour)
	second := s.talk(support, "bert", "It LEAKS.", "Tighten it [1].")
	hour := s.clock.Now().Format(time.RFC3339)
	for query, want := range map[string][]string{
		"":                           {second, first},
		"?agentId=" + sales:          {first},
		"?visitorId=bert":            {second},
		"?query=leaks":               {second},
		"?query=EUROS":               {first},
		"?query=nothing":             {},
		"?from=" + hour:              {second},
		"?to=" + hour:                {first},
		"?query=t&visitorId=anna":    {first},
		"?limit=1":                   {second},
		"?from=" + hour + "&to=&to=": nil,
	} {
		a := s.call("GET", "/conversations"+query, nil)
		if want == nil {
			a.problem(400)
			continue
		}
		got := []string{}
		for _, v := range a.want(200).object().list("data") {
			got = append(got, object(v.(map[string]any)).id())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	for _, path := range []string{"/conversations", "/conversations/export"} {
		if got := s.call("GET", path+"?from=yesterday", nil).fault("from"); got != `is "yesterday"; it must be a date (2026-05-04) or a date-time (2026-05-04T12:00:00Z)` {
			t.Errorf("got %q", got)
		}
		s.call("GET", path+"?query="+strings.Repeat("x", 201), nil).fault("query")
	}
}

func TestConversationsAreSearchedByDays(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	s.clock.advance(s.clock.Now().Truncate(24 * time.Hour).Add(36 * time.Hour).Sub(s.clock.Now())) // noon
	id := s.talk(agent, "anna", "What does it cost?", "Ten euros [1].")
	noon := s.clock.Now().UTC()
	today, before, after := noon.Format(time.DateOnly), noon.AddDate(0, 0, -1).Format(time.DateOnly), noon.AddDate(0, 0, 1).Format(time.DateOnly)
	for query, want := range map[string]int{
		"from=" + today:                     1,
		"from=" + after:                     0,
		"to=" + today:                       1,
		"to=" + before:                      0,
		"from=" + today + "&to=" + today:    1,
		"from=" + before + "&to=" + before:  0,
		"from=" + today + "T14:00:00+02:00": 1, // the + decodes to a space
		"from=" + today + "t15:00:00+02:00": 0,
		"to=9999-12-30":                     1,
	} {
		if got := s.call("GET", "/conversations?"+query, nil).want(200).object().list("data"); len(got) != want {
			t.Errorf("%s: %d, want %d", query, len(got), want)
		}
		if got := strings.Contains(string(s.call("GET", "/conversations/export?"+query, nil).want(200).body), id); got != (want == 1) {
			t.Errorf("the export with %s has it: %t", query, got)
		}
	}
	for _, path := range []string{"/conversations", "/conversations/export"} {
		if got := s.call("GET", path+"?from=2026-05-05&to=2026-05-04T00:00:00Z", nil).fault("from"); got != `is "2026-05-05"; it must be earlier than "to" ("2026-05-04T00:00:00Z")` {
			t.Errorf("got %q", got)
		}
		s.call("GET", path+"?from="+after+"&to="+today, nil).fault("from")
		s.call("GET", path+"?from="+after+"&to="+after+"T00:00:00Z", nil).want(200)
		for _, text := range []string{"9999-12-31", "2026-02-30", "2026-5-4", "0000-01-01T00:00:00%2b01:00"} {
			s.call("GET", path+"?to="+text, nil).fault("to")
		}
	}
}

func TestAConversationIsDeleted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.talk(s.newAgent(), "anna", "Who am I?", "Anna [1].")
	read := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeRead}}))
	read.call("DELETE", "/conversations/"+id, nil).problem(403)
	s.stranger().call("DELETE", "/conversations/"+id, nil).problem(404)
	if got := s.call("DELETE", "/conversations/"+id, object{}).want(200).object(); got.id() != id || got.text("visitorId") != "anna" {
		t.Errorf("%v", got)
	}
	s.call("GET", "/conversations/"+id, nil).problem(404)
	s.call("DELETE", "/conversations/"+id, nil).problem(404)
}

func TestConversationsAreExported(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	var ids []string
	for n := range 60 { // more than one page
		ids = append([]string{s.talk(agent, "anna", fmt.Sprintf("Question %d?", n), "Yes [1].")}, ids...)
	}
	long := []string{}
	for n := range 50 { // more messages than are read at once
		long = append(long, fmt.Sprintf("message %d", n))
	}
	ids = append([]string{s.talk(agent, "bert", long...)}, ids...)

	a := s.call("GET", "/conversations/export", nil).want(200)
	if kind, name := a.header.Get("Content-Type"), a.header.Get("Content-Disposition"); kind != "application/json" || !strings.Contains(name, "conversations.json") {
		t.Errorf("%q, %q", kind, name)
	}
	var all []api.ConversationDetail
	must(t, json.Unmarshal(a.body, &all))
	got := []string{}
	for _, v := range all {
		got = append(got, v.Id)
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if len(all[0].Messages) != 50 || all[0].Messages[49].Text != "message 49" || all[1].Messages[1].Sources[0].Citation != 1 {
		t.Errorf("%+v", all[0])
	}
	var one api.ConversationDetail
	must(t, json.Unmarshal(s.call("GET", "/conversations/"+ids[1], nil).want(200).body, &one))
	if diff := cmp.Diff(one, all[1]); diff != "" {
		t.Errorf("an export is not what is read (-read +exported):\n%s", diff)
	}
	must(t, json.Unmarshal(s.call("GET", "/conversations/export?visitorId=bert&query=MESSAGE&format=json", nil).want(200).body, &all))
	if len(all) != 1 {
		t.Errorf("%d conversations of one visitor", len(all))
	}
	if a := s.stranger().call("GET", "/conversations/export", nil).want(200); strings.Join(strings.Fields(string(a.body)), "") != "[]" {
		t.Errorf("a stranger sees %s", a.body)
	}
	s.call("HEAD", "/conversations/export", nil).want(200)
}

func TestTextOfVisitorsIsNoFormulaInACSVExport(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	said := []string{
		`=cmd|' /C calc'!A0`, "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", `"quoted", with a comma`, "two\nlines", "a\r\nb", "1+1=2", "水闸", " =1",
		"rent;=1", "rent;\"\"=1", "rent, @SUM(A1)", "rent\t=1", "rent | -1", "rent\n+1", "rent; none", "rent (-1)",
	}
	quoted := map[string]string{
		" =1": "' =1", "rent;=1": "rent;'=1", `rent;""=1`: `rent;'""=1`, "rent, @SUM(A1)": "rent,' @SUM(A1)", "rent\t=1": "rent\t'=1",
		"rent | -1": "rent |' -1", "rent\n+1": "rent\n'+1", "\t=1": "'\t'=1", "\r=1": "'\r'=1", "\n=1": "'\n'=1",
	}
	for _, text := range said {
		s.talk(agent, "=visitor", text, "-so [1].")
	}
	a := s.call("GET", "/conversations/export?format=csv", nil).want(200)
	if kind := a.header.Get("Content-Type"); kind != "text/csv; charset=utf-8" {
		t.Errorf("Content-Type is %q", kind)
	}
	rows, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll()
	must(t, err)
	if len(rows) != 1+2*len(said) || rows[0][0] != "conversation_id" {
		t.Fatalf("%d rows: %s", len(rows), a.body)
	}
	for i, row := range rows[1:] {
		text := said[len(said)-1-i/2] // newest conversation first
		want := text
		if i%2 == 0 && quoted[text] != "" {
			want = quoted[text]
		} else if i%2 == 1 {
			want = "'-so [1]."
		} else if strings.IndexAny(text, "=+-@\t\r\n＝") == 0 {
			want = "'" + text
		}
		want = strings.ReplaceAll(want, "\r\n", "\n") // the CSV reader converts line breaks
		if row[7] != want || row[2] != "'=visitor" {
			t.Errorf("%q is written %q", text, row[7])
		}
	}
	if got := rows[2][8]; got != "[1] "+fragment.Source {
		t.Errorf("the sources are %q", got)
	}
}

// onePage is a conversation store that fails when asked for a second page.
type onePage struct{ api.ConversationStore }

func (o onePage) Conversations(ctx context.Context, ws string, f catalog.ConversationFilter, p catalog.Page) ([]domain.Conversation, string, error) {
	if p.Cursor != "" {
		return nil, "", errors.New("away")
	}
	return o.ConversationStore.Conversations(ctx, ws, f, p)
}

func TestAnExportThatFailsInTheMiddleIsCutOff(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Conversations = onePage{d.Conversations} })
	agent := s.newAgent()
	for range 51 {
		s.talk(agent, "anna", strings.Repeat("long ", 1000), "Yes.")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/conversations/export?format=csv", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.key)
	res, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer res.Body.Close()
	if _, err := csv.NewReader(res.Body).ReadAll(); err == nil || res.StatusCode != http.StatusOK {
		t.Errorf("half of an export was taken for a whole: status %d, %v", res.StatusCode, err)
	}
	if log := s.log.String(); !strings.Contains(log, "away") {
		t.Errorf("the log lacks the cause: %s", log)
	}
}

func TestAQuestionInAConversationOfAnotherIsNotCounted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	stranger := s.stranger()
	for whose, id := range map[string]string{
		"another workspace": stranger.talk(stranger.newAgent(), "anna", "Who am I?", "Anna [1]."),
		"another agent":     s.talk(s.newAgent(), "anna", "Who am I?", "Anna [1]."),
		"another visitor":   s.talk(agent, "bert", "Who am I?", "Bert [1]."),
	} {
		s.call("POST", "/agents/"+agent+"/query", object{"query": "And now?", "conversationId": id, "visitorId": "anna"}).problem(404)
		if n := s.used("")["queries"]; n != 0 {
			t.Errorf("of %s: %v questions are counted", whose, n)
		}
	}
}
