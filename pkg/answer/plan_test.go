package answer

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// divided is a retriever that reports the query's parts in its explanation.
type divided struct{ *fixture }

func (d divided) Retrieve(ctx context.Context, req retrieve.Request) (retrieve.Result, error) {
	res, err := d.fixture.Retrieve(ctx, req)
	res.Explanation = &domain.Explanation{Query: req.Query, Parts: req.Parts}
	return res, err
}

func TestAModelPlansTheSearchesForAQuestion(t *testing.T) {
	t.Parallel()
	const asked = "In which town is the factory of the company that built the Halden lock?"
	const plan = "Which company built the Halden lock?\nTHEN: In which town is the factory of …?"
	const next = "In which town is the factory of Berg & Sohn?"
	lock := domain.Fragment{ChunkID: "a", Text: "The Halden lock was built by Berg & Sohn.", Score: 0.6}
	whole := [][]string{nil}
	first := append(whole, []string{"Which company built the Halden lock?"})
	for name, test := range map[string]struct {
		question      string
		found         domain.Fragment
		setting       string
		plan, step    string
		planFails     error
		parts         [][]string // parts of each search's query
		tokens        int64
		reason        domain.PlanReason
		next, problem string
	}{
		"two steps":                  {question: asked, found: lock, plan: plan, step: next, parts: append(first, append(first[1], next)), tokens: 114, reason: domain.PlanSteps, next: next},
		"the name is not found":      {question: asked, found: lock, plan: plan, step: "NONE", parts: first, tokens: 114, reason: domain.PlanSteps},
		"the step is something else": {question: asked, found: lock, plan: plan, step: "Buy more shoes online today", parts: first, tokens: 114, reason: domain.PlanSteps, problem: "unrelated to the original question"},
		"one step":                   {question: asked, found: lock, plan: "Which company built the Halden lock?", parts: first, tokens: 107, reason: domain.PlanSteps},
		"the plan is something else": {question: asked, found: lock, plan: "Buy more shoes online today", parts: whole, tokens: 107, reason: domain.PlanSteps, problem: "unrelated to the original question"},
		"the model fails":            {question: asked, found: lock, planFails: errors.New("secret"), parts: whole, tokens: 107, reason: domain.PlanSteps, problem: "the model failed"},
		"a plain question":           {question: "Who built the Halden lock?", found: lock, parts: whole, tokens: 100},
		"switched off":               {question: asked, found: lock, setting: "false", parts: whole, tokens: 100},
		"nothing is relevant":        {question: asked, found: domain.Fragment{ChunkID: "b", Text: "The Halden lock.", Score: 0.05}, parts: whole, tokens: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(test.found)
			w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
				seven := chat.Completion{PromptTokens: 7}
				switch {
				case strings.HasPrefix(p.System, "You prepare searches"):
					return seven, errors.Join(emit(test.plan), test.planFails)
				case strings.HasPrefix(p.System, "Write the unfinished question"):
					return seven, emit(test.step)
				}
				return chat.Completion{Model: "m", PromptTokens: 100}, emit("In Skien [1].")
			}
			d := w.answerer(Options{}).deps
			d.Retriever = divided{w}
			got, err := New(d, Options{Composes: true}).Answer(t.Context(), ask(func(r *Request) {
				r.Query, r.Explain = test.question, true
				if test.setting != "" {
					r.Agent.Extra = domain.AgentExtra{domain.QueryPlanning: json.RawMessage(test.setting)}
				}
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			var parts [][]string
			for _, s := range w.asked {
				if parts = append(parts, s.Parts); s.Query != test.question {
					t.Errorf("searched for %q, want %q", s.Query, test.question)
				}
			}
			if diff := cmp.Diff(test.parts, parts); diff != "" {
				t.Error("parts of the searches:", diff)
			}
			if got.PromptTokens != test.tokens {
				t.Errorf("%d tokens are counted, want %d", got.PromptTokens, test.tokens)
			}
			p := got.Explanation.Plan
			if p == nil {
				if test.reason != "" {
					t.Error("the plan is not explained")
				}
				return
			}
			if p.Reason != test.reason || p.Next != test.next || !strings.Contains(p.Error, test.problem) || (p.Error == "") != (test.problem == "") {
				t.Errorf("the plan is explained as %+v", *p)
			}
			if p.PromptTokens != test.tokens-100 {
				t.Errorf("%d tokens of the plan are explained, want %d", p.PromptTokens, test.tokens-100)
			}
		})
	}
}
