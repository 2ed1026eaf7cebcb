package answer

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// sentence is a sentence of a fragment, with what speaks for its being the answer.
type sentence struct {
	fragment int  // index in Prompt.Fragments
	position int  // within the fragment
	last     bool // of the fragment
	rare     bool // it or its heading holds the question's rarest word, names apart
	text     string
	terms    map[string]bool
	evidence evidence
	score    float64
}

// repeats reports whether s says what other says, by the overlap of their words. Where figures differ they say different
// things, and whoever asks must see both.
func (s sentence) repeats(other sentence) bool {
	small, large := s.terms, other.terms
	if !maps.Equal(figures(small), figures(large)) {
		return false
	}
	if len(small) > len(large) {
		small, large = large, small
	}
	shared := 0
	for t := range small {
		if large[t] {
			shared++
		}
	}
	return float64(shared) >= sameTerms*float64(len(small))
}

// figures are the terms with a digit.
func figures(terms map[string]bool) map[string]bool {
	out := make(map[string]bool)
	for t := range terms {
		if strings.ContainsFunc(t, unicode.IsDigit) {
			out[t] = true
		}
	}
	return out
}

const (
	headingShare   = 0.6  // of the weight of a word that only the heading or the title holds
	borrowedWeight = 0.3  // of a word from the question before
	framingWeight  = 0.15 // of a word that only shapes the question
	nearDistance   = 3    // terms
	scrapTokens    = 5
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
}

