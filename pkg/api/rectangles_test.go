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

// locator finds only the text of the first fragment.
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

// LocateSpans reports every span to be on page 3.
func (l *locator) LocateSpans(_ context.Context, workspaceID string, _ []domain.Fragment, sentences []domain.AnswerSentence) {
	l.workspace = workspaceID
	for i := range sentences {
		for k := range sentences[i].Spans {
			sentences[i].Spans[k].Page = 3
			sentences[i].Spans[k].Rectangles = []domain.PageRectangle{{Page: 3, X: 1, Y: 2, Width: 3, Height: 4}}
		}
	}
}

func TestRectanglesOfAnAnswer(t *testing.T) {
	t.Parallel()
	found := &locator{}
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Locator = found })
	s.answerer.answer = func(context.Context, answer.Request, func(string) error) (answer.Answer, error) {
		return answer.Answer{Text: "Thirty days [1].", Sources: []domain.Fragment{{Text: "thirty days", Citation: 1}}, Sentences: []domain.AnswerSentence{
			{End: 16, Spans: []domain.SourceSpan{{Citation: 1, In: domain.TextRange{End: 11}, Text: "thirty days"}}},
		}}, nil
	}
	agent := s.newAgent()
	for requested, want := range map[bool]string{false: `"rectangles":[]`, true: `"rectangles":[{"height":4,"page":3,"width":3,"x":1,"y":2}]`} {
		body := string(s.call("POST", "/agents/"+agent+"/query", object{"query": "How long?", "rectangles": requested}).want(200).body)
		if !strings.Contains(body, want) {
			t.Errorf("rectangles %v: %s, want %s in it", requested, body, want)
		}
	}
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
