package app

import (
	"testing"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/static"
	"github.com/sluice/sluice/pkg/retrieve"
)

// oneModel is the only model there is.
type oneModel struct{ e embed.Embedder }

func (m oneModel) Embedder(string) (embed.Embedder, error) { return m.e, nil }

var _ retrieve.Embedders = oneModel{}

// TestTracedModelsTellWhatTheyKnow is there because a model's weight in a search falls with what it knows of the query.
func TestTracedModelsTellWhatTheyKnow(t *testing.T) {
	t.Parallel()
	builtin, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	e, err := tracedQueries{oneModel{builtin}}.Embedder("")
	if err != nil {
		t.Fatal(err)
	}
	const text = "Какой сегодня прекрасный день"
	if got, want := embed.Coverage(e, text), builtin.Coverage(text); got != want || got > 0.5 {
		t.Errorf("it knows %v of a text, want %v, below 0.5", got, want)
	}
	if !embed.AtOnce(e, text) {
		t.Error("the built-in model is waited for")
	}
}
