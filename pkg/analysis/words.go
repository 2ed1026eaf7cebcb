package analysis

import (
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/bounded"
)

// WordsOf finds the query words behind terms. For each term, it lists the words that have it as their stem in any
// language, in lower case and in the query's order. Terms that match no query word are omitted.
func WordsOf(query string, terms map[string]float64) map[string][]string {
	langs := append(slices.Sorted(maps.Keys(stemmers)), Unknown)
	out := make(map[string][]string)
	tokens(bounded.Prefix(query, maxQueryBytes), func(t token) bool {
		for _, form := range queryTerm(t, langs).Forms {
			if _, asked := terms[form]; asked && !slices.Contains(out[form], t.text) {
				out[form] = append(out[form], t.text)
			}
		}
		return true
	})
	return out
}
