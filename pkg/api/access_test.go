package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	past, expiry := s.clock.Now().Add(-time.Hour), s.clock.Now().Add(time.Hour)
	expired := s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeWrite}, ExpiresAt: &past})
	expiring := s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeWrite}, ExpiresAt: &expiry})
	for name, header := range map[string]string{
		"none":           "",
		"unknown":        "Bearer " + domain.NewKey(),
		"expired":        "Bearer " + expired,
		"another scheme": "Basic " + s.key,
		"no scheme":      s.key,
		"a bare scheme":  "Bearer",
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			p := s.as("").call("GET", "/agents", nil, "Authorization", header).problem(403)
			if p.Error != "UNAUTHORIZED" {
				t.Errorf("%+v", p)
			}
		})
	}
	if p := s.as("").call("GET", "/agents", nil, "Authorization", `Bearer "`+s.key+`"`).problem(403); !strings.Contains(p.Detail, "is in quotes") {
		t.Errorf("of a key in quotes it is said: %+v", p)
	}
	s.as("").call("GET", "/agents", nil, "Authorization", "bearer   "+s.key).want(200)
	s.as(expiring).call("GET", "/agents", nil).want(200)
	s.clock.advance(2 * time.Hour)
	s.as(expiring).call("GET", "/agents", nil).problem(403) // expired, even though the service has just used the key
}

func TestScopes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent, other, datastore := s.newAgent(), s.newAgent(), s.newDatastore()
	key := func(fields object) string {
		return s.call("POST", "/keys", with(object{"name": "k"}, fields)).want(201).object().text("key")
	}
	read := s.as(key(object{"scopes": []string{"read"}}))
	query := s.as(key(object{"scopes": []string{"query"}, "agentId": agent}))
	write := s.as(key(object{}))
	question := object{"query": "q"}

	read.call("GET", "/agents", nil).want(200)
	read.call("POST", "/agents/"+agent+"/query", question).want(200)
	read.call("POST", "/datastores/"+datastore+"/query", question).want(200)
	read.call("POST", "/agents", object{"name": "a"}).problem(403)
	read.call("GET", "/keys", nil).problem(403)
	query.call("POST", "/agents/"+agent+"/query", question).want(200)
	query.call("POST", "/agents/"+other+"/query", question).problem(403)
	query.call("POST", "/datastores/"+datastore+"/query", question).problem(403)
	query.call("GET", "/agents", nil).problem(403)
	write.call("GET", "/agents", nil).want(200)
	write.call("DELETE", "/agents/"+other, nil).want(200)

	for name, c := range map[string]struct {
		fields object
		field  string
	}{
		"query without an agent":     {object{"scopes": []string{"query"}}, "agentId"},
		"an agent without query":     {object{"agentId": agent}, "agentId"},
		"query beside another scope": {object{"scopes": []string{"query", "read"}, "agentId": agent}, "scopes"},
		"an agent that is not there": {object{"scopes": []string{"query"}, "agentId": unusedID}, "agentId"},
		"an expiry that has passed":  {object{"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"},
		"an expiry that is no time":  {object{"expiresAt": "tomorrow"}, "expiresAt"},
		"an unknown scope":           {object{"scopes": []string{"admin"}}, "scopes[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.call("POST", "/keys", with(object{"name": "k"}, c.fields)).fault(c.field)
		})
	}
}

func TestARevokedKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.call("POST", "/keys", object{"name": "website"}).want(201).object()
	other := s.as(made.text("key"))
	other.call("GET", "/agents", nil).want(200) // lets the service use the key once before it is revoked
	s.stranger().call("DELETE", "/keys/"+made.id(), nil).problem(404)
	s.call("DELETE", "/keys/"+made.id(), nil).want(200)
	other.call("GET", "/agents", nil).problem(403)
	listed := s.call("GET", "/keys", nil).want(200)
	if strings.Contains(string(listed.body), made.text("key")) || strings.Contains(string(listed.body), "hash") {
		t.Errorf("a secret is listed: %s", listed.body)
	}
}

