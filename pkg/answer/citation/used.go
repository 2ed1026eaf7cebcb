package citation

import (
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Thresholds for deciding that a sentence is based on a fragment, and limits on how much text is compared.
const (
	usedShare        = 0.6  // minimum share of the sentence's words found in the fragment, not counting function words
	usedTerms        = 3    // if a sentence has fewer words than this, the fragment must contain all of them
	maxUsedSentences = 50   // per answer
	maxUsedBytes     = 2000 // per sentence
)

// usedFragments returns the fragments that an answer without citations is based on, in their original order. A sentence
// is based on the fragment that contains the largest fraction of its words, if that fraction is at least usedShare. A
// sentence saying that the documents have no answer is based on none.
func usedFragments(text string, fragments []domain.Fragment) []domain.Fragment {
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
		best, limit := -1, float64(len(terms))
		switch {
		case len(terms) == 0:
			continue
		case len(terms) >= usedTerms:
			limit *= usedShare
		}
		for i := range fragments {
			count := 0.0
			for _, t := range terms {
				if slices.ContainsFunc(t.Forms, func(form string) bool { return held[i][form] }) {
					count++
				}
			}
			if count >= limit && (best < 0 || count > limit) {
				best, limit = i, count
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
