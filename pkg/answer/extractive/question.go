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
	ownHeadingShare = 0.9  // of a word that a heading holds which has nearly all words of the question
	headingShare    = 0.6  // of the weight of a word that only the heading or the title holds
	borrowedWeight  = 0.3  // of a word from the question before
	framingWeight   = 0.15 // of a word that only shapes the question
	nearDistance    = 3    // terms
	scrapTokens     = 5

	evenBelow = 4.0 // the weight of a word that none of some thirty chunks holds
)

// question is what is asked, as terms with weights.
type question struct {
	terms    []analysis.QueryTerm
	weights  []float64
	names    []bool     // terms that name something
	own      []bool     // terms of the question itself, not of one before
	framing  []bool     // terms that only shape the question
	rarest   []bool     // the terms of the question itself that are rarest, names apart
	kin      [][]string // index terms of words kindred to each term
	total    float64
	unspaced bool // words are not parted, so that terms are pairs of characters
	wants    want
	implied  []bool // terms that a value of the kind that is asked for makes good for
	lang     analysis.Language
	proper   []properName
	strange  []bool // fragments that speak of something else than is named
}

// newQuestion analyses the question for the languages of the fragments. Words that a follow-up borrowed from the
// question before count less than its own.
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
	q := question{terms: analysis.Query(search, langs)}
	q.names = termsIn(q.terms, append(language.Names(p.Question), borrowedNames(search, p.Question)...))
	q.own = termsIn(q.terms, language.Words(p.Question))
	q.kin = make([][]string, len(q.terms))
	q.wants, q.lang = wantIn(p.Question), language.Of(p.Question)
	q.implied = termsIn(q.terms, slices.DeleteFunc(language.Words(p.Question), func(w string) bool { return !q.wants.covers(w) }))
	q.unspaced = strings.ContainsFunc(p.Question, language.Wide)
	rare := 0.0
	for _, w := range p.TermWeights {
		rare = max(rare, w)
	}
	even := evenness(p.Candidates, rare)
	for i, t := range q.terms {
		w := termWeight(p.TermWeights, t, rare) + even
		frames := slices.ContainsFunc(t.Forms, func(f string) bool { return language.Framing[f] || language.QuestionWords[f] != nil })
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
	q.rarest, q.proper = q.rarestTerms(), q.properNames(p.Question)
	q.strange = q.strangers(fragments)
	q.addConcepts(p.Question, langs)
	return q
}

// evenness is what is added to the weight of every word where few chunks tell how rare words are. They tell it badly: of a single one,
// every word that it holds weighs 0.3 and every other one 1.4, so that the very passage which answers seems to hold little of the
// question. It makes good what a word that none of them holds lacks to evenBelow. ADR 43.
func evenness(chunks int, rare float64) float64 {
	if chunks == 0 {
		return 0
	}
	n := float64(chunks)
	return max(0, evenBelow-max(rare, math.Log(1+(n+0.5)/0.5)))
}

// borrowedNames are the names that the search has from the question before.
func borrowedNames(search, asked string) []string {
	before, ok := strings.CutSuffix(search, asked)
	if !ok || strings.TrimSpace(before) == "" {
		return nil
	}
	return language.Names("… " + before) // so that a name may come first
}

// rarestTerms marks the own terms of the greatest weight; where there are but names, the measure that is asked for, as in "how
// old is Tom".
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

// termWeight looks a term's weight up under its name or any of its forms; a term that retrieval does not know is rare.
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
