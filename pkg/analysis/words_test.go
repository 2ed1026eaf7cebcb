package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWordsOfReturnsTheWordsOfATerm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query string
		langs []Language
		want  map[string][]string
	}{
		"stems of English":               {"Weights of pumps, and a pump's weighing", nil, map[string][]string{"weight": {"weights"}, "pump": {"pumps", "pump"}, "weigh": {"weighing"}}},
		"stems of another language":      {"Wie lange gelten die Garantien?", []Language{"de"}, map[string][]string{"lang": {"lange"}, "gelt": {"gelten"}, "garanti": {"garantien"}}},
		"words that stay as they are":    {"E-23", nil, map[string][]string{"e": {"e"}, "23": {"23"}, "e23": {"e23"}}},
		"scripts without words":          {"価格", nil, map[string][]string{"価": {"価"}, "価格": {"価格"}, "格": {"格"}}},
		"a query of function words only": {"who is it", nil, map[string][]string{"who": {"who"}, "is": {"is"}, "it": {"it"}}},
		"nothing":                        {"…", nil, map[string][]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms := make(map[string]float64)
			for _, q := range Query(c.query, c.langs) {
				terms[q.Name] = 1
			}
			if diff := cmp.Diff(c.want, WordsOf(c.query, terms)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
