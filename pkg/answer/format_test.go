package answer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/domain"
)

func TestAStopSequenceEndsTheAnswerAndItsModel(t *testing.T) {
	t.Parallel()
	for _, composes := range []bool{true, false} {
		w := newFixture(fragments()...)
		sent := 0
		w.complete = func(_ context.Context, _ chat.Prompt, emit func(string) error) (chat.Completion, error) {
			for _, piece := range []string{"At six [2].", "\nObser", "vation: the gate", " is open."} {
				sent++
				if err := emit(piece); err != nil {
					if !errors.Is(err, citation.ErrStopped) {
						t.Errorf("emit failed with %v", err)
					}
					return chat.Completion{Model: "m", CompletionTokens: 9}, err
				}
			}
			return chat.Completion{}, nil
		}
		var streamed strings.Builder
		req := ask(func(r *Request) { r.Stop = []string{"\nObservation:"} })
		got, err := w.answerer(Options{Composes: composes}).Answer(t.Context(), req, func(s string) error { streamed.WriteString(s); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != "At six [1]." || streamed.String() != got.Text || sent != 3 || got.Cut || got.CompletionTokens != 9 {
			t.Errorf("got %+v after %d pieces, streamed %q", got, sent, streamed.String())
		}
		if len(got.Sources) != 1 || got.Sources[0].ChunkID != "b" {
			t.Errorf("sources are %+v", got.Sources)
		}
		if stored := w.messages[got.ConversationID]; len(stored) != 2 || stored[1].Text != "At six [1]." {
			t.Errorf("stored are %+v", stored)
		}
	}
}

func TestAStopSequenceEndsARefusal(t *testing.T) {
	t.Parallel()
	for stop, want := range map[string]string{"do not": "The documents ", "The": ""} {
		got, err := newFixture().answerer(Options{}).Answer(t.Context(), ask(func(r *Request) { r.Stop = []string{stop} }), nil)
		if err != nil || got.Text != want {
			t.Errorf("stop %q: got %q, %v", stop, got.Text, err)
		}
	}
}

func TestAResponseFormatNeedsAModel(t *testing.T) {
	t.Parallel()
	w := newFixture(fragments()...)
	format := func(r *Request) { r.ResponseFormat = []byte(`{"type":"json_object"}`) }
	_, err := w.answerer(Options{}).Answer(t.Context(), ask(format), nil)
	var typed *domain.Error
	if !errors.As(err, &typed) || typed.Code != domain.CodeInvalid || len(typed.Fields) != 1 || typed.Fields[0].Field != "response_format" {
		t.Errorf("without a model: %v", err)
	}
	if _, err := w.answerer(Options{Composes: true}).Answer(t.Context(), ask(format), nil); err != nil {
		t.Fatal(err)
	}
	if got := string(w.prompts[0].Params.ResponseFormat); got != `{"type":"json_object"}` {
		t.Errorf("the model got %s", got)
	}
}

func TestStopSequencesAreBounded(t *testing.T) {
	t.Parallel()
	for _, stop := range [][]string{{""}, {strings.Repeat("x", MaxStopBytes+1)}, {"a", "b", "c", "d", "e"}} {
		_, err := newFixture().answerer(Options{}).Answer(t.Context(), ask(func(r *Request) { r.Stop = stop }), nil)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.HasPrefix(err.Error(), "stop: ") {
			t.Errorf("%.20q: %v", stop, err)
		}
	}
}
