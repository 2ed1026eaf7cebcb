package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// words returns n one-token words.
func words(n int) string { return strings.TrimSpace(strings.Repeat("weir ", n)) }

// packable returns a draft with five fragments and three exchanges of 100 tokens each.
func packable() promptDraft {
	d := promptDraft{prompt: chat.Prompt{Question: "When does the gate open?"}}
	for i := range 5 {
		d.prompt.Fragments = append(d.prompt.Fragments, domain.Fragment{ChunkID: fmt.Sprint(i), Text: words(100)})
	}
	for range 3 {
		d.history = append(d.history, chat.Turn{Role: domain.RoleUser, Text: words(50)}, chat.Turn{Role: domain.RoleAssistant, Text: words(50)})
	}
	return d
}

func TestAPromptIsPackedIntoTheModelsWindow(t *testing.T) {
	t.Parallel()
	all, err := packable().pack(chat.Model{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := all.Tokens()
	tests := map[string]struct {
		budget    int // maximum tokens in the prompt
		fragments int
		history   int
	}{
		"whole where there is room":                            {whole, 5, 6},
		"without its oldest exchange where there is little":    {whole - 1, 5, 4},
		"with the last exchange and all fragments":             {whole - 150, 5, 2},
		"with the last exchange and the first fragments":       {whole - 400, 3, 2},
		"with the best fragment and no history in the end":     {whole - 720, 1, 0},
		"with the last exchange before the second fragment":    {whole - 600, 1, 2},
		"with fragments in the order of their relevance":       {whole - 300, 4, 2},
		"the same in a window that is a little larger":         {whole - 299, 4, 2},
		"and nothing is cut where the window is not the least": {whole * 10, 5, 6},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const answer = 100
			window := (test.budget + answer) * 10 / 9
			for window*9/10-answer < test.budget {
				window++
			}
			d, n := packable(), answer
			d.prompt.Params.MaxTokens = &n
			p, err := d.pack(chat.Model{}, window)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Fragments) != test.fragments || len(p.Messages) != test.history+1 {
				t.Errorf("%d fragments and %d messages of history in %d tokens of %d", len(p.Fragments), len(p.Messages)-1, p.Tokens(), test.budget)
			}
			if p.Tokens() > test.budget || *p.Params.MaxTokens != answer {
				t.Errorf("%d tokens in a room of %d, %d for the answer", p.Tokens(), test.budget, *p.Params.MaxTokens)
			}
			for i, f := range p.Fragments {
				if f.ChunkID != fmt.Sprint(i) {
					t.Errorf("fragment %d is %s", i, f.ChunkID)
				}
			}
			if !strings.Contains(p.System, instructions) || p.Messages[len(p.Messages)-1].Text != d.prompt.Question {
				t.Error("the instructions or the question are missing")
			}
		})
	}
}

func TestATooLargePromptIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	d := packable()
	d.style.system = words(5000)
	_, err := d.pack(chat.Model{Answer: 4096}, 4096)
	if domain.CodeOf(err) != domain.CodeInvalid || !errors.Is(err, chat.ErrTooLong) || !strings.Contains(err.Error(), "shorten systemPrompt") {
		t.Fatalf("got %v", err)
	}
}

func TestTheWindowReservesTokensForTheAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked  int // requested answer length; 0 means none
		window int
		want   int // tokens reserved for the answer
		sent   int
	}{
		"the model's usual":                        {0, 100_000, 4096, 0},
		"a quarter of a small window":              {0, 4000, 1000, 0},
		"what is asked for":                        {300, 4000, 300, 300},
		"half of the window of what is much":       {3900, 4000, 2000, 2873},
		"all that a large window has besides":      {99_900, 100_000, 50_000, 98_873},
		"what is asked for in an unlimited window": {99_900, 0, 0, 99_900},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, m := packable(), chat.Model{Answer: 4096}
			if test.asked > 0 {
				d.prompt.Params.MaxTokens = &test.asked
			}
			if got := d.answerTokens(m, test.window); got != test.want {
				t.Errorf("%d tokens of room, want %d", got, test.want)
			}
			p, err := d.pack(m, test.window)
			if err != nil {
				t.Fatal(err)
			}
			if test.asked > 0 && (*p.Params.MaxTokens < test.sent-200 || *p.Params.MaxTokens > test.sent) {
				t.Errorf("asks for %d tokens, want about %d", *p.Params.MaxTokens, test.sent)
			}
		})
	}
}

