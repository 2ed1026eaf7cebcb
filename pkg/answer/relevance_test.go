package answer

import (
	"testing"

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
