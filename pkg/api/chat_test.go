package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// openAIError holds the error fields that OpenAI's clients read.
type openAIError struct {
	Message, Type, Param, Code string
}

// openAIError checks that the body is an error in OpenAI's format and returns it.
func (a *response) openAIError(status int) openAIError {
	a.Helper()
	a.want(status)
	var body struct{ Error openAIError }
	must(a.T, json.Unmarshal(a.body, &body))
	if a.header.Get("Content-Type") != "application/json" || body.Error.Message == "" || body.Error.Type == "" || body.Error.Code == "" {
		a.Errorf("the error lacks something: %s", a.body)
	}
	return body.Error
}

func says(role, content any) object { return object{"role": role, "content": content} }

// chat asks the agent a question. `fields` are added to the body.
func (s *service) chat(agent string, fields ...object) *response {
	s.Helper()
	return s.call("POST", "/v1/chat/completions", with(object{"model": agent, "messages": []any{says("user", "How long?")}}, fields...))
}

// chatted stubs the answerer to answer every question. It returns a pointer to the last request that the answerer
// received.
func (s *service) chatted() *answer.Request {
	var got answer.Request
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		got = r
		got.Ignored = nil
		a, err := tokens("The trial", " lasts", " 30 days [1].")(ctx, r, emit)
		if r.Ephemeral {
			a.ConversationID = ""
		}
		return a, err
	}
	return &got
}

