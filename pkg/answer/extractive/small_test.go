package extractive

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// inOneChunk returns word weights from an index with a single chunk, where all other words count as rare.
func inOneChunk(held, lacking string) map[string]float64 {
	weights := make(map[string]float64)
	for _, w := range strings.Fields(held) {
		weights[w] = 0.29
	}
	for _, w := range strings.Fields(lacking) {
		weights[w] = 1.39
	}
	return weights
}

func TestASingleChunkDoesNotSayWhichWordsAreRare(t *testing.T) {
	t.Parallel()
	document := []domain.Fragment{{Text: "The Skarv lighthouse was given two new lamps by the harbour fund in May.", Score: 0.42}}
	for question, c := range map[string]struct {
		weights  map[string]float64
		answered bool
	}{
		"What brand new equipment arrived at the lighthouse?": {inOneChunk("new lighthous", "brand equip arriv"), true},
		"What money did the council receive from the state?":  {inOneChunk("", "money council receiv state"), false},
		"Which harbour sells equipment to other councils?":    {inOneChunk("harbour", "sell equip council"), false},
	} {
		got := quote(t, chat.Prompt{Question: question, Fragments: document, TermWeights: c.weights, Candidates: 1})
		if strings.Contains(got, "two new lamps") != c.answered {
			t.Errorf("%s: %q", question, got)
		}
	}
}

// TestWhereManyChunksAreSearchedTheirFrequenciesHold checks that the correction for small collections does not affect
// word frequencies in large collections.
func TestWhereManyChunksAreSearchedTheirFrequenciesHold(t *testing.T) {
	t.Parallel()
	weights := map[string]float64{"lighthous": 3, "lamp": 2, "harbour": 1}
	q := newQuestion(chat.Prompt{Question: "lighthouse lamp harbour", TermWeights: weights, Candidates: 200}, docs("x"))
	for i, term := range q.terms {
		if q.weights[i] != weights[term.Name] {
			t.Errorf("%s weighs %g, want %g", term.Name, q.weights[i], weights[term.Name])
		}
	}
}

func TestAnAddressSaysItselfWhatItIs(t *testing.T) {
	t.Parallel()
	document := []domain.Fragment{
		{Text: "Anna owns the landing page, Piotr the billing service. Write to Lena (lena@example.org) about invoices.", Score: 0.30},
	}
	for question, want := range map[string]bool{"What is the email of Lena?": true, "What is the email of Piotr?": false, "What is the phone number of Lena?": false} {
		weights := inOneChunk("lena piotr", "email phone number")
		if got := quote(t, chat.Prompt{Question: question, Fragments: document, TermWeights: weights, Candidates: 1}); strings.Contains(got, "lena@example.org") != want {
			t.Errorf("%s: %q", question, got)
		}
	}
}