func TestANewKeyIsReturnedAsStored(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.clock.advance(123 * time.Nanosecond) // below the resolution of stored times
	expires := s.clock.Now().Add(time.Hour + 456*time.Nanosecond).Format(time.RFC3339Nano)
	made := s.call("POST", "/keys", object{"name": "website", "expiresAt": expires}).want(201).object()
	for _, k := range s.call("GET", "/keys", nil).want(200).object().list("data") {
		stored := object(k.(map[string]any))
		if stored.id() == made.id() && (stored["createdAt"] != made["createdAt"] || stored["expiresAt"] != made["expiresAt"]) {
			t.Errorf("answered %v and %v, stored %v", made["createdAt"], made["expiresAt"], stored)
		}
	}
}

func TestTheLastUseOfAKeyIsStored(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.call("POST", "/keys", object{"name": "website"}).want(201).object()
	s.as(made.text("key")).call("GET", "/agents", nil).want(200)
	for _, k := range s.call("GET", "/keys", nil).want(200).object().list("data") {
		if key := object(k.(map[string]any)); key.id() == made.id() && key["lastUsedAt"] == nil {
			t.Errorf("the key's use was not noted: %v", key)
		}
	}
}

func TestAnotherWorkspaceSeesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	stranger := s.stranger()
	theirs := stranger.newDatastore()
	question := object{"query": "q"}
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/agents/" + s.agent, nil},
		{"PATCH", "/agents/" + s.agent, object{"name": "mine"}},
		{"DELETE", "/agents/" + s.agent, nil},
		{"POST", "/agents/" + s.agent + "/query", question},
		{"GET", "/datastores/" + s.datastore, nil},
		{"PATCH", "/datastores/" + s.datastore, object{"name": "mine"}},
		{"DELETE", "/datastores/" + s.datastore, nil},
		{"POST", "/datastores/" + s.datastore + "/query", question},
		{"POST", "/datastores/" + s.datastore + "/resync", nil},
		{"GET", "/datastores/" + s.datastore + "/events", nil},
		{"POST", "/datastores/upsert/" + s.datastore, object{"documents": []object{{"text": "t"}}}},
		{"POST", "/datastores/update/" + s.datastore, object{"id": s.datasource, "text": "t"}},
		{"POST", "/datastores/update/" + theirs, object{"id": s.datasource, "text": "t"}},
		{"POST", "/datasources", object{"datastoreId": s.datastore, "type": "text", "config": object{"text": "t"}}},
		{"GET", "/datasources/" + s.datasource, nil},
		{"GET", "/datasources/" + s.datasource + "/chunks", nil},
		{"GET", "/datasources/" + s.datasource + "/text", nil},
		{"POST", "/datasources/" + s.datasource + "/resync", nil},
		{"DELETE", "/datasources/" + s.datasource, nil},
		{"GET", "/conversations/" + s.conversation, nil},
		{"DELETE", "/conversations/" + s.conversation, nil},
		{"PUT", "/keys/" + s.key + "/limits", object{"queries": 1}},
		{"DELETE", "/keys/" + s.service.call("GET", "/keys", nil).object().list("data")[0].(map[string]any)["id"].(string), nil},
	} {
		stranger.call(c.method, c.path, c.body).problem(404)
	}
	for _, list := range []string{"/agents", "/datasources", "/conversations", "/conversations?agentId=" + s.agent, "/conversations?query=long", "/datasources?datastoreId=" + s.datastore} {
		if o := stranger.call("GET", list, nil).want(200).object(); len(o.list("data")) != 0 {
			t.Errorf("%s shows %v", list, o)
		}
	}
	if got := stranger.call("POST", "/agents", object{"name": "a", "datastoreIds": []string{theirs, s.datastore}}).fault("datastoreIds[1]"); !strings.Contains(got, "not a datastore in this workspace") {
		t.Errorf("%q", got)
	}
}

