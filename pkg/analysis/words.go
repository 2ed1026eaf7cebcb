package analysis

import (
	"maps"
	"slices"
)

// WordsOf returns the words of a query, as they are told apart, in lower case and in order, that became each of the terms: by the stem of whichever
// language it was. A term that none of the words became is left out.
func WordsOf(query string, terms map[string]float64) map[string][]string {
	langs := append(slices.Sorted(maps.Keys(stemmers)), Unknown)
	out := make(map[string][]string)
	tokens(prefix(query, maxQueryBytes), func(t token) bool {
		for _, form := range queryTerm(t, langs).Forms {
			if _, asked := terms[form]; asked && !slices.Contains(out[form], t.text) {
				out[form] = append(out[form], t.text)
			}
		}
		return true
	})
	return out
}
