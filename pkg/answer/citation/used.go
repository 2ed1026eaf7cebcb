package citation

import (
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// What it takes for a fragment to count as used by a sentence.
const (
	usedShare        = 0.6  // of the sentence's words, function words apart
	usedTerms        = 3    // words; of a sentence that has fewer, the fragment holds all
	maxUsedSentences = 50   // of an answer that are looked at
	maxUsedBytes     = 2000 // of a sentence that are looked at
)

// used are the fragments that an answer without citations rests on, in the order given: for each of its sentences the one
// that holds most of its words, where that is most of them. An answer that says that the documents have nothing uses none.
func used(text string, fragments []domain.Fragment) []domain.Fragment {
	if len(fragments) == 0 {
		return nil
	}
	var analyzer analysis.Analyzer
	var langs []analysis.Language
	held := make([]map[string]bool, len(fragments))
	for i, f := range fragments {
		lang := analysis.Detect(f.Text)
		held[i] = make(map[string]bool)
		for _, term := range analyzer.Terms(f.Text, lang) {
			held[i][term] = true
		}
		langs = append(langs, lang)
	}
	marked := make([]bool, len(fragments))
	for n, s := range chunk.Sentences(text) {
		if n == maxUsedSentences {
			break
		}
		terms := analysis.Query(text[s.Start:min(s.End, s.Start+maxUsedBytes)], langs)
		best, most := -1, float64(len(terms))
		switch {
		case len(terms) == 0:
			continue
		case len(terms) >= usedTerms:
			most *= usedShare
		}
		for i := range fragments {
			count := 0.0
			for _, t := range terms {
				if slices.ContainsFunc(t.Forms, func(form string) bool { return held[i][form] }) {
					count++
				}
			}
			if count >= most && (best < 0 || count > most) {
				best, most = i, count
			}
		}
		if best >= 0 {
			marked[best] = true
		}
	}
	var out []domain.Fragment
	for i, f := range fragments {
		if marked[i] {
			out = append(out, f)
		}
	}
	return out
}
