package extractive

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	headingShare   = 0.6  // fraction of its weight that a word counts if it is only in a heading or the title
	borrowedWeight = 0.3  // factor for words from the previous question
	framingWeight  = 0.15 // factor for words that only phrase the question
	nearDistance   = 3    // maximum distance, in terms, between two terms that count as near each other
	scrapTokens    = 5

	evenBelow = 4.0 // weight of a word found in none of about thirty chunks; see evenness
)

// question is the analysed question: terms with weights.
type question struct {
	terms    []analysis.QueryTerm
	weights  []float64
	names    []bool     // terms that are names
	own      []bool     // terms from the question itself, not from an earlier one
	framing  []bool     // terms that only phrase the question
	rarest   []bool     // the rarest of the question's own terms, except names
	kin      [][]string // index terms for words related to each term
	total    float64
	unspaced bool // whether the script has no spaces, so that terms are pairs of characters
	wants    want
	implied  []bool // terms that a value of the requested kind can replace
	lang     analysis.Language
	options  []string // program option names
	codes    []string // article numbers and the like, normalised
	rare     float64  // the rarest word's weight in the search
	few      bool     // whether the datastore has too few chunks for meaningful word frequencies
	numbered [][2]int // pairs of a word and the number next to it
	months   []int    // months next to a day or a year
	text     string   // the question itself
}

// newQuestion analyses the question in the fragments' languages. Words from the previous question weigh less.
func newQuestion(p chat.Prompt, fragments []domain.Fragment) question {
	var langs []analysis.Language
	seen := make(map[analysis.Language]bool)
	for _, f := range fragments {
		if l := analysis.Detect(f.Text); l != analysis.Unknown && !seen[l] {
			seen[l] = true
			langs = append(langs, l)
		}
	}
	search := p.Search
	if search == "" {
		search = p.Question
	}
	lang := language.Detect(p.Question)
	if lang != analysis.Unknown && !seen[lang] {
		langs = append(langs, lang) // for its function words and endings
	}
	q := question{terms: analysis.QueryWith(search, langs, p.Rules), lang: lang}
	q.names = termsIn(q.terms, append(language.Names(p.Question), borrowedNames(search, p.Question)...))
	q.own = termsIn(q.terms, language.Words(p.Question))
	q.kin = make([][]string, len(q.terms))
	q.wants = wantIn(p.Question)
	q.implied = termsIn(q.terms, slices.DeleteFunc(language.Words(p.Question), func(w string) bool { return !q.wants.covers(w) }))
	q.unspaced = strings.ContainsFunc(p.Question, language.IsUnspaced)
	rare := 0.0
	for _, w := range p.TermWeights {
		rare = max(rare, w)
	}
	even := evenness(p.Candidates, rare)
	framing := termsIn(q.terms, slices.DeleteFunc(language.Words(search), func(w string) bool {
		return !language.FramingWords[w] && language.QuestionWords[w] == nil && !analysis.IsFunctionWord(w, lang)
	}))
	for i, t := range q.terms {
		w := termWeight(p.TermWeights, t, rare) + even
		frames := framing[i] || slices.ContainsFunc(t.Forms, func(f string) bool { return language.FramingWords[f] || language.QuestionWords[f] != nil })
		q.framing = append(q.framing, frames)
		switch {
		case frames:
			w *= framingWeight
		case !q.own[i]:
			w *= borrowedWeight
		}
		q.weights = append(q.weights, w)
		q.total += w
	}
	q.rarest = q.rarestTerms()
	q.few, q.rare = even > 0, rare+even
	for _, c := range language.Codes(p.Question) {
		q.codes = append(q.codes, normalisedCode(c))
	}
	q.options, q.numbered = optionsIn(p.Question), q.numberedTerms(p.Question)
	q.addConcepts(search, langs)
	q.months, q.text = monthsIn(p.Question), p.Question
	return q
}

// evenness returns a constant to add to every word's weight, or 0 if there are enough chunks. With few chunks, weights
// by rarity are misleading. If there is only one chunk, for example, each word in it weighs 0.3 and every other word
// 1.4, so the question's words that are missing from the chunk dominate, and even the passage with the answer scores
// badly. The constant is chosen so that a word found in no chunk weighs evenBelow. See ADR 43.
func evenness(chunks int, rare float64) float64 {
	if chunks == 0 {
		return 0
	}
	n := float64(chunks)
	return max(0, evenBelow-max(rare, math.Log(1+(n+0.5)/0.5)))
}

// borrowedNames returns the names from the previous question in the search query.
func borrowedNames(search, asked string) []string {
	before, ok := strings.CutSuffix(search, asked)
	if !ok || strings.TrimSpace(before) == "" {
		return nil
	}
	return language.Names("… " + before) // so that a capitalised first word is not ignored
}

// rarestTerms marks the question's terms with the greatest weight, except names, terms from earlier questions, and
// words that only phrase the question. If nothing is left, it marks the word for the requested property, such as "old"
// in "how old is Tom".
func (q question) rarestTerms() []bool {
	most := 0.0
	for i, w := range q.weights {
		if q.own[i] && !q.names[i] && !q.framing[i] {
			most = max(most, w)
		}
	}
	out := make([]bool, len(q.terms))
	for i, w := range q.weights {
		out[i] = q.own[i] && !q.names[i] && (!q.framing[i] && w >= most || most == 0 && conceptsOf[q.terms[i].Name] != nil)
	}
	return out
}

// termWeight returns the weight of a term or one of its forms. A missing term counts as rare.
func termWeight(weights map[string]float64, t analysis.QueryTerm, rare float64) float64 {
	if w, ok := weights[t.Name]; ok {
		return w
	}
	for _, f := range t.Forms {
		if w, ok := weights[f]; ok {
			return w
		}
	}
	return max(rare, 1)
}
