package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

func TestAnAgentHasAllItsFields(t *testing.T) {
	t.Parallel()
	s := newService(t)
	one, two := s.newDatastore(), s.newDatastore()
	bare := s.call("POST", "/agents", object{"name": " Bare "}).want(201).object()
	want := object{
		"id": bare.id(), "name": "Bare", "description": "", "modelName": "llm_3_5_turbo", "temperature": 0.0, "visibility": "private",
		"systemPrompt": "", "userPrompt": "", "promptType": "raw", "promptTemplate": "", "datastoreIds": []any{}, "tools": []any{}, "allowedOrigins": []any{}, "restrictKnowledge": false, "queryPlanning": true, "unsupportedSentences": "mark",
		"createdAt": bare["createdAt"], "updatedAt": bare["updatedAt"],
	}
	if diff := cmp.Diff(want, bare); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tool := func(id string) any { return map[string]any{"type": "datastore", "datastoreId": id} }
	made := s.call("POST", "/agents", object{"name": "a", "tools": []any{tool(one), tool(two), tool(one)}}).want(201).object()
	if diff := cmp.Diff([]any{one, two}, made["datastoreIds"]); diff != "" {
		t.Errorf("datastoreIds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{tool(one), tool(two)}, made["tools"]); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if got := s.call("POST", "/agents", object{"name": "a", "tools": []any{tool(one), tool("x")}}).fault("tools[1].datastoreId"); !strings.Contains(got, `"x"`) {
		t.Errorf("%q", got)
	}
	s.call("POST", "/agents", object{"name": "a", "tools": []any{object{"type": "http"}}}).fault("tools[0].type")
}

func TestPatchChangesOnlyGivenFields(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	full := object{
		"name": "Full", "description": "d", "modelName": "llm_4_32k", "temperature": 0.5, "visibility": "public", "systemPrompt": "s",
		"userPrompt": "u", "promptType": "raw", "promptTemplate": "t", "datastoreIds": []any{store},
	}
	id := s.call("POST", "/agents", full).want(201).object().id()
	s.clock.advance(1)
	for field, value := range map[string]any{
		"name": "New", "description": "", "modelName": "llm_4", "temperature": 0.0, "visibility": "private", "systemPrompt": "",
		"userPrompt": "v", "promptType": "customer_support", "promptTemplate": "w", "datastoreIds": []any{},
	} {
		nulls := object{}
		for other := range full {
			nulls[other] = nil
		}
		got := s.call("PATCH", "/agents/"+id, with(nulls, object{field: value})).want(200).object()
		full[field] = value
		for other, want := range full {
			if diff := cmp.Diff(want, got[other]); diff != "" {
				t.Errorf("after setting %s, %s (-want +got):\n%s", field, other, diff)
			}
		}
	}
	again := s.call("GET", "/agents/"+id, nil).want(200).object()
	if diff := cmp.Diff(again, s.call("PATCH", "/agents/"+id, "{}").want(200).object()); diff != "" {
		t.Errorf("an empty patch has changed something:\n%s", diff)
	}
	s.call("PATCH", "/agents/"+id, "").problem(400)
	gone := s.call("DELETE", "/agents/"+id, "").want(200).object()
	if diff := cmp.Diff(again, gone, ignore("updatedAt")); diff != "" {
		t.Errorf("another agent was deleted:\n%s", diff)
	}
	s.call("GET", "/agents/"+id, nil).problem(404)
	s.call("DELETE", "/agents/"+id, object{}).problem(404)
}

func ignore(key string) cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool {
		at, ok := p.Last().(cmp.MapIndex)
		return ok && at.Key().String() == key
	}, cmp.Ignore())
}

func TestQueriesOverrideTheAgent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	agent := s.newAgent(object{"datastoreIds": []string{store}, "temperature": 0.2, "systemPrompt": "agent's", "userPrompt": "agent's"})
	var asked answer.Request
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		asked = r
		return tokens("ok")(ctx, r, emit)
	}
	s.call("POST", "/agents/"+agent+"/query", `{"query": "q", "temperature": 0, "modelName": "llm_4", "systemPrompt": "mine", "maxTokens": 50,
		"presencePenalty": -2, "frequencyPenalty": 2.0, "topP": 0.1, "promptType": "raw", "promptTemplate": "{query}",
		"filters": {"custom_ids": ["c"], "datasource_ids": ["d"], "metadata": {"team": "docs", "year": [2025, 2026], "draft": false}}}`).want(200)
	if *asked.Temperature != 0 || *asked.ModelName != "llm_4" || *asked.SystemPrompt != "mine" || asked.UserPrompt != nil || *asked.PromptType != domain.PromptRaw || *asked.PromptTemplate != "{query}" {
		t.Errorf("overrides %+v", asked)
	}
	if *asked.MaxTokens != 50 || *asked.PresencePenalty != -2 || *asked.FrequencyPenalty != 2 || *asked.TopP != 0.1 || asked.Query != "q" {
		t.Errorf("request %+v", asked)
	}
	want := domain.Filters{CustomIDs: []string{"c"}, DatasourceIDs: []string{"d"}, Metadata: map[string]any{"team": "docs", "year": []any{2025.0, 2026.0}, "draft": false}}
	if diff := cmp.Diff(want, asked.Filters); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if a := asked.Agent; a.ID != agent || a.UserPrompt != "agent's" || a.Temperature != 0.2 || len(a.DatastoreIDs) != 1 || a.DatastoreIDs[0] != store {
		t.Errorf("agent %+v", a)
	}
	s.call("POST", "/agents/"+agent+"/query", object{"query": "q"}).want(200)
	if asked.MaxTokens != nil || asked.TopP != nil || asked.Temperature != nil || asked.SystemPrompt != nil || asked.ModelName != nil {
		t.Errorf("request %+v", asked)
	}
	s.call("POST", "/agents/"+agent+"/query", object{"query": "q", "modelName": "llm_4_32k"}).fault("modelName")
}