func TestADatasourceOfAnotherDatastoreIsNotUpdated(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	other := s.newDatastore()
	s.call("POST", "/datastores/update/"+other, object{"id": s.datasource, "text": "t"}).problem(404)
}

func TestPublicAgentsAndDatastoresAreQueriedWithoutAKey(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	anyone, stranger := s.as(""), s.stranger()
	question := object{"query": "q"}
	anyone.call("POST", "/agents/"+s.agent+"/query", question).problem(403)
	anyone.call("POST", "/agents/"+unusedID+"/query", question).problem(403)
	anyone.call("POST", "/agents/nonsense/query", question).problem(403)
	for _, path := range []string{"/agents/" + s.agent + "/query", "/datastores/" + s.datastore + "/query"} {
		anyone.call("POST", path, "{").problem(403) // without permission, the caller must not even learn that the body is invalid
	}

	s.call("PATCH", "/agents/"+s.agent, object{"visibility": "public"}).want(200)
	s.call("PATCH", "/datastores/"+s.datastore, object{"visibility": "public"}).want(200)
	for _, caller := range []*service{anyone, stranger, s.service, s.as(""), s.service} {
		for _, path := range []string{"/agents/" + s.agent + "/query", "/agents/query/" + s.agent, "/datastores/" + s.datastore + "/query", "/datastores/query/" + s.datastore} {
			caller.call("POST", path, question).want(200)
		}
	}
	anyone.call("POST", "/agents/"+s.agent+"/query", "{").problem(400)
	anyone.call("GET", "/agents/"+s.agent, nil).problem(403)
	anyone.call("PATCH", "/agents/"+s.agent, object{"name": "x"}).problem(403)
	stranger.call("GET", "/agents/"+s.agent, nil).problem(404)
	anyone.call("POST", "/agents/"+s.agent+"/query", question, "Authorization", "Bearer sk_wrong").problem(403)
	usage := s.call("GET", "/usage", nil).want(200).object().list("usage")[0].(map[string]any)
	if usage["metric"] != "queries" || usage["used"] != 10.0 {
		t.Errorf("the owner's use is %v", usage)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.RatePerSecond = 2 })
	for n := range 4 {
		if a := s.call("GET", "/agents", nil); a.status != 200 {
			t.Fatalf("request %d of the burst: %d", n, a.status)
		}
	}
	a := s.call("GET", "/agents", nil)
	if p := a.problem(429); p.Error != "RATE_LIMIT" || a.header.Get("Retry-After") != "1" {
		t.Errorf("%+v, Retry-After %q", p, a.header.Get("Retry-After"))
	}
	s.stranger().call("GET", "/agents", nil).want(200)
	s.call("GET", "/healthz", nil).want(200)
	s.clock.advance(time.Second)
	s.call("GET", "/agents", nil).want(200)
}

func TestTheQuotaIsNotExceeded(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.limit(domain.Limits{domain.MetricQueries: 5})
	agent := s.newAgent()
	s.call("POST", "/agents/"+agent+"/query", object{}).problem(400) // a rejected query does not count towards the limit
	var wg sync.WaitGroup
	statuses := make([]int, 12)
	for n := range statuses {
		wg.Go(func() { statuses[n] = s.call("POST", "/agents/"+agent+"/query", object{"query": "q"}).status })
	}
	wg.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	if count[200] != 5 || count[402] != 7 {
		t.Errorf("statuses %v, want five of 200", count)
	}
	for _, streaming := range []bool{true, false} {
		p := s.call("POST", "/agents/"+agent+"/query", object{"query": "q", "streaming": streaming}).problem(402)
		if p.Error != "USAGE_LIMIT" || !strings.Contains(p.Detail, "5 agent queries") {
			t.Errorf("%+v", p)
		}
	}
	s.clock.advance(31 * 24 * time.Hour)
	s.call("POST", "/agents/"+agent+"/query", object{"query": "q"}).want(200)
}