// failing is a model whose n-th call fails with steps[n], or succeeds if that is nil. Once the steps are used up, the
// last one repeats.
type failing struct {
	steps   []error
	prompts []chat.Prompt
}

func (f *failing) Complete(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
	step := f.steps[min(len(f.prompts), len(f.steps)-1)]
	f.prompts = append(f.prompts, p)
	if step != nil && !errors.Is(step, errMidway) {
		return chat.Completion{}, step
	}
	return chat.Completion{Model: p.Model, PromptTokens: 3, CompletionTokens: 4}, errors.Join(emit("At six [1]."), step)
}

// errMidway makes the model fail after its first output.
var errMidway = domain.Errorf(domain.CodeUnavailable, "broke in the middle")

type listed []chat.Model

func (l listed) Models(string) []chat.Model { return l }

func TestModelsAreTriedUntilOneStartsToAnswer(t *testing.T) {
	t.Parallel()
	down := domain.Errorf(domain.CodeUnavailable, "the model server failed")
	tooLong := &domain.Error{Code: domain.CodeInvalid, Message: "too long", Err: chat.ErrTooLong}
	tests := map[string]struct {
		first, second []error
		asked         string // calls to each model
		want          error
		fallback      bool
	}{
		"the first alone when it answers":               {[]error{nil}, []error{nil}, "1 0", nil, false},
		"the fallback when the first fails":             {[]error{down}, []error{nil}, "1 1", nil, true},
		"none when the first fails midway":              {[]error{errMidway}, []error{nil}, "1 0", errMidway, false},
		"with the fallback's error when both fail":      {[]error{errors.New("other")}, []error{down}, "1 1", down, true},
		"the first again with less when it is too long": {[]error{tooLong, nil}, []error{nil}, "2 0", nil, false},
		"the fallback when less is too long as well":    {[]error{tooLong}, []error{nil}, "2 1", nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			for i := range 6 {
				w.found.Fragments = append(w.found.Fragments, domain.Fragment{ChunkID: fmt.Sprint(i), Text: words(300), Score: 0.9})
			}
			w.found.Explanation = &domain.Explanation{}
			first, second := &failing{steps: test.first}, &failing{steps: test.second}
			a := w.answerer(Options{})
			a.deps.Models = listed{{Name: "one", Provider: first, Window: 100_000}, {Name: "two", Provider: second}}
			got, err := a.Answer(t.Context(), ask(func(r *Request) { r.Explain = true }), nil)
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v", err)
			}
			if asked := fmt.Sprint(len(first.prompts), " ", len(second.prompts)); asked != test.asked {
				t.Errorf("asked %s times, want %s", asked, test.asked)
			}
			if len(first.prompts) > 1 && first.prompts[1].Tokens() > first.prompts[0].Tokens()*6/10 {
				t.Errorf("the second prompt has %d tokens after %d", first.prompts[1].Tokens(), first.prompts[0].Tokens())
			}
			if stored := len(w.messages[got.ConversationID]); (stored == 2) != (err == nil) {
				t.Errorf("%d messages are stored", stored)
			}
			if err != nil {
				return
			}
			used, m := first, got.Explanation.Model
			if test.fallback {
				used = second
			}
			p := used.prompts[len(used.prompts)-1]
			if m == nil || m.Fallback != test.fallback || m.Name != p.Model || m.Fragments != len(p.Fragments) || m.Fragments+m.LeftOut != 6 {
				t.Errorf("explained as %+v, with %d fragments given", m, len(p.Fragments))
			}
		})
	}
}

func TestFragmentsOutsideThePromptAreNoSources(t *testing.T) {
	t.Parallel()
	w := newFixture()
	for i := range 6 {
		w.found.Fragments = append(w.found.Fragments, domain.Fragment{ChunkID: fmt.Sprint(i), Text: words(300), Score: 0.9})
	}
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		return chat.Completion{}, emit("At six [1][6].")
	}
	a := w.answerer(Options{})
	a.deps.Models = listed{{Name: "small", Provider: w, Window: 2048, Answer: 4096}}
	got, err := a.Answer(t.Context(), ask(), nil)
	if err != nil || got.Text != "At six [1]." || len(got.Sources) != 1 {
		t.Fatalf("got %q with %d sources, %v", got.Text, len(got.Sources), err)
	}
}
