package api_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
)

func TestACompletionHasTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.chatted()
	agent := s.newAgent()
	stamp := regexp.MustCompile(`cmpl-[0-9a-f-]{36}`)
	plain := func(a *response) string {
		return strings.ReplaceAll(stamp.ReplaceAllString(string(a.want(200).body), "cmpl-ID"), agent, "AGENT")
	}
	complete := func(fields ...object) *response {
		return s.call("POST", "/v1/completions", with(object{"model": agent, "prompt": "How long?"}, fields...))
	}
	whole := complete(object{"max_tokens": 9, "stop": "\n", "temperature": 0.5, "user": "v-1", "seed": 7})
	want := `{"id":"cmpl-ID","object":"text_completion","created":1777896000,"model":"AGENT",` +
		`"choices":[{"text":"The trial lasts 30 days [1].","index":0,"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`
	if diff := cmp.Diff(want, plain(whole)); diff != "" || whole.header.Get("Sluice-Ignored-Parameters") != "seed" {
		t.Errorf("header %v, body (-want +got):\n%s", whole.header, diff)
	}
	got.Agent = domain.Agent{}
	asked := answer.Request{Query: "How long?", Ephemeral: true, VisitorID: "v-1", Temperature: new(0.5), MaxTokens: new(9), Stop: []string{"\n"}}
	if diff := cmp.Diff(asked, *got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	begin := `data: {"id":"cmpl-ID","object":"text_completion","created":1777896000,"model":"AGENT","choices":[`
	pieces := ""
	for _, text := range []string{"The trial", " lasts", " 30 days [1]."} {
		pieces += begin + `{"text":"` + text + `","index":0,"logprobs":null,"finish_reason":null}]}` + "\n\n"
	}
	pieces += begin + `{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}]}` + "\n\n"
	usage := begin + `],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}` + "\n\n"
	if diff := cmp.Diff(pieces+"data: [DONE]\n\n", plain(complete(object{"stream": true}))); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(pieces+usage+"data: [DONE]\n\n", plain(complete(object{"stream": true, "stream_options": object{"include_usage": true}}))); diff != "" {
		t.Errorf("stream with usage (-want +got):\n%s", diff)
	}
}

func TestInvalidCompletionsAreRejected(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	for field, body := range map[string]object{
		"prompt":      {"prompt": ""},
		"suffix":      {"suffix": "end"},
		"best_of":     {"best_of": 2},
		"temperature": {"temperature": 3},
		"max_tokens":  {"max_tokens": 0},
		"n":           {"n": 2},
		"stop":        {"stop": []string{"a", "b", "c", "d", "e"}},
		"user":        {"user": 5},
	} {
		if e := s.call("POST", "/v1/completions", with(object{"model": agent, "prompt": "q"}, body)).openAIError(400); e.Param != field {
			t.Errorf("%s: error %+v", field, e)
		}
	}
	if e := s.call("POST", "/v1/completions", object{"model": unusedID, "prompt": "q"}).openAIError(404); e.Code != "model_not_found" {
		t.Errorf("error %+v", e)
	}
	s.as("").call("POST", "/v1/completions", object{"model": agent, "prompt": "q"}).openAIError(401)
}

func TestACompletionThatFailsEndsItsStreamWithAnError(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	for _, pieces := range []int{0, 1} {
		s.answerer.answer = func(_ context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
			if pieces > 0 {
				must(t, emit("The trial"))
			}
			return answer.Answer{}, &domain.Error{Code: domain.CodeUnavailable, Message: "the model is down", Err: errors.New("refused")}
		}
		a := s.call("POST", "/v1/completions", object{"model": agent, "prompt": "q", "stream": true})
		if pieces == 0 {
			a.openAIError(http.StatusServiceUnavailable)
			continue
		}
		if body := string(a.want(200).body); !strings.Contains(body, `{"error":{"code":"unavailable","message":"the model is down"`) || strings.Contains(body, "[DONE]") {
			t.Errorf("stream %s", body)
		}
	}
}
