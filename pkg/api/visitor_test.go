package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/api"
)

func TestVisitorsHaveIdsThatCanBeShown(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	for name, c := range map[string]struct{ id, words string }{
		"a line break":          {"a\nb", `is "a\nb"; it must have no control characters`},
		"a terminal's command":  {"\x1b[31m", `is "\x1b[31m"; it must have no control characters`},
		"a C1 control":          {"a\u0085", `is "a\u0085"; it must have no control characters`},
		"a NUL":                 {"a\x00", `contains a NUL character (\u0000); remove it`},
		"too many characters":   {strings.Repeat("x", 201), "has 201 characters; the limit is 200"},
		"characters of 4 bytes": {strings.Repeat("😀", 100), ""},
		"blanks and marks":      {"Ünal Özgür, =1+1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			query := s.call("POST", "/agents/"+agent+"/query", object{"query": "a", "visitorId": c.id})
			chat := object{"model": agent, "user": c.id, "messages": []object{{"role": "user", "content": "a"}}}
			if c.words == "" {
				query.want(200)
				s.call("POST", "/v1/chat/completions", chat).want(200)
				return
			}
			if got := query.fault("visitorId"); got != c.words {
				t.Errorf("got %q, want %q", got, c.words)
			}
			s.call("POST", "/v1/chat/completions", chat).want(400)
		})
	}
}

func TestAPromptHasAFewPlaceholders(t *testing.T) {
	t.Parallel()
	s := newService(t)
	asked := 0
	s.answerer.answer = func(_ context.Context, _ api.AnswerRequest, _ func(string) error) (api.Answer, error) {
		asked++
		return api.Answer{Text: "a"}, nil
	}
	agent := s.newAgent()
	many, few := strings.Repeat("{context}", 10)+strings.Repeat("{query}", 11), strings.Repeat("{context}", 20)
	for _, field := range []string{"systemPrompt", "userPrompt", "promptTemplate"} {
		for path, body := range map[string]object{"/agents": {"name": "a"}, "/agents/" + agent + "/query": {"query": "a"}} {
			if got := s.call("POST", path, with(body, object{field: many})).fault(field); got != "has 21 placeholders; the limit is 20" {
				t.Errorf("%s of %s: got %q", field, path, got)
			}
			if a := s.call("POST", path, with(body, object{field: few})); a.status >= 300 {
				t.Errorf("%s of %s: %s", field, path, a.body)
			}
		}
		s.call("PATCH", "/agents/"+agent, object{field: many}).fault(field)
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}
