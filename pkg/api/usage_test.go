package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// used returns the usage reported by GET /usage, by metric.
func (s *service) used(query string) map[string]float64 {
	s.Helper()
	return counts(s.call("GET", "/usage"+query, nil).want(200).object().list("usage"))
}

// counts returns the nonzero counters in a list.
func counts(list []any) map[string]float64 {
	out := map[string]float64{}
	for _, u := range list {
		if o := object(u.(map[string]any)); o["used"] != 0.0 {
			out[o.text("metric")] = o["used"].(float64)
		}
	}
	return out
}

func TestUsageIsCountedByKey(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	agent := s.newAgent(object{"visibility": "public", "datastoreIds": []string{store}})
	s.newText(store, "The trial lasts 30 days.")
	made := s.call("POST", "/keys", object{"name": "website", "scopes": []string{"query"}, "agentId": agent}).want(201).object()
	website := s.as(made.text("key"))
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		a, err := tokens("30 days [1].")(ctx, r, emit)
		a.EmbedTokens = 3
		return a, err
	}
	ask := func(s *service) {
		s.call("POST", "/agents/"+agent+"/query", object{"query": "How long?"}).want(200)
	}
	ask(website)
	ask(website)
	website.call("POST", "/agents/"+agent+"/query", object{"query": "How long?", "streaming": true}).want(200)
	ask(s.as(""))     // a visitor to the public agent
	ask(s.stranger()) // with another workspace's key
	s.call("POST", "/datastores/"+store+"/query", object{"query": "trial"}).want(200)

	want := map[string]float64{
		"queries": 5, "tokens": 35, "prompt_tokens": 25, "completion_tokens": 10, "embed_tokens": 16, "retrievals": 1, "stored_bytes": 24,
	}
	if diff := cmp.Diff(want, s.used("")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	keys := map[string]map[string]float64{}
	for _, k := range s.call("GET", "/usage?by=key", nil).want(200).object().list("keys") {
		o := object(k.(map[string]any))
		keys[fmt.Sprint(o["name"])] = counts(o.list("usage"))
	}
	wantKeys := map[string]map[string]float64{
		"website": {"queries": 3, "tokens": 21, "prompt_tokens": 15, "completion_tokens": 6, "embed_tokens": 9},
		"test":    {"retrievals": 1, "embed_tokens": 1},
		"<nil>":   {"queries": 2, "tokens": 14, "prompt_tokens": 10, "completion_tokens": 4, "embed_tokens": 6},
	}
	if diff := cmp.Diff(wantKeys, keys); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
	s.call("DELETE", "/keys/"+made.id(), nil).want(200)
	if a := s.call("GET", "/usage?by=key", nil).want(200); !strings.Contains(string(a.body), `{"keyId":"`+made.id()+`","name":null`) {
		t.Errorf("the usage of a revoked key is missing: %s", a.body)
	}
	if o := s.call("GET", "/usage", nil).want(200).object(); o["keys"] != nil {
		t.Errorf("keys are shown that nobody asked for: %v", o["keys"])
	}
	s.call("GET", "/usage?by=agent", nil).fault("by")
}

