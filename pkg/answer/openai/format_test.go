package openai

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
)

func TestTheResponseFormatIsPassedOn(t *testing.T) {
	t.Parallel()
	const format = `{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`
	p, s, _ := started(t, nil,
		status(http.StatusBadRequest, `{"error":{"message":"response_format is not supported","param":"response_format"}}`),
		events(delta(`{"days":[1]}`), stop, "[DONE]"))
	var begun []string
	for range 2 {
		done, err := p.Complete(t.Context(), chat.Prompt{
			Model: "large", Params: chat.Params{ResponseFormat: []byte(format), Stop: []string{"x"}},
			Begin: func(ignored []string) { begun = ignored },
		}, func(string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"responseFormat"}; !slices.Equal(done.Ignored, want) || !slices.Equal(begun, want) {
			t.Errorf("ignored are %q, before the answer %q", done.Ignored, begun)
		}
	}
	want := map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "a", "schema": map[string]any{"type": "object"}}}
	requests := s.requests()
	if diff := cmp.Diff(want, requests[0]["response_format"]); diff != "" {
		t.Errorf("the first request (-want +got):\n%s", diff)
	}
	if _, sent := requests[1]["response_format"]; sent || len(requests) != 3 {
		t.Errorf("%d requests; a format that the server refused was sent again", len(requests))
	}
}
