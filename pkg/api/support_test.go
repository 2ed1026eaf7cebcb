package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
)

func TestAnAnswerHasItsSentencesWithTheirSources(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.answerer.answer = tokens("Über die Dauer:\n\n", "The trial lasts 30 days. [1] The trial lasts 90 days [1].")
	agent := s.newAgent()
	right, wrong := 1.0, 0.0
	want := func(unsupported bool) []any {
		span := object{"source_index": 0.0, "citation": 1.0, "datasource_id": "ds", "text": "The trial lasts 30 days.", "start": 0.0, "end": 24.0, "page": nil, "rectangles": []any{}}
		part := object{"source_index": 0.0, "citation": 1.0, "datasource_id": "ds", "text": "trial lasts 30 days.", "start": 4.0, "end": 24.0, "page": nil, "rectangles": []any{}}
		return []any{
			map[string]any{"start": 0.0, "end": 15.0, "support": nil, "unsupported": false, "spans": []any{}},
			map[string]any{"start": 17.0, "end": 45.0, "support": right, "unsupported": false, "spans": []any{map[string]any(span)}},
			map[string]any{"start": 46.0, "end": 74.0, "support": wrong, "unsupported": unsupported, "spans": []any{map[string]any(part)}},
		}
	}
	for _, mode := range []string{"mark", "keep"} {
		s.call("PATCH", "/agents/"+agent, object{"unsupportedSentences": mode}).want(200)
		got := s.call("POST", "/agents/"+agent+"/query", object{"query": "q"}).want(200).object()
		sentences := got.list("sentences")
		if len(sentences) == 3 {
			last := sentences[2].(map[string]any)
			if score, ok := last["support"].(float64); !ok || score >= 0.5 {
				t.Errorf("the wrong sentence has the support %v", last["support"])
			}
			last["support"] = wrong
		}
		if diff := cmp.Diff(want(mode == "mark"), sentences); diff != "" {
			t.Errorf("%s: sentences (-want +got):\n%s", mode, diff)
		}
		highlights := got.list("sources")[0].(map[string]any)["highlights"]
		if diff := cmp.Diff([]any{map[string]any{"start": 0.0, "end": 24.0}}, highlights); diff != "" {
			t.Errorf("highlights (-want +got):\n%s", diff)
		}
		if got["grounded"] != true {
			t.Errorf("grounded: %v", got["grounded"])
		}
	}
	if why := s.call("PATCH", "/agents/"+agent, object{"unsupportedSentences": "hide"}).fault("unsupportedSentences"); why == "" {
		t.Error("an unknown mode has no reason")
	}
}

// halfSupported is an answer whose second sentence is not supported by any source.
const halfSupported = "The trial lasts 30 days. [1] The trial lasts 90 days [1]."

// storeAnswer stores a conversation consisting of one question and the answer, with its sources and sentences.
func (s *service) storeAnswer(agent, text string) (conversation string) {
	s.Helper()
	a, err := tokens(text)(s.Context(), answer.Request{}, nil)
	must(s.T, err)
	id := domain.NewID()
	_, err = s.catalog.EnsureConversation(s.Context(), domain.Conversation{ID: id, WorkspaceID: s.ws, AgentID: agent, VisitorID: "anna"},
		domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: "How long?"},
		domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: a.Text, Sources: a.Sources, Sentences: a.Sentences})
	must(s.T, err)
	return id
}

// TestEverySurfaceShowsTheSameSentences asks a question through each of the service's interfaces and reads back the
// answer.
func TestEverySurfaceShowsTheSameSentences(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.answerer.answer = tokens(halfSupported)
	agent := s.newAgent()
	answered := s.call("POST", "/agents/"+agent+"/query", object{"query": "How long?"}).want(200).object()
	want := answered.list("sentences")
	if len(want) != 2 || want[1].(map[string]any)["unsupported"] != true {
		t.Fatalf("the sentences are %v", want)
	}
	same := func(name string, got any) {
		t.Helper()
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	same("chat completion", any(s.chat(agent).want(200).object().list("sentences")))
	for line := range strings.Lines(string(s.chat(agent, object{"stream": true}).want(200).body)) {
		if data, is := strings.CutPrefix(line, "data: "); is && strings.Contains(line, `"finish_reason":"stop"`) {
			var chunk map[string]any
			must(t, json.Unmarshal([]byte(data), &chunk))
			same("streamed chat completion", chunk["sentences"])
		}
	}
	var tool object
	if failed := s.tool(s.mcp("/mcp", nil), "ask", object{"question": "How long?"}, &tool); failed != "" {
		t.Fatal(failed)
	}
	same("tool ask", tool["sentences"])

	id := s.storeAnswer(agent, halfSupported)
	read := s.call("GET", "/conversations/"+id, nil).want(200).object().list("messages")
	same("conversation", read[1].(map[string]any)["sentences"])
	if of := read[0].(map[string]any)["sentences"]; !cmp.Equal(of, any([]any{})) {
		t.Errorf("the question has the sentences %v", of)
	}
	if diff := cmp.Diff(any(answered.list("sources")), read[1].(map[string]any)["sources"]); diff != "" {
		t.Errorf("sources of a conversation (-want +got):\n%s", diff)
	}
	var exported []map[string]any
	must(t, json.Unmarshal(s.call("GET", "/conversations/export", nil).want(200).body, &exported))
	same("export", exported[0]["messages"].([]any)[1].(map[string]any)["sentences"])
}

func TestAskNamesUnsupportedSentences(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.newAgent()
	session := s.mcp("/mcp", nil)
	for text, want := range map[string]bool{halfSupported: true, "The trial lasts 30 days [1].": false} {
		s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
			return tokens(text)(ctx, r, emit)
		}
		res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask", Arguments: object{"question": "How long?"}})
		must(t, err)
		got := res.Content[0].(*sdk.TextContent).Text
		if strings.Contains(got, "\n\nNot supported by the sources:\n- The trial lasts 90 days [1].\n\nconversationId: ") != want || strings.Contains(got, "Not supported") != want {
			t.Errorf("the answer %q is shown as %q", text, got)
		}
	}
}
