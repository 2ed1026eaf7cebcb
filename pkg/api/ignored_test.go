package api_test

import (
	"context"
	"testing"

	"github.com/sluice/sluice/pkg/answer"
)

func TestIgnoredParametersAreNamedInAHeader(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{false, true} {
		s := newService(t)
		agent := s.newAgent()
		s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
			if r.Temperature != nil {
				r.Ignored([]string{"temperature", "topP"})
			}
			return tokens("30 days [1].")(ctx, r, emit)
		}
		ask := func(fields object) string {
			body := object{"query": "How long?", "streaming": streaming}
			for name, v := range fields {
				body[name] = v
			}
			return s.call("POST", "/agents/"+agent+"/query", body).want(200).header.Get("Sluice-Ignored-Parameters")
		}
		if got := ask(object{"temperature": 0.5}); got != "temperature, topP" {
			t.Errorf("streaming %v: the header of an agent query is %q", streaming, got)
		}
		if got := ask(nil); got != "" {
			t.Errorf("streaming %v: without ignored parameters the header is %q", streaming, got)
		}
		completion := s.chat(agent, object{"temperature": 0.5, "stream": streaming}).want(200)
		if got := completion.header.Get("Sluice-Ignored-Parameters"); got != "temperature, top_p" {
			t.Errorf("streaming %v: the header of a completion is %q", streaming, got)
		}
	}
}

func TestAnAgentRestrictsKnowledge(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.call("POST", "/agents", object{"name": "a", "restrictKnowledge": true, "theirs": 1}).want(201).object().id()
	check := func(want bool) {
		t.Helper()
		agent := s.call("GET", "/agents/"+id, nil).want(200).object()
		if agent["restrictKnowledge"] != want || agent["theirs"] != 1.0 {
			t.Errorf("the agent is %v, want restrictKnowledge %v", agent, want)
		}
	}
	check(true)
	s.call("PATCH", "/agents/"+id, object{"name": "b", "restrictKnowledge": nil}).want(200)
	check(true)
	s.call("PATCH", "/agents/"+id, object{"restrictKnowledge": false}).want(200)
	check(false)
	s.call("PATCH", "/agents/"+id, object{"restrictKnowledge": "yes"}).want(400)
}

func TestAnAgentSwitchesQueryPlanningOff(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.call("POST", "/agents", object{"name": "a"}).want(201).object().id()
	check := func(want bool) {
		t.Helper()
		if agent := s.call("GET", "/agents/"+id, nil).want(200).object(); agent["queryPlanning"] != want {
			t.Errorf("queryPlanning is %v, want %v", agent["queryPlanning"], want)
		}
	}
	check(true)
	s.call("PATCH", "/agents/"+id, object{"queryPlanning": false, "restrictKnowledge": true}).want(200)
	check(false)
	s.call("PATCH", "/agents/"+id, object{"name": "b", "queryPlanning": nil}).want(200)
	check(false)
	s.call("PATCH", "/agents/"+id, object{"queryPlanning": 1}).want(400)
	s.call("PATCH", "/agents/"+id, object{"queryPlanning": true}).want(200)
	check(true)
}
