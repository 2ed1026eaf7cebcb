package answer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestTheModelIsAskedWhenNothingIsFound(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"Hello", "Thanks!", "Summarise the documents.", "Are you sure?", "When does the museum open?"} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			w := newFixture(fragments()[2])
			w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
				return chat.Completion{Model: "m"}, emit("Good day [1]! ![x](https://evil.example/x)")
			}
			req := ask(func(r *Request) { r.Query, r.History, r.Ephemeral = query, messagesOf(gate), true })
			got, err := w.answerer(Options{Composes: true}).Answer(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != "Good day! ! [x] (https…)" || len(got.Sources) != 0 || got.Model != "m" {
				t.Errorf("got %q with %d sources from %q", got.Text, len(got.Sources), got.Model)
			}
			p := w.prompts[len(w.prompts)-1]
			if !strings.HasPrefix(p.System, nothingFound) || strings.Contains(p.System, instructions) || len(p.Fragments) != 0 || p.Messages[0].Text != gate[0].Text {
				t.Errorf("the prompt is %+v", p)
			}
		})
	}
}

func TestAnAnswerOfCitationsAloneIsReplaced(t *testing.T) {
	t.Parallel()
	for _, composes := range []bool{true, false} {
		w := newFixture(fragments()...)
		w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
			return chat.Completion{Model: "m"}, emit(" [9]")
		}
		var streamed strings.Builder
		got, err := w.answerer(Options{Composes: composes}).Answer(t.Context(), ask(), func(s string) error { streamed.WriteString(s); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != "The documents do not answer this question." || streamed.String() != got.Text || len(got.Sources) != 0 {
			t.Errorf("got %q, streamed %q, %d sources", got.Text, streamed.String(), len(got.Sources))
		}
	}
}

func TestAnAgentThatRestrictsKnowledgeDeclines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		field string
		asked bool
	}{{"true", false}, {" true ", false}, {"false", true}, {`"true"`, true}, {"null", true}, {"", true}} {
		w := newFixture(fragments()[2])
		req := ask(func(r *Request) {
			if test.field != "" {
				r.Agent.Extra = domain.AgentExtra{domain.RestrictKnowledge: json.RawMessage(test.field)}
			}
		})
		got, err := w.answerer(Options{Composes: true}).Answer(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if asked := len(w.prompts) > 0; asked != test.asked {
			t.Errorf("with %q: model asked is %v", test.field, asked)
		}
		if !test.asked && got.Text != "The documents do not answer this question." {
			t.Errorf("with %q: got %q", test.field, got.Text)
		}
	}
}

func TestAQuestionInAnotherLanguageIsTranslatedOnce(t *testing.T) {
	t.Parallel()
	const question, translation = "Wann schließt das Büro in Lund am Freitag?", "When does the Lund office close on Friday?"
	english := domain.Fragment{ChunkID: "h", Text: "The Lund office is open from 8:00 to 17:00 on weekdays. On Fridays it closes at 15:00.", Score: 0.1}
	relevant := english
	relevant.Score = 0.8
	for name, test := range map[string]struct {
		query, writes string
		fails         error
		found         domain.Fragment
		want          []string // searched queries
		fragments     int      // fragments in the prompt
	}{
		"it is found in the documents' language": {question, " " + translation + "\n", nil, english, []string{question, translation}, 1},
		"the model fails":                        {question, "", errors.New("down"), english, []string{question}, 0},
		"the model writes more than a question":  {question, translation + "\n" + translation, nil, english, []string{question}, 0},
		"the model writes without end":           {question, strings.Repeat("Lund ", 10_000), nil, english, []string{question}, 0},
		"the model repeats the question":         {question, question, nil, english, []string{question}, 0},
		"it is in the documents' language":       {"When does the museum open?", "never asked", nil, english, []string{"When does the museum open?"}, 0},
		"a greeting is not translated":           {"Hej!", "never asked", nil, english, []string{"Hej!"}, 0},
		"something relevant is found":            {question, "never asked", nil, relevant, []string{question}, 1},
		"there are no documents":                 {question, "never asked", nil, domain.Fragment{}, []string{question}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			if test.found.Text != "" {
				w.found.Fragments = []domain.Fragment{test.found}
			}
			translated := false
			w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
				if !strings.HasPrefix(p.System, "Translate the question into English.") {
					return chat.Completion{PromptTokens: 100, CompletionTokens: 10}, emit("Um 15 Uhr [1].")
				}
				if translated = true; test.writes == "never asked" {
					t.Errorf("asked to translate %+v", p.Messages)
				}
				w.found.Fragments = []domain.Fragment{relevant}
				err := emit(test.writes)
				return chat.Completion{PromptTokens: 7, CompletionTokens: 3}, errors.Join(err, test.fails)
			}
			got, err := w.answerer(Options{Composes: true}).Answer(t.Context(), ask(func(r *Request) { r.Query = test.query }), nil)
			if err != nil {
				t.Fatal(err)
			}
			var searches []string
			for _, s := range w.asked {
				searches = append(searches, s.Query)
			}
			if !slices.Equal(searches, test.want) {
				t.Errorf("searched for %q, want %q", searches, test.want)
			}
			p := w.prompts[len(w.prompts)-1]
			if len(p.Fragments) != test.fragments || p.Question != test.query {
				t.Errorf("the prompt has %d fragments and asks %q", len(p.Fragments), p.Question)
			}
			if translated && got.PromptTokens != 107 {
				t.Errorf("%d tokens are counted, the translation is missing", got.PromptTokens)
			}
		})
	}
}

func TestIgnoredParametersAreReportedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	half, many := 0.5, 50_000
	with := func(r *Request) { r.Temperature, r.TopP, r.MaxTokens = &half, &half, &many }
	for name, test := range map[string]struct {
		mod      func(*Request)
		composes bool
		want     []string
	}{
		"of a model":               {with, true, []string{"temperature", "maxTokens"}},
		"set by the agent":         {func(*Request) {}, true, nil},
		"of the built-in answerer": {with, false, []string{"temperature", "topP", "maxTokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(fragments()...)
			var got []string
			w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
				if p.Begin != nil && test.composes {
					p.Begin([]string{"temperature", "presencePenalty"})
				}
				return chat.Completion{}, emit("Six [1].")
			}
			d := New(Deps{
				Retriever: w, Datastores: w, Conversations: w, Models: oneModel{chat.Model{Name: "m", Provider: w, Window: 4096}},
				Log: w.answerer(Options{}).deps.Log, Now: w.answerer(Options{}).deps.Now, NewID: w.answerer(Options{}).deps.NewID,
			}, Options{Composes: test.composes})
			req := ask(test.mod, func(r *Request) { r.Ignored = func(names []string) { got = names } })
			_, err := d.Answer(t.Context(), req, func(string) error {
				if !slices.Equal(got, test.want) {
					t.Errorf("before the answer, ignored are %q, want %q", got, test.want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

type oneModel struct{ model chat.Model }

func (o oneModel) Models(string) []chat.Model { return []chat.Model{o.model} }