func TestAFailedAnswerCountsItsTokens(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.answerer.answer = func(context.Context, answer.Request, func(string) error) (answer.Answer, error) {
		return answer.Answer{PromptTokens: 100}, errors.New("the model broke")
	}
	s.call("POST", "/agents/"+s.newAgent()+"/query", object{"query": "q"}).problem(500)
	if diff := cmp.Diff(map[string]float64{"queries": 1, "tokens": 100, "prompt_tokens": 100}, s.used("")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLimitsAreSetAndShown(t *testing.T) {
	t.Parallel()
	s := newService(t)
	none := object{"queries": nil, "tokens": nil, "stored_chunks": nil, "stored_bytes": nil}
	if diff := cmp.Diff(none, s.call("GET", "/usage/limits", nil).want(200).object()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := object{"queries": 5.0, "tokens": nil, "stored_chunks": nil, "stored_bytes": 1000.0}
	for _, a := range []*response{
		s.call("PUT", "/usage/limits", object{"queries": 5, "tokens": 0, "stored_bytes": 1000, "stored_chunks": nil}),
		s.call("GET", "/usage/limits", nil),
	} {
		if diff := cmp.Diff(want, a.want(200).object()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if a := s.call("GET", "/usage", nil).want(200); !strings.Contains(string(a.body), `{"limit":1000,"metric":"stored_bytes","used":0}`) {
		t.Errorf("use does not show the limit: %s", a.body)
	}
	if diff := cmp.Diff(none, s.call("PUT", "/usage/limits", object{}).want(200).object()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(none, s.stranger().call("GET", "/usage/limits", nil).want(200).object()); diff != "" {
		t.Errorf("a stranger sees (-want +got):\n%s", diff)
	}
	read := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeRead}}))
	read.call("GET", "/usage/limits", nil).want(200)
	read.call("PUT", "/usage/limits", object{}).problem(403)
}

func TestAKeyIsLimited(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	made := s.call("POST", "/keys", object{"name": "partner", "limits": object{"queries": 2}}).want(201).object()
	partner := s.as(made.text("key"))
	question := object{"query": "q"}
	for range 2 {
		partner.call("POST", "/agents/"+agent+"/query", question).want(200)
	}
	for _, streaming := range []bool{false, true} {
		p := partner.call("POST", "/agents/"+agent+"/query", with(object{"streaming": streaming}, question)).problem(402)
		if p.Error != "USAGE_LIMIT" || !strings.Contains(p.Detail, "the key") || !strings.Contains(p.Detail, "2 agent queries") {
			t.Errorf("%+v", p)
		}
	}
	s.call("POST", "/agents/"+agent+"/query", question).want(200) // one key's limit does not affect other keys

	other := s.call("POST", "/keys", object{"name": "other", "limits": object{"queries": 1}}).want(201).object()
	first := s.call("GET", "/keys/current", nil).want(200).object()
	for _, try := range []struct {
		method, path string
		body         any
	}{
		{"PUT", "/keys/" + made.id() + "/limits", object{}}, {"PUT", "/usage/limits", object{}}, {"POST", "/keys", object{"name": "free"}},
		{"DELETE", "/keys/" + first.id(), nil}, {"DELETE", "/keys/" + other.id(), nil},
	} {
		if p := partner.call(try.method, try.path, try.body).problem(403); !strings.Contains(p.Detail, "has limits") {
			t.Errorf("a limited key frees itself by %s %s: %+v", try.method, try.path, p)
		}
	}
	limits := s.call("PUT", "/keys/"+made.id()+"/limits", object{"queries": 3, "requests_per_second": 50}).want(200).object()["limits"]
	want := map[string]any{"queries": 3.0, "tokens": nil, "requests_per_second": 50.0}
	if diff := cmp.Diff(want, limits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a := s.call("GET", "/usage?by=key", nil).want(200); !strings.Contains(string(a.body), `{"limit":3,"metric":"queries","used":2}`) {
		t.Errorf("use does not show the limit: %s", a.body)
	}
	partner.call("POST", "/agents/"+agent+"/query", question).want(200)
	partner.call("POST", "/agents/"+agent+"/query", question).problem(402)
	partner.call("DELETE", "/keys/"+made.id(), nil).want(200) // a limited key may revoke itself
	partner.call("GET", "/keys/current", nil).problem(403)
	s.call("DELETE", "/keys/"+other.id(), nil).want(200)
}

func TestAKeyHasItsOwnRateLimit(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.call("POST", "/keys", object{"name": "slow", "limits": object{"requests_per_second": 1}}).want(201).object()
	slow := s.as(made.text("key"))
	for range 2 {
		slow.call("GET", "/agents", nil).want(200)
	}
	if a := slow.call("GET", "/agents", nil); a.problem(429).Error != "RATE_LIMIT" || a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q: %s", a.header.Get("Retry-After"), a.body)
	}
	for range 5 {
		s.call("GET", "/agents", nil).want(200)
	}
	s.call("PUT", "/keys/"+made.id()+"/limits", object{"requests_per_second": 100}).want(200)
	for range 5 { // the new limit applies at once, even though the key has just been used
		slow.call("GET", "/agents", nil).want(200)
	}
}

func TestVisitorsOfAPublicAgentHaveARateLimit(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.VisitorPerMinute = 2 })
	public, private := s.newAgent(object{"visibility": "public"}), s.newAgent()
	ask := func(caller *service, agent, visitor string) *response {
		body := object{"query": "q"}
		if visitor != "" {
			body["visitorId"] = visitor
		}
		return caller.call("POST", "/agents/"+agent+"/query", body)
	}
	anyone := s.as("")
	for _, visitor := range []string{"anna", "bert", ""} {
		for range 2 {
			ask(anyone, public, visitor).want(200)
		}
		a := ask(anyone, public, visitor)
		if a.problem(429); a.header.Get("Retry-After") != "30" {
			t.Errorf("visitor %q is told to wait for %q", visitor, a.header.Get("Retry-After"))
		}
	}
	ask(s, public, "anna").problem(429) // having a key doesn't exempt the caller from the limit
	for range 5 {
		ask(s, public, "").want(200) // a caller with a key but no visitor id is not limited
		ask(s, private, "anna").want(200)
	}
	if used := s.used("")["queries"]; used != 16 {
		t.Errorf("%v queries are counted: those that were refused cost something", used)
	}
	s.clock.advance(30 * time.Second)
	ask(anyone, public, "anna").want(200)
	ask(anyone, public, "anna").problem(429)
}

func TestContentBeyondTheStorageLimitIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	id := s.newText(store, strings.Repeat("a", 50))
	s.limit(domain.Limits{domain.MetricStoredBytes: 60})
	refused := func(a *response) {
		t.Helper()
		if p := a.problem(402); p.Error != "USAGE_LIMIT" || !strings.Contains(p.Detail, "60 bytes") {
			t.Errorf("%+v", p)
		}
	}
	text := func(n int) object { return object{"text": strings.Repeat("b", n)} }
	upsert := func(documents ...object) *response {
		return s.call("POST", "/datastores/upsert/"+store, object{"documents": documents})
	}
	refused(upsert(text(6), text(6)))
	if n := len(s.originals.all()); n != 1 {
		t.Errorf("%d originals are kept, want that of what was accepted", n)
	}
	upsert(text(10)).want(200)
	refused(upsert(text(1)))
	refused(s.call("POST", "/datasources", object{"datastoreId": store, "type": "text", "config": text(1)}))
	refused(s.call("POST", "/datasources", object{"datastoreId": store, "type": "web_page", "config": object{"source_url": "https://pumps.example/"}}))
	refused(s.uploadText(store, "more.txt", "more"))
	refused(s.call("POST", "/datastores/update/"+store, with(object{"id": id}, text(51))))
	s.call("POST", "/datastores/update/"+store, with(object{"id": id}, text(20))).want(200)
	s.uploadText(store, "more.txt", "more").want(201)
	s.call("POST", "/datasources", object{"datastoreId": store, "type": "web_page", "config": object{"source_url": "https://pumps.example/"}}).want(201)
	if used := s.used("")["stored_bytes"]; used != 34 {
		t.Errorf("%v bytes are stored", used)
	}
	s.synch(id, 1, 3) // accepted content is processed even beyond the limit
	s.limit(domain.Limits{domain.MetricStoredChunks: 3})
	if p := upsert(text(1)).problem(402); !strings.Contains(p.Detail, "3 chunks") {
		t.Errorf("%+v", p)
	}
}

func (s *service) uploadText(store, name, content string) *response {
	s.Helper()
	body := "--x\r\nContent-Disposition: form-data; name=\"datastoreId\"\r\n\r\n" + store +
		"\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n--x--\r\n"
	return s.call("POST", "/datasources", body, "Content-Type", "multipart/form-data; boundary=x")
}

func TestARepeatedUploadIsNotCountedTwiceAgainstTheStorageLimit(t *testing.T) {
	t.Parallel()
	s, m := newKillableClaims(t)
	store := s.newDatastore()
	s.limit(domain.Limits{domain.MetricStoredBytes: 10})
	body := object{"datastoreId": store, "type": "text", "config": object{"text": "ten bytes!"}}
	send := func() *response { return s.call("POST", "/datasources", body, "Idempotency-Key", "k") }
	first := m.dying(s, send).want(201).object()
	if again := send().want(201).object(); again.id() != first.id() {
		t.Errorf("%v, then %v", first, again)
	}
}

func TestConcurrentUploadsDoNotExceedTheStorageLimit(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	s.limit(domain.Limits{domain.MetricStoredBytes: 50})
	var wg sync.WaitGroup
	statuses := make([]int, 12)
	for n := range statuses {
		wg.Go(func() {
			statuses[n] = s.call("POST", "/datastores/upsert/"+store, object{"documents": []object{{"text": "ten bytes!"}}}).status
		})
	}
	wg.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	if count[200] != 5 || count[402] != 7 {
		t.Errorf("statuses %v, want five of 200", count)
	}
}

func TestAnInvalidMonthIsRefusedWithAnExample(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, month := range []string{"2026-13", "2026-1", "May"} {
		if got := s.call("GET", "/usage?month="+month, nil).fault("month"); got != `is "`+month+`"; it must look like 2026-05` {
			t.Errorf("got %q", got)
		}
	}
}
