package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestTheBuiltInAnswererGetsFragmentsOfLowerScores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		score    float64
		composes bool
		asked    bool
	}{
		"a model is asked although nothing is relevant":        {DefaultMinScore - 0.1, true, true},
		"the built-in answerer looks at it":                    {DefaultMinScore - 0.1, false, true},
		"the built-in answerer gets nothing without the words": {DefaultMinScore*quotableShare - 0.01, false, false},
		"a model is asked about relevant fragments":            {DefaultMinScore, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(domain.Fragment{Text: "The gate opens at six.", Score: c.score})
			if _, err := w.answerer(Options{Composes: c.composes}).Answer(t.Context(), ask(func(*Request) {}), nil); err != nil {
				t.Fatal(err)
			}
			if asked := len(w.prompts) > 0; asked != c.asked {
				t.Errorf("asked is %v", asked)
			}
		})
	}
}

func TestBoostedScoresDoNotMakeFragmentsRelevant(t *testing.T) {
	t.Parallel()
	boosted, lowered := domain.Fragment{Text: "A gate to the garden.", Score: 0.9}, domain.Fragment{Text: "The gate opens at six.", Score: DefaultMinScore / 3}
	w := newFixture(boosted, lowered)
	w.found.Relevances = []float64{DefaultMinScore / 3, 0.8}
	w.found.PartScores = [][]float64{{0.1, 0.2}, {0.3, 0.4}}
	w.found.PartRelevances = [][]float64{{0.01, 0.02}, {0.03, 0.04}}
	w.found.Rules = analysis.NewRules(nil, []string{"gate"}, nil)
	if _, err := w.answerer(Options{Composes: true}).Answer(t.Context(), ask(func(*Request) {}), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.Fragment{lowered}, w.prompts[0].Fragments); diff != "" {
		t.Errorf("fragments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]chat.FragmentScores{{Relevance: 0.8, Parts: []float64{0.3, 0.4}, PartRelevances: []float64{0.03, 0.04}}}, w.prompts[0].Scores); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	if w.prompts[0].Rules != w.found.Rules {
		t.Error("the prompt lacks the rules of the datastore")
	}
}
