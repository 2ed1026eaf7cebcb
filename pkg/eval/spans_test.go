package eval

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnion(t *testing.T) {
	t.Parallel()
	a := []Span{{40, 50}, {0, 10}, {5, 20}, {20, 21}, {30, 30}, {60, 55}}
	if diff := cmp.Diff([]Span{{0, 21}, {40, 50}}, Union(a)); diff != "" {
		t.Errorf("union: %s", diff)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	// The first answer occurs only in document a. The second answer occurs in documents b and d.
	relevant := []Answer{{100, []Position{{"a", 100}}}, {100, []Position{{"b", 0}, {"d", 40}}}}
	for name, c := range map[string]struct {
		returned          Passages
		recall, precision float64
	}{
		"nothing":                   {nil, 0, 0},
		"exactly the relevant text": {Passages{"a": {{100, 200}}, "b": {{0, 100}}}, 1, 1},
		"half of the text, in a fragment twice as long": {Passages{"a": {{100, 300}}}, 0.5, 0.5},
		"the same text of another document":             {Passages{"c": {{100, 200}}}, 0, 0},
		"from another place":                            {Passages{"a": {{100, 200}}, "d": {{40, 140}}}, 1, 1},
		"halves from two places":                        {Passages{"b": {{0, 50}}, "d": {{90, 140}}}, 0.5, 1},
		"the same half from two places":                 {Passages{"b": {{0, 50}}, "d": {{40, 90}}}, 0.25, 0.5},
		"text returned twice counts as relevant once":   {Passages{"a": {{100, 200}, {100, 200}}}, 0.5, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recall, precision := Coverage(c.returned, relevant)
			if math.Abs(recall-c.recall) > 1e-12 || math.Abs(precision-c.precision) > 1e-12 {
				t.Errorf("recall %v, precision %v; want %v, %v", recall, precision, c.recall, c.precision)
			}
		})
	}
}