// newQuestion analyses the question for the languages of the fragments. Words that a follow-up borrowed from the
// question before count less than its own.
func newQuestion(p Prompt, fragments []domain.Fragment) question {
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
	q.names = termsIn(q.terms, append(namesIn(p.Question), borrowedNames(search, p.Question)...))
	q.own = termsIn(q.terms, wordsOf(p.Question))
	q.kin = make([][]string, len(q.terms))
	q.unspaced = strings.ContainsFunc(p.Question, wide)
	rare := 0.0
	for _, w := range p.TermWeights {
		rare = max(rare, w)
	}
	for i, t := range q.terms {
		w := termWeight(p.TermWeights, t, rare)
		frames := slices.ContainsFunc(t.Forms, func(f string) bool { return framing[f] || questionWords[f] != nil })
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
	return q
}

// borrowedNames are the names that the search has from the question before.
func borrowedNames(search, asked string) []string {
	before, ok := strings.CutSuffix(search, asked)
	if !ok || strings.TrimSpace(before) == "" {
		return nil
	}
	return namesIn("… " + before) // so that a name may come first
}

// rarestTerms marks the own terms of the greatest weight.
func (q question) rarestTerms() []bool {
	most := 0.0
	for i, w := range q.weights {
		if q.own[i] && !q.names[i] && !q.framing[i] {
			most = max(most, w)
		}
	}
	out := make([]bool, len(q.terms))
	for i, w := range q.weights {
		out[i] = q.own[i] && !q.names[i] && !q.framing[i] && w >= most
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

// readFragment looks at the sentences of a fragment. best is the score of the best fragment.
func (q question) readFragment(i int, f domain.Fragment, best float64) []sentence {
	if q.total == 0 {
		return nil
	}
	lang := analysis.Detect(f.Text)
	var analyzer analysis.Analyzer // remembers stems
	heading := positions(analyzer.Terms(titleOf(f), lang))
	whole := positions(analyzer.Terms(f.Text, lang))
	names, coded := q.lacksNames(whole, heading)
	if coded {
		return nil
	}
	var before map[string][]int
	var out []sentence
	texts := sentencesOf(f.Text)
	for n, text := range texts {
		text = quotation(text)
		at := positions(analyzer.Terms(text, lang))
		record := recordLine.MatchString(text) || itemLine.MatchString(text) || strings.Contains(text, " · ")
		e := q.look(at, before, heading)
		e.names, e.score, e.rank = names, f.Score, f.Score/max(best, minScore)
		e.asks = isQuestion(text)
		e.scrap = !record && !ends(text) && (isScrap(text) || q.unspaced && n == 0)
		if before = at; record {
			before = nil // rows and entries stand by themselves
		}
		if text != "" && e.own > 0 && (!record || q.tells(at, heading, e.own)) {
			out = append(out, sentence{
				fragment: i, position: n, last: n == len(texts)-1, rare: q.holdsAll(q.rarest, at, heading),
				text: text, terms: keys(at), evidence: e, score: e.total(),
			})
		}
	}
	return out
}

// isScrap reports whether a text without an end is a heading or a label: a few words without a figure.
func isScrap(text string) bool {
	return chunk.Tokens(text) <= 2*scrapTokens && !strings.ContainsFunc(text, unicode.IsDigit)
}

// minScore keeps shares of scores finite.
const minScore = 0.01

// ends reports whether a text ends as a sentence does.
func ends(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.STerm, last)
}

// look finds the question's words in a sentence, its heading and the sentence before it.
func (q question) look(at, before, heading map[string][]int) (e evidence) {
	for i, w := range q.weights {
		w /= q.total
		here, above, earlier := q.holds(at, i), q.holds(heading, i), q.holds(before, i)
		switch {
		case here > 0:
			e.own += w * here
		case above > 0:
			e.own += w * above * headingShare
		case earlier > 0:
			e.before += w * earlier
		}
	}
	e.near = q.near(at)
	return e
}

// lacksNames is the share of the question's names that a fragment lacks, negative; and whether a number or a code is among
// them: another model, year or version is not the one that was asked for.
func (q question) lacksNames(whole, heading map[string][]int) (share float64, coded bool) {
	names, lacking := 0.0, 0.0
	for i, name := range q.names {
		if !name {
			continue
		}
		names++
		if q.holds(whole, i)+q.holds(heading, i) == 0 {
			lacking++
			coded = coded || q.own[i] && strings.ContainsFunc(q.terms[i].Name, unicode.IsDigit)
		}
	}
	if names == 0 {
		return 0, false
	}
	return -lacking / names, coded
}

// nearlyAll is the share of the question's words that makes good for the rarest one.
const nearlyAll = 0.75

// tells reports whether a row or an entry speaks of what is asked. It is about one thing: it or its heading must hold all
// names of the question and its rarest other word, or nearly all words.
func (q question) tells(at, heading map[string][]int, own float64) bool {
	if q.unspaced { // pairs of characters: many are no words, none can be demanded
		return true
	}
	return q.holdsAll(q.names, at, heading) && (q.holdsAll(q.rarest, at, heading) || own >= nearlyAll)
}

// holdsAll reports whether a text or its heading holds all terms that are marked.
func (q question) holdsAll(marked []bool, at, heading map[string][]int) bool {
	for i, is := range marked {
		if is && q.holds(at, i)+q.holds(heading, i) == 0 {
			return false
		}
	}
	return true
}

// holds tells how far a text holds a term: 1 when it does, kinShare when it has a kindred word, else 0.
func (q question) holds(at map[string][]int, i int) float64 {
	if len(occurrences(at, q.terms[i])) > 0 {
		return 1
	}
	for _, k := range q.kin[i] {
		if len(at[k]) > 0 {
			return kinShare
		}
	}
	return 0
}

// near is the weight of the question's pairs of neighbouring terms that stand near each other here, over that of all
// pairs.
func (q question) near(at map[string][]int) float64 {
	sum, total := 0.0, 0.0
	for i := 1; i < len(q.terms); i++ {
		w := q.weights[i-1] + q.weights[i]
		total += w
		if distance(occurrences(at, q.terms[i-1]), occurrences(at, q.terms[i])) <= nearDistance {
			sum += w
		}
	}
	if total == 0 {
		return 0
	}
	return sum / total
}

// distance is the least distance between two positions; math.MaxInt when either list is empty.
func distance(a, b []int) int {
	least := math.MaxInt
	for i, j := 0, 0; i < len(a) && j < len(b); {
		d := a[i] - b[j]
		if d < 0 {
			d, i = -d, i+1
		} else {
			j++
		}
		least = min(least, d)
	}
	return least
}

// occurrences returns where the first form of the term that occurs does.
func occurrences(at map[string][]int, t analysis.QueryTerm) []int {
	for _, f := range t.Forms {
		if found := at[f]; len(found) > 0 {
			return found
		}
	}
	return nil
}

func positions(terms []string) map[string][]int {
	at := make(map[string][]int, len(terms))
	for i, t := range terms {
		at[t] = append(at[t], i)
	}
	return at
}

func keys(at map[string][]int) map[string]bool {
	out := make(map[string]bool, len(at))
	for t := range at {
		out[t] = true
	}
	return out
}