func TestConversationsContinue(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	ask := func(fields object) object {
		return s.call("POST", "/agents/"+agent+"/query", with(object{"query": "one"}, fields)).want(200).object()
	}
	for name, c := range map[string]struct {
		fields                object
		conversation, visitor string
	}{
		"nothing given":       {object{}, newConversation, newVisitor},
		"null given":          {object{"conversationId": nil, "visitorId": nil}, newConversation, newVisitor},
		"empty texts given":   {object{"conversationId": "", "visitorId": ""}, newConversation, newVisitor},
		"in upper case":       {object{"conversationId": strings.ToUpper(unusedID)}, unusedID, newVisitor},
		"both given":          {object{"conversationId": unusedID, "visitorId": "visitor@example.com"}, unusedID, "visitor@example.com"},
		"an id of one's own":  {object{"conversationId": "Chat 7/a"}, "Chat 7/a", newVisitor},
		"a conversation only": {object{"conversationId": unusedID}, unusedID, newVisitor},
	} {
		got := ask(c.fields)
		if got.text("conversationId") != c.conversation || got.text("visitorId") != c.visitor {
			t.Errorf("%s: %v", name, got)
		}
	}
	s.call("POST", "/agents/"+agent+"/query", object{"query": "q", "conversationId": strings.Repeat("x", 101)}).fault("conversationId")
	s.answerer.answer = func(_ context.Context, r answer.Request, _ func(string) error) (answer.Answer, error) {
		return answer.Answer{}, fmt.Errorf("opening: %w", domain.NotFound("conversation", r.ConversationID))
	}
	for _, streaming := range []bool{true, false} {
		s.call("POST", "/agents/"+agent+"/query", object{"query": "q", "conversationId": unusedID, "streaming": streaming}).problem(404)
	}
}

func TestLineEndsOfAnAnswerThatIsNotStreamed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.answerer.answer = func(context.Context, answer.Request, func(string) error) (answer.Answer, error) {
		return answer.Answer{Text: "all\r\nat once"}, nil
	}
	agent := s.newAgent()
	o := s.call("POST", "/agents/"+agent+"/query", object{"query": "q"}).want(200).object()
	if o.text("answer") != "all\nat once" || len(o.list("sources")) != 0 || o["sources"] == nil {
		t.Errorf("%v", o)
	}
}

func TestFragmentsHaveAllTheirFields(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.call("POST", "/datastores/"+s.newDatastore()+"/query", object{"query": "q"}).want(200)
	want := `[{"chunk_id":"c","custom_id":null,"datasource_id":"ds","datasource_name":"handbook.pdf","heading":"Trial","metadata":{"author":"Ada"},"mime_type":"application/pdf","offset":0,"page":3,"score":0.75,"source":"handbook.pdf#page=3","text":"The trial lasts 30 days."}]`
	if got := strings.TrimSpace(string(a.body)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEnginesAndModelsOfDatastores(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) {
		o.Engines = []domain.Engine{domain.EngineEmbedded, domain.EngineMilvus}
		o.EmbeddingModels = []string{model, "other"}
	})
	made := s.call("POST", "/datastores", object{"name": "a", "type": "milvus", "embeddingModel": "other"}).want(201).object()
	if made.text("type") != "milvus" || made.text("embeddingModel") != "other" || made.text("visibility") != "private" {
		t.Errorf("%v", made)
	}
	s.call("PATCH", "/datastores/"+made.id(), object{"type": "milvus", "embeddingModel": "other", "name": "b"}).want(200)
	if got := s.call("PATCH", "/datastores/"+made.id(), object{"type": "embedded", "embeddingModel": model}).want(200).object(); got.text("type") != "embedded" || got["move"] != nil {
		t.Errorf("an empty datastore is not at once where it is wanted: %v", got)
	}
	if got := s.call("PATCH", "/datastores/"+made.id(), object{"embeddingModel": "x"}).fault("embeddingModel"); !strings.Contains(got, "test-model, other") {
		t.Errorf("%q", got)
	}
	if got := s.call("GET", "/datastores/"+made.id(), nil).object(); got.text("name") != "b" {
		t.Errorf("%v", got)
	}
}
