package answer

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// inMode sets how the agent handles unsupported sentences.
func inMode(mode domain.UnsupportedMode) func(*Request) {
	return func(r *Request) {
		r.Agent.Extra = domain.AgentExtra{domain.UnsupportedSentences: json.RawMessage(`"` + string(mode) + `"`)}
	}
}

func TestUnsupportedSentencesAreMarkedDroppedOrKept(t *testing.T) {
	t.Parallel()
	const written = "The gate opens at seven [2]. The gate closes at ten [1]. The gate was painted by Rubens [2]."
	for mode, test := range map[domain.UnsupportedMode]struct {
		text        string
		unsupported []bool
		sources     []string
	}{
		domain.MarkUnsupported: {"The gate opens at seven [1]. The gate closes at ten [2]. The gate was painted by Rubens [1].", []bool{true, false, true}, []string{"b", "a"}},
		domain.KeepUnsupported: {"The gate opens at seven [1]. The gate closes at ten [2]. The gate was painted by Rubens [1].", []bool{false, false, false}, []string{"b", "a"}},
		domain.DropUnsupported: {"The gate closes at ten [1]. ", []bool{false}, []string{"a"}},
		"":                     {"The gate opens at seven [1]. The gate closes at ten [2]. The gate was painted by Rubens [1].", []bool{true, false, true}, []string{"b", "a"}},
	} {
		for _, size := range []int{1, 1000} {
			w := newFixture(fragments()...)
			w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
				for piece := range slices.Chunk([]byte(written), size) {
					if err := emit(string(piece)); err != nil {
						return chat.Completion{}, err
					}
				}
				return chat.Completion{Model: "m"}, nil
			}
			var streamed strings.Builder
			got, err := w.answerer(Options{Composes: true}).Answer(t.Context(), ask(inMode(mode)), func(s string) error { streamed.WriteString(s); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != test.text || streamed.String() != test.text {
				t.Errorf("%q: got %q, streamed %q", mode, got.Text, streamed.String())
			}
			var unsupported []bool
			for _, s := range got.Sentences {
				unsupported = append(unsupported, s.Unsupported)
			}
			if !slices.Equal(unsupported, test.unsupported) {
				t.Errorf("%q: unsupported %v, want %v", mode, unsupported, test.unsupported)
			}
			var sources []string
			for _, f := range got.Sources {
				sources = append(sources, f.ChunkID)
			}
			if !slices.Equal(sources, test.sources) {
				t.Errorf("%q: sources %v, want %v", mode, sources, test.sources)
			}
		}
	}
}

func TestAnAnswerWithoutSupportIsReplaced(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		return chat.Completion{Model: "m"}, emit("The gate was painted by Rubens [1].")
	}
	got, err := w.answerer(Options{Composes: true}).Answer(t.Context(), ask(inMode(domain.DropUnsupported)), nil)
	if err != nil || got.Text != "The documents do not answer this question." || len(got.Sources) != 0 {
		t.Errorf("%v, %q, %d sources", err, got.Text, len(got.Sources))
	}
}

func TestStoredSourcesHaveHighlights(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
		return chat.Completion{Model: "m"}, emit("It closes at ten [1].")
	}
	got, err := w.answerer(Options{Composes: true}).Answer(t.Context(), ask(), nil)
	if err != nil {
		t.Fatal(err)
	}
	stored := w.messages[got.ConversationID][1].Sources[0]
	var marked []string
	for _, h := range stored.Highlights {
		marked = append(marked, stored.Text[h.Start:h.End])
	}
	if !slices.Equal(marked, []string{"closes at ten."}) {
		t.Errorf("marked %q", marked)
	}
}
