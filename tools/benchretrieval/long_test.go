package main

import (
	"testing"

	"github.com/sluice/sluice/tools/internal/longdocs"
)

func TestAPassageAnswersALongQuestion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answer, document, text string
		want                   bool
	}{
		{"1,234", "a", "Sales: $1,234", true},
		{"1,234", "b", "Sales: $1,234", false},
		{"1,234", "a", "Sales: 11,234; Costs: 1,2345; Tax: 1,234,000", false},
		{"1,234", "a", "Sales: 11,234; Costs: 1,234", true},
		{"within ten days", "a", "It ends within\nten days.", true},
		{"within ten days", "a", "It ends within ten weeks.", false},
	} {
		if got := answers(longdocs.Question{Document: "a", Answer: test.answer}, test.document, test.text); got != test.want {
			t.Errorf("%q in %q of %s: %v, want %v", test.answer, test.text, test.document, got, test.want)
		}
	}
}

func TestTheBaselineRanksByRareWords(t *testing.T) {
	t.Parallel()
	x := &longIndex{counts: map[string]map[int]float64{}}
	for _, text := range []string{"the harbour opens early", "the harbour and the lighthouse", "a quiet valley"} {
		x.add("a", text)
	}
	best := x.search("the lighthouse at the harbour", 2)
	if len(best) != 2 || best[0].text != "the harbour and the lighthouse" || best[1].text != "the harbour opens early" {
		t.Errorf("the best chunks are %+v", best)
	}
}
