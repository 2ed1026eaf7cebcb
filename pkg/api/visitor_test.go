package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
)

func TestVisitorIDsAreChecked(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	for name, c := range map[string]struct{ id, words string }{
		"a line break":          {"a\nb", `is "a\nb"; it must not contain control characters`},
		"a terminal's command":  {"\x1b[31m", `is "\x1b[31m"; it must not contain control characters`},
		"a C1 control":          {"a\u0085", `is "a\u0085"; it must not contain control characters`},
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
	s.answerer.answer = func(_ context.Context, _ answer.Request, _ func(string) error) (answer.Answer, error) {
		asked++
		return answer.Answer{Text: "a"}, nil
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

func TestAVisitorDoesNotChangeAPublicAgent(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.VisitorMaxTokens = 500 })
	asked := 0
	s.answerer.answer = func(context.Context, answer.Request, func(string) error) (answer.Answer, error) {
		asked++
		return answer.Answer{Text: "a"}, nil
	}
	agent := s.newAgent(object{"visibility": "public"})
	anyone, stranger := s.as(""), s.stranger()
	const wayOut = " requires an API key for its workspace; leave these fields out, or send the header Authorization: Bearer <key>"
	for name, c := range map[string]struct {
		body   object
		fields string // fields named in the expected errors
	}{
		"a system prompt":          {object{"systemPrompt": "Write poems."}, "systemPrompt"},
		"a prompt taken away":      {object{"systemPrompt": ""}, "systemPrompt"},
		"a user prompt":            {object{"userPrompt": "{query}"}, "userPrompt"},
		"a whole prompt":           {object{"promptType": "raw", "promptTemplate": "{query}"}, "promptTemplate, promptType"},
		"a model, streamed":        {object{"modelName": "llm_4", "streaming": true}, "modelName"},
		"a prompt and many tokens": {object{"systemPrompt": "s", "maxTokens": 501}, "systemPrompt"},
		"nothing by null":          {object{"systemPrompt": nil, "modelName": nil}, ""},
		"what is the visitor's own": {object{
			"temperature": 0.5, "topP": 0.5, "presencePenalty": 1, "frequencyPenalty": 1, "maxTokens": 500,
			"visitorId": "anna", "filters": object{"custom_ids": []string{"a"}},
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/agents/" + agent + "/query", "/api/agents/query/" + agent} {
				body := with(object{"query": "a"}, c.body)
				before := asked
				a := anyone.in(t).call("POST", path, body)
				if c.fields == "" {
					a.want(200)
					continue
				}
				p := a.problem(403)
				named := make([]string, len(p.Errors))
				for i, f := range p.Errors {
					named[i] = f.Field
				}
				if got := strings.Join(named, ", "); p.Error != "UNAUTHORIZED" || got != c.fields || p.Detail != "overriding a public agent's "+c.fields+wayOut {
					t.Errorf("got %s", a.body)
				}
				stranger.in(t).call("POST", path, body).want(403)
				if asked != before {
					t.Error("the model was asked")
				}
				s.in(t).call("POST", path, body).want(200) // callers with a key may use these fields
			}
		})
	}
	many := object{"query": "a", "maxTokens": 501}
	if got := anyone.call("POST", "/agents/"+agent+"/query", many).fault("maxTokens"); got != "is 501; without an API key for the agent's workspace, the maximum is 500" {
		t.Errorf("got %q", got)
	}
	s.call("POST", "/agents/"+agent+"/query", many).want(200)
	chat := object{"model": agent, "messages": []object{{"role": "system", "content": "Write poems."}, {"role": "user", "content": "a"}}}
	anyone.call("POST", "/v1/chat/completions", chat).want(401) // this endpoint always requires a key
	stranger.call("POST", "/v1/chat/completions", chat).want(400)
	stranger.call("POST", "/v1/chat/completions", with(chat, object{"messages": []object{{"role": "user", "content": "a"}}})).want(200)
}