func TestAChatCompletionBecomesAQuestionToTheAgent(t *testing.T) {
	t.Parallel()
	const conversation = newConversation
	for name, test := range map[string]struct {
		body object
		want answer.Request // except for the agent
	}{
		"the last message is the question, the others are what was said": {
			object{"messages": []any{says("system", "Be brief."), says("user", "Which trial?"), says("assistant", "Ours [1]."), says("developer", "In English."), says("user", "How long?")}},
			answer.Request{Query: "How long?", Instructions: "Be brief.\n\nIn English.", Ephemeral: true, History: []domain.Message{
				{Role: domain.RoleUser, Text: "Which trial?"}, {Role: domain.RoleAssistant, Text: "Ours [1]."},
			}},
		},
		"parts of text are lines": {
			object{"messages": []any{says("user", []any{object{"type": "text", "text": "How"}, object{"type": "text", "text": "long?"}})}},
			answer.Request{Query: "How\nlong?", Ephemeral: true},
		},
		"a system message may come last, and an assistant may have said nothing": {
			object{"messages": []any{says("assistant", nil), says("assistant", ""), says("user", "q"), says("system", "s")}},
			answer.Request{Query: "q", Instructions: "s", Ephemeral: true},
		},
		"parameters are passed on": {
			object{"temperature": 0.5, "top_p": 0.25, "max_tokens": 9, "presence_penalty": 1, "frequency_penalty": -1, "user": "v-1", "filters": object{"custom_ids": []string{"a"}}},
			answer.Request{Query: "How long?", Ephemeral: true, VisitorID: "v-1", Temperature: new(0.5), TopP: new(0.25), MaxTokens: new(9),
				PresencePenalty: new(1.0), FrequencyPenalty: new(-1.0), Filters: domain.Filters{CustomIDs: []string{"a"}}},
		},
		"a temperature above 1 is 1, and the newer bound of tokens goes first": {
			object{"temperature": 1.7, "max_tokens": 9, "max_completion_tokens": 7},
			answer.Request{Query: "How long?", Ephemeral: true, Temperature: new(1.0), MaxTokens: new(7)},
		},
		"a stop sequence and a form of the answer": {
			object{"stop": "\nObservation:", "response_format": object{"type": "json_object"}},
			answer.Request{Query: "How long?", Ephemeral: true, Stop: []string{"\nObservation:"}, ResponseFormat: []byte(`{"type":"json_object"}`)},
		},
		"several stop sequences": {
			object{"stop": []string{"a", "b"}},
			answer.Request{Query: "How long?", Ephemeral: true, Stop: []string{"a", "b"}},
		},
		"a conversation that is kept has its own history": {
			object{"conversationId": conversation, "messages": []any{says("user", "a"), says("assistant", "b"), says("user", "c")}},
			answer.Request{Query: "c", ConversationID: conversation},
		},
		"what is to be stored begins a conversation": {
			object{"store": true, "messages": []any{says("user", "a"), says("assistant", "b"), says("user", "c")}},
			answer.Request{Query: "c", History: []domain.Message{{Role: domain.RoleUser, Text: "a"}, {Role: domain.RoleAssistant, Text: "b"}}},
		},
		"what says nothing, and what merely hints, is taken": {
			object{"tools": []any{}, "tool_choice": "none", "stop": nil, "response_format": object{"type": "text"}, "modalities": []string{"text"}, "logprobs": false, "logit_bias": object{},
				"n": 1, "seed": 7, "metadata": object{"a": "b"}, "reasoning_effort": "low", "store": false, "parallel_tool_calls": true, "unheard_of": 1},
			answer.Request{Query: "How long?", Ephemeral: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			got := s.chatted()
			s.chat(s.newAgent(), test.body).want(200)
			got.Agent = domain.Agent{}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAChatCompletionHasTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.chatted()
	agent := s.newAgent()
	anonymous := strings.NewReplacer(agent, "AGENT").Replace
	stamp := regexp.MustCompile(`chatcmpl-[0-9a-f-]{36}`)
	plain := func(a *response) string { return stamp.ReplaceAllString(anonymous(string(a.body)), "chatcmpl-ID") }
	golden(t, "chat-whole.json", plain(s.chat(agent).want(200)))
	for name, fields := range map[string]object{
		"chat-stream.txt":       {},
		"chat-stream-usage.txt": {"stream_options": object{"include_usage": true}},
		"chat-stream-kept.txt":  {"conversationId": newConversation, "user": "v-1"},
	} {
		a := s.chat(agent, object{"stream": true}, fields).want(200)
		if got := a.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("Content-Type is %q", got)
		}
		golden(t, name, plain(a))
	}
}

func TestMinusOneTokenIsNoLimit(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.chatted()
	agent := s.newAgent(object{"visibility": "public"})
	limit := func() any {
		if got.MaxTokens == nil {
			return nil
		}
		return *got.MaxTokens
	}
	for _, fields := range []object{{"max_tokens": -1}, {"max_completion_tokens": -1}, {"max_tokens": -1.0, "max_completion_tokens": -1}} {
		s.chat(agent, fields).want(200)
		if limit() != nil {
			t.Errorf("%v: at most %v", fields, limit())
		}
	}
	s.chat(agent, object{"max_tokens": 70, "max_completion_tokens": -1}).want(200)
	if limit() != 70 {
		t.Errorf("beside another limit: at most %v", limit())
	}
	for _, by := range []*service{s, s.as("")} {
		by.call("POST", "/agents/"+agent+"/query", object{"query": "q", "maxTokens": -1}).want(200)
		if limit() != nil {
			t.Errorf("an agent query: at most %v", limit())
		}
	}
	for _, n := range []any{0, -2, -0.5, "-1"} {
		s.call("POST", "/agents/"+agent+"/query", object{"query": "q", "maxTokens": n}).fault("maxTokens")
		s.chat(agent, object{"max_completion_tokens": n}).openAIError(400)
	}
	s.call("POST", "/datastores/"+s.newDatastore()+"/query", object{"query": "q", "topK": -1}).fault("topK")
}

func TestATruncatedCompletionHasTheFinishReasonLength(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.answerer.answer = func(_ context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
		return answer.Answer{Text: "The", Cut: true}, nil
	}
	agent := s.newAgent()
	for _, stream := range []bool{false, true} {
		if a := s.chat(agent, object{"stream": stream}).want(200); !strings.Contains(string(a.body), `"finish_reason":"length"`) {
			t.Errorf("stream %v: %s", stream, a.body)
		}
	}
}

func TestUnsupportedParametersAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	for name, test := range map[string]struct {
		body  object
		param string
		says  string
	}{
		"several answers":              {object{"n": 2}, "n", "2 is above the maximum of 1"},
		"a tool without a function":    {object{"tools": []any{object{"type": "function"}}}, "tools[0].function", "required"},
		"a tool with a bad name":       {object{"tools": []any{object{"type": "function", "function": object{"name": "a b"}}}}, "tools[0].function.name", ""},
		"two tools with one name":      {object{"tools": []any{lookUp, lookUp}}, "tools[1].function.name", "another tool's name"},
		"a tool of another type":       {object{"tools": []any{object{"type": "web", "function": object{"name": "f"}}}}, "tools[0].type", `must be "function"`},
		"functions":                    {object{"functions": []any{object{"name": "f"}}}, "functions", "send tools"},
		"a tool that must be called":   {object{"tool_choice": "required"}, "tool_choice", "there are no tools"},
		"a choice that is no tool":     {object{"tools": []any{lookUp}, "tool_choice": object{"type": "function", "function": object{"name": "x"}}}, "tool_choice.function.name", "tools contains no tool with this name"},
		"a result without a call":      {object{"messages": []any{says("user", "q"), object{"role": "tool", "tool_call_id": "1", "content": "x"}}}, "messages[1].role", "no assistant message"},
		"a result of another call":     {object{"messages": []any{says("user", "q"), calls("1"), object{"role": "tool", "tool_call_id": "2", "content": "x"}}}, "messages[2].tool_call_id", "no call with this id"},
		"a result without an id":       {object{"messages": []any{says("user", "q"), calls("1"), says("tool", "x")}}, "messages[2].tool_call_id", "is required"},
		"a call without a result":      {object{"messages": []any{says("user", "q"), calls("1"), says("user", "q")}}, "messages[1].tool_calls", "no result for the call"},
		"calls of a user":              {object{"messages": []any{object{"role": "user", "content": "q", "tool_calls": calls("1")["tool_calls"]}}}, "messages[0].tool_calls", "only assistant messages"},
		"a schema that is missing":     {object{"response_format": object{"type": "json_schema", "json_schema": object{"name": "a"}}}, "response_format.json_schema.schema", "is required"},
		"an unknown form":              {object{"response_format": object{"type": "xml"}}, "response_format.type", "must be one of"},
		"many stop sequences":          {object{"stop": []string{"a", "b", "c", "d", "e"}}, "stop", "at most 4"},
		"an empty stop sequence":       {object{"stop": []string{""}}, "stop", "1 to 1,000"},
		"a number as stop sequence":    {object{"stop": 7}, "stop", "it must be a string"},
		"log probabilities":            {object{"logprobs": true}, "logprobs", "not supported"},
		"biases":                       {object{"logit_bias": object{"1": 2}}, "logit_bias", "not supported"},
		"audio":                        {object{"modalities": []string{"text", "audio"}}, "modalities", "are always text"},
		"the web":                      {object{"web_search_options": object{}}, "web_search_options", "datastores"},
		"a temperature above OpenAI's": {object{"temperature": 2.1}, "temperature", "above the maximum of 2"},
		"no tokens":                    {object{"max_tokens": 0}, "max_tokens", "below the minimum of 1"},
		"an image":                     {object{"messages": []any{says("user", []any{object{"type": "image_url", "image_url": object{"url": "x"}}})}}, "messages[0].content[0].type", "only parts of type text"},
		"a part without text":          {object{"messages": []any{says("user", []any{object{"type": "text"}})}}, "messages[0].content[0].text", "is required"},
		"a message of a tool":          {object{"messages": []any{says("tool", "x"), says("user", "q")}}, "messages[0].role", "no assistant message"},
		"content of another kind":      {object{"messages": []any{says("user", 7)}}, "messages[0].content", "it must be a string of at most 1,048,576 characters, or an array"},
		"no question":                  {object{"messages": []any{says("system", "s")}}, "messages", "no user message"},
		"an answer that has begun":     {object{"messages": []any{says("user", "q"), says("assistant", "The")}}, "messages[1].role", `must be "user"`},
		"an empty question":            {object{"messages": []any{says("user", " \n")}}, "messages[0].content", "is empty"},
		"a question without content":   {object{"messages": []any{object{"role": "user"}}}, "messages[0].content", "is empty"},
		"no messages":                  {object{"messages": []any{}}, "messages", "the minimum is 1"},
		"messages that are none":       {object{"messages": []any{"q"}}, "messages[0]", "must be an object"},
		"a long question":              {object{"messages": []any{says("system", "s"), says("user", strings.Repeat("q", 8001))}}, "messages[1].content", "the limit is 8000"},
		"long instructions":            {object{"messages": []any{says("system", strings.Repeat("s", 64<<10+1)), says("user", "q")}}, "messages", "the limit is 64 KiB"},
		"a conversation's bad id":      {object{"conversationId": strings.Repeat("x", 101)}, "conversationId", "the limit is 100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.in(t).chat(agent, test.body).openAIError(400)
			if got.Param != test.param || !strings.Contains(got.Message, test.says) || got.Type != "invalid_request_error" || got.Code != "invalid_request" {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("too many messages", func(t *testing.T) {
		t.Parallel()
		many := make([]any, 1001)
		for i := range many {
			many[i] = says("user", "q")
		}
		if got := s.in(t).chat(agent, object{"messages": many}).openAIError(400); !strings.Contains(got.Message, "has 1001 items; the limit is 1000") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("nesting without end", func(t *testing.T) {
		t.Parallel()
		deep := `{"model":"` + agent + `","messages":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`
		if got := s.in(t).call("POST", "/v1/chat/completions", deep).openAIError(400); !strings.Contains(got.Message, "nested deeper") {
			t.Errorf("got %+v", got)
		}
	})
}

func TestErrorsOfOpenAIPathsHaveTheExpectedStatus(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.MaxJSONBytes = 1000 })
	s.limit(domain.Limits{domain.MetricQueries: 1})
	agent, other := s.newAgent(), s.newAgent()
	oneAgent := s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: other})
	for name, test := range map[string]struct {
		answer     *response
		status     int
		kind, code string
	}{
		"no key":                 {s.as("").chat(agent), 401, "authentication_error", "invalid_api_key"},
		"a wrong key":            {s.as("sk_wrong").chat(agent), 401, "authentication_error", "invalid_api_key"},
		"another agent's key":    {s.as(oneAgent).chat(agent), 403, "permission_error", "insufficient_permissions"},
		"an unknown agent":       {s.chat(unusedID), 404, "invalid_request_error", "model_not_found"},
		"no agent's id":          {s.chat("gpt-4o"), 404, "invalid_request_error", "model_not_found"},
		"another workspace's":    {s.stranger().chat(agent), 404, "invalid_request_error", "model_not_found"},
		"a path that is none":    {s.call("POST", "/v1/images/generations", object{}), 404, "invalid_request_error", "not_found"},
		"the same under /api":    {s.call("POST", "/api/v1/images/generations", object{}), 404, "invalid_request_error", "not_found"},
		"another method":         {s.call("DELETE", "/v1/models", nil), 405, "invalid_request_error", "method_not_allowed"},
		"a body that is large":   {s.chat(agent, object{"user": strings.Repeat("u", 2000)}), 413, "invalid_request_error", "too_large"},
		"a body that is no JSON": {s.call("POST", "/v1/chat/completions", "{"), 400, "invalid_request_error", "invalid_request"},
	} {
		got := test.answer.openAIError(test.status)
		if got.Type != test.kind || got.Code != test.code {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	s.chat(agent).want(200)
	if got := s.chat(agent).openAIError(402); got.Type != "insufficient_quota" || got.Code != "insufficient_quota" {
		t.Errorf("a quota that is used up: %+v", got)
	}
}

func TestTheRateLimitAppliesToOpenAIClients(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.RatePerSecond = 1 })
	var a *response
	for range 3 {
		a = s.call("GET", "/v1/models", nil)
	}
	if got := a.openAIError(429); got.Code != "rate_limit_exceeded" || a.header.Get("Retry-After") == "" {
		t.Errorf("got %+v, Retry-After %q", got, a.header.Get("Retry-After"))
	}
}

func TestAStreamedCompletionThatFails(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	fail := func(after ...string) {
		s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
			for _, piece := range after {
				must(t, emit(piece))
			}
			return answer.Answer{}, domain.Errorf(domain.CodeUnavailable, "the model server is away")
		}
	}
	fail()
	if got := s.chat(agent, object{"stream": true}).openAIError(503); got.Message != "the model server is away" || got.Type != "server_error" {
		t.Errorf("before the first chunk: %+v", got)
	}
	fail("The trial")
	body := string(s.chat(agent, object{"stream": true}).want(200).body)
	if !strings.HasSuffix(body, `data: {"error":{"code":"unavailable","message":"the model server is away","param":null,"type":"server_error"}}`+"\n\n") {
		t.Errorf("after it: %s", body)
	}
}

func TestADisconnectCancelsACompletion(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	stopped := make(chan struct{})
	s.answerer.answer = func(ctx context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
		defer close(stopped)
		must(t, emit("The"))
		<-ctx.Done()
		return answer.Answer{}, ctx.Err()
	}
	ctx, leave := context.WithCancel(t.Context())
	body := strings.NewReader(`{"model":"` + agent + `","stream":true,"messages":[{"role":"user","content":"q"}]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/chat/completions", body)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.key)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	leave()
	<-stopped
}

func TestModelsAreTheAgents(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first := s.newAgent(object{"name": "First", "description": "of all"})
	second := s.newAgent()
	s.stranger().newAgent()
	ids := func(a *response) []string {
		var got []string
		for _, m := range a.want(200).object().list("data") {
			got = append(got, object(m.(map[string]any)).id())
		}
		return got
	}
	if diff := cmp.Diff([]string{second, first, model}, ids(s.call("GET", "/v1/models", nil))); diff != "" {
		t.Error(diff)
	}
	one := s.call("GET", "/v1/models/"+first, nil).want(200).object()
	if one["object"] != "model" || one["owned_by"] != "sluice" || one["name"] != "First" || one["description"] != "of all" {
		t.Errorf("got %v", one)
	}
	key := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: first}))
	if diff := cmp.Diff([]string{first}, ids(key.call("GET", "/v1/models", nil))); diff != "" {
		t.Errorf("a key of one agent: %s", diff)
	}
	key.call("GET", "/v1/models/"+second, nil).openAIError(403)
	key.chat(first).want(200)
	must(t, func() error { _, err := s.catalog.DeleteAgent(t.Context(), s.ws, first); return err }())
	if got := ids(key.call("GET", "/v1/models", nil)); len(got) != 0 {
		t.Errorf("the deleted agent is listed: %v", got)
	}
}

func TestAWorkspaceWithManyAgentsListsTheNewest(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for range 230 {
		_, err := s.catalog.CreateAgent(t.Context(), domain.Agent{ID: domain.NewID(), WorkspaceID: s.ws, Name: "a", ModelName: domain.DefaultModelName, Visibility: domain.Private})
		must(t, err)
	}
	if n := len(s.call("GET", "/v1/models", nil).want(200).object().list("data")); n != 230+1 { // plus the embedding model
		t.Errorf("%d models are listed", n)
	}
}
