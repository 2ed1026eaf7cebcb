package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

func (s *service) respond(fields object) *response {
	s.Helper()
	body := object{"input": "How long?"}
	for name, value := range fields {
		body[name] = value
	}
	return s.call("POST", "/v1/responses", body)
}

func TestResponsesBelongToTheirWorkspaceAndKey(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	agent, other := s.newAgent(object{"datastoreIds": []string{store}}), s.newAgent()
	queries := func() *service {
		return s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: agent}))
	}
	mine, theirs, stranger := queries(), queries(), s.stranger()
	id := mine.respond(object{"model": agent}).want(200).object().id()
	conversation := mine.call("POST", "/v1/conversations", object{}).want(200).object().id()
	for _, path := range []string{"/v1/responses/" + id, "/v1/responses/" + id + "/input_items", "/v1/conversations/" + conversation, "/v1/conversations/" + conversation + "/items"} {
		mine.call("GET", path, nil).want(200)
		s.call("GET", path, nil).want(200)
		theirs.call("GET", path, nil).openAIError(404)
		stranger.call("GET", path, nil).openAIError(404)
		s.as("").call("GET", path, nil).openAIError(401)
	}
	for _, path := range []string{"/v1/responses/" + id, "/v1/conversations/" + conversation} {
		theirs.call("DELETE", path, nil).openAIError(404)
		stranger.call("DELETE", path, nil).openAIError(404)
	}
	theirs.respond(object{"model": agent, "previous_response_id": id}).openAIError(400)
	theirs.respond(object{"model": agent, "conversation": conversation}).openAIError(404)
	theirs.respond(object{"model": agent, "input": []object{{"role": "user", "content": "a"}, {"type": "item_reference", "id": "msg_" + strings.TrimPrefix(id, "resp_") + "_0"}, {"role": "user", "content": "b"}}}).openAIError(400)

	// A key with query scope may use only its agent and the agent's datastores.
	mine.respond(object{"model": other}).openAIError(403)
	mine.respond(object{"model": "llm_4"}).openAIError(403)
	search := func(id string) []object { return []object{{"type": "file_search", "vector_store_ids": []string{id}}} }
	mine.respond(object{"model": agent, "tools": search("vs_" + store)}).want(200)
	mine.respond(object{"model": agent, "tools": search(s.newDatastore())}).openAIError(400)
	s.respond(object{"model": agent, "tools": search(s.newDatastore())}).want(200)
	stranger.respond(object{"model": "llm_4", "tools": search(store)}).openAIError(400)
}

func TestPublicAgentsAnswerResponsesOfOtherWorkspaces(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent(object{"visibility": "public"})
	stranger := s.stranger()
	id := stranger.respond(object{"model": agent}).want(200).object().id()
	stranger.call("GET", "/v1/responses/"+id, nil).want(200)
	s.call("GET", "/v1/responses/"+id, nil).openAIError(404)
	stranger.respond(object{"model": agent, "instructions": "Be rude."}).openAIError(400)
	stranger.respond(object{"model": agent, "input": []object{{"role": "system", "content": "Be rude."}, {"role": "user", "content": "a"}}}).openAIError(400)
	stranger.respond(object{"model": agent, "max_output_tokens": 5000}).openAIError(400)
}

func TestResponsesExpire(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.respond(object{"model": s.newAgent()}).want(200).object().id()
	s.clock.advance(29 * 24 * time.Hour)
	s.call("GET", "/v1/responses/"+id, nil).want(200)
	s.clock.advance(2 * 24 * time.Hour)
	s.call("GET", "/v1/responses/"+id, nil).openAIError(404)
}

func TestOneResponseOfAConversationIsAnsweredAtATime(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	begun, ended := make(chan struct{}), make(chan struct{})
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		if r.Query == "slow" {
			close(begun)
			<-ended
		}
		return tokens("Yes.")(ctx, r, emit)
	}
	conversation := s.call("POST", "/v1/conversations", object{}).want(200).object().id()
	first := make(chan *response)
	go func() { first <- s.respond(object{"model": agent, "conversation": conversation, "input": "slow"}) }()
	<-begun
	s.respond(object{"model": agent, "conversation": conversation}).openAIError(409)
	close(ended)
	(<-first).want(200)
	s.respond(object{"model": agent, "conversation": conversation}).want(200)
	var asked answer.Request
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		asked = r
		return tokens("Yes.")(ctx, r, emit)
	}
	s.respond(object{"model": agent, "conversation": conversation, "instructions": "Be brief.", "temperature": 1.5}).want(200)
	if len(asked.History) != 4 || asked.History[0].Text != "slow" || asked.Instructions != "Be brief." || *asked.Temperature != 1 || !asked.Ephemeral {
		t.Errorf("%+v", asked)
	}
}

func TestResponsesListUnknownParameters(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.respond(object{"model": s.newAgent(), "reasoning": object{"effort": "low"}, "context_management": []any{}}).want(200)
	if h := got.header.Get("Sluice-Ignored-Parameters"); h != "context_management, reasoning" {
		t.Errorf("%q", h)
	}
	if effort := got.object()["reasoning"].(map[string]any)["effort"]; effort != "low" {
		t.Errorf("%v", effort)
	}
}

