package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/locate"
	"github.com/sluice/sluice/pkg/retrieve"
)

// locator is a Locator that finds only the first fragment.
type locator struct {
	workspace string
	asked     []locate.Passage
}

func (l *locator) Locate(_ context.Context, workspaceID string, passages []locate.Passage) [][][]domain.PageRectangle {
	l.workspace, l.asked = workspaceID, passages
	out := make([][][]domain.PageRectangle, len(passages))
	for i := range passages {
		out[i] = make([][]domain.PageRectangle, len(passages[i].Spans))
	}
	out[0][0] = []domain.PageRectangle{{Page: 2, X: 72.001, Y: 99.996, Width: 100, Height: 11.5}}
	return out
}

// LocateSpans puts every span on page 3.
func (l *locator) LocateSpans(_ context.Context, workspaceID string, answers ...locate.Answer) {
	l.workspace = workspaceID
	for _, a := range answers {
		for i := range a.Sentences {
			for k := range a.Sentences[i].Spans {
				a.Sentences[i].Spans[k].Page = 3
				a.Sentences[i].Spans[k].Rectangles = []domain.PageRectangle{{Page: 3, X: 1.001, Y: 2, Width: 3, Height: 4}}
			}
		}
	}
}

func TestRectanglesOfAnAnswer(t *testing.T) {
	t.Parallel()
	found := &locator{}
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Locator = found })
	s.answerer.answer = func(_ context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
		const text = "Thirty days [1]."
		if emit != nil {
			must(t, emit(text))
		}
		return answer.Answer{Text: text, Sources: []domain.Fragment{{Text: "thirty days", Citation: 1}}, Sentences: []domain.AnswerSentence{
			{End: 16, Spans: []domain.SourceSpan{{Citation: 1, In: domain.TextRange{End: 11}, Text: "thirty days"}}},
		}}, nil
	}
	agent := s.newAgent()
	session := s.mcp("/mcp", nil)
	var asked object
	for name, body := range map[string]func(requested bool) string{
		"an agent query": func(requested bool) string {
			return string(s.call("POST", "/agents/"+agent+"/query", object{"query": "How long?", "rectangles": requested}).want(200).body)
		},
		"a chat completion": func(requested bool) string {
			return string(s.chat(agent, object{"rectangles": requested}).want(200).body)
		},
		"a streamed chat completion": func(requested bool) string {
			return string(s.chat(agent, object{"rectangles": requested, "stream": true}).want(200).body)
		},
		"the tool ask": func(requested bool) string {
			if failed := s.tool(session, "ask", object{"question": "How long?", "rectangles": requested}, &asked); failed != "" {
				t.Fatal(failed)
			}
			encoded, err := json.Marshal(asked)
			must(t, err)
			return string(encoded)
		},
	} {
		for requested, want := range map[bool]string{false: `"rectangles":[]`, true: `"rectangles":[{"height":4,"page":3,"width":3,"x":1,"y":2}]`} {
			if got := body(requested); !strings.Contains(got, want) {
				t.Errorf("%s, rectangles %v: %s, want %s in it", name, requested, got, want)
			}
		}
	}
}

func TestRectanglesOfAConversation(t *testing.T) {
	t.Parallel()
	found := &locator{}
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Locator = found })
	agent := s.newAgent()
	s.answerer.answer = tokens("The trial lasts 30 days [1].")
	answered := s.call("POST", "/agents/"+agent+"/query", object{"query": "How long?", "rectangles": true}).want(200).object()
	id := s.storeAnswer(agent, answered.text("answer"))
	for query, want := range map[string]int{"": 0, "?rectangles=false": 0, "?rectangles=true": 1} {
		messages := s.call("GET", "/conversations/"+id+query, nil).want(200).object().list("messages")
		sentence := messages[1].(map[string]any)["sentences"].([]any)[0].(map[string]any)
		span := sentence["spans"].([]any)[0].(map[string]any)
		if got := span["rectangles"].([]any); len(got) != want || (want > 0) != (span["page"] == 3.0) {
			t.Errorf("%q: the span has the page %v and the rectangles %v, want %d", query, span["page"], got, want)
		}
		if want == 1 {
			if diff := cmp.Diff(answered.list("sentences"), messages[1].(map[string]any)["sentences"]); diff != "" {
				t.Errorf("sentences, read back (-want +got):\n%s", diff)
			}
		}
	}
	s.call("GET", "/conversations/"+id+"?rectangles=yes", nil).problem(400)
}

func TestRectanglesOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	found := &locator{}
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Locator = found })
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		res := retrieve.Result{Fragments: []domain.Fragment{{Text: "text of a PDF", Page: 2}, {Text: "other text"}}}
		if r.Explain {
			res.Explanation = &domain.Explanation{Fragments: make([]domain.ExplainedFragment, 2)}
		}
		return res, nil
	}
	type fragment struct {
		Rectangles *[]map[string]float64 `json:"rectangles"`
	}
	want := []fragment{{&[]map[string]float64{{"page": 2, "x": 72, "y": 100, "width": 100, "height": 11.5}}}, {&[]map[string]float64{}}}
	decode := func(data []byte, into any) {
		t.Helper()
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	path := "/datastores/" + s.newDatastore() + "/query"

	var plain []fragment
	decode(s.call("POST", path, object{"query": "trial"}).want(200).body, &plain)
	if diff := cmp.Diff([]fragment{{}, {}}, plain); diff != "" || found.asked != nil {
		t.Errorf("unrequested rectangles (-want +got):\n%s; located %v", diff, found.asked)
	}

	var got []fragment
	decode(s.call("POST", path, object{"query": "trial", "rectangles": true}).want(200).body, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rectangles (-want +got):\n%s", diff)
	}
	if found.workspace != s.ws || len(found.asked) != 2 || found.asked[0].Spans[0] != [2]int{0, len("text of a PDF")} {
		t.Errorf("located %+v in workspace %q", found.asked, found.workspace)
	}

	var explained struct{ Fragments []fragment }
	decode(s.call("POST", path+"?explain=true", object{"query": "trial", "rectangles": true}).want(200).body, &explained)
	if diff := cmp.Diff(want, explained.Fragments); diff != "" {
		t.Errorf("rectangles with an explanation (-want +got):\n%s", diff)
	}
	s.call("POST", path, object{"query": "trial", "rectangles": "yes"}).want(400)
}

func TestQueriesWithoutALocator(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) {
		return retrieve.Result{Fragments: []domain.Fragment{{Text: "text of a PDF", Page: 2}}}, nil
	}
	s.call("POST", "/datastores/"+s.newDatastore()+"/query", object{"query": "trial", "rectangles": true}).want(200)
}
