package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