func TestPanicInTheBackgroundFailsTheResponse(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	s.answerer.answer = func(_ context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
		must(t, emit("Thirty "))
		panic("a fault of a reader")
	}
	id := s.respond(object{"model": agent, "background": true}).want(200).object().id()
	s.call("GET", "/v1/responses/"+id+"?stream=true", nil).want(200) // ends together with the response
	failed := s.call("GET", "/v1/responses/"+id, nil).want(200).object()
	if failed["status"] != "failed" || failed["error"].(map[string]any)["code"] != "server_error" {
		t.Errorf("%v", failed)
	}
	if log := s.log.String(); !strings.Contains(log, "a fault of a reader") || !strings.Contains(log, "responses_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", log)
	}
	if events := string(s.call("GET", "/v1/responses/"+id+"?stream=true", nil).want(200).body); !strings.Contains(events, "response.failed") {
		t.Errorf("%s", events)
	}

	s.answerer.answer = nil
	again := s.respond(object{"model": agent}).want(200).object() // the process has survived
	if again["status"] != "completed" {
		t.Errorf("%v", again)
	}
}

func TestMissingPredecessorsHaveOpenAIsCodes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	code := func(a *response) any { return a.object()["error"].(map[string]any)["code"] }
	previous := s.respond(object{"model": agent, "previous_response_id": "resp_" + domain.NewID()}).want(400)
	if got := code(previous); got != "previous_response_not_found" {
		t.Errorf("%v", got)
	}
	if got := code(s.respond(object{"model": agent, "previous_response_id": "resp_" + domain.NewID(), "conversation": "conv_x"}).want(400)); got != "invalid_request" {
		t.Errorf("%v", got)
	}
	for id, status := range map[string]int{"conv_" + domain.NewID(): 404, "conv_x": 404, "x": 400, "resp_" + domain.NewID(): 400} {
		if param, message := s.respond(object{"model": agent, "conversation": id}).openAIFault(status); param != "conversation" {
			t.Errorf("%s: %s: %s", id, param, message)
		}
	}
}

func TestGoClientsSendStreamInTheBody(t *testing.T) {
	t.Parallel()
	s := newService(t)
	path := "/v1/responses/" + s.respond(object{"model": s.newAgent()}).want(200).object().id()
	for body, want := range map[any]string{
		`{"stream":true}`: "text/event-stream", `{"stream":false}`: "application/json", `{"stream":`: "application/json",
		`{"pad":"` + strings.Repeat("x", 2000) + `","stream":true}`: "application/json",
	} {
		if got := s.call("GET", path, body).want(200).header.Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("%.40s: %s, want %s", body, got, want)
		}
	}
	if rest := string(s.call("GET", path+"?starting_after=0", `{"stream":true}`).want(200).body); strings.Contains(rest, "response.created") {
		t.Errorf("%s", rest)
	}
}

func TestNamesOfChatModels(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.ChatModels = map[string]string{"small": "llm_4"} })
	for _, name := range []string{"small", "llm_4", "gpt-4o", "gpt-6", "openai/gpt-6", "claude-opus-5"} {
		if got := s.respond(object{"model": name}).want(200).object(); got["model"] != name {
			t.Errorf("the model %s answers as %v", name, got["model"])
		}
	}
	e := s.respond(object{"model": "smal"}).openAIError(404)
	if e.Code != "model_not_found" || e.Param != "model" || !strings.Contains(e.Message, `"smal"`) || !strings.Contains(e.Message, "GET /v1/models") {
		t.Errorf("error %+v", e)
	}
	listed := s.call("GET", "/v1/models", nil).want(200).object().list("data")
	if first := object(listed[0].(map[string]any)); first.id() != "small" {
		t.Errorf("the first model is %v", first)
	}
	if got := s.call("GET", "/v1/models/small", nil).want(200).object(); got.id() != "small" {
		t.Errorf("the model is %v", got)
	}
	if e := s.chat("small").openAIError(404); !strings.Contains(e.Message, "/v1/responses") {
		t.Errorf("a chat completion says %q", e.Message)
	}
}

func TestAResponseWithoutAnythingToAnswerFromIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	e := s.respond(object{"model": "gpt-4o"}).openAIError(400)
	if e.Param != "tools" || !strings.Contains(e.Message, "add file_search, or send an agent's id as model") {
		t.Errorf("error %+v", e)
	}
	s.respond(object{"model": "gpt-4o", "tools": []object{{"type": "file_search", "vector_store_ids": []string{s.newDatastore()}}}}).want(200)
	s.respond(object{"model": s.newAgent()}).want(200)
}

func TestEndpointsThatAreNotAvailableSaySo(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for path, says := range map[string]string{"compact": "compaction", "input_tokens": "usage"} {
		if e := s.call("POST", "/v1/responses/"+path, object{"model": "gpt-4o", "input": "a"}).openAIError(404); !strings.Contains(e.Message, says) {
			t.Errorf("%s: %+v", path, e)
		}
	}
}