func TestAConversationOfAnotherVisitorIsRefusedAtNoCost(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	asked := 0
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		asked++
		return tokens("yes")(ctx, r, emit)
	}
	mine, other := "/agents/"+s.agent+"/query", "/agents/"+s.newAgent()+"/query"
	for _, streaming := range []bool{false, true} {
		body := object{"query": "q", "conversationId": s.conversation, "streaming": streaming}
		s.call("POST", other, body).problem(404)
		s.call("POST", mine, with(object{"visitorId": "somebody else"}, body)).problem(404)
	}
	if used := s.call("GET", "/usage", nil).want(200).object().list("usage")[0].(map[string]any)["used"]; asked != 0 || used != 0.0 {
		t.Errorf("%d questions were asked and %v counted", asked, used)
	}
	s.call("POST", mine, object{"query": "q", "conversationId": s.conversation, "visitorId": "v"}).want(200)
	s.call("POST", other, object{"query": "q", "conversationId": domain.NewID()}).want(200)
}

func TestTheQuotaOfTokens(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.limit(domain.Limits{domain.MetricTokens: 14})
	agent := s.newAgent()
	for range 2 { // seven tokens per query
		s.call("POST", "/agents/"+agent+"/query", object{"query": "q"}).want(200)
	}
	s.call("POST", "/agents/"+agent+"/query", object{"query": "q"}).problem(402)
	want := `{"limit":14,"metric":"tokens","used":14}`
	if a := s.call("GET", "/usage", nil).want(200); !strings.Contains(string(a.body), want) {
		t.Errorf("usage %s lacks %s", a.body, want)
	}
	if a := s.call("GET", "/usage?month=2026-04", nil).want(200); strings.Contains(string(a.body), `"used":14`) {
		t.Errorf("the month before shows this month's use: %s", a.body)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newService(t)
	body := object{"name": "once"}
	first := s.call("POST", "/agents", body, "Idempotency-Key", "k-1").want(201)
	again := s.call("POST", "/api/agents", body, "Idempotency-Key", "k-1").want(201)
	if string(first.body) != string(again.body) || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	if n := len(s.call("GET", "/agents", nil).object().list("data")); n != 1 {
		t.Errorf("%d agents were made", n)
	}
	s.call("POST", "/agents", object{"name": "other"}, "Idempotency-Key", "k-1").problem(409)
	s.call("POST", "/datastores", body, "Idempotency-Key", "k-1").problem(409)
	s.stranger().call("POST", "/agents", object{"name": "other"}, "Idempotency-Key", "k-1").want(201)
	s.call("POST", "/agents", object{"datastoreIds": []string{unusedID}, "name": "x"}, "Idempotency-Key", "k-2").problem(400)
	s.call("POST", "/agents", object{"name": "x"}, "Idempotency-Key", "k-2").want(201) // the key can be reused after a failure
	for _, key := range []string{"", strings.Repeat("k", 201), "caf\xe9"} {
		s.call("POST", "/agents", body, "Idempotency-Key", key).fault("Idempotency-Key")
	}
}

func TestConcurrentRequestsWithOneIdempotencyKeyConflict(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if a := s.call("POST", "/agents", object{"name": "once"}, "Idempotency-Key", "k"); a.status != 201 && a.status != 409 {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
	}
	wg.Wait()
	if n := len(s.call("GET", "/agents", nil).object().list("data")); n != 1 {
		t.Errorf("%d agents were made", n)
	}
}

func TestInternalErrorsAreNotDisclosed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent, datastore := s.newAgent(), s.newDatastore()
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) {
		return retrieve.Result{}, fmt.Errorf("secret of the house")
	}
	s.answerer.answer = func(context.Context, answer.Request, func(string) error) (answer.Answer, error) {
		panic("secret of the house")
	}
	for _, path := range []string{"/datastores/" + datastore + "/query", "/agents/" + agent + "/query"} {
		p := s.call("POST", path, object{"query": "q"}, "X-Request-Id", "r-42").problem(500)
		if strings.Contains(p.Detail, "secret") || p.Instance != "r-42" {
			t.Errorf("%+v", p)
		}
	}
	if log := s.log.String(); strings.Count(log, "secret of the house") < 2 || !strings.Contains(log, "r-42") {
		t.Errorf("the log lacks the cause: %s", log)
	}
	if a := s.call("GET", "/healthz", nil, "X-Request-Id", "bad id").want(200); a.header.Get("X-Request-Id") == "" || a.header.Get("X-Request-Id") == "bad id" {
		t.Errorf("request id %q", a.header.Get("X-Request-Id"))
	}
}

