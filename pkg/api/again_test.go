package api_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
)

func TestARepeatedRequestReplacesAnUndeliveredSecret(t *testing.T) {
	t.Parallel()
	s, m := newKillableClaims(t)
	send := func() *response { return s.call("POST", "/keys", object{"name": "ci"}, "Idempotency-Key", "k") }
	first := m.dying(s, send).want(201).object()
	unseen := s.as(first.text("key"))
	unseen.call("GET", "/agents", nil).want(200) // the key works until the request is repeated
	again := send().want(201)
	if again.object().id() != first.id() || again.object().text("key") == first.text("key") || again.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%v, then %s", first, again.body)
	}
	unseen.call("GET", "/agents", nil).problem(403)
	s.as(again.object().text("key")).call("GET", "/agents", nil).want(200)
	last := send().want(201).object() // secrets are not stored, so the request runs again
	s.as(again.object().text("key")).call("GET", "/agents", nil).problem(403)
	s.as(last.text("key")).call("GET", "/agents", nil).want(200)
	if n := len(s.call("GET", "/keys", nil).object().list("data")); n != 2 { // the created key and the test's own key
		t.Errorf("there are %d keys", n)
	}
	s.call("POST", "/keys", object{"name": "another"}, "Idempotency-Key", "k").problem(409)
}

// keeping stubs the answerer to number its answers and to store conversations, as the real one does.
func (s *service) keeping(asked *atomic.Int64) {
	s.answerer.answer = func(ctx context.Context, r answer.Request, _ func(string) error) (answer.Answer, error) {
		id := r.ConversationID
		if id == "" {
			id = r.NewConversationID
		}
		v, err := s.catalog.EnsureConversation(ctx, domain.Conversation{
			ID: id, WorkspaceID: r.Agent.WorkspaceID, AgentID: r.Agent.ID, VisitorID: r.VisitorID,
		})
		if err != nil {
			return answer.Answer{}, err
		}
		source := fragment
		source.Citation = 1
		a := answer.Answer{
			Text: fmt.Sprintf("answer %d [1].", asked.Add(1)), ConversationID: v.ID, VisitorID: v.VisitorID, Sources: []domain.Fragment{source}, PromptTokens: 5, CompletionTokens: 2,
		}
		a.Judge(r.Agent)
		return a, s.catalog.AppendMessages(ctx, v.ID,
			domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: r.Query},
			domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: a.Text, Sources: a.Sources, Sentences: a.Sentences})
	}
}

func TestAStoredAnswerIsReplayed(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]object{
		"in a new conversation":             {"query": "q"},
		"in a conversation that there was":  {"query": "q", "conversationId": newConversation, "visitorId": newVisitor},
		"without naming the one that asked": {"query": "q", "conversationId": newConversation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := newKillableClaims(t)
			var asked atomic.Int64
			s.keeping(&asked)
			path := "/agents/" + s.newAgent() + "/query"
			// Ask the same question before the keyed request begins. The keyed request's retry must not return this
			// answer in place of its own.
			s.call("POST", path, object{"query": "q", "conversationId": newConversation, "visitorId": newVisitor}).want(200)
			s.clock.advance(time.Second)
			send := func() *response { return s.call("POST", path, body, "Idempotency-Key", "k") }
			first := m.dying(s, send).want(200)
			again := send().want(200)
			if string(again.body) != string(first.body) || asked.Load() != 2 {
				t.Errorf("asked %d times: %s, then %s", asked.Load(), first.body, again.body)
			}
			used, err := s.catalog.Usage(t.Context(), s.ws, s.clock.Now())
			must(t, err)
			if used[domain.MetricQueries] != 2 || used[domain.MetricTokens] != 14 {
				t.Errorf("counted %v", used)
			}
			// A request with another idempotency key asks the question again.
			s.call("POST", path, body, "Idempotency-Key", "k 2").want(200)
			if asked.Load() != 3 {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
}

func TestAQuestionWithoutAnAnswerIsAskedAgainInItsConversation(t *testing.T) {
	t.Parallel()
	s, m := newKillableClaims(t)
	var requests []answer.Request
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		requests = append(requests, r)
		return tokens("yes")(ctx, r, emit)
	}
	path := "/agents/" + s.newAgent() + "/query"
	send := func() *response { return s.call("POST", path, object{"query": "q"}, "Idempotency-Key", "k") }
	m.dying(s, send).want(200)
	send().want(200)
	if len(requests) != 2 || !domain.ValidID(requests[0].NewConversationID) || requests[0].NewConversationID != requests[1].NewConversationID ||
		requests[0].VisitorID == "" || requests[0].VisitorID != requests[1].VisitorID {
		t.Errorf("asked %+v", requests)
	}
	s.call("POST", path, object{"query": "q"}).want(200)
	if last := requests[2]; last.NewConversationID != "" || last.VisitorID != "" {
		t.Errorf("a question without a key has the ids %q and %q", last.NewConversationID, last.VisitorID)
	}
}