func TestReadinessNamesFailedDependencies(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, d *api.Deps) {
		o.ReadyTimeout = time.Minute
		d.Checks = append(d.Checks,
			api.Check{Name: "index", Ready: func(context.Context) error { return fmt.Errorf("password=hunter2") }},
			api.Check{Name: "jobs", Ready: func(context.Context) error { return fmt.Errorf("asking: %w", context.DeadlineExceeded) }},
			api.Check{Name: "models", Ready: func(context.Context) error { panic("boom") }},
		)
	})
	a := s.as("").call("GET", "/readyz", nil).want(http.StatusServiceUnavailable)
	want := `{"checks":[{"name":"catalog","status":"ok"},{"error":"unavailable","name":"index","status":"down"},{"error":"timed out","name":"jobs","status":"down"},{"error":"unavailable","name":"models","status":"down"}],"status":"down"}`
	if strings.TrimSpace(string(a.body)) != want {
		t.Errorf("%s, want %s", a.body, want)
	}
}

func TestReadinessIgnoresDependenciesOfQueriesOnly(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) {
		d.Checks = []api.Check{
			{Name: "milvus", Ready: func(context.Context) error { return errors.New("away") }, Degrades: true},
			{Name: "nats", Ready: func(context.Context) error { return nil }, Note: func(context.Context) string { return "is old" }},
		}
	})
	a := s.call("GET", "/readyz", nil).want(http.StatusOK)
	want := `{"checks":[{"error":"unavailable","name":"milvus","status":"down"},{"name":"nats","note":"is old","status":"ok"}],"status":"degraded"}`
	if strings.TrimSpace(string(a.body)) != want {
		t.Errorf("%s, want %s", a.body, want)
	}
}

func TestReadinessDoesNotWaitForANoteThatHangs(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	defer close(end)
	s := newService(t, func(o *api.Options, d *api.Deps) {
		o.ReadyTimeout = time.Second
		d.Checks = []api.Check{{Name: "ocr", Ready: func(context.Context) error { return nil }, Note: func(context.Context) string { <-end; return "late" }}}
	})
	a := s.call("GET", "/readyz", nil).want(http.StatusOK)
	if want := `{"checks":[{"name":"ocr","status":"ok"}],"status":"ok"}`; strings.TrimSpace(string(a.body)) != want {
		t.Errorf("%s, want %s", a.body, want)
	}
}

func TestReadinessDoesNotWaitForACheckThatHangs(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	defer close(end)
	s := newService(t, func(o *api.Options, d *api.Deps) {
		o.ReadyTimeout = 20 * time.Millisecond
		d.Checks = []api.Check{{Name: "jobs", Ready: func(context.Context) error { <-end; return nil }}}
	})
	a := s.call("GET", "/readyz", nil).want(http.StatusServiceUnavailable)
	if want := `{"checks":[{"error":"timed out","name":"jobs","status":"down"}],"status":"down"}`; strings.TrimSpace(string(a.body)) != want {
		t.Errorf("%s, want %s", a.body, want)
	}
}
